# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Rotation step by step: waves, budgets, surge, retries, giving up, stopping."""

from __future__ import annotations

import dataclasses
import typing as t
from datetime import timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.pod import Pod
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.pod_disruption_budget import (
    PodDisruptionBudget,
    PodDisruptionBudgets,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.state_node import Node
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.rotation.decide import (
    acts_in_flight,
    begin,
    decide,
    outcome,
    released,
    stopped_at_once,
    with_overdue_restarted,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.rotation.input import (
    MemberScope,
    RotationInput,
    RotationNode,
    rotation_node,
    scopes_left,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.rotation.state import (
    RotationSettings,
    RotationState,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.rotation.wake import all_waiting_shut_in
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.node_pool import Budget
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.selector import LabelSelector
from ansible_collections.gitops.fleet.plugins.module_utils._core.windows.fleet_windows import WindowAnswer
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.disruption.nodes_made import (
    NOW,
    a_node,
    a_state,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.disruption.rotation_made import (
    MINUTE,
    RotationDecision,
    a_pool_of,
    everything,
    scope,
    told,
)

ALL_AT_ONCE = RotationSettings(first_wave=99)


def drained(found: RotationDecision) -> list[str]:
    return [each.node for each in found.acts if each.kind == "drain"]


def replaced(sight: RotationInput, *names: str) -> RotationInput:
    """The same after these nodes have gone and new ones have come."""
    new = [RotationNode(name=f"new-{name}", uid=f"new-{name}", pool="p") for name in names]
    return dataclasses.replace(sight, nodes=(*(each for each in sight.nodes if each.name not in names), *new))


def gone(sight: RotationInput, *names: str) -> RotationInput:
    return dataclasses.replace(sight, nodes=tuple(each for each in sight.nodes if each.name not in names))


def test_waves_grow_as_long_as_all_goes_well() -> None:
    sight = RotationInput(nodes=a_pool_of(10))
    found = everything(sight, RotationSettings())
    sizes = []
    while found.acts:
        sizes.append(len(drained(found)))
        sight = replaced(sight, *drained(found))
        found = decide(found.state, sight, NOW)
    assert (sizes, outcome(found.state)) == ([1, 2, 4, 3], "done")
    assert {each.replacement for each in found.state.nodes} == {f"new-p-{number}" for number in range(10)}


def test_a_wave_has_a_largest_size_and_a_pause_after_it() -> None:
    sight = RotationInput(nodes=a_pool_of(9))
    found = everything(sight, RotationSettings(first_wave=2, growth=9, largest_wave=3, soak=600))
    assert drained(found) == ["p-0", "p-1"]
    found = decide(found.state, replaced(sight, "p-0", "p-1"), NOW)
    assert drained(found) == []
    assert (told(found, "p-2"), found.wake_at) == (["soak"], NOW + 10 * MINUTE)
    assert outcome(found.state) == "waiting"
    assert len(drained(decide(found.state, replaced(sight, "p-0", "p-1"), NOW + 10 * MINUTE))) == 3


def test_after_a_failure_waves_begin_small_again() -> None:
    sight = RotationInput(nodes=a_pool_of(9))
    settings = RotationSettings(first_wave=1, growth=4, max_failures=9)
    found = decide(everything(sight, settings).state, sight := replaced(sight, "p-0"), NOW)
    assert len(drained(found)) == 4
    failed = dataclasses.replace(replaced(sight, "p-1", "p-2", "p-3"), failed={"p-4": "broken"})
    assert len(drained(decide(found.state, failed, NOW))) == 1


def test_nodes_without_pods_go_first_then_the_oldest() -> None:
    busy = {"p-0": [Pod(name="x", node="p-0")], "p-2": [Pod(name="d", node="p-2", owners=(("apps/v1", "DaemonSet"),))]}
    sight = RotationInput(nodes=a_pool_of(3), pods=busy)
    assert drained(everything(sight, RotationSettings(first_wave=2))) == ["p-1", "p-2"]


def test_the_budget_of_each_scope_holds_and_is_told_with_its_arithmetic() -> None:
    nodes = (*a_pool_of(10, "p"), *a_pool_of(10, "q"))
    scopes = (scope(Budget("20%"), name="pool p", pools=["p"]), scope(Budget("5")))
    found = everything(RotationInput(nodes=nodes, scopes=scopes), ALL_AT_ONCE)
    assert len(drained(found)) == 5
    assert sum(name.startswith("p") for name in drained(found)) == 2
    waits = {each.name: [one.text for one in each.blockers] for each in found.waits}
    assert waits["p-9"] == [
        "pool p: 10 nodes count, limit 2 (20% of 10 nodes is 2) - 0 disrupted - 2 begun now = 0",
        "the fleet: 20 nodes count, limit 5 (5 nodes) - 0 disrupted - 5 begun now = 0",
    ]
    assert told(found, "q-9") == ["budget"]


def test_nodes_that_are_not_ready_or_deleted_consume_the_budget_d0_65() -> None:
    sick = (RotationNode(name="x", pool="p", ready=False), RotationNode(name="y", pool="p", deleting=True))
    sight = RotationInput(nodes=(*a_pool_of(8), *sick), scopes=(scope(Budget("3")),))
    state = begin(["p-0", "p-1", "p-2"], sight, ALL_AT_ONCE, NOW)
    assert drained(decide(state, sight, NOW)) == ["p-0"]


def test_a_node_that_another_rotation_empties_is_left_to_it_and_consumes_the_budget() -> None:
    """Two rotations over one pool never disrupt more than its budget together."""
    taken = RotationNode(name="x", pool="p", disruptor="other")
    sight = RotationInput(nodes=(*a_pool_of(3), taken), scopes=(scope(Budget("2")),), rotation="mine")
    found = decide(begin(["x", "p-0", "p-1"], sight, ALL_AT_ONCE, NOW), sight, NOW)
    waits = {each.name: [one.text for one in each.blockers] for each in found.waits}
    assert (drained(found), waits["x"]) == (["p-0"], ["node x is in the hands of other"])
    assert "1 disrupted" in waits["p-1"][0]
    own = dataclasses.replace(sight, rotation="other")
    assert drained(decide(begin(["x"], own, ALL_AT_ONCE, NOW), own, NOW)) == ["x"]


@pytest.mark.parametrize("lost", [{"ready": False}, {"deleting": True}, {"disruptor": "other"}])
@pytest.mark.parametrize("count", [1, 3])
def test_new_nodes_that_are_lost_consume_the_budget_while_nodes_wait_d0_65(lost: dict[str, t.Any], count: int) -> None:
    """None of them takes the place of one that waits: they are gone themselves."""
    sight = RotationInput(nodes=a_pool_of(3), scopes=(scope(Budget("1")),), rotation="mine")
    state = begin([each.name for each in sight.nodes], sight, ALL_AT_ONCE, NOW)
    new = tuple(dataclasses.replace(each, **lost) for each in a_pool_of(count, "new-p"))
    new = tuple(dataclasses.replace(each, pool="p") for each in new)
    found = decide(state, dataclasses.replace(sight, nodes=(*sight.nodes, *new)), NOW)
    assert (drained(found), told(found, "p-0")) == ([], ["budget"])
    well = tuple(dataclasses.replace(each, ready=True, deleting=False, disruptor="") for each in new)
    assert drained(decide(state, dataclasses.replace(sight, nodes=(*sight.nodes, *well)), NOW)) == ["p-0"]


def test_a_place_stays_disrupted_until_the_replacement_is_ready() -> None:
    sight = RotationInput(nodes=a_pool_of(10), scopes=(scope(Budget("10%")),))
    found = everything(sight, ALL_AT_ONCE)
    assert drained(found) == ["p-0"]
    missing = decide(found.state, gone(sight, "p-0"), NOW)
    assert (missing.acts, missing.state.count("Returning")) == ((), 1)
    assert missing.waits[0].blockers[0].text == (
        "the fleet: 10 nodes count, limit 1 (10% of 10 nodes is 1) - 1 disrupted = 0"
    )
    assert drained(decide(missing.state, replaced(sight, "p-0"), NOW)) == ["p-1"]


def test_a_pool_that_is_to_shrink_waits_for_no_replacement() -> None:
    sight = RotationInput(nodes=a_pool_of(3), scopes=(scope(Budget("1")),))
    found = everything(sight, dataclasses.replace(ALL_AT_ONCE, replacement="none"))
    assert drained(decide(found.state, gone(sight, "p-0"), NOW)) == ["p-1"]


def test_a_new_node_may_have_the_name_of_the_old_one() -> None:
    sight = RotationInput(nodes=a_pool_of(2))
    found = everything(sight, RotationSettings())
    again = dataclasses.replace(sight, nodes=(dataclasses.replace(sight.nodes[0], uid="other"), sight.nodes[1]))
    found = decide(found.state, again, NOW)
    assert [(each.phase, each.replacement) for each in found.state.nodes] == [("Rotated", "p-0"), ("Draining", "")]


def test_a_node_that_is_seen_again_is_not_what_came_for_it() -> None:
    """A member restored from a backup shows nodes again that were gone: nothing has come in their place."""
    sight = RotationInput(nodes=a_pool_of(1))
    state = decide(everything(sight, RotationSettings(node_timeout=600)).state, gone(sight, "p-0"), NOW).state
    back = decide(state, sight, NOW)
    assert [(each.phase, each.replacement) for each in back.state.nodes] == [("Returning", "")]
    late = decide(back.state, sight, NOW + 10 * MINUTE)
    assert [(each.kind, each.node) for each in late.acts] == [("release", "p-0")]
    assert late.state.nodes[0].code == "drain-timeout"


def test_with_surge_the_new_node_comes_first_d0_07() -> None:
    sight = RotationInput(nodes=a_pool_of(4), scopes=(scope(Budget("50%")),))
    found = everything(sight, dataclasses.replace(ALL_AT_ONCE, replacement="before", surge=1))
    assert [(each.kind, each.node) for each in found.acts] == [("add-node", "p-0")]
    assert told(found, "p-1") == ["surge"]
    both = dataclasses.replace(sight, nodes=(*sight.nodes, RotationNode(name="n", uid="n", pool="p")))
    found = decide(found.state, both, NOW)
    assert [(each.kind, each.node) for each in found.acts] == [("drain", "p-0"), ("add-node", "p-1")]
    found = decide(found.state, gone(both, "p-0"), NOW)
    assert found.state.nodes[0].phase == "Rotated"
    assert found.state.nodes[0].replacement == "n"


def test_a_surge_does_not_raise_what_a_percentage_allows() -> None:
    sight = RotationInput(nodes=a_pool_of(10), scopes=(scope(Budget("10%")),))
    found = everything(sight, dataclasses.replace(ALL_AT_ONCE, replacement="before", surge=9))
    eleven = dataclasses.replace(sight, nodes=(*sight.nodes, RotationNode(name="n", uid="n", pool="p")))
    assert [each.node for each in decide(found.state, eleven, NOW).acts] == ["p-0"]


def test_a_new_node_that_comes_early_does_not_raise_what_a_percentage_allows() -> None:
    sight = RotationInput(nodes=a_pool_of(10), scopes=(scope(Budget("10%")),))
    found = everything(sight, ALL_AT_ONCE)
    early = dataclasses.replace(sight, nodes=(*sight.nodes, RotationNode(name="n", uid="n", pool="p")))
    assert drained(decide(found.state, early, NOW)) == []


def a_pdb(allowed: int) -> dict[str, PodDisruptionBudgets]:
    one = PodDisruptionBudget(name="web", selector=LabelSelector(match_labels={"app": "web"}), allowed=allowed)
    return {"": PodDisruptionBudgets([one])}


def web_on(*nodes: str) -> dict[str, list[Pod]]:
    return {name: [Pod(name=f"web-{name}", node=name, labels={"app": "web"})] for name in nodes}


def test_what_blocks_each_node_is_told() -> None:
    pods = web_on("p-0") | {"p-1": [Pod(name="x", annotations={"karpenter.sh/do-not-disrupt": "true"})]}
    nodes = (*a_pool_of(3), RotationNode(name="q", pool="p", annotated=True), RotationNode(name="r", deleting=True))
    found = everything(RotationInput(nodes=nodes, pods=pods, limits=a_pdb(0)), ALL_AT_ONCE)
    assert drained(found) == ["p-2"]
    assert {each.name: [one.code for one in each.blockers] for each in found.waits} == {
        "p-0": ["pdb"],
        "p-1": ["pod-annotation"],
        "q": ["node-annotation"],
        "r": ["deleting"],
    }


def test_nodes_do_not_compete_for_one_pdb() -> None:
    sight = RotationInput(nodes=a_pool_of(3), pods=web_on("p-0", "p-1", "p-2"), limits=a_pdb(2))
    found = everything(sight, ALL_AT_ONCE)
    assert drained(found) == ["p-0", "p-1"]
    assert found.waits[0].blockers[0].text == (
        "pdb default/web allows 2 disruptions, nodes in flight need 2, this one 1"
    )


def test_what_a_node_in_flight_needs_of_a_pdb_is_kept_over_steps() -> None:
    sight = RotationInput(nodes=a_pool_of(2), pods=web_on("p-0", "p-1"), limits=a_pdb(1))
    found = everything(sight, ALL_AT_ONCE)
    again = decide(found.state, sight, NOW + MINUTE)
    assert (drained(found), drained(again), told(again, "p-1")) == (["p-0"], [], ["pdb-shared"])
    free = decide(found.state, replaced(dataclasses.replace(sight, pods=web_on("p-1")), "p-0"), NOW + MINUTE)
    assert drained(free) == ["p-1"]


def test_pods_that_a_pdb_lets_through_take_nothing_of_it() -> None:
    one = PodDisruptionBudget(
        name="web", selector=LabelSelector(match_labels={"app": "web"}), allowed=1, unhealthy="AlwaysAllow"
    )
    sick = {name: [dataclasses.replace(pods[0], ready="False")] for name, pods in web_on("p-0", "p-1").items()}
    pods = sick | web_on("p-2", "p-3")
    sight = RotationInput(nodes=a_pool_of(4), pods=pods, limits={"": PodDisruptionBudgets([one])})
    assert drained(everything(sight, ALL_AT_ONCE)) == ["p-0", "p-1", "p-2"]


def test_a_node_of_which_nothing_else_is_said_counts_and_is_not_leaving() -> None:
    """Where no NodeClaims are, every node counts as initialized."""
    sight = RotationInput(nodes=a_pool_of(4), scopes=(scope(Budget("50%")),))
    assert drained(everything(sight, ALL_AT_ONCE)) == ["p-0", "p-1"]
    bare = [rotation_node(Node(name=name), "p") for name in "ab"]
    assert [(each.initialized, each.deleting, each.ready) for each in bare] == [(True, False, True)] * 2


def test_who_is_alone_goes_on_although_its_pods_are_more_than_its_pdb_allows() -> None:
    pods = {"p-0": [Pod(name=f"web-{number}", labels={"app": "web"}) for number in range(5)]}
    assert drained(everything(RotationInput(nodes=a_pool_of(1), pods=pods, limits=a_pdb(1)), ALL_AT_ONCE)) == ["p-0"]


def test_outside_the_window_nothing_begins_and_the_next_one_is_told() -> None:
    opens = NOW + timedelta(hours=3)
    shut = {"": WindowAnswer(False, "outside all windows", opens)}
    sight = RotationInput(nodes=a_pool_of(1), windows=shut)
    found = everything(sight, dataclasses.replace(ALL_AT_ONCE, blocked_timeout=60))
    assert (found.acts, found.wake_at, outcome(found.state)) == ((), opens, "waiting")
    assert found.waits[0].blockers[0].text == "outside all windows, until 2026-11-18T15:00:00Z"
    assert drained(decide(found.state, dataclasses.replace(sight, windows={}), opens)) == ["p-0"]


def test_the_next_instant_is_that_of_the_budget_that_holds_back() -> None:
    sight = RotationInput(nodes=a_pool_of(2), scopes=(scope(Budget("0", "0 9 * * 1-5", "8h")),))
    found = everything(sight, ALL_AT_ONCE)
    assert (found.acts, found.wake_at) == ((), NOW.replace(hour=17))


def test_the_next_instant_may_be_the_end_of_a_pods_protection() -> None:
    pod = Pod(name="x", annotations={"karpenter.sh/do-not-disrupt": "1h"}, started_at=NOW - 50 * MINUTE)
    found = everything(RotationInput(nodes=a_pool_of(1), pods={"p-0": [pod]}), ALL_AT_ONCE)
    assert found.wake_at == NOW + 10 * MINUTE


def test_a_failed_node_is_released_and_tried_again_later_then_given_up() -> None:
    settings = RotationSettings(attempts=2, retry_after=300)
    sight = RotationInput(nodes=a_pool_of(1))
    failed = dataclasses.replace(sight, failed={"p-0": "the machine does not answer"})
    found = decide(everything(sight, settings).state, failed, NOW)
    assert [each.kind for each in found.acts] == ["release"]
    assert (told(found, "p-0"), found.wake_at) == (["retry"], NOW + 5 * MINUTE)
    found = decide(found.state, sight, NOW + 5 * MINUTE)
    assert drained(found) == ["p-0"]
    found = decide(found.state, failed, NOW + 5 * MINUTE)
    assert (outcome(found.state), found.state.nodes[0].phase, found.state.nodes[0].text) == (
        "done",
        "GivenUp",
        "the machine does not answer",
    )


def test_a_node_that_is_to_be_tried_again_at_once_does_not_begin_in_the_step_that_lets_it_go() -> None:
    """Its release and its next drain, begun together, would end one another, and nobody drain it."""
    sight = RotationInput(nodes=a_pool_of(1))
    found = everything(sight, RotationSettings(attempts=3, retry_after=0, node_timeout=600))
    late = NOW + 10 * MINUTE
    found = decide(found.state, sight, late)
    assert [each.operation for each in found.acts] == ["p-0.1.release"]
    assert decide(found.state, sight, late).acts == () and found.wake_at == late + timedelta(seconds=1)
    assert [each.operation for each in decide(found.state, sight, found.wake_at).acts] == ["p-0.2.drain"]


def test_a_drain_that_takes_too_long_is_given_up_with_what_holds_it() -> None:
    sight = RotationInput(nodes=a_pool_of(1), pods=web_on("p-0"), limits=a_pdb(1))
    found = everything(sight, RotationSettings(node_timeout=600))
    assert found.wake_at == NOW + 10 * MINUTE
    stuck = dataclasses.replace(sight, limits=a_pdb(0))
    assert decide(found.state, stuck, NOW + 9 * MINUTE).state.nodes[0].phase == "Draining"
    found = decide(found.state, stuck, NOW + 10 * MINUTE)
    assert found.state.nodes[0].code == "drain-timeout"
    assert "pdb default/web prevents pod evictions" in found.state.nodes[0].text


def test_a_node_that_is_gone_without_a_replacement_is_given_up() -> None:
    sight = RotationInput(nodes=a_pool_of(1))
    found = decide(everything(sight, RotationSettings(node_timeout=600)).state, gone(sight, "p-0"), NOW)
    found = decide(found.state, gone(sight, "p-0"), NOW + 10 * MINUTE)
    assert (outcome(found.state), found.state.nodes[0].code) == ("done", "not-replaced")


def test_too_many_failures_end_the_rotation_and_every_other_node_has_its_reason() -> None:
    sight = RotationInput(nodes=a_pool_of(3), pods=web_on("p-2"), limits=a_pdb(0))
    found = everything(sight, RotationSettings())
    found = decide(found.state, dataclasses.replace(sight, failed={"p-0": "x"}), NOW)
    assert outcome(found.state) == "done"
    assert [(each.phase, each.code) for each in found.state.nodes] == [
        ("GivenUp", "failed"),
        ("GivenUp", "halted"),
        ("Blocked", "pdb"),
    ]
    assert found.state.halted == "1 node was given up, and 0 may be"


def test_a_blocked_node_ends_blocked_when_its_time_is_over() -> None:
    sight = RotationInput(nodes=a_pool_of(1), pods=web_on("p-0"), limits=a_pdb(0))
    settings = RotationSettings(blocked_timeout=1800)
    found = everything(sight, settings)
    assert found.wake_at == NOW + 30 * MINUTE
    free = decide(found.state, dataclasses.replace(sight, limits=a_pdb(1)), NOW + 29 * MINUTE)
    assert drained(free) == ["p-0"]
    found = decide(found.state, sight, NOW + 30 * MINUTE)
    assert [(each.phase, each.code) for each in found.state.nodes] == [("Blocked", "pdb")]


def test_the_time_of_a_block_runs_only_while_the_window_is_open() -> None:
    shut = {"": WindowAnswer(False, "outside all windows", NOW + timedelta(hours=9))}
    sight = RotationInput(nodes=a_pool_of(1), pods=web_on("p-0"), limits=a_pdb(0), windows=shut)
    found = everything(sight, RotationSettings(blocked_timeout=1800))
    found = decide(found.state, sight, NOW + timedelta(hours=8))
    assert (outcome(found.state), told(found, "p-0")) == ("waiting", ["pdb"])


def test_short_windows_do_not_make_a_block_endless() -> None:
    """20 minutes a day: an hour of them is three windows and the beginning of a fourth."""
    opened = RotationInput(nodes=a_pool_of(1), pods=web_on("p-0"), limits=a_pdb(0))
    shut = dataclasses.replace(opened, windows={"": WindowAnswer(False, "outside all windows", None)})
    found = everything(opened, RotationSettings(blocked_timeout=3600))
    for day in range(3):
        found = decide(found.state, shut, NOW + timedelta(days=day, minutes=20))
        assert (outcome(found.state), found.state.nodes[0].blocked_before) == ("waiting", 1200 * (day + 1))
        found = decide(found.state, opened, NOW + timedelta(days=day + 1))
    assert [(each.phase, each.code) for each in found.state.nodes] == [("Blocked", "pdb")]


def test_a_node_that_was_free_in_between_is_blocked_anew() -> None:
    opened = RotationInput(nodes=a_pool_of(1), pods=web_on("p-0"), limits=a_pdb(0))
    shut = {"": WindowAnswer(False, "outside all windows", None)}
    found = everything(opened, RotationSettings(blocked_timeout=3600))
    found = decide(found.state, dataclasses.replace(opened, windows=shut), NOW + 20 * MINUTE)
    found = decide(found.state, dataclasses.replace(opened, windows=shut, limits=a_pdb(1)), NOW + 21 * MINUTE)
    assert found.state.nodes[0].blocked_before == 0


def test_a_stop_lets_end_what_has_begun() -> None:
    sight = RotationInput(nodes=a_pool_of(2))
    found = decide(everything(sight, RotationSettings()).state, dataclasses.replace(sight, stop=True), NOW)
    assert [each.phase for each in found.state.nodes] == ["Draining", "GivenUp"]
    assert outcome(found.state) == "running"
    found = decide(found.state, replaced(sight, "p-0"), NOW)
    assert (outcome(found.state), found.state.counts) == ("done", {"Rotated": 1, "GivenUp": 1})


def test_a_time_limit_ends_it_too() -> None:
    sight = RotationInput(nodes=a_pool_of(2), scopes=(scope(Budget("0")),))
    found = everything(sight, RotationSettings(time_limit=3600))
    assert found.wake_at == NOW + timedelta(hours=1)
    found = decide(found.state, sight, NOW + timedelta(hours=1))
    assert (outcome(found.state), found.state.halted) == ("done", "its time is over")


def test_a_node_that_others_remove_is_done() -> None:
    sight = RotationInput(nodes=a_pool_of(2), scopes=(scope(Budget("0")),))
    found = decide(everything(sight, RotationSettings()).state, gone(sight, "p-1"), NOW)
    assert (found.state.nodes[1].phase, found.state.nodes[1].text) == ("Rotated", "others removed it")


def test_after_a_crash_the_acts_are_named_again() -> None:
    found = everything(RotationInput(nodes=a_pool_of(3)), RotationSettings(first_wave=2))
    assert [(each.kind, each.node) for each in acts_in_flight(found.state)] == [("drain", "p-0"), ("drain", "p-1")]


def test_a_rotation_that_is_done_stays_as_it_is() -> None:
    sight = RotationInput(nodes=a_pool_of(1))
    done = decide(everything(sight, RotationSettings()).state, replaced(sight, "p-0"), NOW).state
    assert decide(done, sight, NOW + MINUTE).state == done
    assert outcome(decide(RotationState(), sight, NOW).state) == "done"


def test_all_problems_are_told_before_anything_begins() -> None:
    bad = (scope(Budget("many"), Budget("1", "0 0 * * 7", "1h")),)
    settings = RotationSettings(first_wave=0, replacement="maybe", surge="x", reason="Mood")
    with pytest.raises(FleetError) as error:
        begin(["nobody", "p-0"], RotationInput(nodes=a_pool_of(1), scopes=bad), settings, NOW)
    assert [(each.code, each.where) for each in error.value.problems] == [
        ("unknown-node", "nobody"),
        ("not-one-of", "replacement"),
        ("out-of-range", "firstWave"),
        ("not-one-of", "reason"),
        ("invalid-surge", "surge"),
        ("budget-unreadable", "the fleet budgets[0]"),
        ("budget-unreadable", "the fleet budgets[1]"),
    ]


@pytest.mark.parametrize("setting", ["soak", "node_timeout", "retry_after", "blocked_timeout", "time_limit"])
def test_a_time_that_no_calendar_holds_is_refused_before_anything_begins(setting: str) -> None:
    sight = RotationInput(nodes=a_pool_of(1))
    with pytest.raises(FleetError) as error:
        begin(["p-0"], sight, RotationSettings(**{setting: 10**12}), NOW)
    (problem,) = error.value.problems
    assert problem.code == "out-of-range" and problem.message == "1000000000000 is more than 31622400"


def test_a_surge_of_nothing_is_refused() -> None:
    with pytest.raises(FleetError):
        begin(["p-0"], RotationInput(nodes=a_pool_of(1)), RotationSettings(replacement="before", surge="0%"), NOW)


def test_nodes_of_several_clusters_keep_their_names_apart() -> None:
    (node,) = a_state([a_node("n", annotations={"karpenter.sh/do-not-disrupt": "true"})]).nodes
    assert node.node is not None
    found = rotation_node(node.node, node.pool, "east")
    assert (found.name, found.pool, found.cluster, found.annotated) == ("east/n", "east/p", "east", True)


def test_a_release_is_in_flight_until_it_was_carried_out() -> None:
    """Whoever comes after a crash between the state and its acts lets the node go all the same."""
    sight = RotationInput(nodes=a_pool_of(1))
    found = everything(sight, RotationSettings())
    found = decide(found.state, dataclasses.replace(sight, failed={"p-0": "x"}), NOW)
    (act,) = found.acts
    assert (act.kind, act.operation) == ("release", "p-0.1.release")
    assert [each.operation for each in acts_in_flight(found.state)] == [act.operation]
    after = released(found.state, act.operation)
    assert acts_in_flight(after) == () and released(after, act.operation) is after


def test_a_budget_that_is_closed_is_named_with_its_next_opening() -> None:
    """And not with the sum of nodes, which tells nothing of the hours."""
    hours = Budget("0", f"{NOW.minute} {NOW.hour} * * *", "90m")
    sight = RotationInput(nodes=a_pool_of(3), scopes=(scope(Budget("50%"), hours, name="pool p"),))
    found = everything(sight, ALL_AT_ONCE)
    opens = NOW + 90 * MINUTE
    (why,) = found.waits[0].blockers
    assert why.text == f"pool p: budget 2 (0 nodes, {NOW:%H:%M}-{opens:%H:%M} UTC) until {opens:%a %H:%M} UTC"
    assert (found.wake_at, found.acts) == (opens, ()) and why.as_dict()["until"].startswith(f"{opens:%Y-%m-%dT%H:%M}")


def test_nothing_but_time_helps_where_a_budget_or_a_window_is_closed_over_every_node() -> None:
    """A node that its pods hold, too, could not begin if they let it go."""
    closed = scope(Budget("0", f"{NOW.minute} {NOW.hour} * * *", "1h"), name="night", pools=["p"])
    nodes = (*a_pool_of(2), *a_pool_of(1, "q", cluster="east"))
    pods = {"p-0": [Pod(name="x", node="p-0", annotations={"karpenter.sh/do-not-disrupt": "true"})]}
    behind = WindowAnswer(False, "outside its windows", NOW + 9 * MINUTE)
    sight = RotationInput(nodes=nodes, pods=pods, scopes=(closed,), windows={"east": behind})

    def is_shut(seen: RotationInput) -> bool:
        state = everything(seen, ALL_AT_ONCE).state
        return all_waiting_shut_in(state, seen, scopes_left(state, seen, NOW))

    assert is_shut(sight)
    held = {**pods, "q-0": [dataclasses.replace(pods["p-0"][0], node="q-0")]}
    assert not is_shut(dataclasses.replace(sight, windows={}, pods=held))
    assert not is_shut(dataclasses.replace(sight, scopes=(dataclasses.replace(closed, budgets=(Budget("0"),)),)))
    assert not is_shut(dataclasses.replace(sight, wait="another rotation is just deciding"))
    kept = tuple(dataclasses.replace(each, annotated=True) for each in nodes)
    assert is_shut(dataclasses.replace(sight, nodes=kept, scopes=(), windows={})), "nothing but people helps"
    assert not is_shut(dataclasses.replace(sight, nodes=(*kept[1:], nodes[0]), scopes=(), windows={}))


def test_a_node_that_was_rotated_says_what_it_had_and_what_has_come_for_it() -> None:
    old = [dataclasses.replace(each, image="Linux-1.1", version="v1.35.4") for each in a_pool_of(2)]
    sight = RotationInput(nodes=tuple(old))
    found = everything(sight, ALL_AT_ONCE)
    new = [
        RotationNode(name=f"n-{each}", uid=f"n-{each}", pool="p", image="Linux-1.2", version="v1.35.4") for each in "ab"
    ]
    new[1] = dataclasses.replace(new[1], image="Linux-1.1", version="v1.36.3")
    found = decide(found.state, dataclasses.replace(sight, nodes=tuple(new)), NOW)
    assert [each.text for each in found.state.nodes] == [
        "had Linux-1.1; n-a has Linux-1.2",
        "had v1.35.4; n-b has v1.36.3",
    ]


def test_a_node_that_came_with_what_the_old_one_had_is_told_with_it() -> None:
    """Of a new node with the old image one has to read that it has that."""
    old = dataclasses.replace(a_pool_of(1)[0], image="Linux-1.1")
    found = everything(RotationInput(nodes=(old,)), ALL_AT_ONCE)
    new = dataclasses.replace(old, name="n", uid="n")
    assert decide(found.state, RotationInput(nodes=(new,)), NOW).state.nodes[0].text == "had Linux-1.1; n has Linux-1.1"
    none = everything(RotationInput(nodes=(old,)), dataclasses.replace(ALL_AT_ONCE, replacement="none"))
    assert decide(none.state, RotationInput(nodes=()), NOW).state.nodes[0].text == "had Linux-1.1"


def test_a_rotation_without_a_node_in_flight_ends_at_once_by_being_stopped() -> None:
    sight = RotationInput(nodes=a_pool_of(2), scopes=(scope(Budget("0")),))
    ended = stopped_at_once(everything(sight, ALL_AT_ONCE).state, NOW)
    assert ended is not None and ended.done and ended.halted == "the rotation was stopped"
    assert {(each.phase, each.code) for each in ended.nodes} == {("GivenUp", "halted")}
    flying = everything(RotationInput(nodes=a_pool_of(2)), RotationSettings())
    assert stopped_at_once(flying.state, NOW) is None
    failed = decide(flying.state, RotationInput(nodes=a_pool_of(2), failed={"p-0": "broken"}), NOW)
    assert failed.state.nodes[0].release and stopped_at_once(failed.state, NOW) is None


def test_a_node_whose_time_ran_out_long_before_it_was_taken_up_has_all_of_it_again() -> None:
    """Not one that is taken up again and again, by a tick: it would never be given up."""
    late = NOW + timedelta(seconds=2 * RotationSettings().node_timeout)
    state = everything(RotationInput(nodes=a_pool_of(2)), RotationSettings()).state
    assert with_overdue_restarted(state, late - timedelta(seconds=1)) is state
    since = {each.phase: each.since for each in with_overdue_restarted(state, late).nodes}
    assert since == {"Draining": late, "Waiting": NOW}


class CountedPools(frozenset[str]):
    """Pools that count how often somebody looks for one among them."""

    looks = 0

    def __contains__(self, pool: object) -> bool:
        CountedPools.looks += 1
        return super().__contains__(pool)


@pytest.mark.parametrize("most", ["1", "0"])
def test_a_step_over_many_members_looks_at_each_pool_for_its_own_budgets_only(most: str) -> None:
    """Every budget asked for every pool made steps of a thousand members take longer than a lease lasts."""
    members = 60
    nodes = tuple(
        RotationNode(name=f"m{each}/{pool}", uid=f"m{each}/{pool}", pool=f"m{each}/{pool}", cluster=f"m{each}")
        for each in range(members)
        for pool in "ab"
    )
    night = Budget(most, f"{NOW.minute} {NOW.hour} * * *", "1h")
    scopes = tuple(
        dataclasses.replace(scope(night, name=f"NodePool {node.pool}"), pools=CountedPools([node.pool]))
        for node in nodes
    )
    CountedPools.looks = 0
    sight = RotationInput(nodes=nodes, scopes=(*scopes, scope(Budget("9"))))
    found = everything(sight, ALL_AT_ONCE)
    assert len(drained(found)) == 9 * int(most) and len(found.waits) == len(nodes) - 9 * int(most)
    assert all_waiting_shut_in(found.state, sight, scopes_left(found.state, sight, NOW)) == (most == "0")
    assert CountedPools.looks <= 9 * len(nodes)


def test_of_many_members_with_nodes_in_flight_a_few_are_named() -> None:
    """The sentence stands behind each of thousands of nodes."""
    nodes = tuple(
        RotationNode(name=f"m{number}/a", uid=f"m{number}", pool=f"m{number}/p", cluster=f"m{number}")
        for number in range(10, 50)
    )
    fleet = MemberScope("budget few", 30, frozenset(each.cluster for each in nodes))
    found = everything(RotationInput(nodes=nodes, members=(fleet,)), RotationSettings(first_wave=99))
    assert len(drained(found)) == 30
    assert {each.blockers[0].text for each in found.waits} == {
        "budget few: 30 members may have nodes in flight, and m10, m11, m12, m13, m14, m15 and 24 more have"
    }


def test_nodes_of_a_member_that_has_left_are_given_up_and_the_others_go_on() -> None:
    """They are not seen any more, as those are not that others have removed."""
    nodes = tuple(
        RotationNode(name=f"{member}/{name}", uid=name, pool=f"{member}/p", cluster=member)
        for member, name in (("east", "a"), ("east", "b"), ("west", "a"), ("west", "b"))
    )
    begun = everything(RotationInput(nodes=nodes), RotationSettings(first_wave=1))
    assert drained(begun) == ["east/a"]
    sight = RotationInput(nodes=nodes[2:], left=frozenset({"east"}))
    found = decide(begun.state, sight, NOW)
    why = "its member has left the fleet; if it was cordoned it stays so"
    assert [(each.phase, each.code, each.text) for each in found.state.nodes[:2]] == [
        ("GivenUp", "member-left", why)
    ] * 2
    assert drained(found) == ["west/a"] and not found.state.halted


def test_a_node_that_is_to_be_let_go_on_a_member_that_has_left_holds_up_no_end() -> None:
    node = RotationNode(name="east/a", uid="a", pool="east/p", cluster="east")
    begun = everything(RotationInput(nodes=(node,)), RotationSettings(attempts=1))
    failed = decide(begun.state, RotationInput(nodes=(node,), failed={"east/a": "x"}), NOW).state
    assert failed.done and not failed.over
    after = decide(failed, RotationInput(nodes=(), left=frozenset({"east"})), NOW).state
    assert after.over and after.nodes[0].text == "x; its member has left the fleet; if it was cordoned it stays so"


def test_a_node_that_goes_after_its_time_still_awaits_what_comes_for_it() -> None:
    """Karpenter goes on with one whose drain took too long: its empty place is disrupted until a new node is there."""
    sight = RotationInput(nodes=a_pool_of(2), scopes=(scope(Budget("1")),))
    settings = RotationSettings(first_wave=99, node_timeout=600, attempts=3)
    late = decide(everything(sight, settings).state, sight, NOW + 10 * MINUTE)
    assert (late.state.nodes[0].phase, late.state.nodes[0].code) == ("Waiting", "drain-timeout")
    later = NOW + 11 * MINUTE
    only_late = dataclasses.replace(late.state, nodes=late.state.nodes[:1])
    waiting = decide(only_late, gone(sight, "p-0"), later)
    assert (waiting.state.nodes[0].phase, waiting.acts, outcome(waiting.state)) == ("Returning", (), "running")
    (left,) = scopes_left(waiting.state, gone(sight, "p-0"), later)
    assert (left.answer.total, left.left) == (2, 0)
    found = decide(waiting.state, replaced(sight, "p-0"), later)
    assert [(each.phase, each.code, each.replacement) for each in found.state.nodes] == [
        ("Rotated", "rotated", "new-p-0")
    ]


@pytest.mark.parametrize("replacement", ["none", "before"])
def test_a_node_that_goes_after_its_time_awaits_nothing_where_nothing_comes_after(replacement: str) -> None:
    sight = RotationInput(nodes=a_pool_of(1))
    settings = RotationSettings(node_timeout=600, attempts=3, replacement=replacement)
    late = decide(everything(sight, settings).state, sight, NOW + 10 * MINUTE)
    assert late.state.nodes[0].phase == "Waiting"
    assert decide(late.state, gone(sight, "p-0"), NOW + 11 * MINUTE).state.nodes[0].code == "gone"


def test_of_a_node_that_has_ended_no_more_is_kept_than_is_told() -> None:
    """Thousands of them are to fit into one record."""
    nodes = tuple(dataclasses.replace(each, image="Linux-1.1", version="v1") for each in a_pool_of(2))
    begun = everything(RotationInput(nodes=nodes), RotationSettings(first_wave=1, attempts=1, max_failures=1))
    found = decide(begun.state, replaced(RotationInput(nodes=nodes), "p-0"), NOW).state
    ended, flying = found.nodes
    assert (ended.uid, ended.image, ended.version, ended.created_at) == ("", "", "", None)
    assert ended.text and ended.begun_at and ended.replacement and flying.uid and flying.image
    failed = dataclasses.replace(RotationInput(nodes=nodes[1:]), failed={"p-1": "x"})
    assert [bool(each.uid) for each in decide(found, failed, NOW).state.nodes] == [False, True], "it is to be let go"
