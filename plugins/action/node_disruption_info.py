# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

from ..module_utils._fleet.files import refuse_blank_snapshot
from ..module_utils._fleet.nodes.changes import ChangeQuestion
from ..module_utils._fleet.nodes.node_info import ConsolidationQuestion, node_report
from ..module_utils._fleet.nodes.reading import ReadingWish
from ..module_utils._fleet.nodes.sources import node_manifests
from ..module_utils._report.nodes.changes_text import class_changes_text
from ..module_utils._report.nodes.consolidation_text import consolidation_text
from ..module_utils._report.nodes.nodes_text import images_text, nodes_text, safeguards_text
from ..module_utils._report.text import notes_text
from ..plugin_utils._libraries import SERVERS
from ..plugin_utils._verb import Answer, Run, Verb


class ActionModule(Verb):
    """Node by node: why it may be disrupted, and everything that keeps it from it; what Karpenter would do, what edits
    (``changes``) rotate, which safeguards there are."""

    def libraries(self, options: t.Mapping[str, t.Any]) -> t.Mapping[str, str]:
        """Those for API servers; none where a ``snapshot`` is read in place of members."""
        return {} if options["snapshot"] else SERVERS

    def carry_out(self, options: dict[str, t.Any], run: Run) -> Answer:
        """Tells of each node, or those in ``nodes``, why it may be disrupted and what keeps it from it, from members or
        a ``snapshot``; if asked for, what Karpenter would do, what ``changes`` rotate, and which safeguards there are.
        What cannot be read fails nothing: it is in ``problems``. FleetError as of ``refuse_blank_snapshot``,
        ``node_report``, ``answers_of`` and ``node_manifests``."""
        refuse_blank_snapshot(options)
        given = node_manifests(options["src"], options["definition"], options["strict"])
        reading = ReadingWish(names=tuple(options["members"]), threads=options["threads"], timeout=options["timeout"])
        asked = ConsolidationQuestion.of(options) if options["plan"] else None
        edits = ChangeQuestion.of(options) if options["changes"] is not None else None
        with run.open(options, writes=False) as session:
            found = node_report(session, given, reading, options["snapshot"] or "", asked, edits)
        wanted = found.answers_of(options["nodes"])
        lines = [*images_text(wanted), *nodes_text(wanted), *notes_text(found.problems)]
        if options["plan"]:
            lines += consolidation_text(found.plans)
        lines += class_changes_text(found.changes)
        if options["safeguards"]:
            for name, rows in found.tables.items():
                lines += [f"what holds back a disruption by {name}:", *safeguards_text(rows)]
        for line in lines:
            run.say(line)
        problems = found.problems
        return Answer(
            changed=False,
            code=problems[0].code if problems else "",
            data={
                "nodes": [each.as_dict() for each in wanted],
                "changes": [each.as_dict() for each in found.changes],
                "plans": [each.as_dict() for each in found.plans],
                "safeguards": {name: [each.as_dict() for each in rows] for name, rows in found.tables.items()},
                "problems": [each.as_dict() for each in problems],
                "table": lines,
            },
        )
