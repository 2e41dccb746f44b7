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
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.binding import BOUND
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.cluster_resource_placement import (
    ClusterResourcePlacement,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.meta import Condition
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.schema import decode
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.content import Wanted
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.rolling import DONE, roll
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

WANTED = Wanted(resource_snapshot=NEW, overrides={})
REPORTS = (READY, READY, READY, FAILED, MID_APPLY, DOWN, untrackable(600), untrackable(30), condition("DiffReported"))


def drawn(draw: random.Random, names: str = "abcdefghij"):
    bindings = []
    for name in names[: draw.randrange(1, len(names) + 1)]:
        state = draw.choice(["Bound", "Bound", "Bound", "Scheduled", "Unscheduled"])
        reports = [draw.choice(REPORTS)] if state != "Scheduled" and draw.random() < 0.9 else []
        content = "" if state == "Scheduled" else draw.choice([OLD, NEW])
        deleting = draw.random() < 0.1
        bindings.append(held(name, *reports, state=state, content=content, deleting=deleting))
    return bindings


def budgets(draw: random.Random):
    choices = [0, 1, 2, "10%", "25%", "50%", "100%"]
    return {"maxUnavailable": draw.choice(choices), "maxSurge": draw.choice(choices)}


@pytest.mark.parametrize("upstream", [False, True])
@pytest.mark.parametrize("seed", range(150))
def test_no_budget_is_exceeded_and_order_does_not_matter(seed, upstream):
    draw = random.Random(seed)
    bindings = drawn(draw)
    policy = draw.choice([None, pick_n(draw.randrange(0, 9))])
    wanting = placement(policy, **budgets(draw))
    out = roll(wanting, bindings, WANTED, NOW, upstream=upstream)
    draw.shuffle(bindings)
    assert roll(wanting, bindings, WANTED, NOW, upstream=upstream) == out
    numbers = out.calculation
    if numbers is None or numbers.max_to_remove is None:
        return
    ready_taken = sum(1 for each in out.steps if each.action in ("update", "remove") and was_ready(bindings, each))
    assert ready_taken <= max(0, numbers.max_to_remove)
    assert sum(1 for each in out.steps if each.action == "bind") <= max(0, numbers.max_to_add)
    explained = {each.binding for each in out.waits} | {each.binding for each in out.steps}
    assert explained >= {each.name for each in bindings if each.content != WANTED.of(each.cluster)}
    assert all(each.message for each in out.waits)


def was_ready(bindings, step):
    conditions = next(each.binding.status.conditions for each in bindings if each.name == step.binding)
    available = [each for each in conditions if each.type == "Available" and each.status == "True"]
    return any(each.reason == "AllWorkAreAvailable" for each in available)


@pytest.mark.parametrize("seed", range(40))
def test_a_rollout_ends_with_the_wanted_content_everywhere(seed):
    """Members come up at random, fail for a while, and recover; maxUnavailable leaves room for one at least."""
    draw = random.Random(seed)
    wanting = placement(None, maxUnavailable=draw.choice([1, 2, "25%"]), maxSurge=draw.choice([0, 1, "25%"]))
    bindings, now = drawn(draw), NOW
    for _look in range(400):
        out = roll(wanting, bindings, WANTED, now)
        if out.outcome == DONE and not out.waits:
            break
        now = max(now + timedelta(seconds=20), out.wake_at or now)
        bindings = [reported(draw, each, now) for each in out.bindings if not each.deleting or draw.random() < 0.5]
    assert out.outcome == DONE
    assert {each.state for each in out.bindings} <= {BOUND}
    assert {each.content.resource_snapshot for each in out.bindings} <= {NEW}


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


JUNK = [None, True, -1, 0, 10**30, "", "x", "25%", "-3%", [], [1], {}, {"type": "RollingUpdate"}, 2.5]


@pytest.mark.parametrize("seed", range(100))
def test_nothing_but_our_error_comes_of_random_budgets(seed):
    draw = random.Random(seed)
    fields = ("maxUnavailable", "maxSurge", "unavailablePeriodSeconds")
    policy = {"placementType": draw.choice(["PickN", "PickAll", "PickFixed", "Pick"])}
    policy["numberOfClusters"] = draw.choice([None, -1, 0, 3, 10**30])
    document = {
        "metadata": {"name": "web"},
        "spec": {
            "policy": draw.choice([None, policy]),
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {name: draw.choice(JUNK) for name in fields}},
        },
    }
    try:
        wanting = decode(ClusterResourcePlacement, document)
    except (ValueError, TypeError):
        return
    try:
        roll(wanting, drawn(draw), WANTED, NOW)
    except FleetError as error:
        assert all(each.where.startswith("ClusterResourcePlacement/web spec.") for each in error.problems)
