# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Who can begin when, as a list, a table and an iCalendar file."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from ansible_collections.gitops.fleet.plugins.module_utils._core.forecast.appointments import (
    ANY_TIME,
    Appointment,
    appointments,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.forecast.durations import Duration
from ansible_collections.gitops.fleet.plugins.module_utils._core.forecast.forecast import Assumptions, forecast
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates import commands
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import MemberView
from ansible_collections.gitops.fleet.plugins.module_utils._report.forecast.forecast_text import (
    ForecastWords,
    calendar_text,
    forecast_text,
)
from ansible_collections.gitops.fleet.plugins.module_utils._report.forecast.icalendar import icalendar
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.made import T0, played

HOUR, UNTIL = timedelta(hours=1), T0 + timedelta(days=3)
NIGHT = (T0 + 8 * HOUR, T0 + 12 * HOUR)
FREEZE = (T0 + 20 * HOUR, T0 + 40 * HOUR)


def calendar(now: datetime = T0) -> tuple[Appointment, ...]:
    run = commands.start(played("s{g:a,b,c}").run, T0)
    views = {
        "a": MemberView(name="a", windows=(NIGHT,)),
        "b": MemberView(name="b", windows=(NIGHT,)),
        "c": MemberView(name="c"),
    }
    foreseen = forecast(run, views, now, Assumptions(samples=1))
    assert foreseen.changes_by and foreseen.changes_at is not None
    return appointments(run, views, {"a": (("year end", FREEZE),)}, foreseen, now, UNTIL)


def test_a_member_without_windows_is_open_at_any_time_around_a_freeze_of_it() -> None:
    """Its spans begin with yesterday, whatever day that is: as a window they would be another entry each day."""
    run = commands.start(played("s{g:a}").run, T0)
    before, after = (T0 - HOUR, FREEZE[0]), (FREEZE[1], UNTIL + 9 * HOUR)
    views = {"a": MemberView(name="a", windows=(before, after))}
    foreseen = forecast(run, views, T0, Assumptions(samples=1))
    found = appointments(run, views, {"a": (("year end", FREEZE),)}, foreseen, T0, UNTIL, {"a": None})
    assert [(each.what, each.start, each.end, each.fixed) for each in found if each.kind == "open"] == [
        ("any time", T0, FREEZE[0], False),
        ("any time", FREEZE[1], UNTIL, False),
    ]


def test_one_entry_for_all_who_share_it() -> None:
    found = [(each.kind, each.what, each.members, each.end) for each in calendar() if each.members]
    assert found == [
        ("open", "any time", ("c",), UNTIL),
        ("open", "window", ("a", "b"), NIGHT[1]),
        ("freeze", "year end", ("a",), FREEZE[1]),
    ]
    assert [each.what for each in calendar() if each.kind == "stage"] == ["stage s"]
    assert any(each.kind == "wait" and "window opens" in each.what for each in calendar())


def test_what_a_freeze_closes_of_a_window_is_in_the_calendar() -> None:
    """Else nobody sees which opening is not there; in all forms of the calendar."""
    run = commands.start(played("s{g:a,b,c}").run, T0)
    second = (T0 + 38 * HOUR, T0 + 42 * HOUR)
    views = {
        "a": MemberView(name="a", windows=(NIGHT, (FREEZE[1], second[1]))),
        "b": MemberView(name="b", windows=(NIGHT, (FREEZE[1], second[1]))),
        "c": MemberView(name="c", windows=None),
    }
    frozen = dict.fromkeys(views, (("year end: sales", FREEZE),))
    permitted = {"a": (NIGHT, second), "b": (NIGHT, second), "c": None}
    foreseen = forecast(run, views, T0, Assumptions(samples=1))
    found = appointments(run, views, frozen, foreseen, T0, UNTIL, permitted)
    (closed,) = (each for each in found if each.kind == "closed")
    assert (closed.start, closed.end, closed.members) == (second[0], FREEZE[1], ("a", "b"))
    assert closed.what == "window, by freeze year end: sales" and closed.fixed
    assert "closed a, b: window, by freeze year end: sales" in " ".join(" ".join(calendar_text(found)).split())
    assert "SUMMARY:r closed: 2 members\\, window\\, by freeze year end: sales" in icalendar({"r": found}, T0)


def test_the_table_names_who() -> None:
    lines = calendar_text(calendar())
    assert any("a, b: window" in line for line in lines)
    assert calendar_text([]) == ["nothing is in the calendar"]


def test_the_file_is_icalendar() -> None:
    """RFC 5545: lines end with CRLF and have at most 75 octets, texts are escaped, an event keeps its UID."""
    long = Appointment(kind="freeze", what="a, b;\u00a0c\nd\t" + "ä" * 60, start=T0, end=None, members=("m",))
    text = icalendar({"run": [*calendar(), long]}, T0)
    assert text.endswith("END:VCALENDAR\r\n") and "\n" not in text.replace("\r\n", "")
    assert max(len(line.encode()) for line in text.split("\r\n")) <= 75
    plain = text.replace("\r\n ", "")
    assert "a\\, b\\; c\\nd " + "ä" * 60 in plain and "DTSTART:20260817T" in plain
    assert text.count("BEGIN:VEVENT") == len(calendar()) + 1 and text.count("DTEND") == len(calendar())
    again = icalendar({"run": [*calendar(), long]}, T0 + HOUR)
    assert [line for line in again.splitlines() if line.startswith("UID")] == [
        line for line in text.splitlines() if line.startswith("UID")
    ]


def test_an_event_keeps_its_uid_in_later_writings() -> None:
    """Of a window that has opened since and of what is expected: a calendar program would show each anew."""
    entries, later = calendar(), calendar(NIGHT[0] + HOUR)
    assert ("open", "window", NIGHT) in [(each.kind, each.what, (each.start, each.end)) for each in later]
    uids, again = (
        {line for line in icalendar({"run": rows}, T0).splitlines() if line.startswith("UID")}
        for rows in (entries, later)
    )
    assert len(uids) == len(entries) and len(again) == len(later) and again < uids


def test_a_timed_wait_stays_the_same_event_when_the_forecast_slides() -> None:
    """Its text says until when, which moves with the upgrades before it."""
    views = {name: MemberView(name=name) for name in "ab"}
    texts, uids = list[list[str]](), list[list[str]]()
    for now in (T0, T0 + timedelta(minutes=7, microseconds=3)):
        run = commands.start(played("s(3600){g:a}, t{g:b}").run, now)
        rows = appointments(run, views, {}, forecast(run, views, now, Assumptions(samples=1)), now, UNTIL)
        expected = [each for each in rows if not each.fixed and each.what != ANY_TIME]
        texts.append([each.what for each in expected if each.kind == "wait"])
        uids.append([line for line in icalendar({"r": expected}, T0).splitlines() if line.startswith("UID")])
        assert len(set(uids[-1])) == len(expected)
    assert all("waits until" in each for text in texts for each in text) and texts[0] != texts[1]
    assert uids[0] == uids[1]


def test_the_forecast_as_a_table() -> None:
    run = played("s{g:a,b}").run
    views = {name: MemberView(name=name) for name in "ab"}
    day = timedelta(hours=20)
    usual = Duration(day, day * 1.5)
    lines = forecast_text(ForecastWords.of(forecast(run, views, T0), usual, 0), ["run r: Full to 1.36.3"])
    done = r"r will be done \w{3} 2026-08-\d\d \d\d:\d\d UTC, at the latest .*\d\d:\d\d, if no upgrade fails"
    assert re.fullmatch(done, " ".join(" ".join(lines[: lines.index("run r: Full to 1.36.3")]).split()))
    told = " ".join(" ".join(lines).split())
    assert "at most 1200 min" in told and "assumed" in told and "next change: somebody starts it" in told
    head = next(number for number, line in enumerate(lines) if line.startswith("WHAT"))
    assert [line.split()[0] for line in lines[head + 1 :]] == ["r", "s", "a", "b"]
    waiting = views | {"b": MemberView(name="b", windows=(NIGHT,))}
    for known, words in (((3, True), "from 3 earlier runs and this one"), ((0, True), "from this run")):
        told = " ".join(" ".join(forecast_text(ForecastWords.of(forecast(run, waiting, T0), usual, *known))).split())
        assert f"learned {words}" in told
    held = forecast_text(ForecastWords.of(forecast(run, waiting, T0), usual, 3))
    assert "learned from 3 earlier runs" in " ".join(" ".join(held).split()) and max(map(len, held)) <= 80
    assert any(re.match(r"b .* the maintenance window opens at Mon 2026-08-17 ", line) for line in held), held
    never = forecast(run, views | {"b": MemberView(name="b", windows=())}, T0)
    assert forecast_text(ForecastWords.of(never, Duration(HOUR, HOUR), 0))[0].startswith(
        "r does not end by itself: waits for b: "
    )
