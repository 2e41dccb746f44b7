# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

from ..module_utils._fleet.files import prices_files, refuse_unwritable, write_file
from ..module_utils._fleet.members.capture import capture
from ..module_utils._fleet.members.identity import OTHER_CLUSTER
from ..module_utils._fleet.members.own_maintenance import commands_of
from ..module_utils._report.commands.next_steps import after_reading
from ..module_utils._report.text import facts_text, folded
from ..plugin_utils._libraries import SERVERS
from ..plugin_utils._verb import Answer, Run, Verb


class ActionModule(Verb):
    """Facts of all members: read once, recorded, and written to a snapshot file (``dest``); who was read and who was
    not (``unread``), problems, costs."""

    LIBRARIES = SERVERS

    def carry_out(self, options: dict[str, t.Any], run: Run) -> Answer:
        """Reads all members, records what they said (option ``record``) and writes the snapshot to ``dest``, if that is
        given; in check mode it only reads. Members that cannot be read fail nothing: they are in ``unread``, ``code``
        is that of the first of ``problems``. FleetError as of ``capture`` and ``prices_files``, ``unwritable-file``."""
        prices = prices_files(options["prices"])
        refuse_unwritable(options["dest"])
        record = options["record"] and not run.check_mode
        with run.open(options, writes=record) as session:
            found = capture(
                session,
                pods=options["pods"],
                prices=prices,
                threads=options["threads"],
                timeout=options["timeout"],
                record=record,
                workers=options["workers"],
                commands=commands_of(options["maintenance_commands"], session.environ),
            )
        lines = [*facts_text(found.reading.snapshot), *(f"note: {each}" for each in found.notes)]
        failed, snapshot = found.reading.failed, found.reading.snapshot
        lines += [each.sentence for each in found.together]
        if options["dest"] and not run.check_mode:
            write_file(options["dest"], found.text)
            lines += folded(f"written to {options['dest']}")
        for line in lines:
            run.say(line)
        for line in run.next_lines(after_reading(name for name, why in failed.items() if why.code == OTHER_CLUSTER)):
            run.say(line)
        problems = found.reading.problems
        return Answer(
            changed=False,
            code=problems[0].code if problems else "",
            data={
                "snapshot": found.document if options["return_snapshot"] else {},
                "digest": found.digest,
                "read": sorted(each.name for each in snapshot.members if each.name not in failed),
                "unread": {name: error.problems[0].as_dict() for name, error in failed.items()},
                "together": [each.as_dict() for each in found.together],
                "problems": [each.as_dict() for each in problems],
                "notes": [each.as_dict() for each in found.notes],
                "costs": {each.name: [cost.as_dict() for cost in snapshot.costs(each)] for each in snapshot.members},
                "table": lines,
            },
        )
