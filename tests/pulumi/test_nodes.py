# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NodePools and node classes of members: what is registered, and what is refused before anything is."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pulumi
import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError

from fleet_pulumi.fleet import make_fleet
from fleet_pulumi.labels import ENVIRONMENT
from fleet_pulumi.node_changes import tell_node_changes
from fleet_pulumi.settings import Settings, read_settings

SUBNET = "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Network/virtualNetworks/v/subnets/nodes"
POOL = {
    "template": {
        "spec": {
            "nodeClassRef": {"group": "karpenter.azure.com", "kind": "AKSNodeClass", "name": "default"},
            "requirements": [{"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}],
        }
    },
    "disruption": {"consolidateAfter": "0s"},
}
NETWORK = {"subnets": {SUBNET: {"prefixes": ["10.2.0.0/24"]}}, "podCIDRs": ["10.2.0.0/16"]}


def settings(folder: Path, member: t.Mapping[str, t.Any] | None = None, **more: t.Any) -> Settings:
    """A member that is not there yet."""
    row = {
        "name": "m1",
        "node_classes": [{"name": "default", "spec": {"vnetSubnetID": SUBNET}}],
        "node_pools": [{"name": "general", "spec": POOL}],
    }
    return read_settings("test", folder, {"hub": {"name": "hub"}, "members": [{**row, **(member or {})}]} | more)


def test_pools_follow_their_classes_and_are_told_apart_from_those_of_others(run, tmp_path):
    ran = run(lambda: make_fleet(settings(tmp_path, protect=True)))
    pool, node_class = ran.named("m1/NodePool/general"), ran.named("m1/AKSNodeClass/default")
    for each in (pool, node_class):
        assert (each.parent, each.provider, each.deleted_with) == ("m1/nodes", "m1/provider", "m1")
        assert each.protect and each.inputs["metadata"]["labels"] == {ENVIRONMENT: "test"}
        assert each.inputs["metadata"]["annotations"] == {"pulumi.com/patchFieldManager": "pulumi-kubernetes"}
    assert "m1/AKSNodeClass/default" in pool.depends_on
    assert node_class.inputs["spec"] == {"vnetSubnetID": SUBNET}


def test_an_overlapping_range_is_refused_before_anything_is_registered_d0_47(tmp_path):
    with pytest.raises(pulumi.RunError) as refused:
        tell_node_changes(settings(tmp_path, {"network": NETWORK}))
    assert all(each in str(refused.value) for each in ("subnet-overlap", "10.2.0.0/24", "10.2.0.0/16", "m1"))


def test_what_an_api_server_would_refuse_is_refused_with_the_settings(tmp_path):
    """All at once, each with its place."""
    wrong = {
        "node_pools": [{"name": "general", "spec": {**POOL, "disruption": {"budgets": [{"nodes": "many"}]}}}],
        "node_classes": [{"name": "default", "spec": {"vnetSubnetID": 7, "osDiskSizeGB": 1}}],
        "network": {"subnets": {SUBNET: ["10.2.0.0/24"]}},
    }
    with pytest.raises(FleetError) as refused:
        settings(tmp_path, wrong)
    places = {each.where.split(" ")[0] for each in refused.value.problems}
    assert places == {
        "members[0].node_pools[0]",
        "members[0].node_classes[0]",
        "members[0].network",
    }


def test_a_member_without_pools_of_ours_is_not_asked(tmp_path):
    member = {"name": "m1", "kubeconfig": "/nowhere"}
    hub = {"name": "hub", "kubeconfig": "/elsewhere"}
    tell_node_changes(read_settings("test", tmp_path, {"backend": "existing", "hub": hub, "members": [member]}))


@pytest.mark.parametrize("skip", [True, False])
def test_a_member_that_does_not_answer_is_warned_of_where_that_is_borne(tmp_path, monkeypatch, skip):
    """Members are asked at once: the others are not waited for by each."""
    document = {
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {"token": "x"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
    }
    hub, member = tmp_path / "hub", tmp_path / "m1"
    member.write_text(json.dumps(document))
    row = {"kubeconfig": str(member)}
    found = settings(
        tmp_path, row, backend="existing", skipUnreachable=skip, hub={"name": "hub", "kubeconfig": str(hub)}
    )
    warned: list[str] = []
    monkeypatch.setattr(pulumi, "warn", warned.append)
    if skip:
        tell_node_changes(found)
        assert len(warned) == 1 and warned[0].startswith("m1: what becomes of its nodes is not known")
    else:
        with pytest.raises(pulumi.RunError, match="unreachable"):
            tell_node_changes(found)
        assert warned == []
