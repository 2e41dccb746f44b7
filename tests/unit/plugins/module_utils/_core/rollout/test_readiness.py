# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

from datetime import timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.readiness import (
    failed_condition,
    readiness,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.windows.clocks import LAST
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.rollout.made import (
    DOWN,
    FAILED,
    MID_APPLY,
    NOW,
    READY,
    binding,
    condition,
    untrackable,
)

PERIOD = timedelta(seconds=60)


def look(*conditions, applied_only=False, upstream=False, now=NOW):
    return readiness(binding("a", *conditions), PERIOD, now, applied_only=applied_only, upstream=upstream)


def test_known_availability_counts_at_once():
    assert look(condition("Available", reason="AllWorkAreAvailable", seconds=0)).ready


def test_a_condition_of_an_older_generation_is_as_good_as_none():
    assert not look({**READY, "observedGeneration": 0}).ready


def test_what_reports_its_difference_is_ready():
    assert look(condition("DiffReported")).ready
    assert not look(condition("DiffReported", "False")).ready


def test_untrackable_objects_wait_for_the_period_D4_79():
    early = look(untrackable(59))
    assert (early.ready, early.at) == (False, NOW + timedelta(seconds=1))
    assert look(untrackable(60)).ready


def test_upstream_wants_the_period_to_be_exceeded():
    assert look(untrackable(60), upstream=True).at == NOW
    assert look(untrackable(61), upstream=True).ready


def test_all_words_for_untrackable_wait():
    for reason in ("WorkNotTrackable", "SomeManifestsAreNotAvailabilityTrackable"):
        assert not look(untrackable(1, reason)).ready
    assert look(untrackable(1, "SomeManifestsAreNotAvailabilityTrackable"), upstream=True).ready


def test_applied_is_enough_where_that_is_chosen_D4_82():
    applied = condition("Applied", reason="AllWorkHaveBeenApplied", seconds=61)
    assert not look(applied, DOWN).ready
    assert look(applied, DOWN, applied_only=True).ready
    recent = condition("Applied", reason="AllWorkHaveBeenApplied", seconds=1)
    assert look(recent, DOWN, applied_only=True).at == NOW + timedelta(seconds=59)


def test_where_applied_is_enough_a_cluster_stays_ready_when_more_is_found_out_D4_82():
    """It turns from not available to not trackable, and does not wait for another period; the earlier one counts."""
    applied = condition("Applied", reason="AllWorkHaveBeenApplied", seconds=61)
    assert look(applied, DOWN, applied_only=True).ready
    assert look(applied, untrackable(1), applied_only=True).ready
    assert not look(applied, untrackable(1)).ready
    recent = condition("Applied", reason="AllWorkHaveBeenApplied", seconds=20)
    assert look(recent, untrackable(1), applied_only=True).at == NOW + timedelta(seconds=40)
    assert look(recent, untrackable(30), applied_only=True).at == NOW + timedelta(seconds=30)


def test_an_event_is_needed_where_nothing_is_known():
    assert look().at is None


@pytest.mark.parametrize("kind", ["Overridden", "WorkSynchronized", "Applied", "Available"])
def test_a_condition_that_is_false_is_a_failure(kind):
    assert failed_condition(binding("a", condition(kind, "False", "Whatever")), upstream=False)
    assert not failed_condition(binding("a", condition(kind, "Unknown", "Whatever")), upstream=False)
    assert not failed_condition(
        binding("a", {**condition(kind, "False", "Whatever"), "observedGeneration": 0}), upstream=False
    )


@pytest.mark.parametrize("each", [MID_APPLY, DOWN])
def test_the_middle_of_an_apply_is_no_failure_but_upstream_s(each):
    assert not failed_condition(binding("a", each), upstream=False)
    assert failed_condition(binding("a", each), upstream=True)
    assert failed_condition(binding("a", FAILED), upstream=False)


def test_instants_saturate():
    assert readiness(binding("a", untrackable(0)), timedelta.max, NOW, applied_only=False, upstream=False).at == LAST
    assert readiness(binding("a", untrackable(0)), PERIOD, NOW, applied_only=False, upstream=False).at == NOW + PERIOD
