# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A secret that a server has sent back is in no file, and no part of it in a value that is cut."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.forecast.appointments import FREEZE, Appointment
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.history import HistoryRow
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.changes import FieldChange
from ansible_collections.gitops.fleet.plugins.module_utils._report import changes, text
from ansible_collections.gitops.fleet.plugins.module_utils._report.commands.next_steps import NextStep, next_lines
from ansible_collections.gitops.fleet.plugins.module_utils._report.forecast.icalendar import icalendar
from ansible_collections.gitops.fleet.plugins.module_utils._report.history_text import SUFFIXES, history_file
from ansible_collections.gitops.fleet.plugins.module_utils._report.markdown import as_code, escaped
from ansible_collections.gitops.fleet.plugins.module_utils._report.widths import fitting

NOW = datetime(2026, 8, 17, 12, tzinfo=UTC)
SECRET = "s3cret_of-a.member_0123456789abcdef"
PARTS = [SECRET[place : place + 8] for place in range(len(SECRET) - 7)]


def without(value: str) -> str:
    return value.replace(SECRET, "(hidden)")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_no_file_of_the_history_has_it(suffix: str) -> None:
    row = HistoryRow(at=NOW, by=SECRET, action="x", kind="UpdateRun", name="r", message=f"<{SECRET}>", reason=SECRET)
    with fitting(80, without):
        content = history_file([row], suffix)
    assert [each for each in PARTS if each in content] == [] and content.count("hidden") >= 3


def test_no_calendar_and_no_markdown_has_it() -> None:
    freeze = Appointment(kind=FREEZE, what=SECRET, start=NOW, end=NOW + timedelta(hours=1), members=(SECRET,))
    with fitting(80, without):
        found = [icalendar({"r": [freeze]}, NOW).replace("\r\n ", ""), as_code(SECRET), escaped(SECRET)]
    assert [each for one in found for each in PARTS if each in one] == []


@pytest.mark.parametrize("before", [60, 100, 119, 1_990])
def test_no_part_of_it_is_left_of_what_is_cut(before: int) -> None:
    value = "x" * before + SECRET + "x" * 200
    change = FieldChange(path="data.a", old=value, new=[value])
    step = NextStep(to=value, playbook="approve", variables={})
    with fitting(80, without):
        found: list[t.Any] = [changes.field_lines([change]), changes._value(value), text._value({"a": value})]
        found.append(next_lines([step], {}))
    assert [each for each in PARTS if each in str(found)] == []
