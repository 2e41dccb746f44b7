# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t
from dataclasses import replace
from functools import partial

from ..module_utils._fleet.files import refuse_unwritable, write_file
from ..module_utils._fleet.leases import is_alive
from ..module_utils._fleet.session import copied_words
from ..module_utils._fleet.updates.approval_policy import vouched_since
from ..module_utils._fleet.updates.automatic.waiting import WaitingWork, work_to_carry_on
from ..module_utils._fleet.updates.defining import Outcome
from ..module_utils._fleet.updates.forecasting import Outlook, outlooks
from ..module_utils._fleet.updates.gate_objects import with_answers
from ..module_utils._fleet.updates.sources import update_manifests
from ..module_utils._fleet.updates.update_run import asked_runs, known_beside, made_good, run_data, superseded
from ..module_utils._report.commands.next_steps import NextStep, after_run
from ..module_utils._report.commands.placement_steps import after_unfinished
from ..module_utils._report.forecast.comment import RunAhead, forecasts_markdown
from ..module_utils._report.forecast.forecast_text import (
    ForecastWords,
    calendar_text,
    forecast_text,
    has_gates_to_open,
)
from ..module_utils._report.forecast.icalendar import icalendar
from ..module_utils._report.run_text import HEAD, brief_text, run_text, unconducted_text, waits_for
from ..module_utils._report.status_text import unfinished_text
from ..module_utils._report.text import folded, notes_text
from ..plugin_utils._verb import Answer, Run, Verb

Data = dict[str, t.Any]


class ActionModule(Verb):
    """What the records hold of update runs, who conducts them (``conducted_by``), and how given ones would go
    (forecast, calendar); no member is asked."""

    def carry_out(self, options: Data, run: Run) -> Answer:
        """Gives update runs as they are recorded, or as given ones would be defined, with forecasts and calendars where
        these are wanted; writes the calendar of all to a file, and both as Markdown to another one, neither in check
        mode. One that cannot be read is among ``problems``. FleetError ``unwritable-file``, and as of
        ``update_manifests``, ``asked_runs``, ``outlooks`` and ``work_to_carry_on``."""
        refuse_unwritable(options["write_calendar"], options["write_markdown"])
        given = update_manifests(options["src"], options["definition"], options["strict"])
        with run.open(options, writes=False) as session:
            now, records = session.clock(), session.records
            asked = asked_runs(records, options["names"], given, now)
            conductors = {each.name: each for each in records.leases()}
            wanted = any(options[each] for each in ("forecast", "calendar", "write_calendar", "write_markdown"))
            runs = [with_answers(records, each, partial(vouched_since, session.hub), now) for each in asked.runs]
            ahead = outlooks(records, runs, now, options["days"], given) if wanted else {}
            known = known_beside(records, runs)
            good, newer = made_good(runs, known), superseded(runs, known)
            others = work_to_carry_on(records) if options["waiting"] else WaitingWork()
            copied = copied_words(records, now)
        told = [
            RunAhead(
                run=each,
                to_be_made=each.name in asked.to_be_made,
                words=_words(ahead.get(each.name), has_gates_to_open(each)),
                calendar=ahead[each.name].appointments if each.name in ahead else (),
            )
            for each in runs
        ]
        found: list[Data] = []
        further: dict[str, list[str]] = {}
        shown: dict[str, list[str]] = {}
        for one, run_ahead in zip(runs, told, strict=True):
            lease = conductors.get(f"run/{one.name}")
            held = lease.holder if lease and is_alive(lease, now) else ""
            data = run_data(Outcome(run=one, changed=False)) | {"waits_for": waits_for(one), "conducted_by": held}
            data["made_good_by"], after = good.get(one.name, ""), newer.get(one.name)
            data["superseded_by"] = after.name if after else ""
            steps = [each for each in after_run(one, now, newer=after) if not held or each.playbook == "approve"]
            steps = [each for each in steps if one.name not in good or each.playbook != "retry"]
            left = unconducted_text(one, lease.renewed if lease and not held else None, good.get(one.name, ""))
            if one.name in asked.to_be_made:
                steps = [_with_files(each, options["src"]) for each in steps if options["src"]]
            elif wanted:
                steps = []
            further[one.name] = left + run.next_lines(steps)
            tree = run_text(one)
            shown[one.name] = tree if options["names"] else brief_text(one)
            found.append(data | {"tree": tree} | _told(ahead.get(one.name), run_ahead.words, options, tree[:HEAD]))
        if options["write_calendar"] and not run.check_mode:
            kept = {name: each.appointments for name, each in ahead.items()}
            write_file(options["write_calendar"], icalendar(kept, now))
        if options["write_markdown"] and not run.check_mode:
            notes = [*([f"the records are a copy {copied}"] if copied else []), *map(str, asked.notes)]
            write_file(options["write_markdown"], forecasts_markdown(told, notes, asked.problems))
        for each in found:
            # A forecast has the same rows, and the goal above them.
            tree = () if "forecast" in each else shown[each["name"]]
            for line in (*tree, *each.get("table", ()), *further[each["name"]]):
                run.say(line)
        for line in notes_text(asked.notes):
            run.say(line)
        problems = (*asked.problems, *others.problems)
        for problem in problems:
            run.say(str(problem))
        if not found and not asked.problems and not (others.staged or others.rotations):
            for line in folded(f"no update run (of Kubernetes or node images) is recorded in {session.records.place}"):
                run.say(line)
        for kind in others.unread:
            run.say(f"{kind} may not be listed, so none of them is named")
        for unfinished in others.placements:
            on_hub = session.hub is not None
            step = after_unfinished(unfinished.name, unfinished.src, deleting=unfinished.deleting, on_hub=on_hub)
            for line in (unfinished_text(unfinished.name, unfinished.why, unfinished.since), *run.next_lines([step])):
                run.say(line)
        data = {"runs": found, "problems": [each.as_dict() for each in problems], "waiting": others.as_dict()}
        return Answer(changed=False, data=data)


def _with_files(step: NextStep, src: t.Sequence[str]) -> NextStep:
    """The step with the option that names the files, for a run that may be in these alone; one path stands without a
    list."""
    return replace(step, variables={**step.variables, "updates": src[0] if len(src) == 1 else list(src)})


def _words(ahead: Outlook | None, gated: bool) -> ForecastWords | None:
    """The outlook in words, of a run that people have gates of to open if it is ``gated``; None without one."""
    if ahead is None:
        return None
    usual, before = ahead.durations.others, ahead.runs_before
    return ForecastWords.of(ahead.forecast, usual, before, ahead.own, gated)


def _told(ahead: Outlook | None, words: ForecastWords | None, options: Data, goal: t.Sequence[str]) -> Data:
    """What the options want of a run's outlook, and of that in words: ``forecast`` and ``calendar``, and ``table``,
    their lines; empty for None, as for a run that has ended, and where nothing is wanted."""
    data: Data = {}
    lines: list[str] = []
    if ahead and words and options["forecast"]:
        data["forecast"] = ahead.as_dict()
        lines += forecast_text(words, goal)
    if ahead and options["calendar"]:
        data["calendar"] = [each.as_dict() for each in ahead.appointments]
        lines += calendar_text(ahead.appointments)
    return data | ({"table": lines} if lines else {})
