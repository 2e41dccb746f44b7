# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Edits of pools and classes held against members; and the file about their network."""

from __future__ import annotations

import typing as t
from dataclasses import replace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.class_changes import (
    ClassChange,
    class_changes,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.member_nodes import (
    MemberNodes,
    made_of,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.network_file import read_network
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.subnet_change import Network
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.node_pool import decode_node_pool
from ansible_collections.gitops.fleet.plugins.module_utils._report.nodes.changes_text import class_changes_text
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.disruption.nodes_made import (
    a_claim,
    a_node,
    a_pool,
)


def subnet_id(name: str) -> str:
    return f"/subscriptions/s/resourceGroups/rg/providers/Microsoft.Network/virtualNetworks/v/subnets/{name}"


OLD, NEW = subnet_id("old"), subnet_id("new")
FILE: dict[str, t.Any] = {
    "subnets": {OLD: {"prefixes": ["10.1.0.0/24"]}, NEW: {"prefixes": ["10.2.0.0/29"], "used": 2}},
    "podCIDRs": ["10.244.0.0/16"],
    "serviceCIDRs": ["10.0.0.0/16"],
}


NOTHING = Network()


def member(subnet: str = OLD) -> MemberNodes:
    nodes = (a_node("a"), a_node("b"))
    spec = {"vnetSubnetID": subnet, "imageFamily": "Ubuntu", "tags": {"a": "b"}}
    found = made_of("NodeClass", {"kind": "AKSNodeClass", "metadata": {"name": "default"}, "spec": spec})
    return MemberNodes(
        name="m1", karpenter=True, nodes=nodes, claims=tuple(map(a_claim, nodes)), pools=(a_pool(),),
        classes=(t.cast(t.Any, found),),
    )  # fmt: skip


def changed(spec: t.Any, network: Network = NOTHING, here: MemberNodes | None = None, **more: t.Any) -> ClassChange:
    document = {"kind": "AKSNodeClass", "metadata": {"name": "default"}, "spec": spec}
    (found,) = class_changes([here or member()], [document], network, **more)
    return found


def test_a_move_between_good_subnets_is_refused_and_lists_who_drifts() -> None:
    """D0-41, D0-44, D0-45, D0-46, D0-48, for the nodes that the member has."""
    network = read_network(FILE, "network.json")
    found = changed({"vnetSubnetID": NEW}, network)
    codes = {each.code: each.level for each in found.findings}
    assert codes == {
        "subnet-migration-unsupported": "error", "subnet-too-small": "error", "subnet-routes-unconfirmed": "note",
    }  # fmt: skip
    assert found.as_dict()["refused"] and not found.as_dict()["confirmed"]
    assert set(found.drifted) == {"a", "b"} and found.count == 2
    assert found.changed == (("spec.vnetSubnetID", "static"),), "what a file leaves out stays"
    moved = changed({"vnetSubnetID": NEW}, network, override=True)
    assert [each.code for each in moved.problems] == ["subnet-too-small"]
    assert changed({"vnetSubnetID": NEW}, network, member(subnet_id("gone"))).problems[0].code == "subnet-too-small"
    lines = class_changes_text([found])
    assert max(map(len, lines)) <= 80
    text = " ".join(" ".join(lines).split())
    assert "AKSNodeClass default, 2 nodes: spec.vnetSubnetID (static)" in text and "a drifts NodeClassDrift" in text


def test_fields_outside_of_the_hash_rotate_nothing_and_a_null_takes_a_field_away() -> None:
    assert changed({"tags": {"c": "d"}}).drifted == {}
    assert "no node will be drifted by it" in " ".join(class_changes_text([changed({"tags": {"c": "d"}})]))
    assert set(changed({"imageFamily": None}).drifted) == {"a", "b"}
    secret = changed({"userData": "token"})
    assert [each.code for each in secret.findings] == ["unread-field"] and secret.drifted == {}


def test_pools_are_judged_by_their_fields_too() -> None:
    """D0-30, D0-36: the template rotates, behaviour does not."""
    metadata = {"name": "p"}
    template = {"kind": "NodePool", "metadata": metadata, "spec": {"template": {"metadata": {"labels": {"a": "b"}}}}}
    (found,) = class_changes([member()], [template], Network())
    assert set(found.drifted) == {"a", "b"}
    (found,) = class_changes([member()], [{"kind": "NodePool", "metadata": metadata, "spec": {"weight": 9}}], Network())
    assert found.drifted == {} and found.changed == (("spec.weight", "behaviour"),)


def test_a_pool_without_metadata_in_a_file_stops_nothing() -> None:
    nameless = replace(member(), pools=(decode_node_pool({"spec": {}}),))
    (found,) = class_changes([nameless], [{"kind": "NodePool", "spec": {"weight": 1}}], Network())
    assert (found.name, dict(found.changed)) == ("", {"spec.weight": "behaviour"})


def test_what_no_member_has_is_refused_all_at_once() -> None:
    documents = [{"kind": kind, "metadata": {"name": "none"}} for kind in ("AKSNodeClass", "EC2NodeClass", "NodePool")]
    with pytest.raises(FleetError) as error:
        class_changes([member()], documents, Network())
    assert [each.code for each in error.value.problems] == ["no-such-object"] * 3
    with pytest.raises(FleetError) as error:
        class_changes([member()], [{"kind": "Deployment", "metadata": {"name": "x"}}], Network())
    assert error.value.code == "unknown-kind"


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"subnets": []}, "an object by identity"),
        ({"subnets": {"a": {"prefixes": "10.0.0.0/8"}}}, "prefixes, and used"),
        ({"subnets": {"a": {"prefixes": ["10.0.0.0/8"], "used": -1}}}, "prefixes, and used"),
        ({"podCIDRs": "10.0.0.0/8"}, "a list of ranges"),
        ({"podCIDRs": ["10.0.0.0/99"]}, "10.0.0.0/99"),
        ({"podCIDRs": [""]}, "''"),
        ({"subnets": {"a": {"prefixes": [""]}}}, "''"),
        ({"reached": OLD}, "identities of subnets"),
        ({"addressesPerNode": 0}, "a number from 1"),
        ({"dockerBridgeCIDR": 7}, "a range is wanted"),
        ({"pods": 7}, "there is no field 'pods'"),
    ],
)
def test_a_file_about_the_network_is_checked_whole(more: dict[str, t.Any], told: str) -> None:
    with pytest.raises(FleetError) as error:
        read_network({**FILE, **more}, "network.json")
    assert error.value.code == "network-invalid" and told in str(error.value)


def test_without_a_file_nothing_is_known_of_the_network() -> None:
    found = changed({"vnetSubnetID": NEW})
    assert [each.code for each in found.findings] == ["subnet-migration-unsupported", "subnet-routes-unconfirmed"]
    with pytest.raises(FleetError):
        read_network([], "network.json")


def test_a_subnet_that_was_probed_needs_nobody_to_look_d0_46() -> None:
    reached = read_network({**FILE, "reached": [NEW.upper()]}, "network.json")
    found = changed({"vnetSubnetID": NEW}, reached)
    assert found.routes_confirmed and "subnet-routes-unconfirmed" not in {each.code for each in found.findings}
    assert not changed({"vnetSubnetID": NEW}, read_network({**FILE, "reached": [OLD]}, "network.json")).routes_confirmed


@pytest.mark.parametrize(
    "part", [{"metadata": ["default"]}, {"metadata": "default"}, {"spec": ["x"]}, {"spec": "x"}, {"spec": 7}]
)
def test_documents_of_another_shape_are_refused(part: dict[str, t.Any]) -> None:
    for kind in ("AKSNodeClass", "NodePool"):
        with pytest.raises(FleetError) as error:
            class_changes([member()], [{"kind": kind, "metadata": {"name": "default"}, "spec": {}, **part}], Network())
        assert error.value.code == "wrong-type"


def test_a_pool_that_is_stored_without_a_spec_is_changed_all_the_same() -> None:
    bare = replace(member(), pools=(decode_node_pool({"metadata": {"name": "p"}}),))
    (found,) = class_changes(
        [bare], [{"kind": "NodePool", "metadata": {"name": "p"}, "spec": {"weight": 1}}], Network()
    )
    assert found.changed == (("spec.weight", "behaviour"),)


def test_keys_that_are_no_texts_stand_beside_others() -> None:
    assert [path for path, _kind in changed({"tags": {1: "a", None: "b", "c": "d"}}).changed] == [
        "spec.tags.1", "spec.tags.None", "spec.tags.c",
    ]  # fmt: skip
