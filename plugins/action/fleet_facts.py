# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import typing as t

from ..module_utils._core.errors import FleetError
from ..module_utils._core.facts.snapshot import snapshot_digest, write_snapshot
from ..module_utils._fleet.facts import read_fleet
from ..module_utils._fleet.members import Clients, recorded_members
from ..module_utils._fleet.record_facts import record_facts
from ..module_utils._kube.client import Timeouts
from ..module_utils._report.text import facts_text
from ..plugin_utils._place import json_file, open_place, write_file
from ..plugin_utils._verb import Answer, Run, Verb


class ActionModule(Verb):
    """Facts of all members: read once, recorded, and written to a snapshot file."""

    def carry_out(self, options: dict[str, t.Any], run: Run) -> Answer:
        prices = json_file(options["prices"], "prices-missing", "prices-invalid") if options["prices"] else {}
        with open_place(options, run, writes=options["record"]) as place:
            members = recorded_members(place.records)
            if not members:
                raise FleetError(
                    "no-members",
                    "no cluster has joined the fleet",
                    place.records.place,
                    "join some with member_cluster",
                )
            fleet = {name: member.fleet for name, member in members.items()}
            timeout = Timeouts(connect=options["timeout"], read=max(30, options["timeout"]))
            with Clients(members=fleet, hub=place.hub, timeout=timeout) as clients:
                reading = read_fleet(members, clients, run.now, options["pods"], prices, options["threads"])
            if options["record"] and not run.check_mode:
                record_facts(place.records, reading)
        document = write_snapshot(reading.snapshot)
        if options["dest"] and not run.check_mode:
            write_file(options["dest"], json.dumps(document, indent=1, sort_keys=True) + "\n")
        for line in facts_text(reading.snapshot):
            run.say(line)
        if len(reading.failed) == len(members):
            raise FleetError.of([problem for error in reading.failed.values() for problem in error.problems])
        return Answer(
            changed=False,
            outcome="done",
            data={
                "snapshot": document if options["return_snapshot"] else {},
                "digest": snapshot_digest(reading.snapshot),
                "read": sorted(set(members) - set(reading.failed)),
                "unread": {name: error.problems[0].as_dict() for name, error in reading.failed.items()},
                "table": facts_text(reading.snapshot),
            },
        )
