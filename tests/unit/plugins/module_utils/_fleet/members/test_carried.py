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
    """A hub with one Secret."""

    def __init__(self, kubeconfig: dict[str, t.Any]) -> None:
        self.kubeconfig = kubeconfig

    def get(self, path: str) -> dict[str, t.Any]:
        assert path == "/api/v1/namespaces/fleet/secrets/east"
        return {"data": {"kubeconfig": base64.b64encode(json.dumps(self.kubeconfig).encode()).decode()}}


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


def test_a_member_that_is_reached_from_inside_has_none():
    assert carried_kubeconfig(member(inCluster=True), None, {}) is None
