# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

from ..module_utils._fleet.files import facts_file
from ..module_utils._fleet.placements.explaining import ALL, Question, explanations, suppositions
from ..module_utils._fleet.placements.history.kept import snapshot_rows
from ..module_utils._fleet.placements.recorded import (
    all_bindings,
    all_placements,
    held_by_bindings,
    names_of,
    no_such_placement,
    statuses_of,
)
from ..module_utils._fleet.placements.staged.listed import staged_standings
from ..module_utils._report.scheduling.explained_text import explained_text
from ..module_utils._report.scheduling.what_if_text import what_if_text
from ..module_utils._report.snapshots_text import snapshots_text
from ..module_utils._report.status_text import placements_text
from ..plugin_utils._verb import Answer, Run, Verb

FEW = 10  # explanations that are all told with the contest


class ActionModule(Verb):
    """Status and explanation of placements, from records and facts; a fleet that is supposed (``what_if``), and
    snapshots."""

    RULES: t.ClassVar[dict[str, t.Any]] = {"mutually_exclusive": [["src", "definition"]]}

    def carry_out(self, options: dict[str, t.Any], run: Run) -> Answer:
        """Gives placements, bindings and staged runs as they are recorded, and what is asked for of explanations, a
        supposed fleet (``what_if``) and snapshots; their status is printed only where none of these is. FleetError
        ``no-such-placement``, and as of ``explanations``, ``suppositions``, ``snapshot_rows`` and ``facts_file``."""
        with run.open(options, writes=False) as session:
            name, supposition = options["name"], options["what_if"]
            placements = all_placements(session.records, name or "")
            elsewhere = options["src"] or options["definition"] or options["facts"]
            if name and not placements and not elsewhere:
                raise no_such_placement(name, names_of(all_placements(session.records)), session.records.place)
            question = Question(
                name=name or "",
                clusters=tuple(options["explain"]),
                definition=options["definition"],
                src=tuple(options["src"] or ()),
                facts=facts_file(options["facts"], run.now) if options["facts"] else None,
            )
            found = explanations(session, question) if question.clusters else ()
            supposed, told = ((), ()) if supposition is None else suppositions(session, question, supposition)
            rows = snapshot_rows(session, statuses_of(placements)) if options["snapshots"] else ()
            bindings = all_bindings(session.records, name or "")
            staged = staged_standings(session.records, placements, bindings)
        lines = explained_text(found, ALL not in question.clusters or len(found) <= FEW)
        if supposition is not None:
            lines += what_if_text([(each.differences, each.objects) for each in supposed], told)
        elif options["snapshots"]:
            lines += snapshots_text(rows)
        elif not question.clusters:
            held = held_by_bindings(bindings)
            lines = placements_text(statuses_of(placements), session.records.place, staged, held)
        for line in lines:
            run.say(line)
        return Answer(
            changed=False,
            data={
                "placements": placements,
                "bindings": bindings,
                "explanations": list(found),
                "what_if": [each.as_dict() for each in supposed],
                "staged_runs": [each.as_dict() for each in staged],
                "snapshots": [each.as_dict() for each in rows],
                "table": lines,
            },
        )
