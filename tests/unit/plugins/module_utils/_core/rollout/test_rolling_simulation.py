# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Random rolling updates with failing and slow members: what holds at every look."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.binding import BOUND
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.cluster_resource_placement import (
    ClusterResourcePlacement,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.content import WantedContent
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.rolling.decide import (
    DONE,
    RolloutSeen,
    RolloutState,
    decide,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import Condition
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.rollout.made import (
    DOWN,
    FAILED,
    MID_APPLY,
    NEW,
    NOW,
    OLD,
    READY,
    condition,
    held,
    pick_n,
    placement,
    untrackable,
)
from hypothesis import given, settings
from hypothesis import strategies as st

WANTED = WantedContent(resource_snapshot=NEW, overrides={})
REPORTS = (READY, READY, READY, FAILED, MID_APPLY, DOWN, untrackable(600), untrackable(30), condition("DiffReported"))


CHOICES = st.sampled_from([0, 1, 2, "10%", "25%", "50%", "100%"])
POLICIES = st.none() | st.integers(0, 8).map(pick_n)


@st.composite
def held_bindings(draw: st.DrawFn):
    bindings = []
    for name in draw(st.lists(st.sampled_from("abcdefghij"), min_size=1, unique=True)):
        state = draw(st.sampled_from(["Bound", "Bound", "Bound", "Scheduled", "Unscheduled"]))
        reports = draw(st.lists(st.sampled_from(REPORTS), max_size=1)) if state != "Scheduled" else []
        content = "" if state == "Scheduled" else draw(st.sampled_from([OLD, NEW]))
        deleting = draw(st.sampled_from([False] * 9 + [True]))
        bindings.append(held(name, *reports, state=state, content=content, deleting=deleting))
    return bindings


@pytest.mark.parametrize("upstream", [False, True])
@settings(max_examples=2 * settings().max_examples)
@given(bindings=held_bindings(), policy=POLICIES, unavailable=CHOICES, surge=CHOICES, data=st.data())
def test_no_budget_is_exceeded_and_order_does_not_matter(upstream, bindings, policy, unavailable, surge, data):
    wanting = placement(policy, maxUnavailable=unavailable, maxSurge=surge)
    seen = RolloutSeen(placement=wanting, wanted=WANTED, upstream=upstream)
    out = decide(RolloutState(bindings=tuple(bindings)), seen, NOW)
    again = decide(RolloutState(bindings=tuple(data.draw(st.permutations(bindings)))), seen, NOW)
    assert (again, again.state.report) == (out, out.state.report)
    numbers = out.state.report.calculation
    if numbers is None or numbers.max_to_remove is None:
        return
    ready_taken = sum(1 for each in out.acts if each.action in ("update", "remove") and was_ready(bindings, each))
    assert ready_taken <= max(0, numbers.max_to_remove)
    assert sum(1 for each in out.acts if each.action == "bind") <= max(0, numbers.max_to_add)
    explained = {each.binding for each in out.state.report.waits} | {each.binding for each in out.acts}
    assert explained >= {each.name for each in bindings if each.content != WANTED.content_on(each.cluster)}
    assert all(each.message for each in out.state.report.waits)


def was_ready(bindings, step):
    conditions = next(each.binding.status.conditions for each in bindings if each.name == step.binding)
    available = [each for each in conditions if each.type == "Available" and each.status == "True"]
    return any(each.reason == "AllWorkAreAvailable" for each in available)


@given(bindings=held_bindings(), policy=POLICIES, unavailable=CHOICES, surge=CHOICES)
def test_decided_anew_on_its_own_result_it_changes_nothing(bindings, policy, unavailable, surge):
    seen = RolloutSeen(placement=placement(policy, maxUnavailable=unavailable, maxSurge=surge), wanted=WANTED)
    out = decide(RolloutState(bindings=tuple(bindings)), seen, NOW)
    again = decide(out.state, seen, NOW)
    assert (again.acts, again.state) == ((), out.state)


@given(
    bindings=held_bindings(),
    unavailable=st.sampled_from([1, 2, "25%"]),
    surge=st.sampled_from([0, 1, "25%"]),
    seed=st.integers(0, 10**6),
)
def test_a_rollout_ends_with_the_wanted_content_everywhere(bindings, unavailable, surge, seed):
    """Members come up at random, fail for a while, and recover; maxUnavailable leaves room for one at least."""
    draw = random.Random(seed)
    seen = RolloutSeen(placement=placement(None, maxUnavailable=unavailable, maxSurge=surge), wanted=WANTED)
    now = NOW
    for _look in range(400):
        out = decide(RolloutState(bindings=tuple(bindings)), seen, now)
        if out.state.report.outcome == DONE and not out.state.report.waits:
            break
        now = max(now + timedelta(seconds=20), out.wake_at or now)
        bindings = [
            reported(draw, each, now) for each in out.state.bindings if not each.deleting or draw.random() < 0.5
        ]
    assert out.state.report.outcome == DONE
    assert {each.state for each in out.state.bindings} <= {BOUND}
    assert {each.content.resource_snapshot for each in out.state.bindings} <= {NEW}


def reported(draw: random.Random, each, now):
    """A member that is not available yet says something new about what it holds."""
    binding = each.binding
    if binding.spec.state == "Scheduled" or draw.random() < 0.3:
        return each
    status, reason = draw.choice(
        [("True", "AllWorkAreAvailable"), ("True", "AllWorkAreAvailable"), ("False", "NotAllWorkAreAvailable")]
    )
    said = Condition(
        type="Available",
        status=status,
        reason=reason,
        observed_generation=binding.metadata.generation,
        last_transition_time=now,
    )
    kept = tuple(one for one in binding.status.conditions if one.type == "RolloutStarted")
    return replace(each, binding=replace(binding, status=replace(binding.status, conditions=(*kept, said))))


JUNK = st.sampled_from([None, True, -1, 0, 10**30, "", "x", "25%", "-3%", [], [1], {}, {"type": "RollingUpdate"}, 2.5])


@given(
    kind=st.sampled_from(["PickN", "PickAll", "PickFixed", "Pick"]),
    number=st.sampled_from([None, -1, 0, 3, 10**30]),
    rolling=st.fixed_dictionaries(dict.fromkeys(("maxUnavailable", "maxSurge", "unavailablePeriodSeconds"), JUNK)),
    bindings=held_bindings(),
)
def test_nothing_but_our_error_comes_of_random_budgets(kind, number, rolling, bindings):
    policy = {"placementType": kind, "numberOfClusters": number}
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    try:
        wanting = decode(
            ClusterResourcePlacement, {"metadata": {"name": "web"}, "spec": {"policy": policy, "strategy": strategy}}
        )
    except (ValueError, TypeError):
        return
    try:
        decide(RolloutState(bindings=tuple(bindings)), RolloutSeen(placement=wanting, wanted=WANTED), NOW)
    except FleetError as error:
        assert all(each.where.startswith("ClusterResourcePlacement/web spec.") for each in error.problems)
