# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

from ..module_utils._fleet.files import refuse_blank_snapshot, refuse_unwritable, write_file
from ..module_utils._fleet.nodes.budget_info import BudgetQuestion, budget_report, compiled, compiled_data
from ..module_utils._fleet.nodes.reading import ReadingWish
from ..module_utils._fleet.nodes.sources import node_manifests
from ..module_utils._report.nodes.budgets_text import budgets_text
from ..module_utils._report.text import folded, notes_text
from ..plugin_utils._libraries import SERVERS
from ..plugin_utils._verb import Answer, Run, Verb


class ActionModule(Verb):
    """How many nodes of each pool may be disrupted now, when that changes, and what blocks; a window as budgets
    (``utc_budgets``), what was read as a file (``dest``)."""

    RULES: t.ClassVar[dict[str, t.Any]] = {"mutually_exclusive": [["snapshot", "dest"]]}

    def libraries(self, options: t.Mapping[str, t.Any]) -> t.Mapping[str, str]:
        """Those for API servers; none where a ``snapshot`` is read in place of members."""
        return {} if options["snapshot"] else SERVERS

    def carry_out(self, options: dict[str, t.Any], run: Run) -> Answer:
        """Tells how many nodes of each pool may be disrupted now, and when that changes, from members or a
        ``snapshot``; writes what was read to ``dest``, not in check mode; and gives the wished ``window`` as budgets. A
        member, or a part of one, that cannot be read is in ``problems``. FleetError ``unwritable-file``, as of
        ``node_manifests``, ``budget_report`` and ``compiled``."""
        refuse_blank_snapshot(options)
        window = None
        if options["window"]:
            window = compiled(options["window"], options["window_nodes"], run.now, options["now"] or "")
        refuse_unwritable(options["dest"])
        asked = BudgetQuestion(
            given=node_manifests(options["src"], options["definition"], options["strict"]),
            reading=ReadingWish(
                pods=bool(options["dest"]),
                daemons=bool(options["dest"]),
                keep=bool(options["dest"]),
                names=tuple(options["members"]),
                threads=options["threads"],
                timeout=options["timeout"],
            ),
            snapshot=options["snapshot"] or "",
            now=options["now"] or "",
            zone=options["time_zone"],
            reason=options["reason"] or "",
            pools=tuple(options["pools"]),
        )
        with run.open(options, writes=False) as session:
            found = budget_report(session, asked)
        problems = found.snapshot.problems
        lines = [*budgets_text(found.answers, found.zone, options["week"]), *notes_text((*problems, *found.findings))]
        if window is not None:
            lines += [f"budgets for {options['window']}:", *compiled_data(window)["yaml"].splitlines()]
            lines += [window.warning] if window.warning else []
        if options["dest"] and not run.check_mode:
            write_file(options["dest"], found.file)
            lines += folded(f"written to {options['dest']}")
        for line in lines:
            run.say(line)
        return Answer(
            changed=False,
            code=problems[0].code if problems else "",
            data={
                "pools": [each.as_dict(found.zone) for each in found.answers],
                "utc_budgets": compiled_data(window) if window is not None else {},
                "problems": [each.as_dict() for each in problems],
                "table": lines,
            },
        )
