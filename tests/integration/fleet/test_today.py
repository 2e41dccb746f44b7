# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Until when certificates of members are valid, and the state of the fleet in one view, by both kinds of records."""

from __future__ import annotations

import base64
import json
import socket
import ssl
import typing as t
from datetime import datetime

from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.prices import NO_PRICES
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_member import CertificateEnds
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.capture import capture
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import recorded_members
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.overview.today import Today, gather_today
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.recorded import all_placements
from ansible_collections.gitops.fleet.plugins.module_utils._report.overview.today_text import today_text
from cryptography import x509
from small_fleet import Fleet


def captured(fleet: Fleet) -> t.Mapping[str, t.Any]:
    found = capture(fleet.session(), pods=False, prices=NO_PRICES, threads=2, timeout=5.0, record=True)
    return found.document


def recorded_ends(fleet: Fleet, name: str) -> CertificateEnds | None:
    return recorded_members(fleet.records)[name].fleet.status.certificates


def shown_by(server: str) -> datetime:
    """``notAfter`` of what the server shows, asked by a connection of its own."""
    host, port = server.removeprefix("https://").split(":")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection((host, int(port))) as raw, context.wrap_socket(raw) as secure:
        certificate = secure.getpeercert(binary_form=True)
    assert certificate is not None
    return x509.load_der_x509_certificate(certificate).not_valid_after_utc


def today(fleet: Fleet) -> Today:
    members, clusters = (fleet.records.list(kind) for kind in ("FleetMember", "MemberCluster"))
    return gather_today(fleet.session(), members, clusters, all_placements(fleet.records))


def test_until_when_certificates_are_valid_is_recorded(fleet: Fleet) -> None:
    fleet.join("m1")
    document = captured(fleet)
    kubeconfig = json.loads(fleet.kubeconfig("m1").read_text())
    client = base64.b64decode(kubeconfig["users"][0]["user"]["client-certificate-data"])
    ends = recorded_ends(fleet, "m1")
    assert ends is not None
    assert ends.server == shown_by(kubeconfig["clusters"][0]["cluster"]["server"])
    assert ends.client == x509.load_pem_x509_certificate(client).not_valid_after_utc
    assert set(document["certificates"]) == {"m1"}
    (row,) = today(fleet).fleet.members
    assert row.certificate is not None and row.certificate.at == min(ends.server, ends.client)


def test_a_certificate_that_is_not_checked_is_not_told_of(file_fleet: Fleet) -> None:
    file_fleet.join("m1")
    path = file_fleet.kubeconfig("m1")
    kubeconfig = json.loads(path.read_text())
    cluster = kubeconfig["clusters"][0]["cluster"]
    cluster.pop("certificate-authority-data")
    cluster["insecure-skip-tls-verify"] = True
    path.write_text(json.dumps(kubeconfig))
    captured(file_fleet)
    ends = recorded_ends(file_fleet, "m1")
    assert ends is not None and ends.server is None and ends.client is not None


def test_it_costs_no_request(file_fleet: Fleet) -> None:
    file_fleet.join("m1")
    server = file_fleet.servers["m1"]
    captured(file_fleet)
    before = len(server.events())
    captured(file_fleet)
    others = [each for each in server.events()[before:] if not each["user"]["username"].startswith("system:")]
    asked = [each["requestURI"] for each in others if "mark=" not in each["requestURI"]]
    wanted = {"/readyz", "/version", "/api/v1/nodes", "/api/v1/namespaces/kube-system"}
    assert asked and {each.partition("?")[0] for each in asked if each.startswith("/")} <= wanted | {
        "/api/v1/namespaces"
    }


def test_who_is_silent_stands_first_and_what_was_known_stays(fleet: Fleet) -> None:
    """F22: unreachable is not absent."""
    fleet.join("m1", "m2")
    fleet.place()
    assert not fleet.apply().problems
    captured(fleet)
    known = recorded_ends(fleet, "m1")
    fleet.cut("m1")
    captured(fleet)
    found = today(fleet)
    first, second = found.fleet.members
    assert (first.name, first.state, first.concerns) == ("m1", "silent", ("silent",))
    assert recorded_ends(fleet, "m1") == known and first.certificate is not None
    assert (second.name, second.state, second.concerns) == ("m2", "ready", ())
    assert first.held.count == second.held.count == 1 and not found.notes
    lines = today_text(found.fleet, fleet.records.place, found.notes)
    assert lines[0].startswith("2 clusters: 1 ready, 1 silent (last read ") and max(map(len, lines)) <= 80


def test_after_an_apply_nobody_has_looked_for_drift(fleet: Fleet) -> None:
    fleet.join("m1")
    fleet.place()
    assert not fleet.apply().problems
    captured(fleet)
    known = today(fleet).fleet.drift
    assert known.objects is None and known.places == 1 and known.applied is not None
    assert known.words.startswith("not looked since an apply, ")


def test_nobody_is_silent_where_nobody_was_ever_asked(file_fleet: Fleet) -> None:
    file_fleet.join("m1")
    file_fleet.cut("m1")
    try:
        captured(file_fleet)
    except FleetError as error:
        assert {each.code for each in error.problems} == {"unreachable"}
    (row,) = today(file_fleet).fleet.members
    assert row.state in ("never read", "silent") and row.drift.words == "nothing is placed"
