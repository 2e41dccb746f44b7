# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What an apply repairs of a placement that staged runs change, and what it leaves to them."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.binding import HELD_BEFORE
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.compose import RecordedState, WantedPlacement
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.document import PlacementPlan, Rendered
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.member import REPAIR, MemberStep
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.outcome import MemberOutcome
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.hand_over import (
    awaiting_staged_run,
    clusters_to_look_at,
    repair_drifted,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan.made import (
    CONFIG,
    OBJECTS,
    carried_out,
    facts,
    placement,
    plan,
    rendered,
)

FLEET = facts("a", "b")
DRIFTED = {
    name: MemberOutcome(cluster=name, steps=(MemberStep(id=CONFIG, action=REPAIR),) if name == "a" else ())
    for name in ("a", "b")
}


def external(
    known: RecordedState | None = None, objects: tuple[Rendered, ...] = OBJECTS, **how: t.Any
) -> PlacementPlan:
    wish = WantedPlacement(placement=placement(strategy={"type": "External", **how}), objects=objects)
    return plan(wish, FLEET, known)


def given() -> RecordedState:
    """Records after a run that reached both clusters."""
    return carried_out(external())


class Reached:
    """Clusters that were written to."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def __call__(self, clusters: t.Any, write: bool) -> dict[str, MemberOutcome]:
        assert write
        self.names |= clusters
        return {name: MemberOutcome(cluster=name, done=True) for name in clusters}


def test_what_drifted_is_applied_once_more_and_nothing_else():
    reach = Reached()
    found = repair_drifted(external(given()), DRIFTED, reach)
    assert reach.names == {"a"} and found["a"].done and found["b"] is DRIFTED["b"]


def test_nobody_is_gone_to_where_nothing_drifted():
    looked = {"b": DRIFTED["b"]}
    assert repair_drifted(external(given()), looked, Reached()) is looked


def test_a_cluster_that_got_something_else_since_the_look_is_left_to_its_run():
    newer, reach = external(given(), (OBJECTS[0], rendered(CONFIG, "2"))), Reached()
    assert awaiting_staged_run(newer).keys() == {"a", "b"} and clusters_to_look_at(newer) == frozenset()
    assert repair_drifted(newer, DRIFTED, reach) is DRIFTED and not reach.names


def test_another_apply_strategy_is_for_runs_to_bring():
    forced = {"type": "ServerSideApply", "serverSideApplyConfig": {"force": True}}
    assert awaiting_staged_run(external(given(), applyStrategy=forced)).keys() == {"a", "b"}
    assert not awaiting_staged_run(external(given()))


def test_what_a_run_has_only_begun_is_for_a_run_to_end():
    known = given()
    begun = [
        replace(each, metadata=replace(each.metadata, annotations={HELD_BEFORE: ""}))
        if each.spec.target_cluster == "a"
        else each
        for each in known.bindings
    ]
    assert awaiting_staged_run(external(replace(known, bindings=tuple(begun)))).keys() == {"a"}
