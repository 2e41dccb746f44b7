# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

from ..module_utils._fleet.updates.update_run import Outcome, as_data, recorded_runs
from ..module_utils._report.run_text import run_text, waits_for
from ..plugin_utils._verb import Answer, Run, Verb


class ActionModule(Verb):
    """What the records hold of update runs; no member is asked."""

    def carry_out(self, options: dict[str, t.Any], run: Run) -> Answer:
        with run.open(options, writes=False) as session:
            now = session.clock()
            runs, problems = recorded_runs(session.records, options["names"])
            conductors = {each.name: each for each in session.records.leases()}
        found = []
        for one in runs:
            lease = conductors.get(f"run/{one.name}")
            held = lease.holder if lease and not lease.expired(now) else ""
            data = as_data(Outcome(run=one, changed=False))
            found.append(data | {"tree": run_text(one), "waits_for": waits_for(one), "conducted_by": held})
        for line in (line for each in found for line in each["tree"]):
            run.say(line)
        for each in problems:
            run.say(str(each))
        if not found and not problems:
            run.say(f"no update run is recorded in {session.records.place}")
        return Answer(changed=False, data={"runs": found, "problems": [each.as_dict() for each in problems]})
