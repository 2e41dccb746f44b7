# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

from ..module_utils._fleet.files import refuse_unwritable, write_file
from ..module_utils._fleet.updates.automatic.waiting import WaitingWork, waiting
from ..module_utils._fleet.updates.defining import Outcome
from ..module_utils._fleet.updates.forecasting import Outlook, outlooks
from ..module_utils._fleet.updates.update_run import as_data, recorded_runs
from ..module_utils._report.commands.next_steps import after_run
from ..module_utils._report.forecast_text import calendar_text, forecast_text
from ..module_utils._report.icalendar import icalendar
from ..module_utils._report.run_text import run_text, waits_for
from ..plugin_utils._verb import Answer, Run, Verb

Data = dict[str, t.Any]


class ActionModule(Verb):
    """What the records hold of update runs; no member is asked."""

    def carry_out(self, options: Data, run: Run) -> Answer:
        refuse_unwritable(options["write_calendar"])
        with run.open(options, writes=False) as session:
            now, records = session.clock(), session.records
            runs, problems = recorded_runs(records, options["names"])
            conductors = {each.name: each for each in records.leases()}
            wanted = options["forecast"] or options["calendar"] or options["write_calendar"]
            ahead = outlooks(records, runs, now, options["days"]) if wanted else {}
            others = waiting(records) if options["waiting"] else WaitingWork()
        found: list[Data] = []
        further: dict[str, list[str]] = {}
        for one in runs:
            lease = conductors.get(f"run/{one.name}")
            held = lease.holder if lease and not lease.expired(now) else ""
            data = as_data(Outcome(run=one, changed=False)) | {"waits_for": waits_for(one), "conducted_by": held}
            steps = [each for each in after_run(one) if not held or each.playbook == "approve"]
            further[one.name] = [] if wanted else run.next_lines(steps)
            found.append(data | {"tree": run_text(one)} | _told(ahead.get(one.name), options))
        if options["write_calendar"] and not run.check_mode:
            kept = {name: each.appointments for name, each in ahead.items()}
            write_file(options["write_calendar"], icalendar(kept, now))
        for each in found:
            for line in (*each["tree"], *each.get("table", ()), *further[each["name"]]):
                run.say(line)
        for problem in problems:
            run.say(str(problem))
        if not found and not problems:
            run.say(f"no update run is recorded in {session.records.place}")
        for kind in others.unread:
            run.say(f"{kind} may not be listed, so none of them is named")
        data = {"runs": found, "problems": [each.as_dict() for each in problems], "waiting": others.as_dict()}
        return Answer(changed=False, data=data)


def _told(ahead: Outlook | None, options: Data) -> Data:
    data: Data = {}
    lines: list[str] = []
    if ahead and options["forecast"]:
        data["forecast"] = ahead.as_dict()
        lines += forecast_text(ahead.forecast, ahead.durations.others, ahead.runs_before)
    if ahead and options["calendar"]:
        data["calendar"] = [each.as_dict() for each in ahead.appointments]
        lines += calendar_text(ahead.appointments)
    return data | ({"table": lines} if lines else {})
