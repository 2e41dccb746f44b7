# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What members hold as a rotation sees it."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.state_node import read_node, read_node_claim
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.budget_answers import budget_answers
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.member_nodes import MemberNodes
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.rotation_sight import RotationGround
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.origins import DISRUPTED_BY
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.rotation.decide import begin, decide
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.rotation.input import OtherNode
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.rotation.state import (
    NodeProgress,
    RotationState,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.node_pool import decode_node_pool
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.reading import read
from ansible_collections.gitops.fleet.tests.data.maintenance_parts import freeze, maintenance, rotation

NOW = datetime(2026, 3, 28, 12, tzinfo=UTC)
Document = dict[str, t.Any]
ALL = {"pace": {"firstWave": 99}}


def node(
    name: str, version: str = "v1.36.3", image: str = "Linux 1", ready: str = "True", by: str = "", **labels: str
) -> Document:
    """``by``: which rotation has it in hand."""
    info = {"kubeletVersion": version, "osImage": image}
    metadata = {"name": name, "uid": f"u-{name}", "labels": labels, "creationTimestamp": "2026-03-18T12:00:00Z"}
    metadata |= {"annotations": {DISRUPTED_BY: f"{by}/{name}.1"}} if by else {}
    status = {"conditions": [{"type": "Ready", "status": ready}], "nodeInfo": info}
    return {"metadata": metadata, "status": status}


def member(name: str, *nodes: Document, **parts: t.Any) -> MemberNodes:
    return MemberNodes(name=name, nodes=tuple(map(read_node, nodes)), **parts)


def ground(document: Document, *others: Document) -> RotationGround:
    windows = t.cast(t.Any, tuple(read(each).object for each in others))
    return RotationGround(rotation=t.cast(t.Any, read(document).object), maintenance=windows)


def first(wanted: RotationGround, *members: MemberNodes, **seen: t.Any) -> t.Any:
    """The nodes that begin at once, and why each other one does not."""
    sight = wanted.step_input(members, NOW, **seen)
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


@pytest.mark.parametrize(
    ("spec", "taken"),
    [
        ({"memberSelector": {"byLabel": "env!=prod"}}, False),
        ({"memberSelector": {"byLabel": "!fragile"}}, False),
        ({"memberSelector": {"byLabel": "env=prod"}}, False),
        ({"members": ["m1"]}, True),
        ({}, True),
    ],
)
def test_no_selector_takes_a_member_whose_labels_nobody_knows(spec: Document, taken: bool) -> None:
    """It has no MemberCluster, and may be the very one that the selector is to spare."""
    lost = member("m1", node("a"), labels_known=False)
    wanted = ground(rotation(**spec))
    assert bool(wanted.due([lost], NOW)) is taken
    assert bool(wanted.step_input([lost], NOW).nodes) is taken


def test_what_was_made_since_a_rotation_began_or_came_for_a_node_of_it_is_not_left_of_it() -> None:
    """The node that came within the second in which it began is known by its name."""
    here = member("m1", node("left"), node("young"), node("came"), node("nobody-knows"))
    made = {"left": -1, "young": 1, "came": -1, "nobody-knows": None}
    nodes = tuple(
        replace(each, created_at=None if (at := made[each.name]) is None else NOW + timedelta(seconds=at))
        for each in here.nodes
    )
    wanted, now = ground(rotation(nodes=None)), NOW + timedelta(hours=1)
    before = RotationState(started_at=NOW, nodes=(NodeProgress(name="m1/gone", replacement="m1/came"),))
    found = wanted.due_of([replace(here, nodes=nodes)], now, before)
    assert sorted(found) == ["m1/left", "m1/nobody-knows"]
    assert set(wanted.due_of([replace(here, nodes=nodes)], now, replace(before, since=NOW - timedelta(hours=1)))) == {
        "m1/nobody-knows"
    }
    assert len(wanted.due([replace(here, nodes=nodes)], now)) == 4


def test_its_own_node_is_left_of_it_though_it_was_made_in_the_second_in_which_it_began() -> None:
    """It was given up then; one of the same name and another identity has come since."""
    here = member("m1", node("own"), node("again"), node("young"))
    nodes = tuple(replace(each, uid=each.name, created_at=NOW) for each in here.nodes)
    given_up = (NodeProgress(name="m1/own", uid="own"), NodeProgress(name="m1/again", uid="another"))
    before = RotationState(started_at=NOW, nodes=given_up)
    found = ground(rotation(nodes=None)).due_of([replace(here, nodes=nodes)], NOW + timedelta(hours=1), before)
    assert sorted(found) == ["m1/own"]


def test_an_image_is_known_by_the_name_that_its_platform_tells_too() -> None:
    label = {"kubernetes.azure.com/node-image-version": "U-2204-1.2"}
    here = member("m1", node("new", **label), node("old", **{next(iter(label)): "U-2204-1.1"}))
    wanted = ground(rotation(nodes=None, due={"imageOtherThan": "U-2204-1.2"}))
    assert wanted.due([here], NOW) == {"m1/old": "its image is U-2204-1.1"}


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
        "budget one of FleetMaintenance standard: 1 member may have nodes in flight, and m0 have"
    )


def test_a_member_of_which_nobody_knows_the_budgets_of_the_fleet_is_left_alone() -> None:
    """Its MemberCluster is gone, and its labels with it: it is not free of what is chosen by labels."""
    by_label = maintenance(budgets=[{"name": "prod", "nodes": "1", "memberSelector": {"byLabel": "env=prod"}}])
    known = member("m1", node("a"), node("b"), labels={"env": "prod"})
    lost = member("m2", node("a"), node("b"), labels_known=False)
    begins, held = first(ground(rotation({"nodes": "100%"}, **ALL), by_label), known, lost)
    assert begins == ["m1/a"] and held["m2/a"].code == "window"
    assert held["m2/a"].text.startswith("it has no MemberCluster, so that nobody knows which budgets of")
    over_all = maintenance(budgets=[{"name": "all", "nodes": "3"}])
    begins, held = first(ground(rotation({"nodes": "100%"}, **ALL), over_all), known, lost)
    assert begins == ["m1/a", "m1/b", "m2/a"]


ONE_NODE = maintenance(budgets=[{"name": "one", "nodes": "1"}])
ONE_MEMBER = maintenance(budgets=[{"name": "one", "members": "1"}])
ONLY_M1 = rotation({"nodes": "100%"}, members=["m1"], **ALL)


@pytest.mark.parametrize("budgets", [ONE_NODE, ONE_MEMBER])
@pytest.mark.parametrize("other", [node("c", ready="False"), node("c", by="green")])
def test_budgets_of_the_fleet_count_what_is_disrupted_on_members_that_take_no_part(
    budgets: Document, other: Document
) -> None:
    """As ``held`` of the budgets says: whoever disrupts a node there."""
    one, two = member("m1", node("a"), node("b")), member("m2", other)
    wanted = ground(ONLY_M1, budgets)
    begins, held = first(wanted, one, two)
    assert begins == [] and held["m1/a"].text.startswith("budget one of FleetMaintenance standard: ")
    whole = t.cast(t.Any, wanted.maintenance)
    told = {each.pool.member: each.held for each in budget_answers((one, two), (wanted.rotation,), whole, NOW)}
    assert [each.partition(":")[0] for each in told["m1"]] == ["budget one of FleetMaintenance standard"]


def test_a_share_of_the_fleet_s_nodes_is_one_of_all_members() -> None:
    one, two = member("m1", node("a"), node("b")), member("m2", *(node(f"n{at}") for at in range(6)))
    wanted = ground(ONLY_M1, maintenance(budgets=[{"name": "quarter", "nodes": "25%"}]))
    assert first(wanted, one, two)[0] == ["m1/a", "m1/b"]


@pytest.mark.parametrize("budgets", [ONE_NODE, ONE_MEMBER])
def test_what_is_in_flight_on_a_member_that_cannot_be_read_spends_budgets_of_the_fleet(budgets: Document) -> None:
    """It is out of sight and not out of the budget, and the members that this is over are those recorded."""
    one, two = member("m1", node("a")), member("m2", node("b"))
    wanted = replace(ground(rotation({"nodes": "100%"}, **ALL), budgets), fleet={"m1": {}, "m2": {}})
    sight = wanted.step_input([one, two], NOW)
    state = decide(begin(wanted.due([one, two], NOW), sight, wanted.rotation.spec.pace, NOW), sight, NOW).state
    assert [each.phase for each in state.nodes] == ["Draining", "Waiting"]
    blind = wanted.step_input([two], NOW, unknown={"m1": "no answer"}, flying={each.pool for each in state.nodes})
    found = decide(state, blind, NOW)
    assert found.acts == () and "budget one of FleetMaintenance" in found.waits[0].blockers[0].text


def test_a_share_of_members_is_one_of_all_recorded_members() -> None:
    half = maintenance(budgets=[{"name": "half", "members": "50%", "memberSelector": {"byLabel": "env=prod"}}])
    labels = {"m1": {"env": "prod"}, "m2": {"env": "prod"}, "m3": {"env": "prod"}, "m4": {"env": "prod"}, "x": {}}
    members = [member(name, node("a"), labels=labels[name]) for name in ("m1", "m2", "m3")]
    wanted = replace(ground(rotation({"nodes": "100%"}, **ALL), half), fleet=labels)
    assert first(wanted, *members, unknown={"m4": "no answer"})[0] == ["m1/a", "m2/a"]


def test_a_member_whose_node_is_lost_is_the_one_that_may_go_on_and_of_two_neither() -> None:
    wanted = ground(rotation({"nodes": "100%"}, **ALL), ONE_MEMBER)
    well, lost, other = (
        member("m1", node("a")),
        member("m2", node("b", ready="False"), node("c")),
        node("d", ready="False"),
    )
    begins, held = first(wanted, well, lost)
    assert begins == ["m2/b"] and held["m1/a"].code == "fleet-members"
    begins, held = first(wanted, member("m1", other), lost)
    assert begins == [] and held["m2/b"].code == "fleet-members"


@pytest.mark.parametrize("gone", [False, True])
@pytest.mark.parametrize("budgets", [ONE_NODE, ONE_MEMBER])
def test_what_other_rotations_have_in_flight_counts_before_their_nodes_say_so_and_after_these_are_gone(
    budgets: Document, gone: bool
) -> None:
    one, two = member("m1", node("a")), member("m2", *([] if gone else [node("b")]), node("c"))
    others = (OtherNode("m2/b", "m2/-", "green"),)
    wanted = ground(ONLY_M1, budgets)
    assert first(wanted, one, two)[0] == ["m1/a"]
    assert first(wanted, one, two, others=others)[0] == []


def test_a_node_that_another_rotation_is_about_to_take_is_left_to_it() -> None:
    one = member("m1", node("a"), node("b"))
    wanted = ground(rotation({"nodes": "2"}, **ALL))
    begins, held = first(wanted, one, others=(OtherNode("m1/a", "m1/-", "green"),))
    assert begins == ["m1/b"] and held["m1/a"].text == "node m1/a is in the hands of green"


def test_while_it_cannot_be_told_what_others_begin_nothing_begins() -> None:
    begins, held = first(ground(rotation(**ALL)), member("m1", node("a")), wait="another one decides")
    assert begins == [] and held["m1/a"].text == "another one decides"


def test_a_member_whose_labels_no_longer_select_it_keeps_the_nodes_that_were_begun_with() -> None:
    prod, test = (member("m1", node("a"), labels={"env": env}) for env in ("prod", "test"))
    wanted = ground(rotation(memberSelector={"byLabel": "env=prod"}))
    sight = wanted.step_input([prod], NOW)
    state = decide(begin(wanted.due([prod], NOW), sight, wanted.rotation.spec.pace, NOW), sight, NOW).state
    found = decide(state, wanted.step_input([test], NOW, flying={each.pool for each in state.nodes}), NOW)
    assert [each.phase for each in found.state.nodes] == ["Draining"]


def test_in_a_freeze_nothing_begins_and_the_end_is_known() -> None:
    frozen = maintenance(freezes=[freeze(start="2026-03-28", end="2026-03-29")])
    wanted = ground(rotation(**ALL), frozen)
    begins, held = first(wanted, member("m1", node("a")))
    assert begins == [] and held["m1/a"].code == "window" and "2026-03-30T00:00:00Z" in held["m1/a"].text


def test_nodes_of_a_member_whose_labels_are_not_known_wait_where_labels_choose_freezes_or_windows() -> None:
    """Without its MemberCluster nobody knows whether a freeze is for it."""
    frozen = maintenance(freezes=[freeze(start="2026-03-28", end="2026-03-29", memberSelector={"byLabel": "env=prod"})])
    unknown, known = member("m1", node("a"), labels_known=False), member("m2", node("b"))
    begins, held = first(ground(rotation({"nodes": "1"}, **ALL), frozen), unknown, known)
    assert begins == ["m2/b"] and held["m1/a"].code == "window" and "no MemberCluster" in held["m1/a"].text
    later = maintenance(freezes=[freeze(start="2027-03-28", end="2027-03-29")])
    assert first(ground(rotation({"nodes": "1"}, **ALL), later), unknown, known)[0] == ["m1/a", "m2/b"]


def test_a_member_that_cannot_be_read_has_not_lost_its_nodes() -> None:
    """Whoever is in flight there stays so, and whoever waits goes on waiting (a failed read is no empty answer)."""
    one, two = member("m1", node("a"), node("b")), member("m2", node("c"))
    wanted = ground(rotation({"nodes": "1"}, pace={"firstWave": 99, "nodeTimeoutSeconds": 0}))
    sight = wanted.step_input([one, two], NOW)
    state = decide(begin(wanted.due([one, two], NOW), sight, wanted.rotation.spec.pace, NOW), sight, NOW).state
    assert {each.name: each.phase for each in state.nodes} == {
        "m1/a": "Draining", "m1/b": "Waiting", "m2/c": "Draining",
    }  # fmt: skip
    flying = {each.pool for each in state.nodes}
    blind = wanted.step_input([two], NOW, unknown={"m1": "no answer"}, flying=flying)
    found = decide(state, blind, NOW)
    assert found.state.nodes == state.nodes and found.acts == ()
    assert [each.blockers[0].text for each in found.waits] == ["m1 could not be read: no answer"]
    assert decide(state, wanted.step_input([replace(one, nodes=()), two], NOW), NOW).state.nodes[0].phase == "Returning"


def test_what_comes_for_a_node_may_lack_the_label_that_it_was_selected_by() -> None:
    one = member("m1", node("a", host="a"), node("b", host="b"))
    wanted = ground(rotation(nodes={"byLabel": "host=a"}))
    sight = wanted.step_input([one], NOW)
    state = decide(begin(wanted.due([one], NOW), sight, wanted.rotation.spec.pace, NOW), sight, NOW).state
    after = member("m1", node("b", host="b"), node("c", host="c"))
    flying = {each.pool for each in state.nodes}
    found = decide(state, wanted.step_input([after], NOW, flying=flying), NOW)
    assert [(each.phase, each.replacement) for each in found.state.nodes] == [("Rotated", "m1/c")]


def test_a_node_that_karpenter_overlooks_is_rotated_all_the_same() -> None:
    """It has the label of a pool, and neither a NodeClaim nor an instance type: simulated nodes are so."""
    one = member("m1", node("a", **{"karpenter.sh/nodepool": "default"}))
    assert one.state.nodes == () and [each.name for each in one.whole.nodes] == ["a"]
    assert first(ground(rotation(**ALL)), one)[0] == ["m1/a"]


def test_a_node_is_under_the_budget_of_the_rotation_by_the_labels_that_it_is_due_by() -> None:
    """Those of the Node itself: before it is registered its NodeClaim may have others, and it would be drained under a
    budget that allows nothing."""
    system = {"kubernetes.io/os": "linux", "karpenter.sh/nodepool": "default"}
    metadata = {"name": "c", "labels": {"karpenter.sh/nodepool": "default"}}
    claim = {"metadata": metadata, "spec": {}, "status": {"nodeName": "a", "providerID": "p://a"}}
    one = member("m1", node("a", **system), claims=(read_node_claim(claim),))
    wanted = ground(rotation({"nodes": "0"}, nodes={"byLabel": "kubernetes.io/os=linux"}, **ALL))
    assert one.whole.nodes[0].labels == metadata["labels"], "the Node is not registered"
    began, held = first(wanted, one)
    assert began == [] and held["m1/a"].code == "budget"
