# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a forecast says first, and how it writes instants."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta

from ansible_collections.gitops.fleet.plugins.module_utils._core.forecast.appointments import Appointment, appointments
from ansible_collections.gitops.fleet.plugins.module_utils._core.forecast.durations import Duration
from ansible_collections.gitops.fleet.plugins.module_utils._core.forecast.forecast import Assumptions, forecast
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.run_status import UpdateRunStatus
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.approvals import as_answered
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import (
    Approval,
    MemberBlocker,
    MemberView,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.update_states import PRECONDITION_FAILED
from ansible_collections.gitops.fleet.plugins.module_utils._report.forecast.forecast_text import (
    UNUSUAL,
    ForecastWords,
    calendar_text,
    forecast_text,
    has_gates_to_open,
    with_weekdays,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.made import (
    T0,
    Play,
    changed,
    gate,
    laid,
    played,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.test_integrity import object_of

HOUR = timedelta(hours=1)


def test_instants_of_a_forecast_have_their_weekday_once_a_day() -> None:
    run = played("s{g:a}").run
    lines = forecast_text(ForecastWords.of(forecast(run, {"a": MemberView(name="a")}, T0), Duration(HOUR, HOUR), 0))
    (row,) = [line for line in lines if line.startswith("r  ")]
    assert re.fullmatch(r"r +Mon 2026-08-17 00:00 +00:\d\d +\d\d:\d\d", row), row
    assert with_weekdays("until 2026-08-18T01:00:00Z, or so") == "until Tue 2026-08-18 01:00 UTC, or so"
    for none in ("frozen until 2026-11-31T00:00:00Z", "0000-00-00T00:00:00Z", "2026-02-30T24:00:00Z"):
        assert with_weekdays(none) == none, "what only looks like an instant stays as it is"
    assert [line.split()[:3] for line in calendar_text([entry(T0, T0 + HOUR), entry(T0, None)])[1:]] == [
        ["Mon", "2026-08-17", "00:00"]
    ] * 2


def test_a_run_that_nobody_is_in_is_not_said_to_be_done_at_once() -> None:
    foreseen = replace(forecast(played("s{g:a}").run, {"a": MemberView(name="a")}, T0), members=())
    told = forecast_text(ForecastWords.of(foreseen, Duration(HOUR, HOUR), 0), ["goal"])
    assert told == ["r has no members, so that nothing is upgraded by it", "goal"]


def test_a_run_that_will_fail_is_not_said_to_be_done() -> None:
    """Members are taken to be upgraded without a fault, but not one that would be refused when its turn comes."""
    far = MemberView(name="a", fail=MemberBlocker(reason=PRECONDITION_FAILED, message="1.36.3 is 2 minors ahead"))
    views = {"a": far, "b": MemberView(name="b")}
    run = played("s1{g:a}, s2{h:b}").run
    lines = forecast_text(ForecastWords.of(forecast(run, views, T0), Duration(HOUR, HOUR), 0))
    told = " ".join(" ".join(lines).split())
    assert told.startswith("r will fail Mon 2026-08-17 00:00 UTC") and "done" not in told.partition("half of all")[0]
    assert "failed by then: a" in told and "a 1.36.3 is 2 minors ahead" in told and "WAITS FOR" not in told
    borne = ForecastWords.of(forecast(run, {**views, "a": MemberView(name="a")}, T0), Duration(HOUR, HOUR), 0).answer
    assert borne.startswith("r will be done") and "fail" not in borne.replace("no upgrade fails", "")


def entry(start: datetime, end: datetime | None) -> Appointment:
    return Appointment(kind="wait", what="x", start=start, end=end)


def test_a_forecast_with_gates_says_when_they_have_to_be_opened() -> None:
    play = Play(changed(laid("s{g:a}"), "s", before_gates=gate("ticket"))).start()
    recorded = object_of(play.run, "sha256:0")
    assert has_gates_to_open(recorded)
    assert not has_gates_to_open(as_answered(recorded, {"id-ticket": Approval(gate="", by="carol", at=T0)}))
    assert not has_gates_to_open(replace(recorded, status=UpdateRunStatus()))
    foreseen = forecast(play.run, {"a": MemberView(name="a")}, T0)
    told = " ".join(" ".join(forecast_text(ForecastWords.of(foreseen, Duration(HOUR, HOUR), 0, gated=True))).split())
    assert "if no upgrade fails and half of its gates are approved within 1 h, nine of ten within 8 h" in told


def test_a_stage_ends_in_the_table_when_it_does_in_the_calendar() -> None:
    gated = changed(laid("dev{g:a,b}, prod{h:c,d}"), "dev", after_gates=gate("well"))
    play = Play(changed(gated, "prod", before_gates=gate("ticket"))).start()
    views = {each: MemberView(name=each) for each in "abcd"}
    foreseen = forecast(play.run, views, T0)
    table = forecast_text(ForecastWords.of(foreseen, Duration(HOUR, HOUR), 0))
    assert foreseen.run.expected.end == foreseen.run.end.p50
    calendar = calendar_text(appointments(play.run, views, {}, foreseen, T0, T0 + 30 * 24 * HOUR))
    ends = {line.split()[0]: line.split()[4] for line in table if line.startswith(("  dev ", "  prod "))}
    over = next(line for line in calendar if "wait" in line and "dev: waits for gate well" in line)
    begins = next(line for line in calendar if "wait" in line and "prod: waits for gate ticket" in line)
    assert ends["dev"] == over.split()[3] == begins.split()[2]
    assert any(line.split()[3] == ends["prod"] for line in calendar if line.endswith("stage prod"))


def test_a_window_that_comes_again_has_one_row() -> None:
    def window(day: float, hours: int = 4, *members: str) -> Appointment:
        start = T0 + day * 24 * HOUR
        return Appointment(kind="open", what="window", start=start, end=start + hours * HOUR, members=members)

    nightly = [window(day, 4, "a", "b") for day in range(5)]
    others = [window(0.5, 4, "c"), window(3.5, 4, "c"), window(4, 8, "c"), window(1, 1, "d"), window(2, 1, "d")]
    uneven = [window(day, 2, "e") for day in (0, 1, 3)]
    told = " ".join(" ".join(calendar_text([*nightly, *others, *uneven])).split())
    assert "open a, b: window; daily until Fri 2026-08-21 00:00" in told
    assert "c: window; again Thu 2026-08-20 12:00" in told and told.count(" c: window") == 2
    assert "d: window; again Wed 2026-08-19 00:00" in told
    assert "e: window; 2 times more, last Thu 2026-08-20 00:00" in told
    weekly = calendar_text([window(7 * week, 4, "w") for week in range(3)])
    assert len(weekly) < 4 and "weekly until Mon 2026-08-31" in " ".join(" ".join(weekly).split())
    stages = [replace(window(0), kind="stage"), replace(window(1), kind="stage")]
    assert sum("stage" in line for line in calendar_text(stages)) == 2, "what is expected is told each time"


def test_gates_wait_as_stated_where_windows_decide_on_the_end() -> None:
    """A course with a gate open for six hours has the same end; half of all gates are open after one."""
    gated = changed(laid("dev{g:a}, prod{h:c,d}"), "prod", before_gates=gate("ticket"))
    play = Play(gated).start()
    night = tuple((T0 + (24 * day + 20) * HOUR, T0 + (24 * day + 26) * HOUR) for day in range(30))
    views = {each: MemberView(name=each, windows=None if each == "a" else night) for each in "acd"}
    for seed in range(5):
        foreseen = forecast(play.run, views, T0, Assumptions(seed=seed))
        (wait,) = [each for each in foreseen.waits if "gate" in each.message]
        assert wait.end is not None and wait.end - wait.start == HOUR
        assert foreseen.run.expected.end == foreseen.run.end.p50
        assert UNUSUAL not in ForecastWords.of(foreseen, Duration(HOUR, HOUR), 0, gated=True).known


def test_where_gates_decide_on_the_end_it_is_said_that_one_may_wait_longer() -> None:
    """Of two gates one waits long in most courses, so also in that which ends in the middle."""
    gated = changed(laid("dev{g:a}, prod{h:c}"), "dev", after_gates=gate("well"))
    play = Play(changed(gated, "prod", before_gates=gate("ticket"))).start()
    foreseen = forecast(play.run, {each: MemberView(name=each) for each in "ac"}, T0)
    waits = [each.end - each.start for each in foreseen.waits if "gate" in each.message and each.end]
    assert max(waits) > HOUR and not foreseen.usual_gates
    told = " ".join(" ".join(forecast_text(ForecastWords.of(foreseen, Duration(HOUR, HOUR), 0, gated=True))).split())
    assert UNUSUAL in told
