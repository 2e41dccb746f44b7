# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which nodes are not needed, or not at their price."""

from __future__ import annotations

import dataclasses
import typing as t
from datetime import timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.cluster_state import ClusterState, StatePool
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.consolidation_wait import (
    consolidation_eligibility,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.instance_types import InstanceType
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.pod import Pod
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.methods.candidates import NodeCandidate
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.methods.check_again import check_again
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.methods.commands import Command
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.methods.consolidation import (
    multi_node,
    single_node,
    taking_turns,
    underused,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.methods.emptiness import emptiness
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.methods.method_input import MethodInput
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.methods.passes import pass_of
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.scheduling.kinds import CatalogueType
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.scheduling.settings import Settings
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.disruption.nodes_made import (
    DAEMON,
    NOW,
    STATEFUL,
    STATIC,
    a_claim,
    a_node,
    a_pod,
    a_pool,
    a_state,
    a_type,
    before,
)

SHIELD = {"karpenter.sh/do-not-disrupt": "true"}


def pinned(name: str, node: str, cpu: float = 3.5) -> Pod:
    """A pod that keeps its node from being a candidate."""
    return a_pod(name, node, cpu, annotations=SHIELD)


def only(state: ClusterState) -> Command:
    (command,) = pass_of(MethodInput(state, NOW)).commands
    return command


THREE = [a_node("empty"), a_node("under"), a_node("full")]
THREE_PODS = [a_pod("u", "under"), pinned("f", "full", 2.5)]


def test_each_motive_has_its_code_d0_23() -> None:
    assert only(a_state([a_node("e")])).motive == "empty"
    fits = only(a_state([a_node("n"), a_node("full")], [a_pod("p", "n"), pinned("f", "full", 2)]))
    assert (fits.motive, fits.decision, [each.target for each in fits.moves]) == ("fits-elsewhere", "delete", ["full"])
    types = (a_type("m", 4, 2.0), a_type("s", 1, 0.5))
    dear = only(a_state([a_node("n")], [a_pod("p", "n")], types=types))
    assert (dear.motive, dear.decision, dear.saving) == ("cheaper", "replace", 1.5)


def test_one_empty_one_underused_one_full_d0_09_d0_10() -> None:
    assert only(a_state(THREE, THREE_PODS)).nodes == ("empty",)
    rest = a_state(THREE[1:], THREE_PODS)
    assert only(rest).nodes == ("under",)
    daemon = a_pod("d", "empty", owners=DAEMON)
    when_empty = a_state(THREE, [*THREE_PODS, daemon], a_pool(policy="WhenEmpty"))
    assert only(when_empty).nodes == ("empty",)
    assert pass_of(MethodInput(a_state(THREE[1:], THREE_PODS, a_pool(policy="WhenEmpty")), NOW)).commands == ()


def test_a_dense_cluster_gives_an_empty_plan_d0_04() -> None:
    nodes = [a_node(name) for name in "abc"]
    found = pass_of(MethodInput(a_state(nodes, [a_pod(f"p-{each.name}", each.name, 3) for each in nodes]), NOW))
    assert found.commands == ()
    codes = {each.code for rows in found.refused.values() for each in rows}
    assert codes == {"pods-do-not-fit"}


def test_methods_come_in_order_and_the_first_ends_the_pass_d0_24() -> None:
    nodes = [a_node(name) for name in ("empty", "drifted", "under", "under2", "room")]
    claims = [a_claim(each, drifted="X" if each.name == "drifted" else None) for each in nodes]
    pods = [a_pod(f"p-{name}", name, 0.5) for name in ("drifted", "under", "under2")] + [pinned("f", "room", 0)]
    state = a_state(nodes, pods, claims=claims)
    names = []
    for _time in range(3):
        command = only(state)
        names.append((command.method, command.nodes))
        gone = set(command.nodes)
        state = dataclasses.replace(state, nodes=tuple(each for each in state.nodes if each.name not in gone))
    assert names == [
        ("Emptiness", ("empty",)),
        ("Drift", ("drifted",)),
        ("MultiNodeConsolidation", ("under", "under2")),
    ]


def test_all_empty_nodes_go_at_once_within_the_budget_d0_25() -> None:
    nodes = [a_node(name) for name in "abcd"]
    assert only(a_state(nodes)).nodes == ("a", "b", "c", "d")
    assert only(a_state(nodes, pool=a_pool(budgets=[{"nodes": "50%"}]))).nodes == ("a", "b")
    found = pass_of(MethodInput(a_state(nodes, pool=a_pool(budgets=[{"nodes": "0"}])), NOW))
    assert found.commands == ()
    assert found.refused["Emptiness"][0].text == "pool p: 4 nodes count, limit 0 (0 nodes) = 0"


def test_budgets_hold_back_drift_and_consolidation_d0_66() -> None:
    nodes = [a_node("a"), a_node("b")]
    claims = [a_claim(nodes[0], drifted="X"), a_claim(nodes[1])]
    closed = a_state(nodes, [a_pod("p", "a"), a_pod("q", "b")], a_pool(budgets=[{"nodes": "0"}]), claims=claims)
    found = pass_of(MethodInput(closed, NOW))
    assert found.commands == ()
    assert {each.code for name in ("Drift", "MultiNodeConsolidation") for each in found.refused[name]} == {"budget"}


def test_three_underused_nodes_fold_into_one_replacement_d0_26() -> None:
    nodes = [a_node(name) for name in "abc"]
    types = (a_type("m", 4, 1.0), a_type("l", 8, 1.5))
    state = a_state(nodes, [a_pod(f"p-{each.name}", each.name, 2.5) for each in nodes], types=types)
    (command,) = multi_node(MethodInput(state, NOW)).commands
    assert command.nodes == ("a", "b", "c")
    assert [each.price for each in command.replacements] == [1.5]
    assert command.saving == pytest.approx(1.5)


def test_at_most_a_hundred_nodes_in_one_command_d0_26() -> None:
    nodes = [a_node(f"n{number:03}") for number in range(120)]
    pods = [a_pod(f"p-{each.name}", each.name, 0.01) for each in nodes]
    home = a_node("home")
    state = a_state([*nodes, home], [*pods, pinned("f", "home", 0)])
    (command,) = multi_node(MethodInput(state, NOW)).commands
    assert len(command.nodes) == 100


def test_several_nodes_do_not_become_one_of_a_type_that_goes() -> None:
    nodes = [a_node("a", kind="m"), a_node("b", kind="m"), a_node("c", kind="l")]
    types = (a_type("m", 4, 1.0), a_type("l", 6, 1.2))
    state = a_state(nodes, [a_pod(f"p-{each.name}", each.name, 1.5) for each in nodes], types=types)
    assert all(
        "l" not in {one.instance_type for each in found.replacements for one in each.options}
        for found in multi_node(MethodInput(state, NOW)).commands
    )


def test_a_single_node_is_tried_when_several_gain_nothing_d0_27() -> None:
    nodes = [a_node("a"), a_node("b")]
    pods = [a_pod("p", "a"), a_pod("q", "b", 3.0)]
    state = a_state(nodes, pods)
    assert multi_node(MethodInput(state, NOW)).commands == ()
    (command,) = single_node(MethodInput(state, NOW)).commands
    assert (command.nodes, command.replacements) == (("a",), ())


@pytest.mark.parametrize(("price", "replaced"), [(2.0, False), (1.99, True), (None, False)])
def test_a_replacement_is_strictly_cheaper_d0_28(price: float | None, replaced: bool) -> None:
    types = (a_type("m", 4, 2.0), a_type("s", 2, price))
    found = single_node(MethodInput(a_state([a_node("n")], [a_pod("p", "n")], types=types), NOW))
    assert bool(found.commands) == replaced
    assert replaced or found.refused[0].code == "not-cheaper"


def test_without_a_price_of_what_goes_nothing_replaces_it() -> None:
    types = (a_type("m", 4, None), a_type("s", 2, 0.1))
    found = single_node(MethodInput(a_state([a_node("n")], [a_pod("p", "n")], types=types), NOW))
    assert [each.code for each in found.refused] == ["price-unknown"]


def spot(count: int) -> tuple[InstanceType, ...]:
    return (
        a_type("m", 4, 2.0, kind="spot"),
        *(a_type(f"s{n:02}", 2, 0.1 + n / 100, kind="spot") for n in range(count)),
    )


def test_spot_replaces_spot_only_with_the_gate_and_enough_types() -> None:
    def replace(count: int, gate: bool) -> t.Any:
        state = a_state([a_node("n", capacity_type="spot")], [a_pod("p", "n")], types=spot(count))
        return single_node(MethodInput(state, NOW, Settings(spot_to_spot=gate)))

    assert replace(20, gate=False).refused[0].code == "spot-to-spot-off"
    assert replace(14, gate=True).refused[0].code == "spot-not-flexible"
    (command,) = replace(20, gate=True).commands
    assert len({each.instance_type for each in command.replacements[0].options}) == 15


def test_on_demand_that_may_become_spot_becomes_spot_only() -> None:
    types = (a_type("m", 4, 2.0), a_type("s", 2, 0.2, kind="spot"), a_type("t", 2, 0.5))
    (command,) = single_node(MethodInput(a_state([a_node("n")], [a_pod("p", "n")], types=types), NOW)).commands
    assert {each.capacity_type for each in command.replacements[0].options} == {"spot"}


def test_a_type_counts_with_its_dearest_offering() -> None:
    mixed = dataclasses.replace(
        a_type("x", 4, 1.0), offerings=(*a_type("x", 4, 1.0).offerings, *a_type("x", 4, 3.0, "b").offerings)
    )
    state = a_state([a_node("n", kind="m")], [a_pod("p", "n")], types=(a_type("m", 4, 2.0), mixed))
    assert single_node(MethodInput(state, NOW)).refused[0].code == "not-cheaper"


def test_prices_that_nobody_knows_are_not_cheap() -> None:
    assert CatalogueType(a_type("m", 4, None)).worst_launch_price({}) == float("inf")


@pytest.mark.parametrize(("ago", "left"), [(10, 20), (29, 1), (30, 0), (31, 0)])
def test_the_wait_counts_from_the_last_pod_change_d0_13_d0_15(ago: int, left: int) -> None:
    node = a_node("n")
    claim = a_claim(node, last_pod_event=before(seconds=ago))
    for policy in ("WhenEmpty", "WhenEmptyOrUnderutilized"):  # valid with either: D0-12
        state = a_state([node], claims=[claim], pool=a_pool(policy=policy, after="30s"))
        found = consolidation_eligibility(state.pools["p"].pool, state.nodes[0], NOW)
        assert found.holds == (left == 0)
        assert bool(emptiness(MethodInput(state, NOW)).commands) == (left == 0)
        assert left == 0 or found.text.startswith(f"eligible in {left} s: the last pod change was at 2026-11-18T11:59")


def test_without_a_wait_no_pod_event_holds_back_even_one_that_lies_ahead() -> None:
    """Karpenter's clock, by which the event was told, may be ahead of ours."""
    node = a_node("n")
    claim = a_claim(node, last_pod_event=before(seconds=-5))
    for after, gone in (("0s", [("n",)]), ("1s", [])):
        look = MethodInput(a_state([node], claims=[claim], pool=a_pool(after=after)), NOW)
        assert [each.nodes for each in emptiness(look).commands] == gone


def test_without_pod_events_the_wait_counts_from_initialization() -> None:
    state = a_state([a_node("n")], pool=a_pool(after="30s"))
    assert consolidation_eligibility(state.pools["p"].pool, state.nodes[0], NOW).since == before(days=3)


def test_never_stops_consolidation_and_not_drift() -> None:
    node = a_node("n")
    state = a_state([node], pool=a_pool(after="Never"), claims=[a_claim(node, drifted="X")])
    found = pass_of(MethodInput(state, NOW))
    assert [each.method for each in found.commands] == ["Drift"]
    assert found.refused["Emptiness"][0].code == "never"


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        (a_pod("x", "n"), False),
        (a_pod("x", "n", owners=DAEMON), True),
        (a_pod("x", "n", owners=STATIC), True),
        (a_pod("x", "n", deleting_at=NOW), True),
        (a_pod("x", "n", deleting_at=NOW, owners=STATEFUL), False),
        (a_pod("x", "n", annotations={"controller.kubernetes.io/pod-deletion-cost": "-2147483648"}), True),
    ],
)
def test_what_counts_as_empty_d0_10(pod: Pod, expected: bool) -> None:
    state = a_state([a_node("n")], [pod])
    assert NodeCandidate.of(state, state.nodes[0], NOW).empty == expected


@pytest.mark.parametrize(
    ("node", "code"),
    [
        (a_node("n", kind="?"), "instance-type-unknown"),
        (a_node("n", labels={"karpenter.sh/capacity-type": ""}), "label-missing"),
        (a_node("n", labels={"topology.kubernetes.io/zone": ""}), "label-missing"),
    ],
)
def test_what_only_consolidation_leaves_out(node: t.Any, code: str) -> None:
    state = a_state([node], [a_pod("p", "n")], types=(a_type("m", 4, 1.0),))
    assert [each.code for each in single_node(MethodInput(state, NOW)).refused] == [code]


def test_static_pools_are_never_consolidated() -> None:
    state = a_state([a_node("a"), a_node("b")], [a_pod("p", "a")], a_pool(replicas=2))
    assert pass_of(MethodInput(state, NOW)).commands == ()


def test_what_saves_most_per_disruption_goes_first_and_pools_take_turns() -> None:
    nodes = [a_node("a", kind="m"), a_node("b", kind="m"), a_node("c", kind="l"), a_node("d", "q", kind="l")]
    types = (a_type("m", 4, 1.0), a_type("l", 4, 2.0))
    pods = [a_pod("p1", "a"), a_pod("p2", "b"), a_pod("p3", "b"), a_pod("p4", "c"), a_pod("p5", "d")]
    state = a_state(nodes, pods, types=types)
    assert [each.name for each in underused(MethodInput(state, NOW))[0]] == ["c", "a", "b"]
    by_name = {each.name: NodeCandidate.of(state, each, NOW) for each in state.nodes[:3]}
    by_name["d"] = dataclasses.replace(by_name["c"], node=state.nodes[3], pool=StatePool(a_pool("q")))
    turns = taking_turns([by_name[name] for name in ("c", "a", "d", "b")])
    assert [each.name for each in turns] == ["c", "d", "a", "b"]


@pytest.mark.parametrize(("saving_type_price", "accepted"), [(0.9, True), (1.1, False)])
def test_balanced_wants_the_saving_to_be_worth_it(saving_type_price: float, accepted: bool) -> None:
    nodes = [a_node(name) for name in "ab"]
    types = (a_type("m", 4, 2.0), a_type("s", 3, saving_type_price))
    pods = [a_pod("p", "a", 3), a_pod("q", "b", 3.5)]
    found = single_node(MethodInput(a_state(nodes, pods, a_pool(policy="Balanced"), types=types), NOW))
    assert bool(found.commands) == accepted
    assert accepted or "balanced" in {each.code for each in found.refused}


def command_and(state: ClusterState) -> Command:
    return pass_of(MethodInput(state, NOW)).commands[0]


LATER = NOW + timedelta(seconds=15)


def test_a_pod_that_binds_in_the_pause_is_churn_d0_29() -> None:
    nodes = [a_node("n"), a_node("full")]
    pods = [a_pod("p", "n"), pinned("f", "full", 2)]
    command = command_and(a_state(nodes, pods, a_pool(after="30s")))
    assert check_again(command, a_state(nodes, pods, a_pool(after="30s")), LATER).command == command
    claims = [a_claim(nodes[0], last_pod_event=NOW + timedelta(seconds=5)), a_claim(nodes[1])]
    found = check_again(
        command, a_state(nodes, [*pods, a_pod("q", "n", 0.1)], a_pool(after="30s"), claims=claims), LATER
    )
    assert (found.command, found.failure) == (None, "churn")
    assert found.text.startswith("node n: eligible in 20 s")


def test_a_budget_that_closes_in_the_pause_is_told_as_such_d0_29() -> None:
    nodes, pods = [a_node("n"), a_node("full")], [a_pod("p", "n"), pinned("f", "full", 2)]
    command = command_and(a_state(nodes, pods))
    found = check_again(command, a_state(nodes, pods, a_pool(budgets=[{"nodes": "0"}])), LATER)
    assert found.failure == "budget"


def test_room_that_is_taken_in_the_pause_is_told_as_such_d0_29() -> None:
    nodes, pods = [a_node("n"), a_node("full")], [a_pod("p", "n"), pinned("f", "full", 2)]
    command = command_and(a_state(nodes, pods))
    found = check_again(command, a_state(nodes, [*pods, pinned("g", "full", 2)]), LATER)
    assert found.failure == "scheduling"
    assert "fits none of 1 node " in found.text


def test_of_empty_nodes_those_that_still_are_stay_d0_29() -> None:
    nodes = [a_node("a"), a_node("b")]
    command = command_and(a_state(nodes))
    kept = check_again(command, a_state(nodes, [a_pod("p", "a")]), LATER).command
    assert kept is not None
    assert kept.nodes == ("b",)
    assert check_again(command, a_state([]), LATER).failure == "churn"


def test_what_becomes_empty_in_the_pause_takes_nothing_of_the_budget() -> None:
    """The new one would come first by name."""
    pool = a_pool(budgets=[{"nodes": "1"}])
    nodes = [a_node("a"), a_node("b")]
    command = command_and(a_state(nodes, [pinned("p", "a")], pool))
    assert command.nodes == ("b",)
    assert check_again(command, a_state(nodes, pool=pool), LATER).command == command
