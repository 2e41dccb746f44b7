# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Forecasts as a comment on a pull request."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import Problem
from ansible_collections.gitops.fleet.plugins.module_utils._core.forecast.appointments import appointments
from ansible_collections.gitops.fleet.plugins.module_utils._core.forecast.durations import Duration
from ansible_collections.gitops.fleet.plugins.module_utils._core.forecast.forecast import forecast
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import MemberView
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.update_states import FAILED
from ansible_collections.gitops.fleet.plugins.module_utils._core.windows.spans import Span
from ansible_collections.gitops.fleet.plugins.module_utils._report.forecast.comment import RunAhead, forecasts_markdown
from ansible_collections.gitops.fleet.plugins.module_utils._report.forecast.forecast_text import ForecastWords
from ansible_collections.gitops.fleet.plugins.module_utils._report.markdown import LIMIT
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.made import T0, laid
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.test_integrity import object_of

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def ahead(text: str, *windows: Span, name: str = "r") -> RunAhead:
    run = replace(laid(text), name=name)
    views = {row.name: MemberView(name=row.name, windows=windows or None) for row in run.members}
    foreseen = forecast(run, views, T0)
    return RunAhead(
        run=object_of(run, "sha256:0"),
        to_be_made=True,
        words=ForecastWords.of(foreseen, Duration(HOUR, HOUR), 0),
        calendar=appointments(run, views, {}, foreseen, T0, T0 + 30 * DAY),
    )


def test_a_run_is_a_row_and_a_section() -> None:
    text = forecasts_markdown([ahead("canary{g:a}, all{h:b,c}", (T0 + DAY, T0 + 2 * DAY))], ["a note"], [])
    assert "| not recorded yet | 3 | Tue 2026-08-18 00:00 | 01:" in text
    assert "\n- note: a note\n" in text and "\n<summary>r</summary>\n" in text
    assert "| &nbsp;&nbsp;canary | Tue 2026-08-18 00:00 |" in text, "stages and members are indented in their cells"
    assert "| &nbsp;&nbsp;&nbsp;&nbsp;b | Tue 2026-08-18 " in text
    assert "| Tue 2026-08-18 00:00 | Wed 2026-08-19 00:00 | open | a, b, c: " in text
    assert text.count("<details>") == text.count("</details>") == 1


def test_a_run_that_cannot_go_on_says_why_in_its_row() -> None:
    never = replace(ahead("s{g:a}"), words=ForecastWords(answer="r does not end by itself", blocker="waits for a"))
    assert "|  |  |  | waits for a |" in forecasts_markdown([never], [], [])


def test_a_run_that_will_fail_says_so_in_its_row() -> None:
    lost = replace(ahead("s{g:a}"), words=ForecastWords(answer="", ends_failed=True, rows=(("r", "Mon", "Tue", ""),)))
    assert "| Mon | Tue, failed |  |" in forecasts_markdown([lost], [], [])
    fails = ForecastWords(answer="r will fail", fails=(("a", "2 minors ahead"),))
    assert "| a | 2 minors ahead |" in forecasts_markdown([replace(lost, words=fails)], [], [])


def test_what_has_ended_or_is_wrong_has_a_line() -> None:
    run = ahead("s{g:a}").run
    state = replace(run.status, status=replace(run.status.status, state=FAILED))
    ended = RunAhead(run=replace(run, status=state), to_be_made=False)
    problem = Problem("record-damaged", "cannot be read", "UpdateRun x")
    text = forecasts_markdown([ended], [], [problem])
    assert "| run |" not in text and "Ended already, 1 run: r &#40;Failed&#41;." in text
    assert "- **problem**: " in text and "cannot be read" in text
    assert "No update run is ahead." in forecasts_markdown([ended], [], [])


def test_foreign_words_are_no_markup_and_mention_nobody() -> None:
    words = ForecastWords(answer="<img src=x>", blocker="@ann | `x`", rows=(("r", "", "", ""),), held=(("a", "<b>"),))
    text = forecasts_markdown([replace(ahead("s{g:a}"), words=words)], ["[x](https://x.example)"], [])
    for raw in ("<img", "@ann", "`x`", "<b>", "[x]", "https://"):
        assert raw not in text


def test_it_keeps_below_what_code_hosts_take() -> None:
    many = [ahead("s{g:" + ",".join(f"member-{number:04}" for number in range(300)) + "}", name="r" * 40)] * 200
    text = forecasts_markdown(many, ["note " * 400] * 500, [Problem("x", "problem " * 100, "here")] * 500)
    assert len(text.encode()) <= LIMIT + 100
    assert "more problems" in text and "more notes" in text and "are in the output of the job" in text
