# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""How a member is reached, carried elsewhere: from a file, from a Secret on the hub, or not at all."""

from __future__ import annotations

import base64
import json
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_member import FleetMember
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.carried import carried_kubeconfig


class Hub:
    """A hub with one Secret, which holds another kubeconfig with each read until the last one is reached."""

    def __init__(self, *kubeconfigs: dict[str, t.Any]) -> None:
        self.kubeconfigs = list(kubeconfigs)

    def get(self, path: str) -> dict[str, t.Any]:
        assert path == "/api/v1/namespaces/fleet/secrets/east"
        found = self.kubeconfigs.pop(0) if len(self.kubeconfigs) > 1 else self.kubeconfigs[0]
        return {"data": {"kubeconfig": base64.b64encode(json.dumps(found).encode()).decode()}}


def document(**user: t.Any) -> dict[str, t.Any]:
    return {
        "current-context": "east",
        "clusters": [{"name": "c", "cluster": {"server": "https://192.0.2.1:6443"}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "east", "context": {"cluster": "c", "user": "u"}}],
    }


def member(**connection: t.Any) -> FleetMember:
    return decode(FleetMember, {"metadata": {"name": "east"}, "spec": {"connection": connection}})


def test_from_a_file(tmp_path: Path):
    (tmp_path / "token").write_text("t0ken")
    (tmp_path / "east").write_text(json.dumps(document(tokenFile="token")))
    made = carried_kubeconfig(member(kubeconfig="$HOME/east", context="east"), None, {"HOME": str(tmp_path)})
    assert made and made["users"][0]["user"] == {"token": "t0ken"}


def test_from_a_secret_which_must_not_name_files_of_ours(tmp_path: Path):
    (tmp_path / "token").write_text("t0ken")
    wanted = member(secretRef={"name": "east", "namespace": "fleet", "key": "kubeconfig"})
    made = carried_kubeconfig(wanted, t.cast(t.Any, Hub(document(token="t"))), {})
    assert made and made["users"][0]["user"] == {"token": "t"}
    with pytest.raises(FleetError) as refused:
        carried_kubeconfig(wanted, t.cast(t.Any, Hub(document(tokenFile=str(tmp_path / "token")))), {})
    assert refused.value.code == "kubeconfig-invalid"


def test_what_was_judged_is_what_is_carried_though_the_secret_changes_meanwhile(tmp_path: Path):
    (tmp_path / "token").write_text("t0ken")
    harmless, reaching = document(token="t"), document(tokenFile=str(tmp_path / "token"))
    wanted = member(secretRef={"name": "east", "namespace": "fleet", "key": "kubeconfig"})
    made = carried_kubeconfig(wanted, t.cast(t.Any, Hub(harmless, reaching)), {})
    assert made and made["users"][0]["user"] == {"token": "t"}


@pytest.mark.parametrize("login", [{"exec": {"command": "sh"}}, {"auth-provider": {"name": "gcp"}}], ids=str)
def test_no_command_of_a_secret_is_carried_beside_a_token(login: dict[str, t.Any]):
    wanted = member(secretRef={"name": "east", "namespace": "fleet", "key": "kubeconfig"})
    with pytest.raises(FleetError) as refused:
        carried_kubeconfig(wanted, t.cast(t.Any, Hub(document(token="t", **login))), {})
    assert refused.value.code == "kubeconfig-invalid"


def test_a_member_that_is_reached_from_inside_has_none():
    assert carried_kubeconfig(member(inCluster=True), None, {}) is None
