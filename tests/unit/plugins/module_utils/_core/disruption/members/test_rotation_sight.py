# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What members hold as a rotation sees it."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.state_node import read_node, read_node_claim
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.member_nodes import MemberNodes
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.rotation_sight import RotationGround
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.rotation.decide import begin, decide
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.node_pool import decode_node_pool
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.reading import read
from ansible_collections.gitops.fleet.tests.data.maintenance_parts import freeze, maintenance, rotation

NOW = datetime(2026, 3, 28, 12, tzinfo=UTC)
Document = dict[str, t.Any]
ALL = {"pace": {"firstWave": 99}}


def node(name: str, version: str = "v1.36.3", image: str = "Linux 1", **labels: str) -> Document:
    info = {"kubeletVersion": version, "osImage": image}
    metadata = {"name": name, "uid": f"u-{name}", "labels": labels, "creationTimestamp": "2026-03-18T12:00:00Z"}
    status = {"conditions": [{"type": "Ready", "status": "True"}], "nodeInfo": info}
    return {"metadata": metadata, "status": status}


def member(name: str, *nodes: Document, **parts: t.Any) -> MemberNodes:
    return MemberNodes(name=name, nodes=tuple(map(read_node, nodes)), **parts)


def ground(document: Document, *others: Document) -> RotationGround:
    windows = t.cast(t.Any, tuple(read(each).object for each in others))
    return RotationGround(rotation=t.cast(t.Any, read(document).object), maintenance=windows)


def first(wanted: RotationGround, *members: MemberNodes) -> t.Any:
    """The nodes that begin at once, and why each other one does not."""
    sight = wanted.sight(members, NOW)
    state = begin(wanted.due(members, NOW), sight, wanted.rotation.spec.pace, NOW)
    found = decide(state, sight, NOW)
    held = {each.name: each.blockers[0] for each in found.waits}
    return sorted(each.node for each in found.acts), held


@pytest.mark.parametrize(
    ("due", "names"),
    [
        ({}, {"old", "same"}),
        ({"versionOtherThan": "1.36.3"}, {"old"}),
        ({"imageOtherThan": "Linux 2"}, {"same"}),
        ({"olderThan": "240h"}, {"old", "same"}),
        ({"olderThan": "241h"}, set()),
        ({"olderThan": "241h", "versionOtherThan": "v1.36.3"}, {"old"}),
    ],
)
def test_a_node_is_due_if_anything_asked_for_holds(due: Document, names: set[str]) -> None:
    here = member("m1", node("old", "v1.35.1", "Linux 2", p="b"), node("same", p="b"), node("other"))
    wanted = ground(rotation(nodes={"byLabel": "p=b"}, due=due))
    assert set(wanted.due([here], NOW)) == {f"m1/{name}" for name in names}


def test_the_budget_of_the_node_pool_holds_too_and_counts_nodes_that_are_not_selected() -> None:
    """Of ten nodes of a pool two are selected: the pool's own budget of one node is over all ten."""
    labels = {"karpenter.sh/nodepool": "kp", "karpenter.sh/initialized": "true"}
    names = [f"n{at}" for at in range(10)]
    claims = [
        read_node_claim({"metadata": {"name": name, "labels": labels}, "status": {"nodeName": name}}) for name in names
    ]
    disruption = {"consolidateAfter": "0s", "budgets": [{"nodes": "10%"}]}
    pool = decode_node_pool({"metadata": {"name": "kp"}, "spec": {"disruption": disruption}})
    nodes = [node(name, **labels, **({"p": "b"} if at < 2 else {})) for at, name in enumerate(names)]
    here = member("m1", *nodes, claims=tuple(claims), pools=(pool,), karpenter=True)
    wanted = ground(rotation({"nodes": "100%"}, nodes={"byLabel": "p=b"}, **ALL))
    begins, held = first(wanted, here)
    assert begins == ["m1/n0"] and "NodePool kp on m1: 10 nodes count, limit 1" in held["m1/n1"].text


def test_budgets_of_the_fleet_are_over_all_members_that_they_name() -> None:
    members = [member(f"m{at}", node("a"), node("b")) for at in range(3)]
    whole = rotation({"nodes": "100%"}, **ALL)
    begins, held = first(ground(whole, maintenance(budgets=[{"name": "few", "nodes": "50%"}])), *members)
    assert len(begins) == 3 and {each.code for each in held.values()} == {"budget"}
    begins, held = first(ground(whole, maintenance(budgets=[{"name": "one", "members": "1"}])), *members)
    assert begins == ["m0/a", "m0/b"]
    assert held["m1/a"].text == (
        "budget one of FleetMaintenance standard: 1 members may have nodes in flight, and m0 have"
    )


def test_in_a_freeze_nothing_begins_and_the_end_is_known() -> None:
    frozen = maintenance(freezes=[freeze(start="2026-03-28", end="2026-03-29")])
    wanted = ground(rotation(**ALL), frozen)
    begins, held = first(wanted, member("m1", node("a")))
    assert begins == [] and held["m1/a"].code == "window" and "2026-03-30T00:00:00Z" in held["m1/a"].text


def test_a_member_that_cannot_be_read_has_not_lost_its_nodes() -> None:
    """Whoever is in flight there stays so, and whoever waits goes on waiting (a failed read is no empty answer)."""
    one, two = member("m1", node("a"), node("b")), member("m2", node("c"))
    wanted = ground(rotation({"nodes": "1"}, pace={"firstWave": 99, "nodeTimeoutSeconds": 0}))
    sight = wanted.sight([one, two], NOW)
    state = decide(begin(wanted.due([one, two], NOW), sight, wanted.rotation.spec.pace, NOW), sight, NOW).state
    assert {each.name: each.phase for each in state.nodes} == {
        "m1/a": "Draining", "m1/b": "Waiting", "m2/c": "Draining",
    }  # fmt: skip
    flying = {each.pool for each in state.nodes}
    blind = wanted.sight([two], NOW, unknown={"m1": "no answer"}, flying=flying)
    found = decide(state, blind, NOW)
    assert found.state.nodes == state.nodes and found.acts == ()
    assert [each.blockers[0].text for each in found.waits] == ["m1 could not be read: no answer"]
    assert decide(state, wanted.sight([replace(one, nodes=()), two], NOW), NOW).state.nodes[0].phase == "Returning"


def test_what_comes_for_a_node_may_lack_the_label_that_it_was_selected_by() -> None:
    one = member("m1", node("a", host="a"), node("b", host="b"))
    wanted = ground(rotation(nodes={"byLabel": "host=a"}))
    sight = wanted.sight([one], NOW)
    state = decide(begin(wanted.due([one], NOW), sight, wanted.rotation.spec.pace, NOW), sight, NOW).state
    after = member("m1", node("b", host="b"), node("c", host="c"))
    flying = {each.pool for each in state.nodes}
    found = decide(state, wanted.sight([after], NOW, flying=flying), NOW)
    assert [(each.phase, each.replacement) for each in found.state.nodes] == [("Rotated", "m1/c")]


def test_a_node_that_karpenter_overlooks_is_rotated_all_the_same() -> None:
    """It has the label of a pool, and neither a NodeClaim nor an instance type: simulated nodes are so."""
    one = member("m1", node("a", **{"karpenter.sh/nodepool": "default"}))
    assert one.state.nodes == () and [each.name for each in one.whole.nodes] == ["a"]
    assert first(ground(rotation(**ALL)), one)[0] == ["m1/a"]
