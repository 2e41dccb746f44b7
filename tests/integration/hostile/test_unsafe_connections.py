# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A member whose certificate is not checked is named by every verb that goes to it; and what a Secret on the hub says
of a connection is told, or refused."""

from __future__ import annotations

import base64
import json
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.join import MemberSpec, join
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.connection_notes import CONNECTION_NOTES
from playing import Player
from small_fleet import OURS, Fleet

PLAYBOOK = Path(__file__).parent / "plays" / "unsafe.yml"
NOT_CHECKED = "its certificate is not checked: anybody on the way can pose as it (insecure-skip-tls-verify)"


def changed(kubeconfig: Path, **cluster: t.Any) -> dict[str, t.Any]:
    """The kubeconfig with other things said of its cluster; None takes one away."""
    document = t.cast("dict[str, t.Any]", yaml.safe_load(kubeconfig.read_text()))
    said = {**document["clusters"][0]["cluster"], **{key.replace("_", "-"): value for key, value in cluster.items()}}
    document["clusters"][0]["cluster"] = {key: value for key, value in said.items() if value is not None}
    return document


def test_every_verb_names_the_member_whose_certificate_it_did_not_check(file_fleet: Fleet, tmp_path: Path) -> None:
    fleet = file_fleet
    unsafe = changed(fleet.kubeconfig("m1"), certificate_authority_data=None, insecure_skip_tls_verify=True)
    (tmp_path / "unsafe").write_text(json.dumps(unsafe))
    fleet.place()
    names = {"m1": tmp_path / "unsafe", "m2": fleet.kubeconfig("m2")}
    played = Player(tmp_path)(
        PLAYBOOK,
        records=fleet.options,
        members=[{"name": name, "kubeconfig": str(path)} for name, path in names.items()],
        placements=str(fleet.folder / "placements"),
        resources=str(fleet.folder / "resources"),
    )
    assert played.code == 0, played.output
    results = json.loads((tmp_path / "results.json").read_text())
    told = {name: result.get("connection_notes") for name, result in results.items()}
    assert told == {**dict.fromkeys(("join", "facts", "plan", "apply"), {"m1": [NOT_CHECKED]}), "info": None}
    for name in ("join", "facts", "plan", "apply"):
        assert len(results[name]["warnings"]) == 1 and f"m1: {NOT_CHECKED}" in str(results[name]["warnings"][0])
    flat = " ".join(played.output.split())
    assert flat.count("m1: its certificate is not checked") >= 1 and "Unverified HTTPS request" not in flat


def put(fleet: Fleet, document: dict[str, t.Any]) -> MemberSpec:
    """A kubeconfig in a Secret on the hub, and the wish to join by it."""
    assert fleet.hub is not None
    data = {"kubeconfig": base64.b64encode(json.dumps(document).encode()).decode()}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "m1"}, "data": data}
    try:
        fleet.hub.client.delete(f"{OURS}/secrets/m1")
    except ApiError as error:
        assert error.code == "not-found"
    fleet.hub.client.post(f"{OURS}/secrets", secret)
    return MemberSpec(
        name="m1", connection={"secretRef": {"name": "m1", "namespace": "gitops-fleet", "key": "kubeconfig"}}
    )


@pytest.mark.parametrize(
    "said",
    [
        {"server": "http://127.0.0.1:8080"},
        {"server": "https://169.254.169.254"},
        {"server": "https://0xa9fea9fe"},
        {"server": "unix:///run/docker.sock"},
        {"proxy_url": "http://169.254.169.254"},
        {"certificate_authority_data": None, "certificate_authority": "/etc/ssl/cert.pem"},
    ],
)
def test_a_secret_on_the_hub_sends_us_nowhere_but_to_servers(hub_fleet: Fleet, said: dict[str, t.Any]) -> None:
    wish = put(hub_fleet, changed(hub_fleet.kubeconfig("m1"), **said))
    with pytest.raises(FleetError) as caught:
        join(hub_fleet.session(), [wish], write=True)
    assert caught.value.code == "kubeconfig-invalid" and "Secret gitops-fleet/m1" in caught.value.where
    assert hub_fleet.records.list("FleetMember") == ()


def test_what_a_secret_says_of_its_certificate_is_told(hub_fleet: Fleet) -> None:
    CONNECTION_NOTES.take()
    wish = put(hub_fleet, changed(hub_fleet.kubeconfig("m1"), tls_server_name="kubernetes.default.svc"))
    assert join(hub_fleet.session(), [wish], write=True).joined == ("m1",)
    (note,) = CONNECTION_NOTES.take()["m1"]
    assert "'kubernetes.default.svc', as the Secret says (tls-server-name)" in note
