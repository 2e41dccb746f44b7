# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What another FleetMaintenance changes: parts that come, go, or become other ones."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.reading import read
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.maintenance_changes import (
    MaintenanceChange,
    maintenance_change,
)
from ansible_collections.gitops.fleet.tests.data.maintenance_parts import (
    DAILY,
    configuration,
    freeze,
    in_week,
    maintenance,
)

Document = dict[str, t.Any]


def changed(before: Document | None, after: Document | None) -> MaintenanceChange:
    old, new = (read(each).object.spec if each else None for each in (before, after))
    return maintenance_change("standard", old, new)


def told(before: Document | None, after: Document | None) -> list[str]:
    return [f"{each.mark} {each.what}: {each.words}" for each in changed(before, after).parts]


def test_what_comes_is_told_whole() -> None:
    found = maintenance(
        configuration(timeZone="Europe/Vienna", startDate="2026-01-01", memberSelector=None),
        freezes=[freeze(memberSelector={"byLabel": "env=prod"}, reason="holidays")],
        budgets=[{"name": "all", "members": "10%"}],
    )
    assert changed(None, found).mark == "+"
    assert told(None, found) == [
        "+ window kubernetes: open every week on Saturday, at 01:00, clock Europe/Vienna, hours 4, from 2026-01-01",
        "+ freeze year-end: days 2026-12-20 to 2027-01-03, clock UTC, members env=prod, reason holidays",
        "+ budget all: disrupted members 10%",
    ]


def test_what_goes_is_told_whole_too() -> None:
    assert changed(maintenance(freezes=[freeze()]), None).mark == "-"
    assert told(maintenance(freezes=[freeze(end="2026-12-20")]), None) == [
        "- freeze year-end: days 2026-12-20, clock UTC"
    ]


def test_of_what_changes_the_difference_is_told() -> None:
    old = maintenance(configuration(), freezes=[freeze(), freeze("sales")])
    new = maintenance(
        configuration(durationHours=6), freezes=[freeze(end="2027-01-06", reason="longer"), freeze("sales")]
    )
    found = changed(old, new)
    assert found.mark == "~"
    assert found.words == (
        "window kubernetes changes (hours 4 -> 6), freeze year-end changes (days 2026-12-20 to 2027-01-03 -> "
        "2026-12-20 to 2027-01-06, reason none -> longer)"
    )
    assert told(old, new) == [
        "~ window kubernetes: hours 4 -> 6",
        "~ freeze year-end: days 2026-12-20 to 2027-01-03 -> 2026-12-20 to 2027-01-06, reason none -> longer",
    ]
    assert found.as_dict()["parts"][0] == {"what": "window kubernetes", "change": "changes", "words": "hours 4 -> 6"}


def test_windows_of_one_name_are_told_apart_by_their_members() -> None:
    def window(label: str, hour: str) -> Document:
        return {**configuration(startTime=hour), "memberSelector": {"byLabel": label}}

    old = maintenance(window("env=test", "01:00"), window("env=prod", "01:00"))
    assert told(old, maintenance(window("env=test", "01:00"), window("env=prod", "02:00"))) == [
        "~ window kubernetes: at 01:00 -> 02:00"
    ]
    assert [each[0] for each in told(old, maintenance(window("env=dev", "01:00")))] == ["+", "-", "-"]


def test_another_order_changes_nothing() -> None:
    assert told(maintenance(freezes=[freeze("a"), freeze("b")]), maintenance(freezes=[freeze("b"), freeze("a")])) == []


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        (DAILY, "open every day,"),
        ({"daily": {"intervalDays": 3}}, "open every 3 days,"),
        ({"weekly": {"intervalWeeks": 2, "dayOfWeek": "Monday"}}, "open every 2 weeks on Monday,"),
        ({"absoluteMonthly": {"intervalMonths": 1, "dayOfMonth": 5}}, "open every month on day 5,"),
        (
            {"relativeMonthly": {"intervalMonths": 3, "weekIndex": "Last", "dayOfWeek": "Friday"}},
            "open every 3 months on the Last Friday,",
        ),
    ],
)
def test_each_schedule_in_words(schedule: Document, words: str) -> None:
    (found,) = told(None, maintenance(configuration(schedule=schedule)))
    assert words in found


def test_the_older_form_of_a_window_in_words() -> None:
    cut = [{"start": "2026-12-24T00:00:00Z", "end": "2026-12-27T00:00:00Z"}]
    assert told(None, maintenance(in_week(notAllowedTime=cut))) == [
        "+ window default: hours (UTC) Monday 1,2, without 2026-12-24T00:00:00Z/2026-12-27T00:00:00Z"
    ]
