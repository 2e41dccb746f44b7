# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The waves that a plan tells are those that the rolling update makes when every cluster is available at once."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace

from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.document import ClusterPlan
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.waves import waves
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.content import RolloutBinding, WantedContent
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.rolling.decide import (
    RolloutSeen,
    RolloutState,
    decide,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.rollout.made import (
    NEW,
    NOW,
    OLD,
    READY,
    held,
    placement,
)
from hypothesis import given
from hypothesis import strategies as st

CHOICES = st.sampled_from([0, 1, 2, 3, "10%", "25%", "50%", "100%"])
CAUSES = {"lost": "scaled-down", "gained": "picked", "kept": "content-changed", "same": "unchanged"}


def carried_out(wanting, bindings):
    """The clusters of each wave, all of them available right after it."""
    state = RolloutState(bindings=tuple(bindings))
    seen = RolloutSeen(placement=wanting, wanted=WantedContent(resource_snapshot=NEW, overrides={}))
    found, now = [], NOW
    while True:
        now += timedelta(minutes=5)
        decision = decide(state, seen, now)
        wave = [each.cluster for each in decision.acts if each.action in ("bind", "update", "remove")]
        if not wave:
            return found
        found.append(sorted(wave))
        state = RolloutState(bindings=tuple(available(each) for each in decision.state.bindings if not each.deleting))


def available(each):
    binding = each.binding
    if each.state == "Scheduled":
        return each
    fresh = held(each.cluster, READY).binding.status.conditions
    stamped = tuple(replace(one, observed_generation=binding.metadata.generation) for one in fresh)
    return RolloutBinding(binding=replace(binding, status=replace(binding.status, conditions=stamped)))


@given(st.dictionaries(st.sampled_from("abcdefghij"), st.sampled_from(list(CAUSES)), min_size=1), CHOICES, CHOICES)
def test_they_are_those_of_the_rolling_update(changes, unavailable, surge):
    wanting = placement(None, maxUnavailable=unavailable, maxSurge=surge)
    bindings = []
    for name, change in sorted(changes.items()):
        state = {"lost": "Unscheduled", "gained": "Scheduled"}.get(change, "Bound")
        content = {"gained": "", "same": NEW}.get(change, OLD)
        bindings.append(held(name, *([] if change == "gained" else [READY]), state=state, content=content))
    clusters = [
        ClusterPlan(cluster=name, change="kept" if change == "same" else change, cause=CAUSES[change], reason="")
        for name, change in sorted(changes.items())
    ]
    plan = SimpleNamespace(
        placement=wanting, deleting=False, by_run=False, clusters=clusters, bindings=[each.binding for each in bindings]
    )
    assert [sorted(each) for each in waves(plan)] == carried_out(wanting, bindings)


def test_a_placement_that_ends_ends_at_once():
    clusters = [ClusterPlan(cluster=name, change="lost", cause="deleted", reason="") for name in "abcd"]
    plan = SimpleNamespace(placement=placement(None), deleting=True, by_run=False, clusters=clusters, bindings=[])
    assert waves(plan) == (("a", "b", "c", "d"),)
