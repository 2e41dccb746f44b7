# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Under an approved digest nothing passes but that plan, or the rest of it once it was begun."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.snapshot import FactsSnapshot
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError, Problem
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.brakes import BrakeLimits, facts_age_brake
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.compose import Facts, RecordedState
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.document import PlacementPlan
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.outcome import MemberOutcome
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.conditions import set_condition
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.evacuation import Evacuation
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.checks import (
    braked,
    check_digest,
    contents_under,
    with_silence_told,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.plan import FleetPlan, PlanRequest
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.recorded import (
    APPROVED,
    APPROVED_CONTENTS,
    RecordedPlacement,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan.made import (
    EXTRA,
    NOW,
    carried_out,
    cluster,
    facts,
    pick_all,
    pick_fixed,
    placed,
    plan,
    rendered,
    require,
    wanted,
)

FLEET = facts("a", "b", "c", "d")
PRUNING = {"prune_kinds": ("Namespace",)}
EMPTY_FIRST = {"evacuation": Evacuation(empty_first=True)}


def asked(approved: str, **options: t.Any) -> PlanRequest:
    read = FactsSnapshot(captured_at=NOW, members=())
    limits = BrakeLimits()
    return PlanRequest(placements=(), facts=read, limits=limits, now=NOW, key=b"", approved=approved, **options)


def begun(made: PlacementPlan, known: RecordedState, request: PlanRequest) -> RecordedPlacement:
    annotations = {APPROVED: request.approved, APPROVED_CONTENTS: contents_under(made, request)}
    document = {"metadata": {"name": "web", "uid": "u", "annotations": annotations}}
    return RecordedPlacement(document=document, bindings={}, policy_snapshots=(), resource_snapshots=(), known=known)


def passes(made: PlacementPlan, recorded: RecordedPlacement, fleet: Facts, request: PlanRequest) -> bool:
    try:
        check_digest(FleetPlan(plans=(made,), recorded={"web": recorded}, facts=fleet), request)
    except FleetError as refused:
        assert refused.code == "digest-mismatch"
        return False
    return True


@pytest.mark.parametrize("before", [{}, PRUNING, EMPTY_FIRST])
@pytest.mark.parametrize("after", [{}, PRUNING, EMPTY_FIRST])
def test_the_rest_of_an_approved_plan_passes_with_the_options_that_it_was_begun_with(
    before: dict[str, t.Any], after: dict[str, t.Any]
) -> None:
    kinds = {"prune_kinds": before.get("prune_kinds", ())}
    first = plan(wanted(pick_fixed("a", "b"), **kinds), FLEET, placed(pick_fixed("a", "b", "c", "d"), FLEET))
    left = carried_out(first, failing={"d"})
    recorded = begun(first, left, asked(first.digest, **before))
    again = plan(wanted(pick_fixed("a", "b"), prune_kinds=after.get("prune_kinds", ())), FLEET, left)
    assert again.digest != first.digest and [each.change for each in again.clusters] == ["kept", "kept", "lost"]
    assert passes(again, recorded, FLEET, asked(first.digest, **after)) is (before == after)


def test_a_cluster_that_was_to_lose_it_and_is_picked_again_is_no_rest_of_an_approved_plan() -> None:
    def fleet(env: str) -> Facts:
        return facts(*(cluster(each, labels={"env": "prod"}) for each in "abc"), cluster("d", labels={"env": env}))

    wish = wanted(pick_all(affinity=require({"env": "prod"})))
    first = plan(wish, fleet("dev"), placed(pick_all(), fleet("dev")))
    request = asked(first.digest)
    left = carried_out(first, failing={"d"})
    recorded = begun(first, left, request)
    assert passes(plan(wish, fleet("dev"), left), recorded, fleet("dev"), request)
    back = plan(wish, fleet("prod"), left)
    assert [each.change for each in back.clusters] == ["kept"] * 4
    assert not passes(back, recorded, fleet("prod"), request)


def told(silent: t.Container[str], unread: frozenset[str]) -> list[str]:
    """Whom a plan tells of, for which a and b were looked at and c was not."""
    known = placed(pick_all(), FLEET)
    well = ("True", "AllWorkAreAvailable", "")
    statuses = (set_condition((), "Available", well, each.metadata.generation, NOW) for each in known.bindings)
    bindings = zip(known.bindings, statuses, strict=True)
    available = tuple(replace(each, status=replace(each.status, conditions=row)) for each, row in bindings)
    known = replace(known, bindings=available)
    made = plan(wanted(pick_all(), (rendered(EXTRA),)), FLEET, known)
    gone = Problem("timeout", "no answer", "a")
    looked = {name: MemberOutcome(cluster=name, error=gone if name in silent else None) for name in "ab"}
    found = with_silence_told(FleetPlan(plans=(made,), recorded={}, facts=FLEET), {"web": looked}, unread)
    return [each.where for each in found.findings if each.code == "counted-as-recorded"]


def test_who_is_silent_is_told_by_the_look_and_of_others_by_their_facts() -> None:
    assert told("a", frozenset("bc")) == ["a (web)", "c (web)"]
    assert told("", frozenset()) == []


def test_old_facts_are_to_be_read_anew_before_a_larger_limit_is_named() -> None:
    """Of all brakes this one alone is mended without giving way to it."""
    old = facts_age_brake(NOW - timedelta(hours=2), NOW, timedelta(minutes=10))
    (problem,) = braked([replace(plan(wanted(pick_all()), FLEET), brakes=(old,))])
    assert problem.hint.startswith("ansible-playbook gitops.fleet.facts -e dest=facts.json reads them anew; ")
