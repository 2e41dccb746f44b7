# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What edits of node classes would rotate, asked of a real API server that holds classes of Azure and AWS."""

from __future__ import annotations

import json
import time
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.class_changes import ClassChange
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.subnet_change import Network
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.changes import ChangeQuestion, network_of
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.manual import ManualReport, ManualWish, manual
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.node_info import NodeReport, node_report
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.reading import ReadingWish
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.sources import NodeManifests
from karpenter_members import API, CLAIMS, CRDS, NODES, POOLS, claimed, definition, gone, install, put
from small_fleet import Document, Fleet, Server

GROUPS = {"AKSNodeClass": ("karpenter.azure.com", "v1beta1"), "EC2NodeClass": ("karpenter.k8s.aws", "v1")}


def subnet_id(name: str) -> str:
    return f"/subscriptions/s/resourceGroups/rg/providers/Microsoft.Network/virtualNetworks/v/subnets/{name}"


def api_version(kind: str) -> str:
    return "/".join(GROUPS[kind])


def path_of(kind: str) -> str:
    return f"/apis/{api_version(kind)}/{kind.lower()}es"


def a_class(kind: str, name: str, spec: Document) -> Document:
    return {"apiVersion": api_version(kind), "kind": kind, "metadata": {"name": name}, "spec": spec}


@pytest.fixture
def classes(node_server: Server) -> t.Iterator[Server]:
    """Two pools, one of a class of Azure with two nodes, one of a class of AWS with one in a zone of two subnets."""
    install(node_server)
    for kind, (group, version) in GROUPS.items():
        document = definition(kind, f"{kind.lower()}es")
        document["metadata"]["name"] = f"{kind.lower()}es.{group}"
        document["spec"]["group"], document["spec"]["versions"][0]["name"] = group, version
        put(node_server, CRDS, document)
    until_served(node_server)
    specs: dict[str, Document] = {
        "AKSNodeClass": {"vnetSubnetID": subnet_id("old"), "imageFamily": "Ubuntu", "userData": "secret"},
        "EC2NodeClass": {"subnetSelectorTerms": [{"id": "subnet-1"}, {"id": "subnet-2"}], "role": "nodes"},
    }
    nodes = {"AKSNodeClass": ("az-0", "az-1"), "EC2NodeClass": ("aws-0",)}
    try:
        for kind, spec in specs.items():
            put(node_server, path_of(kind), a_class(kind, "default", spec))
            reference = {"group": GROUPS[kind][0], "kind": kind, "name": "default"}
            pool = {"template": {"spec": {"nodeClassRef": reference}}, "disruption": {"consolidateAfter": "0s"}}
            put(
                node_server,
                POOLS,
                {"apiVersion": API, "kind": "NodePool", "metadata": {"name": kind.lower()}, "spec": pool},
            )
            for name in nodes[kind]:
                claimed(node_server, name, kind.lower(), kind="m", cpu="4")
                node_server.patch(f"{CLAIMS}/{name}", {"spec": {"nodeClassRef": reference}})
        subnets = [{"id": "subnet-1", "zone": "a"}, {"id": "subnet-2", "zone": "a"}]
        node_server.patch(f"{path_of('EC2NodeClass')}/default/status", {"status": {"subnets": subnets}})
        yield node_server
    finally:
        for kind, names in nodes.items():
            for name in names:
                gone(node_server, f"{CLAIMS}/{name}")
                gone(node_server, f"{NODES}/{name}")
            gone(node_server, f"{POOLS}/{kind.lower()}")
            gone(node_server, f"{path_of(kind)}/default")


def until_served(server: Server) -> None:
    end = time.monotonic() + 180
    while any(server.client.send("GET", path_of(kind), expect=(404,)).status != 200 for kind in GROUPS):
        assert time.monotonic() < end, "the kinds are not served in time"
        time.sleep(0.1)


def changed(fleet: Fleet, document: Document, **more: t.Any) -> tuple[NodeReport, ClassChange]:
    path = fleet.folder / "classes.yml"
    path.write_text(yaml.safe_dump(document))
    options = {"changes": [str(path)], "network": None, "allow_subnet_move": False, **more}
    report = node_report(fleet.session(), NodeManifests(), ReadingWish(), "", None, ChangeQuestion.of(options))
    (found,) = report.changes
    return report, found


def patched(fleet: Fleet, document: Document, write: bool = True, **more: t.Any) -> ManualReport:
    wish = ManualWish(member="n1", state="patched", patches=(document,), **more)
    return manual(fleet.session(), wish, write)


def refused(fleet: Fleet, document: Document, **more: t.Any) -> list[str]:
    with pytest.raises(FleetError) as error:
        patched(fleet, document, **more)
    return [each.code for each in error.value.problems]


def network(folder: Path) -> str:
    path = folder / "network.json"
    small = {
        subnet_id("old"): {"prefixes": ["10.1.0.0/24"]},
        subnet_id("new"): {"prefixes": ["10.2.0.0/29"], "used": 2},
    }
    path.write_text(json.dumps({"subnets": small, "podCIDRs": ["10.2.0.0/16"]}))
    return str(path)


def test_an_edit_of_a_class_is_held_against_the_members(node_fleet: Fleet, classes: Server) -> None:
    """D0-41 to D0-46, D0-48: refused with all that speaks against it, and with the nodes that it would rotate."""
    moved = a_class("AKSNodeClass", "default", {"vnetSubnetID": subnet_id("new")})
    report, found = changed(node_fleet, moved, network=network(node_fleet.folder))
    assert [each.code for each in found.findings] == [
        "subnet-migration-unsupported", "subnet-overlap", "subnet-too-small", "subnet-routes-unconfirmed",
    ]  # fmt: skip
    assert {each.code for each in report.problems} == {each.code for each in found.findings[:3]}
    assert sorted(found.drifted) == ["az-0", "az-1"] and found.count == 2 and not found.routes_confirmed
    assert found.changed == (("spec.vnetSubnetID", "static"),)
    _report, forced = changed(node_fleet, moved, allow_subnet_move=True)
    assert forced.problems == () and sorted(forced.drifted) == ["az-0", "az-1"]
    _report, same = changed(node_fleet, a_class("AKSNodeClass", "default", {"userData": "secret"}))
    assert same.drifted == {} and [each.code for each in same.findings] == ["unread-field"]

    terms = {"subnetSelectorTerms": [{"id": "subnet-3"}]}
    _report, left = changed(node_fleet, a_class("EC2NodeClass", "default", terms))
    assert list(left.drifted) == ["aws-0"] and left.drifted["aws-0"].startswith("SubnetDrift: no subnet of zone a")
    terms["subnetSelectorTerms"].append({"id": "subnet-2"})
    _report, partly = changed(node_fleet, a_class("EC2NodeClass", "default", terms))
    assert partly.drifted == {} and list(partly.unsure) == ["aws-0"]
    with pytest.raises(FleetError) as error:
        changed(node_fleet, a_class("EC2NodeClass", "other", terms))
    assert error.value.code == "no-such-object"


def test_a_new_subnet_is_written_once_its_routes_are_confirmed(node_fleet: Fleet, classes: Server) -> None:
    """D0-41, D0-44, D0-46: nothing at all is written before. A probe's result confirms as a person does."""
    mend = a_class("AKSNodeClass", "default", {"vnetSubnetID": subnet_id("new")})
    path = f"{path_of('AKSNodeClass')}/default"
    with classes.writing(("leases", "events")) as writes:
        bad = refused(node_fleet, mend, consent=True, routes=True, network=network_of(network(node_fleet.folder)))
        assert bad == ["subnet-migration-unsupported", "subnet-overlap", "subnet-too-small"]
        held = refused(node_fleet, mend, subnet_move=True)
        assert held == ["subnet-routes-unconfirmed", "drift-without-consent"]
        assert refused(node_fleet, mend, subnet_move=True, consent=True) == ["subnet-routes-unconfirmed"]
        told = patched(node_fleet, mend, write=False, subnet_move=True)
        assert sorted(told.nodes) == ["az-0", "az-1"] and len(told.unconfirmed) == 1
        assert "unconfirmed: AKSNodeClass/default: confirm that nodes" in "\n".join(told.text)
        assert refused(node_fleet, a_class("AKSNodeClass", "other", {})) == ["no-such-object"]
    assert writes == []
    found = patched(node_fleet, mend, subnet_move=True, consent=True, routes=True)
    assert found.changed and found.unconfirmed == () and list(found.patches) == [path]
    stored = t.cast(Document, classes.get(path))["spec"]
    assert stored["vnetSubnetID"] == subnet_id("new") and stored["imageFamily"] == "Ubuntu"
    assert not patched(node_fleet, mend).changed

    back = a_class("AKSNodeClass", "default", {"vnetSubnetID": subnet_id("old")})
    probed = Network(reached=(subnet_id("old"),))
    assert patched(node_fleet, back, subnet_move=True, consent=True, network=probed).changed
    secret = a_class("AKSNodeClass", "default", {"userData": "another"})
    assert refused(node_fleet, secret) == ["drift-without-consent"]
    done = patched(node_fleet, secret, consent=True)
    assert sorted(done.nodes) == ["az-0", "az-1"] and "another" not in f"{done.patches} {done.nodes} {done.text}"
    terms = a_class("EC2NodeClass", "default", {"subnetSelectorTerms": [{"id": "subnet-2"}, {"id": "subnet-3"}]})
    assert refused(node_fleet, terms) == ["drift-without-consent"]
    assert list(patched(node_fleet, terms, consent=True).nodes) == ["aws-0"]
