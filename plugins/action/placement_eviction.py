# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

from ..module_utils._core.errors import FleetError
from ..module_utils._fleet.files import refuse_empty
from ..module_utils._fleet.placements.evictions.carry_out import EvictionReport, EvictionRequest, run_evictions
from ..module_utils._fleet.placements.look import ApplyOptions
from ..module_utils._report.eviction_text import evictions_text
from ..module_utils._report.text import notes_text
from ..plugin_utils._libraries import SERVERS
from ..plugin_utils._verb import Answer, Run, Verb


class ActionModule(Verb):
    """Take placements off clusters, as far as their disruption budgets permit; in check mode whether these would."""

    RULES: t.ClassVar[dict[str, t.Any]] = {"required_together": [["placement", "clusters"]]}
    LIBRARIES = SERVERS

    def carry_out(self, options: dict[str, t.Any], run: Run) -> Answer:
        """Carries out the evictions that files, options and records ask for, as far as budgets permit, and records the
        budgets of the files; in check mode it only judges them. FleetError ``bad-option`` for an empty list of files,
        and as of ``_refuse_blank`` and ``run_evictions``."""
        refuse_empty(options, "src")
        _refuse_blank(options)
        asked = EvictionRequest(
            src=tuple(options["src"] or ()),
            placement=options["placement"] or "",
            clusters=tuple(dict.fromkeys(options["clusters"] or ())),
            ways=ApplyOptions(
                prune_kinds=tuple(options["prune_kinds"]),
                patience=options["removal_timeout"],
            ),
            timeout=options["timeout"],
            write=not run.check_mode,
        )
        with run.open(options) as session:
            report = run_evictions(session, asked)
        lines = [*evictions_text(report.results, run.check_mode), *notes_text(report.findings)]
        for line in lines:
            run.say(line)
        return _answer(report, lines, run.check_mode)


def _refuse_blank(options: t.Mapping[str, t.Any]) -> None:
    """FleetError ``nothing-asked`` for a placement, or clusters, that are given and empty, or of which the other is
    None, as of a variable that lost its content: without both all evictions of files and records would be carried
    out."""
    placement, clusters = options["placement"], options["clusters"]
    if placement is None and clusters is None:
        return
    if not ((placement or "").strip() and clusters and all(each.strip() for each in clusters)):
        hint = "leave both out to carry out the evictions of files and records"
        text = "no placement, or no cluster that it is to leave"
        raise FleetError("nothing-asked", text, "placement, clusters", hint)


def _answer(report: EvictionReport, lines: list[str], check_mode: bool) -> Answer:
    """The answer to a report of evictions: its outcome, but in check mode, unless there are problems, ``stopped`` if
    any eviction is refused, else ``planned``. Problems and refusals are the message, the code is that of the first."""
    problems = (*report.problems, *report.refused)
    data = {
        "evictions": [each.as_dict() for each in report.results],
        "problems": [each.as_dict() for each in problems],
        "table": lines,
    }
    outcome = report.outcome
    if check_mode and not report.problems:
        outcome = "stopped" if report.refused else "planned"
    return Answer(
        changed=report.changed,
        outcome=outcome,
        code=problems[0].code if problems else "",
        message="\n".join(map(str, problems)),
        data=data,
    )
