# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

from ..module_utils._fleet.nodes.changes import network_of
from ..module_utils._fleet.nodes.manual import ManualWish, manual
from ..module_utils._fleet.nodes.reading import ReadingWish
from ..module_utils._fleet.nodes.replacing import ReplacementWish
from ..module_utils._report.text import folded
from ..plugin_utils._libraries import SERVERS
from ..plugin_utils._verb import Answer, Run, Verb


class ActionModule(Verb):
    """Delete, protect, stop and patch nodes or a pool of one member by hand, and tell which nodes go by it."""

    LIBRARIES = SERVERS

    def carry_out(self, options: dict[str, t.Any], run: Run) -> Answer:
        """Does by hand to nodes or a pool of one member what ``state`` says, and tells which nodes go by it; in check
        mode it only tells which would. The outcome is ``partial`` where something failed. FleetError as of ``manual``
        and ``network_of``."""
        wish = ManualWish(
            member=options["member"],
            state=options["state"],
            names=tuple(options["nodes"]),
            selector=options["label_selector"] or "",
            pool=options["pool"] or "",
            confirmed=options["confirm_count"],
            patches=tuple(options["patches"]),
            consent=options["consent"],
            network=network_of(options["network"]),
            subnet_move=options["allow_subnet_move"],
            routes=options["confirm_routes"],
            timeout=float(options["node_timeout"]),
            reading=ReadingWish(timeout=options["timeout"]),
            replacement=ReplacementWish(
                driver=options["driver"] or "", command=tuple(options["command"]), environ=run.environ
            ),
        )
        with run.open(options) as session:
            report = manual(session, wish, write=not run.check_mode)
        lines = [part for line in report.text for part in folded(line, "")]
        for line in lines:
            run.say(line)
        failed = report.failed
        return Answer(
            changed=report.changed,
            outcome="planned" if run.check_mode else "partial" if failed else "done",
            code=failed[0].code if failed else "",
            message="\n".join(map(str, failed)),
            data={
                "nodes": dict(report.nodes),
                "replaced": len(report.nodes),
                "patches": dict(report.patches),
                "unconfirmed": list(report.unconfirmed),
                "failures": [each.as_dict() for each in failed],
                "origin": "manual",
                "table": lines,
            },
        )
