# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Forecasts of update runs as Markdown, for a comment on a pull request: which run goes where and when it is done, what
is in its way, notes, then stages, members and calendar of each (``write_markdown``)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..._core.errors import Problem
from ..._core.forecast.appointments import Appointment
from ..._core.objects.updates.update_run import UpdateRun
from ..._core.values.listed import listed, number_of
from ..._core.values.update_states import TERMINAL
from ..markdown import LIMIT, as_many_as_fit, escaped, markdown_table, notes_markdown, size_of
from ..run_text import goal
from .forecast_text import ForecastWords, calendar_rows

RUNS, NOTES, NAMED = LIMIT // 3, LIMIT // 6, 12
RUN_HEADER = ("run", "goal", "now", "clusters", "begins, UTC", "ends", "at the latest", "waits for")
PART_HEADER = ("what", "begins, UTC", "ends", "at the latest")
CALENDAR_HEADER = ("from, UTC", "until", "what", "who, and why")
INDENT = "&nbsp;"  # Markdown drops spaces at the edge of a cell


@dataclass(frozen=True, kw_only=True)
class RunAhead:
    """A run to be told of: what is foreseen in ``words``, None of one that has ended, and its ``calendar``;
    ``to_be_made``: no record has it as it is here."""

    run: UpdateRun
    to_be_made: bool
    words: ForecastWords | None = None
    calendar: t.Sequence[Appointment] = ()


def forecasts_markdown(runs: t.Sequence[RunAhead], notes: t.Sequence[str], problems: t.Sequence[Problem]) -> str:
    """A summary with a row for each run that has not ended, in the order given, names and states of those that have,
    what is wrong, notes, then a folded section for each of the rows, as many as keep below ``LIMIT`` bytes."""
    going = [each for each in runs if each.run.status.status.state not in TERMINAL]
    ended = [f"{run.name} ({run.status.status.state})" for run in (each.run for each in runs if each not in going)]
    lines = ["## Fleet forecast", ""]
    if going:
        lines += markdown_table(RUN_HEADER, ())
        lines += as_many_as_fit(map(_summary, going), len(going), RUNS, "| {} more |" + " |" * (len(RUN_HEADER) - 1))
    elif not problems:
        lines.append("No update run is ahead.")
    if ended:
        lines += ["", f"Ended already, {number_of(len(ended), 'run')}: {escaped(listed(ended, NAMED))}."]
    if problems:
        lines += ["", *as_many_as_fit(map(_problem, problems), len(problems), NOTES, "- {} more problems")]
    lines += notes_markdown(notes, NOTES)
    room = LIMIT - size_of(lines)
    for place, each in enumerate(going):
        section = _section(each)
        room -= size_of(section)
        if room < 0:
            left = number_of(len(going) - place, "run", "is", "are")
            lines += ["", f"Details of {left} in the output of the job: this comment is full."]
            break
        lines += section
    return "\n".join(lines) + "\n"


def _summary(each: RunAhead) -> str:
    """The row of one run; what there is no forecast for is empty."""
    words = each.words or ForecastWords(answer="")
    _name, begins, ends, latest = words.rows[0] if words.rows else ("",) * len(PART_HEADER)
    ends += ", failed" if words.ends_failed else ""
    state = "not recorded yet" if each.to_be_made else each.run.status.status.state
    clusters = f"{len(each.run.status.members):,}"
    cells = (each.run.name, goal(each.run), state, clusters, begins, ends, latest, words.blocker)
    return f"| {' | '.join(map(escaped, cells))} |"


def _problem(each: Problem) -> str:
    """A line of a list that says what is wrong."""
    return f"- **problem**: {escaped(str(each))}"


def _section(each: RunAhead) -> list[str]:
    """The folded section of one run: its digest, when it is done and what is known, who begins and ends when, who is
    held by what, who fails and why, calendar, clusters that no stage covers."""
    status, words = each.run.status, each.words
    lines = ["", "<details>", f"<summary>{escaped(each.run.name)}</summary>", "", f"Digest `{escaped(status.digest)}`"]
    if words:
        lines += ["", *(f"- {escaped(line)}" for line in (words.answer, *words.known))]
    if words and words.rows:
        lines += ["", *_indented(words.rows)]
    if words and words.held:
        lines += ["", *markdown_table(("who", "waits for"), words.held)]
    if words and words.fails:
        lines += ["", *markdown_table(("who", "fails, for"), words.fails)]
    if each.calendar:
        lines += ["", *markdown_table(CALENDAR_HEADER, calendar_rows(each.calendar))]
    if status.uncovered_members:
        lines += ["", f"Not covered by any stage: {escaped(listed(status.uncovered_members, NAMED))}."]
    return [*lines, "", "</details>"]


def _indented(rows: t.Sequence[tuple[str, ...]]) -> list[str]:
    """The table of run, stages and members, as of ``markdown_table``; its first cells keep the spaces before them."""
    table = markdown_table(PART_HEADER, rows)
    depths = [len(row[0]) - len(row[0].lstrip()) for row in rows]
    shown = [f"| {INDENT * depth}{line[2:]}" for line, depth in zip(table[2:], depths, strict=False)]
    return [*table[:2], *shown, *table[2 + len(shown) :]]
