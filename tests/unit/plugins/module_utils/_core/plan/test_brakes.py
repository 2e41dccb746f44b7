# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.brakes import (
    BrakeLimits,
    ObjectLoss,
    empty_brake,
    facts_age_brake,
    no_objects_brake,
    object_removals_brake,
    older_source_brake,
    removals_brake,
)

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)


def test_all_brakes_are_on_by_default() -> None:
    limits = BrakeLimits()
    assert (limits.max_removals, limits.allow_empty, limits.allow_older) == ("30%", False, False)
    assert limits.max_facts_age == timedelta(hours=24)


@pytest.mark.parametrize(
    ("held", "lost", "stops"),
    [
        (1, 1, False),
        (2, 1, False),
        (2, 2, True),
        (3, 1, False),
        (10, 3, False),
        (10, 4, True),
        (9, 3, True),
        (0, 0, False),
    ],
)
def test_thirty_percent_may_leave_rounded_down_and_one_always(held: int, lost: int, stops: bool) -> None:
    brake = removals_brake("web", held, lost, "30%")
    assert brake.stops is stops and not brake.lifted


@pytest.mark.parametrize("limit", [0, "0%", -5, 1])
def test_one_may_leave_under_the_strictest_limit(limit: int | str) -> None:
    assert not removals_brake("web", 100, 1, limit).stops
    assert removals_brake("web", 100, 2, limit).stops


@pytest.mark.parametrize("limit", ["40%", 4, "100%"])
def test_a_higher_limit_lifts_what_the_default_would_stop(limit: int | str) -> None:
    brake = removals_brake("web", 10, 4, limit)
    assert (brake.tripped, brake.lifted, brake.stops) == (True, True, False)


def test_a_higher_limit_that_is_not_needed_lifts_nothing_and_one_too_low_stops_all_the_same() -> None:
    assert not removals_brake("web", 10, 3, "100%").tripped
    still = removals_brake("web", 10, 6, "50%")
    assert still.stops and not still.lifted


def test_the_message_names_the_numbers_and_the_option() -> None:
    brake = removals_brake("web", 10, 4, "30%")
    assert brake.message == "web: 4 of 10 clusters would lose it; max_removals 30% permits 3"
    assert brake.option == "max_removals: 4"
    assert brake.as_dict() == {"name": "max_removals", "stops": True, "lifted": False, "message": brake.message}


@pytest.mark.parametrize(
    ("held", "kept", "allow", "tripped", "stops"),
    [(3, 0, False, True, True), (3, 0, True, True, False), (3, 1, False, False, False), (0, 0, False, False, False)],
)
def test_a_placement_ends_on_no_cluster_only_if_that_is_said(
    held: int, kept: int, allow: bool, tripped: bool, stops: bool
) -> None:
    brake = empty_brake("web", held, kept, allow)
    assert (brake.tripped, brake.stops, brake.lifted) == (tripped, stops, tripped and not stops)


def test_old_facts_are_no_ground_to_act_on() -> None:
    limit = timedelta(minutes=10)
    assert not facts_age_brake(NOW - limit, NOW, limit).stops
    brake = facts_age_brake(NOW - timedelta(minutes=11), NOW, limit)
    assert brake.stops
    assert "captured 11 min ago, at 2026-01-15T11:49:00Z; max_facts_age permits 10 min" in brake.message
    assert brake.option == "max_facts_age: 720"


def test_an_age_reads_in_fitting_units() -> None:
    assert "captured 90 s ago" in facts_age_brake(NOW - timedelta(seconds=90), NOW, timedelta(seconds=30)).message
    assert "captured 49 h ago" in facts_age_brake(NOW - timedelta(hours=49), NOW, timedelta(hours=24)).message


def test_an_older_source_stops_unless_that_is_said() -> None:
    assert not older_source_brake("web", "b" * 40, "a" * 40, older=False, allow=False).tripped
    brake = older_source_brake("web", "b" * 40, "a" * 40, older=True, allow=False)
    assert brake.stops and brake.message == f"web: revision {'b' * 12} is not a descendant of {'a' * 12}, applied last"
    assert older_source_brake("web", "", "a" * 40, older=True, allow=True).lifted


def loss(deleted: int, held: int, cluster: str = "a") -> ObjectLoss:
    return ObjectLoss(cluster=cluster, held=held, deleted=deleted)


@pytest.mark.parametrize(
    ("held", "deleted", "stops"),
    [(1, 1, False), (3, 1, False), (3, 2, True), (10, 3, False), (10, 4, True), (10, 10, True), (0, 0, False)],
)
def test_thirty_percent_of_the_objects_on_a_cluster_may_go_and_one_always(held: int, deleted: int, stops: bool) -> None:
    brake = object_removals_brake("web", [loss(deleted, held)], "30%")
    assert (brake.stops, brake.lifted) == (stops, False)


def test_each_cluster_counts_by_itself_and_the_worst_is_told() -> None:
    brake = object_removals_brake("web", [loss(1, 10, "a"), loss(5, 10, "b"), loss(9, 10, "c")], "30%")
    assert brake.stops
    assert brake.message == (
        "web: 9 of 10 objects would be deleted on c (and 1 more cluster loses too many); "
        "max_object_removals 30% permits 3"
    )
    assert brake.option == "max_object_removals: 9"


def test_a_higher_limit_on_objects_is_a_lift_only_where_it_is_needed() -> None:
    assert object_removals_brake("web", [loss(4, 10)], "40%").lifted
    assert not object_removals_brake("web", [loss(3, 10)], "100%").tripped
    still = object_removals_brake("web", [loss(4, 10), loss(9, 10)], "50%")
    assert still.stops and not still.lifted


@pytest.mark.parametrize(
    ("held", "selected", "allow", "tripped", "stops"),
    [(3, 0, False, True, True), (3, 0, True, True, False), (3, 1, False, False, False), (0, 0, False, False, False)],
)
def test_a_placement_loses_its_last_object_only_if_that_is_said(
    held: int, selected: int, allow: bool, tripped: bool, stops: bool
) -> None:
    brake = no_objects_brake("web", held, selected, allow)
    assert (brake.tripped, brake.stops, brake.lifted) == (tripped, stops, tripped and not stops)


def test_an_ancestry_that_cannot_be_told_stops_with_the_command_that_helps() -> None:
    brake = older_source_brake("web", "b" * 40, "a" * 40, older=None, allow=False, deepen="git fetch --unshallow")
    assert brake.stops and brake.message.endswith("; run git fetch --unshallow")
    assert "cannot be told whether" in brake.message
    assert older_source_brake("web", "b" * 40, "a" * 40, older=None, allow=True).lifted


def test_after_files_of_no_known_revision_it_cannot_be_told_which_is_older():
    brake = older_source_brake("web", "b" * 40, "", older=None, allow=False)
    assert brake.stops and "a descendant of what was applied last, which were files of no known" in brake.message
