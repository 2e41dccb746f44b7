# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""When a member may be touched, of windows and freezes alone: the state now, what says so, and the openings."""

from __future__ import annotations

import json
import typing as t
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.maintenance import cluster_maintenance
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.reading import read
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.openings import (
    CLOSED,
    HELD,
    IS_OPEN,
    NODES,
    RUN_TYPES,
    UNKNOWN,
    UPGRADE,
    ClusterOpenings,
    OpenSpan,
    calendar_entries,
    permission,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import MemberBlocker, MemberView
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.timing.maintenance import (
    MaintainedMember,
    MemberTimes,
    calendar,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.timing.obstacles import obstacle
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.schedules.cron import load_zone
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.update_states import (
    OPERATION_IN_PROGRESS,
    WINDOW_CLOSED,
)
from ansible_collections.gitops.fleet.tests.data.maintenance_parts import DAILY, configuration, freeze, maintenance
from hypothesis import given, settings
from hypothesis import strategies as st

NOW = datetime(2026, 8, 17, 12, 0, tzinfo=UTC)  # a Monday
AHEAD = timedelta(days=400)
IN_FLIGHT = MemberBlocker(reason=OPERATION_IN_PROGRESS, message="release-7.a.1 is in flight")
Document = dict[str, t.Any]


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def span(start: str, end: str | None) -> OpenSpan:
    return OpenSpan(at(start), at(end) if end else None)


def nights(name: str = "kubernetes", **fields: t.Any) -> Document:
    """Four hours from 22:00 each day, in UTC unless said otherwise."""
    return configuration(name, DAILY, startTime="22:00", startDate="2026-01-01", **fields)


def times(
    *windows: Document,
    now: datetime = NOW,
    freezes: t.Sequence[Document] = (),
    own: Document | None = None,
    work: str = UPGRADE,
    held: tuple[MemberBlocker, ...] = (),
) -> MemberTimes:
    """A member that names the FleetMaintenance ``standard`` of these windows and freezes; ``own`` is what it says."""
    spec = {"freezes": list(freezes)} if freezes else {}
    fleet = calendar([read(maintenance(*windows, **spec)).object])
    itself = cluster_maintenance(json.dumps(own), "annotation x", "a") if own else None
    site, kind = MaintainedMember(name="a", maintenance="standard", own=itself), RUN_TYPES[work]
    horizon = now + AHEAD
    frozen = fleet.freeze_blocker(site, now)
    view = MemberView(
        name="a",
        windows=fleet.startable_spans(site, kind, now - timedelta(days=1), horizon),
        shut=fleet.shut_by(site, kind, now),
        obstacles=(*((frozen,) if frozen else ()), *held),
    )
    return MemberTimes(
        view=view,
        horizon=horizon,
        permitted=fleet.permitted(site, kind, now - timedelta(days=1), horizon),
        sides=fleet.sides(site, kind, now),
        freezes=fleet.named_freezes(site),
    )


def test_without_windows_it_is_always_open_and_no_end_is_known() -> None:  # D3-41
    found = permission(times(), NOW, NOW + timedelta(days=7))
    always = OpenSpan(NOW, None)
    assert (found.state, found.next, found.openings) == (IS_OPEN, always, (always,))
    assert found.why == ("neither window nor freeze holds for it",) and found.clock == UTC


def test_in_its_window_it_is_open_now_and_the_opening_that_began_before_is_told_whole() -> None:
    now = at("2026-08-18T00:30")
    found = permission(times(nights(), now=now), now, now + timedelta(days=1))
    assert found.open and found.next == OpenSpan(now, at("2026-08-18T02:00"))
    assert found.openings == (
        span("2026-08-17T22:00", "2026-08-18T02:00"),
        span("2026-08-18T22:00", "2026-08-19T02:00"),
    )


@pytest.mark.parametrize(
    ("hour", "state"), [("21:59", CLOSED), ("22:00", IS_OPEN), ("01:59", IS_OPEN), ("02:00", CLOSED)]
)
def test_a_window_has_its_first_instant_and_not_its_last(hour: str, state: str) -> None:
    now = at(f"2026-08-17T{hour}")
    assert permission(times(nights(), now=now), now, now + timedelta(days=1)).state == state


def test_a_freeze_that_holds_now_closes_it_until_its_end() -> None:
    given_ = times(freezes=[freeze(start="2026-08-16", end="2026-08-18", reason="sales")])
    found = permission(given_, NOW, NOW + timedelta(days=7))
    assert (found.state, found.next) == (CLOSED, span("2026-08-19T00:00", None))
    assert found.why == ("freeze year-end of FleetMaintenance standard: sales, until Wed 2026-08-19 00:00 UTC",)


def test_a_freeze_over_a_window_is_named_and_takes_it_away() -> None:
    """Both are against it at noon; at night only the freeze is."""
    frozen = [freeze(start="2026-08-17", end="2026-08-18")]
    noon = permission(times(nights(), freezes=frozen), NOW, NOW + timedelta(days=3))
    assert [each.split(",")[0] for each in noon.why] == [
        "freeze year-end of FleetMaintenance standard", "outside the windows of FleetMaintenance standard",
    ]  # fmt: skip
    assert noon.openings[0] == span("2026-08-19T00:00", "2026-08-19T02:00") == noon.next
    night = at("2026-08-17T23:00")
    assert len(permission(times(nights(), freezes=frozen, now=night), night, night + timedelta(days=1)).why) == 1


def test_a_freeze_that_is_to_come_ends_what_is_open_now() -> None:
    found = permission(times(freezes=[freeze(start="2026-08-20", end="2026-08-20")]), NOW, NOW + timedelta(days=7))
    assert found.open and found.why == ("no window holds for it, and no freeze now",)
    assert found.openings == (OpenSpan(NOW, at("2026-08-20T00:00")), span("2026-08-21T00:00", None))


NAMED = "freeze year-end of FleetMaintenance standard"


def test_what_a_freeze_closes_of_openings_to_come_is_told_with_it() -> None:
    """The night that is whole in it, and the halves on both sides."""
    frozen = [freeze(start="2026-08-19", end="2026-08-20")]
    found = permission(times(nights(), freezes=frozen), NOW, NOW + timedelta(days=7))
    assert [(each.span, each.whole, each.freeze) for each in found.closed] == [
        (span("2026-08-19T00:00", "2026-08-19T02:00"), False, NAMED),
        (span("2026-08-19T22:00", "2026-08-20T02:00"), True, NAMED),
        (span("2026-08-20T22:00", "2026-08-21T00:00"), False, NAMED),
    ]
    (first, *_others) = found.as_dict()["closed"]
    assert (first["start"], first["whole"], first["freeze"]) == ("2026-08-19T00:00:00Z", False, NAMED)


def test_what_freezes_close_is_looked_for_until_the_next_opening() -> None:
    """On Saturdays, of which the next two lie in a freeze; beyond the days that were asked for."""
    saturdays = configuration("kubernetes", startDate="2026-01-01")
    frozen = [freeze(start="2026-08-20", end="2026-08-30", reason="sales")]
    found = permission(times(saturdays, freezes=frozen), NOW, NOW + timedelta(days=2))
    assert found.next == span("2026-09-05T01:00", "2026-09-05T05:00") and found.openings == ()
    assert [(each.span.start.day, each.freeze) for each in found.closed] == [
        (22, f"{NAMED}: sales"), (29, f"{NAMED}: sales"),
    ]  # fmt: skip


def test_without_windows_a_freeze_closes_what_is_open_by_itself() -> None:
    found = permission(times(freezes=[freeze(start="2026-08-20", end="2026-08-20")]), NOW, NOW + timedelta(days=7))
    (closed,) = found.closed
    assert closed.span == span("2026-08-20T00:00", "2026-08-21T00:00") and closed.of == OpenSpan(NOW, None)


def test_two_freezes_that_meet_close_a_night_once_and_both_are_named() -> None:
    frozen = [freeze("a", start="2026-08-19", end="2026-08-20"), freeze("b", start="2026-08-20", end="2026-08-21")]
    found = permission(times(nights(), freezes=frozen), NOW, NOW + timedelta(days=3))
    owner = "of FleetMaintenance standard"
    assert [each.freeze for each in found.closed][1] == f"freeze a {owner} and freeze b {owner}"


@pytest.mark.parametrize(
    ("now", "starts", "local"),
    [
        ("2026-03-27T12:00", [21, 21, 20, 20], {"22:00 CET", "22:00 CEST"}),
        ("2026-10-23T12:00", [20, 20, 21, 21], {"22:00 CEST", "22:00 CET"}),
    ],
)
def test_a_window_keeps_to_its_clock_across_a_change(now: str, starts: list[int], local: set[str]) -> None:  # D3-43
    here = at(now)
    found = permission(times(nights(timeZone="Europe/Vienna"), now=here), here, here + timedelta(days=4))
    assert [each.start.hour for each in found.openings] == starts
    assert {each["end"] for each in map(_told, found.openings)} == {timedelta(hours=4)}, "elapsed time"
    told = found.as_dict()
    assert {each["local_start"].split(" ", 2)[2] for each in told["openings"]} == local
    assert told["time_zone"] == "Europe/Vienna" and found.clock == load_zone("Europe/Vienna")


def _told(each: OpenSpan) -> dict[str, timedelta]:
    assert each.end is not None
    return {"end": each.end - each.start}


def test_its_own_window_closes_what_the_fleet_opens() -> None:
    now = at("2026-08-18T01:30")
    given_ = times(nights(), own={"windows": [nights(timeZone="Europe/London")]}, now=now)
    found = permission(given_, now, now + timedelta(days=1))
    assert found.why == ("outside the windows of the cluster itself (annotation x)",)
    assert found.next == span("2026-08-18T22:00", "2026-08-19T01:00"), "where both are open"


def test_windows_that_never_meet_say_that_they_have_to() -> None:
    given_ = times(nights(), own={"windows": [configuration("kubernetes", DAILY, startTime="08:00")]})
    found = permission(given_, NOW, NOW + timedelta(days=7))
    assert (found.state, found.next, found.openings) == (CLOSED, None, ())
    assert found.why[-1] == "both have to be open at once, and that is not known to come"


def test_what_never_opens_within_the_days_tells_when_it_does_later() -> None:
    later = times(configuration("kubernetes", DAILY, startDate="2026-12-01"))
    found = permission(later, NOW, NOW + timedelta(days=30))
    assert found.openings == () and found.next == span("2026-12-01T01:00", "2026-12-01T05:00")
    never = permission(times(configuration("kubernetes", DAILY, startDate="2090-01-01")), NOW, NOW + timedelta(days=30))
    assert (never.state, never.next, never.openings) == (CLOSED, None, ())


def test_a_run_that_is_in_flight_holds_it_in_its_window_and_is_named_outside_of_it_too() -> None:
    night = at("2026-08-17T23:00")
    inside = permission(times(nights(), now=night, held=(IN_FLIGHT,)), night, night + timedelta(days=1))
    assert (inside.state, inside.why) == (HELD, (IN_FLIGHT.message,)) and not inside.open
    assert inside.next == OpenSpan(night, at("2026-08-18T02:00"))
    outside = permission(times(nights(), held=(IN_FLIGHT,)), NOW, NOW + timedelta(days=1))
    assert (outside.state, outside.why[-1]) == (CLOSED, IN_FLIGHT.message)


def test_what_cannot_be_known_opens_nothing() -> None:
    nobody = MemberBlocker(reason=WINDOW_CLOSED, message="there is no FleetMaintenance nihgts")
    found = permission(times(held=(nobody,)), NOW, NOW + timedelta(days=1))
    assert (found.state, found.why, found.next, found.openings) == (UNKNOWN, (nobody.message,), None, ())


def test_what_is_open_as_far_as_is_looked_has_no_end() -> None:
    whole = times(configuration("kubernetes", DAILY, startTime="00:00", durationHours=24, startDate="2026-01-01"))
    found = permission(whole, NOW, NOW + timedelta(days=3))
    assert found.open and found.next == OpenSpan(NOW, None) and [each.end for each in found.openings] == [None]


def test_each_work_goes_by_windows_of_its_own() -> None:
    windows = (nights(), nights("nodeImage", timeZone="Asia/Tokyo"))
    found = {work: permission(times(*windows, work=work), NOW, NOW + timedelta(days=1)).next for work in RUN_TYPES}
    assert {work: each.start.hour for work, each in found.items() if each} == {UPGRADE: 22, NODES: 13}


def test_a_calendar_has_one_entry_for_all_that_share_it_and_none_for_always() -> None:
    frozen = times(freezes=[freeze(start="2026-08-18", end="2026-08-18")])
    shared = {"a": times(nights()), "b": times(nights()), "c": times(), "d": frozen}
    found = calendar_entries({UPGRADE: shared}, NOW, NOW + timedelta(days=1))[UPGRADE]
    assert [(each.kind, each.start, each.members) for each in found] == [
        ("open", NOW, ("d",)),
        ("open", at("2026-08-17T22:00"), ("a", "b")),
        ("freeze", at("2026-08-18T00:00"), ("d",)),
    ]


def test_a_calendar_tells_which_openings_a_freeze_closes() -> None:
    """Only of windows: without any the freeze says it itself."""
    frozen = [freeze(start="2026-08-18", end="2026-08-18")]
    shared = {"a": times(nights(), freezes=frozen), "b": times(freezes=frozen)}
    found = calendar_entries({UPGRADE: shared}, NOW, NOW + timedelta(days=3))[UPGRADE]
    assert [(each.start, each.end, each.members, each.what) for each in found if each.kind == "closed"] == [
        (at("2026-08-18T00:00"), at("2026-08-18T02:00"), ("a",), f"window, by {NAMED}"),
        (at("2026-08-18T22:00"), at("2026-08-19T00:00"), ("a",), f"window, by {NAMED}"),
    ]


def test_a_cluster_tells_of_placements_and_of_when_it_was_read() -> None:
    both = {work: permission(times(work=work), NOW, NOW + timedelta(days=1)) for work in RUN_TYPES}
    one = ClusterOpenings(name="a", permissions=both, read=NOW)
    told, gone = one.as_dict(), replace(one, evacuated=True, read=None).as_dict()
    assert told["placements"] == {"open": True, "why": []} and told["read"] == "2026-08-17T12:00:00Z"
    assert gone["placements"]["open"] is False and gone["read"] is None and gone["upgrade"]["open"]
    assert told["upgrade"]["next"] == {
        "start": "2026-08-17T12:00:00Z", "end": None, "local_start": "Mon 2026-08-17 12:00 UTC", "local_end": None,
    }  # fmt: skip


ZONES = st.sampled_from(["UTC", "Europe/Vienna", "America/New_York", "Australia/Lord_Howe"])
WINDOWS = st.builds(
    lambda hour, hours, zone: configuration(
        "kubernetes", DAILY, startTime=f"{hour:02}:30", durationHours=hours, timeZone=zone, startDate="2026-01-01"
    ),
    st.integers(0, 23),
    st.integers(4, 20),
    ZONES,
)
FREEZES = st.builds(
    lambda day, days, zone: freeze(start=f"2026-10-{day}", end=f"2026-10-{day + days}", timeZone=zone),
    st.integers(20, 26),
    st.integers(0, 3),
    ZONES,
)


@settings(max_examples=20)
@given(st.lists(WINDOWS, max_size=2), st.lists(FREEZES, max_size=1), st.lists(WINDOWS, max_size=2), st.booleans())
def test_it_is_open_exactly_where_a_run_would_begin_and_never_closed_without_a_reason(  # D3-36
    ours: list[Document], frozen: list[Document], own: list[Document], busy: bool
) -> None:
    """Instants of eight days around the clock changes of autumn."""
    start = at("2026-10-22T05:17")
    openings = permission(times(*ours, now=start, freezes=frozen, own={"windows": own} if own else None),
                          start, start + timedelta(days=8)).openings  # fmt: skip
    for step in range(24):
        now = start + timedelta(hours=8 * step, minutes=17 * step % 60)
        view = times(*ours, now=now, freezes=frozen, own={"windows": own} if own else None, held=(IN_FLIGHT,) * busy)
        found, begins = permission(view, now, now + timedelta(days=1)), obstacle(view.view, now) is None
        assert found.open == begins and found.why
        assert found.state != HELD or busy
        inside = any(each.start <= now and (each.end is None or now < each.end) for each in openings)
        assert inside == (found.state in (IS_OPEN, HELD))
