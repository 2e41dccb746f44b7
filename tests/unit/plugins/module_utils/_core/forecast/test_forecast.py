# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Forecasts of update runs: who, when, and what is waited for."""

from __future__ import annotations

import json
import typing as t
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.forecast.durations import Duration, Durations
from ansible_collections.gitops.fleet.plugins.module_utils._core.forecast.forecast import (
    Assumptions,
    Forecast,
    MemberForecast,
    forecast,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates import commands
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import (
    MemberBlocker,
    MemberView,
    RunState,
    Schedule,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.values import update_states as states
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.made import (
    T0,
    at,
    changed,
    gate,
    laid,
    played,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.simulated import script

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


def always(minutes: float) -> Duration:
    return Duration(minutes * MINUTE, minutes * MINUTE)


EXACT = Assumptions(durations=Durations(always(10)), approvals=always(60), samples=1)


def told(run: RunState, assumed: Assumptions = EXACT, now: datetime = T0, **views: t.Any) -> Forecast:
    """``views`` have fields of the members' views."""
    return forecast(run, seen(run, **views), now, assumed)


def seen(run: RunState, **views: t.Any) -> dict[str, MemberView]:
    return {row.name: MemberView(name=row.name, **views.get(row.name, {})) for row in run.members}


def member(found: Forecast, name: str) -> MemberForecast:
    return next(each for each in found.members if each.name == name)


def minutes(found: Forecast, name: str) -> tuple[float | None, float | None]:
    """From the beginning to the usual start and end."""
    one = member(found, name)
    return tuple(None if when is None else (when - T0) / MINUTE for when in (one.start.p50, one.end.p50))  # type: ignore[return-value]


def test_groups_stages_and_waits() -> None:
    found = told(laid("s1(600){g1:a,b; g2:c}, s2{g3:e}"))
    assert [minutes(found, each) for each in "abce"] == [(0, 10), (10, 20), (0, 10), (30, 40)]
    assert [(each.name, each.state) for each in found.stages] == [("s1", "Completed"), ("s2", "Completed")]
    assert (found.run.start.p50, found.run.end.p50) == (T0, T0 + 40 * MINUTE)
    assert (found.stages[0].end.p50, found.stages[1].start.p50) == (T0 + 30 * MINUTE, T0 + 30 * MINUTE)
    assert [(each.stage, each.start, each.end) for each in found.waits] == [("s1", T0 + 20 * MINUTE, T0 + 30 * MINUTE)]
    assert found.stages[0].blocker == "waits until 2026-08-17T00:30:00Z"


def test_a_run_that_was_not_laid_out_has_nothing_to_forecast() -> None:
    """Applied by hand, or by somebody who was killed between two writes."""
    found = told(RunState(name="r", uid="u", stages=()))
    assert (found.stages, found.members, found.waits) == ((), (), ())
    assert found.as_dict()["run"]["name"] == "r"


def test_instants_at_the_end_of_the_calendar_raise_nothing() -> None:
    """Whoever may write the status of a run may write any."""
    last = datetime.max.replace(tzinfo=UTC)
    run = commands.start(changed(laid("s{g:a,b}"), "s", before_gates=gate("board")), T0)
    opened = replace(run.stages[0].before_gates[0], state=states.PENDING, opened=last)
    assert told(changed(run, "s", before_gates=(opened,), reached=True)).run.end.p50 is None
    flying = played("s{g:a,b}").start().run
    rows = tuple(replace(each, started=last) for each in flying.stages[0].groups[0].members)
    assert told(changed(flying, "g", members=rows)).run.end.p50 is None


@pytest.mark.parametrize(("attempts", "ends"), [(1, 200), (2, 210)])
def test_a_later_attempt_in_flight_takes_as_long_as_any(attempts: int, ends: int) -> None:
    """A first one of 20 minutes is half done after ten; of a later one only the start of the first is known."""
    run = played("s{g:a,b}")
    run.wait(180 * 60 if attempts == 1 else 0).start()
    if attempts == 2:
        run.fails("a").wait(180 * 60).start()
    found = told(run.wait(10 * 60).run, replace(EXACT, durations=Durations(always(20))), run.now)
    assert (minutes(found, "a")[1], minutes(found, "b")[0]) == (ends, ends)


def test_a_member_that_is_tried_again_begins_when_its_turn_comes() -> None:
    """And not when its last attempt did; its stage has begun then."""
    run = played("s{g:a,b}")
    run.run = changed(run.run, "g", max_concurrency=2)
    run.start().fails("a", "b").wait(180 * 60)
    run.run = changed(run.run, "g", max_concurrency=1)
    found = told(run.start().run, now=run.now)
    assert (run.begun, minutes(found, "b")) == (["a"], (190, 200))
    assert found.stages[0].start.p50 == found.stages[0].expected.start == T0


def test_what_each_member_waits_for() -> None:
    found = told(laid("s1{g1:a,b}, s2{g3:e}"))
    assert [(member(found, each).reason, member(found, each).blocker) for each in "abe"] == [
        ("", ""),
        ("Turn", "waits for its turn in group g1"),
        ("EarlierStage", "begins after stage s1"),
    ]


def test_windows() -> None:
    window = ((at(3 * 3600), at(7 * 3600)),)
    found = told(laid("s1{g1:a}, s2{g2:b}"), a={"windows": window})
    assert minutes(found, "a") == (180, 190)
    one = member(found, "a")
    assert (one.reason, one.blocker) == (
        states.WINDOW_CLOSED,
        "the maintenance window opens at 2026-08-17T03:00:00Z",
    )
    assert found.run.blocker == f"waits for a: {one.blocker}"


def test_a_gate_is_approved_some_time_after_it_opens() -> None:
    run = changed(laid("s1{g1:a}, s2{g2:b}"), "s2", before_gates=gate("ticket"))
    found = told(run)
    assert minutes(found, "b") == (70, 80)
    assert found.stages[1].blocker == "waits for gate ticket"
    never = told(run, replace(EXACT, approvals=None))
    assert minutes(never, "b") == (None, None)
    assert never.run.end.p50 is None and never.run.state == states.PENDING
    assert never.run.blocker == "waits for gate ticket"
    assert (member(never, "b").reason, never.waits[-1].end) == ("Turn", None)


def test_20_a_scheduled_gate_and_then_a_window() -> None:
    """Wednesday 02:00 from Monday 00:00; the window opens at 06:00."""
    wednesday = Schedule(day="Wednesday", time="02:00", utc_offset="+00:00")
    run = changed(laid("s{g:a}"), "s", before_gates=gate("start", schedule=wednesday))
    opens = T0 + timedelta(days=2, hours=6)
    found = told(run, a={"windows": ((opens, opens + 4 * HOUR),)})
    assert member(found, "a").start.p50 == opens
    assert [(each.message, each.end) for each in found.waits] == [
        ("waits for gate start (opens 2026-08-19T02:00:00Z)", T0 + timedelta(days=2, hours=2)),
        ("waits for a: the maintenance window opens at 2026-08-19T06:00:00Z", opens),
    ]


@pytest.mark.parametrize(("reached", "due"), [(timedelta(hours=9), 2), (timedelta(days=2, hours=3), 9)])
def test_20_a_scheduled_gate_that_is_just_past_waits_a_week(reached: timedelta, due: int) -> None:
    wednesday = Schedule(day="Wednesday", time="02:00", utc_offset="+00:00")
    run = changed(laid("s{g:a}"), "s", before_gates=gate("start", schedule=wednesday))
    found = told(run, now=T0 + reached)
    assert member(found, "a").start.p50 == T0 + timedelta(days=due, hours=2)


def test_obstacles_with_an_end_and_without() -> None:
    coming = MemberBlocker(reason=states.VERSION_NOT_AVAILABLE, message="1.35.0 is not available in r1", until=at(7200))
    missing = replace(coming, until=None)
    found = told(laid("s{g:a,b}"), a={"obstacles": (coming,)}, b={"obstacles": (missing,)})
    assert minutes(found, "a") == (120, 130)
    assert minutes(found, "b") == (None, None)
    assert member(found, "b").blocker == "1.35.0 is not available in r1"
    assert found.run.blocker == "waits for b: 1.35.0 is not available in r1"


def test_members_that_are_skipped_or_fail() -> None:
    skip = {"skip": MemberBlocker(reason=states.ALREADY_AT_TARGET)}
    found = told(laid("s{g:a,b}"), a=skip)
    assert member(found, "a").state == states.SKIPPED and member(found, "a").start.p50 is None
    assert minutes(found, "b") == (0, 10)
    broken = told(
        laid("s1{g:a}, s2{h:b}"), a={"fail": MemberBlocker(reason=states.PRECONDITION_FAILED, message="too far")}
    )
    assert broken.run.state == states.FAILED and minutes(broken, "b") == (None, None)
    assert member(broken, "b").reason == "EarlierStage"
    assert (member(broken, "a").reason, member(broken, "a").blocker) == (states.PRECONDITION_FAILED, "too far")


def test_a_run_that_is_on_its_way() -> None:
    play = played("s{g:a,b}").start().wait(240)
    found = forecast(play.run, play.views, play.now, EXACT)
    assert minutes(found, "a") == (0, 10)
    assert minutes(found, "b") == (10, 20)
    late = forecast(play.wait(3600).run, play.views, play.now, EXACT)
    assert member(late, "a").end.p50 == play.now, "overdue: at any moment"


def test_an_open_gate_that_is_approved_passes_at_once() -> None:
    """Whoever carries the run on takes the approval up; nobody has to be waited for."""
    run = commands.start(changed(laid("s{g:a}"), "s", before_gates=gate("board")), T0)
    waits = replace(run.stages[0].before_gates[0], state=states.PENDING, opened=T0)
    never = replace(EXACT, approvals=None)
    assert told(changed(run, "s", before_gates=(waits,), reached=True), never).run.end.p50 is None
    approved = replace(waits, by="anna")
    assert told(changed(run, "s", before_gates=(approved,), reached=True), never).stages[0].start.p50 == T0


@pytest.mark.parametrize("due", [None, T0 + timedelta(days=2)], ids=["of people", "of the clock"])
def test_a_gate_that_was_refused_ends_what_is_foreseen(due: datetime | None) -> None:
    """It stops the run as soon as somebody carries it on, whatever would open it."""
    run = commands.start(changed(laid("s{g:a}"), "s", before_gates=gate("board")), T0)
    waits = replace(run.stages[0].before_gates[0], state=states.PENDING, opened=T0, due=due)
    assert told(changed(run, "s", before_gates=(waits,), reached=True)).stages[0].expected.start is not None
    refused = replace(waits, refused="ann: not now")
    assert told(changed(run, "s", before_gates=(refused,), reached=True)).stages[0].expected.start is None


def test_an_open_gate_and_a_counting_wait_go_on() -> None:
    play = played("s1(600){g:a}, s2{h:b}")
    play.run = changed(play.run, "s1", after_gates=gate("ok"))
    play.start().wait(60).ends("a").wait(1800)
    found = forecast(play.run, play.views, play.now, EXACT)
    assert member(found, "b").start.p50 == at(60 + 3600)


def test_a_stopped_run_stays_so() -> None:
    play = played("s{g:a,b}").start().stop().ends("a")
    found = forecast(play.run, play.views, play.now, EXACT)
    assert found.run.state == states.STOPPED and minutes(found, "b") == (None, None)
    assert found.run.blocker == "the run is Stopped"
    again = forecast(commands.start(play.run, play.now), play.views, play.now, EXACT)
    assert minutes(again, "b") == (0, 10)


def test_the_horizon_ends_it() -> None:
    far = T0 + timedelta(days=40)
    found = told(laid("s{g:a}"), replace(EXACT, horizon=timedelta(days=30)), a={"windows": ((far, far + HOUR),)})
    assert found.run.end.p50 is None and found.waits[-1].end is None


# The spread

SPREAD = Assumptions(durations=Durations(Duration(20 * MINUTE, 45 * MINUTE)), samples=9)


def test_what_is_expected_is_one_course_that_ends_in_the_middle_of_all() -> None:
    run = changed(laid("s1{g1:a,b}, s2{g2:c}"), "s2", before_gates=gate("ticket"))
    found = told(run, Assumptions())
    assert found.run.expected.end == found.run.end.p50
    first, second = (each.expected for each in found.stages)
    (wait,) = found.waits
    assert (first.end, wait.start, wait.end, second.start) == (wait.start, first.end, second.start, wait.end)
    assert second.end == found.run.expected.end == member(found, "c").expected.end


def test_a_single_wait_is_expected_to_take_as_long_as_half_of_all() -> None:
    assert told(laid("s{g:a}"), Assumptions()).run.end.p50 == T0 + 20 * MINUTE
    gated = changed(laid("s{g:a}"), "s", before_gates=gate("ticket"))
    assert told(gated, Assumptions(durations=Durations(always(10)))).stages[0].expected.end == T0 + 70 * MINUTE


def test_p50_comes_before_p90() -> None:
    found = told(laid("s1{g1:a,b,c; g2:d}, s2{g3:e,f}"), SPREAD)
    for each in (found.run, *found.stages, *found.members):
        assert each.end.p50 and each.end.p90 and each.end.p50 <= each.end.p90
    assert found.run.end.p50 != found.run.end.p90


def test_the_same_seed_gives_the_same_forecast_and_another_another() -> None:
    run = laid("s1{g1:a,b,c; g2:d}, s2{g3:e,f}")
    assert told(run, SPREAD) == told(run, SPREAD)
    assert told(run, SPREAD) != told(run, replace(SPREAD, seed=1))


def test_the_order_of_views_does_not_matter() -> None:
    run = laid("s1{g1:a,b,c; g2:d}, s2{g3:e,f}")
    views = seen(run)
    turned = dict(reversed(list(views.items())))
    assert forecast(run, views, T0, SPREAD) == forecast(run, turned, T0, SPREAD)
    assert views.keys() == seen(run).keys(), "what was given is left alone"


def test_one_member_that_is_slow() -> None:
    slow = replace(EXACT, durations=Durations(always(10), {"a": always(100)}))
    found = told(laid("s{g1:a; g2:b}"), slow)
    assert (minutes(found, "a"), minutes(found, "b")) == ((0, 100), (0, 10))


def test_it_is_plain_data() -> None:
    found = told(changed(laid("s1(60){g:a}, s2{h:b}"), "s2", before_gates=gate("x")), replace(EXACT, approvals=None))
    data = json.loads(json.dumps(found.as_dict()))
    assert data["run"]["end"] == {"p50": None, "p90": None}
    assert data["members"][0] == {
        "name": "a",
        "stage": "s1",
        "group": "g",
        "state": "Completed",
        "start": {"p50": "2026-08-17T00:00:00Z", "p90": "2026-08-17T00:00:00Z"},
        "end": {"p50": "2026-08-17T00:10:00Z", "p90": "2026-08-17T00:10:00Z"},
        "expected": {"start": "2026-08-17T00:00:00Z", "end": "2026-08-17T00:10:00Z"},
        "reason": "",
        "blocker": "",
    }
    assert [each["message"] for each in data["waits"]] == ["waits until 2026-08-17T00:11:00Z", "waits for gate x"]


@pytest.mark.parametrize("seed", range(40))
def test_any_run(seed: int) -> None:
    given = script(seed)
    found = forecast(given.run, given.views, T0, replace(SPREAD, samples=3, approvals=always(30)))
    assert found.run.state in (states.COMPLETED, states.SKIPPED)
    for each in found.members:
        if each.start.p50 and each.end.p50:
            assert each.start.p50 < each.end.p50
            assert found.run.end.p90 and each.end.p90 and each.end.p90 <= found.run.end.p90
