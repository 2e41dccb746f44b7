# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

from ..module_utils._fleet.copying import write_copy
from ..module_utils._fleet.files import drift_file
from ..module_utils._fleet.members.evacuation import evacuated_names
from ..module_utils._fleet.overview.today import gather_today
from ..module_utils._fleet.placements.recorded import all_placements
from ..module_utils._report.commands.next_steps import after_status
from ..module_utils._report.overview.today_text import today_text
from ..plugin_utils._verb import Answer, Run, Verb

KINDS = {"members": "FleetMember", "clusters": "MemberCluster"}


class ActionModule(Verb):
    """What the records hold (members, clusters, placements, leases), and how the fleet stands by that; no member is
    asked."""

    def carry_out(self, options: dict[str, t.Any], run: Run) -> Answer:
        """Gives members, clusters, placements and leases as they are recorded, and tells how the fleet stands;
        ``drift`` is the file of an earlier look. ``write_copy`` copies the records, not in check mode. FleetError as of
        ``drift_file``, ``write_copy`` and of the records."""
        look = drift_file(options["drift"], run.now) if options["drift"] else None
        with run.open(options, writes=False) as session:
            if options["write_copy"]:
                write_copy(session, options["write_copy"], write=not run.check_mode)
            copy = "" if run.check_mode else options["write_copy"] or ""
            data: dict[str, t.Any] = {key: list(session.records.list(kind)) for key, kind in KINDS.items()}
            data["placements"] = all_placements(session.records)
            data["evacuated"] = evacuated_names(data["clusters"])
            now = session.clock()
            data["leases"] = [
                {
                    "name": each.name,
                    "holder": each.holder,
                    "epoch": each.epoch,
                    "expired": each.expired(now),
                }
                for each in session.records.leases()
            ]
            data["place"] = session.records.place
            today = gather_today(session, data["members"], data["clusters"], data["placements"], look)
            in_files = session.hub is None
        lines = today_text(today.fleet, data["place"], today.notes)
        fleet = today.fleet
        lines += run.next_lines(
            after_status(fleet.runs, is_behind=fleet.is_behind, unlooked=fleet.is_unlooked, in_files=in_files)
        )
        if copy:
            lines.append(f"written to {copy}: a copy of the records, to be read as records.path")
        for line in lines:
            run.say(line)
        data["overview"] = [each.as_dict() for each in today.fleet.members]
        data["drift"] = today.fleet.drift.as_dict()
        data["drifted"] = [each.as_dict() for each in today.fleet.drifted]
        data["runs"] = [each.as_dict() for each in today.fleet.runs]
        data["notes"] = [str(each) for each in today.notes]
        data["table"] = lines
        data["copy"] = copy
        return Answer(changed=False, data=data)
