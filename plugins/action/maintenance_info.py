# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t
from datetime import UTC

from ..module_utils._fleet.files import refuse_blank_snapshot, refuse_unwritable, write_file
from ..module_utils._fleet.overview.openings import OpeningsQuestion, openings_report
from ..module_utils._fleet.updates.sources import update_manifests
from ..module_utils._report.commands.next_steps import NextStep
from ..module_utils._report.forecast.icalendar import icalendar
from ..module_utils._report.overview.openings_text import openings_text
from ..module_utils._report.text import notes_text
from ..plugin_utils._verb import Answer, Run, Verb


class ActionModule(Verb):
    """When members may be touched, by the records, or as if given files were recorded, too; as a calendar; no member is
    asked."""

    def carry_out(self, options: dict[str, t.Any], run: Run) -> Answer:
        """Tells when members may be touched, by what is recorded, and beside it as if given files or manifests were
        recorded, too, and how that is done; writes a calendar, if that is wanted, not in check mode. FleetError
        ``unwritable-file``, and as of ``refuse_blank_snapshot``, ``update_manifests`` and ``openings_report``."""
        refuse_blank_snapshot(options)
        refuse_unwritable(options["write_calendar"])
        given = options["src"] or options["definition"]
        asked = OpeningsQuestion(
            names=tuple(options["names"]),
            days=options["days"],
            supposed=update_manifests(options["src"], options["definition"], options["strict"]) if given else None,
            snapshot=options["snapshot"] or "",
        )
        with run.open(options, writes=False) as session:
            found = openings_report(session, asked)
        if options["write_calendar"] and not run.check_mode:
            write_file(options["write_calendar"], icalendar(found.appointments, found.now))
        lines = openings_text(found.clusters, found.before, found.pools, found.now, found.days)
        lines += notes_text(found.findings)
        for line in lines:
            run.say(line)
        answer = Answer(
            changed=False,
            data={
                "clusters": [each.as_dict() for each in found.clusters],
                "before": [each.as_dict() for each in found.before],
                "pools": [each.as_dict(UTC) for each in found.pools],
                "table": lines,
            },
        )
        given_src = list(options["src"] or ())
        variables = {"maintenance": given_src[0] if len(given_src) == 1 else given_src}
        steps = [NextStep(to="make it so", playbook="maintenance", variables=variables)] if given_src else []
        return run.with_next(answer, steps if found.unrecorded else [], fails=False)
