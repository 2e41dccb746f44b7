# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import typing as t

from ..module_utils._core.errors import FleetError
from ..module_utils._fleet.audit.history import HistoryRequest, fleet_history
from ..module_utils._fleet.files import refuse_unwritable, write_file
from ..module_utils._report.history_text import SUFFIXES, history_file, history_text
from ..module_utils._report.text import notes_text
from ..plugin_utils._verb import Answer, Run, Verb


class ActionModule(Verb):
    """Who did what, when and why, as the records have it, printed and written to a file by its suffix (``dest``); no
    member is asked."""

    def carry_out(self, options: dict[str, t.Any], run: Run) -> Answer:
        """Tells what was done, as far as it is asked for, and writes it to ``dest``, if that is given, in the form of
        its suffix, not in check mode. FleetError ``bad-option`` for another suffix, ``unwritable-file``, and as of
        ``fleet_history``."""
        dest = options["dest"] or ""
        suffix = os.path.splitext(dest)[1].lower()
        if dest and suffix not in SUFFIXES:
            hint = f"give a name that ends with {', '.join(SUFFIXES)}"
            raise FleetError("bad-option", f"{dest!r:.80} does not say what is to be written", "dest", hint)
        refuse_unwritable(dest)
        asked = HistoryRequest(
            since=options["since"] or "",
            until=options["until"] or "",
            about=options["object"] or "",
            member=options["member"] or "",
            by=options["by"] or "",
            action=options["what"] or "",
            journal=options["journal"],
        )
        with run.open(options, writes=False) as session:
            found, place = fleet_history(session, asked), session.records.place
        if dest and not run.check_mode:
            write_file(dest, history_file(found.rows, suffix))
        lines = [
            *history_text(found.rows, place, asked != HistoryRequest(journal=asked.journal)),
            *notes_text(found.problems),
        ]
        for line in lines:
            run.say(line)
        data = {
            "entries": [each.as_dict() for each in found.rows],
            "problems": [each.as_dict() for each in found.problems],
            "file": dest if dest and not run.check_mode else "",
            "table": lines,
        }
        return Answer(changed=False, data=data)
