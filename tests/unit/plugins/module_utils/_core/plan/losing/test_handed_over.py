# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""An object that moves from one placement to another in one run is handed over, and never deleted."""

from __future__ import annotations

import typing as t
from dataclasses import replace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import ObjectId
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.binding import HELD_BEFORE
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.rollout_strategy import (
    ApplyStrategy,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.compose import (
    RecordedState,
    WantedPlacement,
    brakes_of,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.digest import document_digest
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.document import Moves, PlacementPlan
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.losing.handed_over import handed_over
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.member import decide_member
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.applyset import (
    PART_OF_LABEL,
    ApplySet,
    InventoryEntry,
    applyset_id,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan import made

DATA = ObjectId("", "v1", "PersistentVolumeClaim", "test", "data")
ALPHA, ZETA = applyset_id("alpha"), applyset_id("zeta")
FLEET = made.facts("a", "b")


def wish(name: str, *objects: ObjectId, **more: t.Any) -> WantedPlacement:
    one = made.wanted(None, tuple(map(made.rendered, objects)), **more)
    return replace(one, placement=replace(one.placement, metadata=replace(one.placement.metadata, name=name)))


def together(
    *asked: tuple[WantedPlacement, RecordedState | None], hubs: t.Container[str] = ()
) -> dict[str, PlacementPlan]:
    """The plans of one run, by name."""
    known = {one.placement.name: (one, before or RecordedState()) for one, before in asked}

    def braked(plan: PlacementPlan, rows: t.Any) -> t.Any:
        one, before = known[plan.name]
        return brakes_of(one, before, FLEET, made.NOW, made.LIMITS, rows)

    plans = [made.plan(one, FLEET, before) for one, before in known.values()]
    return {each.name: each for each in handed_over(plans, braked, dict.fromkeys(known, hubs))}


def held(name: str, *objects: ObjectId) -> RecordedState:
    return made.carried_out(made.plan(wish(name, *objects), FLEET))


@pytest.mark.parametrize("ends", ["", "deleted", "source-gone"])
def test_what_another_placement_is_to_hold_there_is_released_and_not_deleted(ends: str) -> None:
    """One that is renamed ends under the old name, and hands over all that it holds."""
    rest = (made.CONFIG, made.EXTRA) if not ends else ()
    before = held("zeta", DATA, *rest)
    leaving = wish("zeta", *rest, deleting=ends) if ends else wish("zeta", *rest)
    plans = together((wish("alpha", DATA), None), (leaving, before))
    for row in plans["zeta"].clusters:
        assert (row.prune, row.release, row.leftover, row.counted) == ((), (DATA,), (), 0)
    assert plans["zeta"].moves == {name: Moves(handed=frozenset({DATA.key})) for name in "ab"}
    assert plans["alpha"].moves == {name: Moves(takes={DATA.key: frozenset({ZETA})}) for name in "ab"}
    (told,) = [each.message for each in plans["zeta"].findings if each.code == "handed-over"]
    assert "over to placement alpha on 2 clusters" in told and str(DATA) in told
    assert not [each.name for each in plans["zeta"].brakes if each.name == "max_object_removals" and each.tripped]


def test_the_digest_is_that_of_what_is_shown_and_a_second_pass_changes_nothing() -> None:
    plans = together((wish("alpha", DATA), None), (wish("zeta", made.CONFIG), held("zeta", DATA, made.CONFIG)))
    assert all(document_digest(each.as_dict()) == each.digest for each in plans.values())
    again = handed_over(list(plans.values()), lambda _plan, _rows: pytest.fail("no brake is asked again"))
    assert again == list(plans.values())


def test_what_a_write_that_was_cut_short_may_have_put_there_is_not_counted_once_it_is_handed_over() -> None:
    """Nothing is deleted, so that no brake on deletions stops the run."""
    zero = held("zeta", made.CONFIG)
    more = made.plan(wish("zeta", made.CONFIG, DATA, made.EXTRA), FLEET, zero)
    after = made.carried_out(more, zero)
    marks = {HELD_BEFORE: "zeta-0-snapshot"}
    cut = tuple(replace(each, metadata=replace(each.metadata, annotations=marks)) for each in after.bindings)
    before = replace(after, bindings=cut)
    alone = made.plan(wish("zeta", made.CONFIG), FLEET, before)
    assert [(row.leftover, row.counted) for row in alone.clusters] == [((DATA, made.EXTRA), 2)] * 2
    assert "max_object_removals" in [each.name for each in alone.brakes if each.stops]
    plans = together((wish("alpha", DATA, made.EXTRA), None), (wish("zeta", made.CONFIG), before))
    assert [(row.release, row.counted) for row in plans["zeta"].clusters] == [((DATA, made.EXTRA), 0)] * 2
    assert not [each.message for each in plans["zeta"].brakes if each.stops]


def test_what_nobody_else_is_to_hold_is_deleted_as_ever() -> None:
    """Nor does it help that another one holds it elsewhere, or only reports."""
    report = wish("alpha", DATA)
    spec = report.placement.spec
    strategy = replace(spec.strategy, apply_strategy=ApplyStrategy(type="ReportDiff"))
    reports = replace(report, placement=replace(report.placement, spec=replace(spec, strategy=strategy)))
    for other in (wish("alpha", made.EXTRA), reports):
        plans = together((other, None), (wish("zeta", made.CONFIG), held("zeta", DATA, made.CONFIG)))
        assert all(row.prune == (DATA,) for row in plans["zeta"].clusters) and not plans["zeta"].moves


@pytest.mark.parametrize("first", ["alpha", "zeta"])
def test_whoever_comes_first_the_object_stays(first: str) -> None:
    there: dict[str, t.Any] = {
        "metadata": {"name": "data", "namespace": "test", "uid": "u", "labels": {PART_OF_LABEL: ZETA}}
    }
    entry = InventoryEntry(id=DATA, hash=made.rendered(DATA).hash)
    recorded = ApplySet(placement="zeta", uid="z", inventory=(entry,))

    def taken() -> list[str]:
        moves = Moves(takes={DATA.key: frozenset({ZETA})})
        steps = decide_member([made.rendered(DATA)], None, {DATA.key: there}, ALPHA, ApplyStrategy(), moves=moves)
        return [each.action for each in steps]

    def given() -> list[str]:
        moves = Moves(handed=frozenset({DATA.key}))
        steps = decide_member([], recorded, {DATA.key: there}, ZETA, ApplyStrategy(), moves=moves)
        return [each.action for each in steps]

    if first == "alpha":
        assert taken() == ["adopt"]
        there["metadata"]["labels"] = {PART_OF_LABEL: ALPHA}
        assert given() == []
    else:
        assert given() == ["release"]
        there["metadata"]["labels"] = {}
        assert taken() == ["adopt"]


def test_what_a_third_one_holds_is_not_taken_over() -> None:
    there = {DATA.key: {"metadata": {"name": "data", "labels": {PART_OF_LABEL: applyset_id("other")}}}}
    moves = Moves(takes={DATA.key: frozenset({ZETA})})
    (step,) = decide_member([made.rendered(DATA)], None, there, ALPHA, ApplyStrategy(), moves=moves)
    assert (step.action, step.reason) == ("refused", "FailedToTakeOver")


def test_what_was_selected_on_the_hub_stays_there_where_the_hub_is_a_member() -> None:
    """It is what its author wrote, and not a copy of it; on all other members it is a copy, and goes."""
    plan = together((wish("zeta", made.CONFIG), held("zeta", DATA, made.CONFIG)), hubs=("a",))["zeta"]
    hub, other = plan.clusters
    assert (hub.prune, hub.release, other.prune, other.release) == ((), (DATA,), (DATA,), ())
    assert plan.moves == {"a": Moves(handed=frozenset({DATA.key}), originals=True)}
    assert [each.message for each in plan.findings if each.code == "originals-stay"] == [
        "a is the hub: what was selected there are the originals, which are released and not deleted"
    ]
    assert document_digest(plan.as_dict()) == plan.digest
