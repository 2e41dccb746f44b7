# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t
from datetime import timedelta

from ..module_utils._core.errors import FleetError
from ..module_utils._fleet.audit.rotations import testify_deletion
from ..module_utils._fleet.files import refuse_blank_snapshot, refuse_empty
from ..module_utils._fleet.nodes.reading import ReadingWish
from ..module_utils._fleet.nodes.replacing import ReplacementWish
from ..module_utils._fleet.nodes.rotating import RotationWish, conduct_rotation, planned, stop_rotation
from ..module_utils._fleet.nodes.rotation_record import delete_rotation
from ..module_utils._fleet.nodes.rotation_report import (
    kept_nodes,
    opens_at,
    report_data,
    rotation_name,
    rotation_verdict,
)
from ..module_utils._fleet.nodes.sources import node_manifests
from ..module_utils._report.commands.next_steps import after_rotation, after_rotation_stop
from ..module_utils._report.nodes.rotation_text import rotation_text, young_text
from ..module_utils._report.text import notes_text
from ..plugin_utils._libraries import SERVERS
from ..plugin_utils._verb import Answer, Run, Verb


class ActionModule(Verb):
    """Plan, conduct, stop and delete rotations of nodes; outcome of the task, ``resume_at``, and how it goes on."""

    def libraries(self, options: t.Mapping[str, t.Any]) -> t.Mapping[str, str]:
        """Those for API servers where a rotation is conducted and no ``snapshot`` planned from; else none."""
        return SERVERS if options["state"] == "conducted" and not options["snapshot"] else {}

    def carry_out(self, options: dict[str, t.Any], run: Run) -> Answer:
        """Conducts, stops or deletes the rotation, and says how it goes on; in check mode nothing is written, and state
        ``conducted`` is planned, from a ``snapshot`` if one is given. The outcome is that of ``rotation_verdict``,
        ``done`` after a stop, ``planned`` in check mode. FleetError ``bad-option`` for a snapshot without check mode,
        as of ``node_manifests``, ``rotation_name``, ``conduct_rotation``, ``planned``, ``stop_rotation`` and
        ``delete_rotation``."""
        refuse_blank_snapshot(options)
        refuse_empty(options, "src")
        if options["snapshot"] and not run.check_mode:
            raise FleetError("bad-option", "a snapshot is planned from only", "snapshot", "run it in check mode")
        given = node_manifests(options["src"] or (), options["definition"], options["strict"])
        name, wish = rotation_name(options["name"] or "", given), _wish(options, run)
        with run.open(options) as session:
            if options["state"] == "absent":
                gone = delete_rotation(session.records, name, force=options["force"], write=not run.check_mode)
                gone = testify_deletion(session, name, gone=gone, write=not run.check_mode)
                return Answer(changed=gone, data={"name": name})
            if options["state"] == "stopped":
                report = stop_rotation(session, name, write=not run.check_mode)
            else:
                report = (planned if run.check_mode else conduct_rotation)(session, name, given, wish)
        tree = rotation_text(name, report.state, report.due, report.begins, report.waits)
        tree += young_text(name, report.young, report.since)
        for line in (*tree, *notes_text(report.notes)):
            run.say(line)
        outcome, code, message = rotation_verdict(report)
        if options["state"] == "stopped" or run.check_mode:
            outcome, code, message = "planned" if run.check_mode else "done", "", ""
        steps = after_rotation(name, outcome, opens_at(report), report.young, kept_nodes(report))
        if options["state"] == "stopped" and not run.check_mode:
            steps = after_rotation_stop(name, in_hand=report.state.in_hand, ended=bool(report.state.halted))
        for line in run.next_lines(steps):
            run.say(line)
        return Answer(
            changed=report.changed,
            outcome=outcome,
            code=code,
            message=message,
            resume_at=report_data(report)["resume_at"] if outcome in ("waiting", "planned") else "",
            data=report_data(report) | {"table": tree},
        )


def _wish(options: dict[str, t.Any], run: Run) -> RotationWish:
    """The options of a rotation as a wish; those of times are in seconds, ``time_limit`` None or 0 for no limit."""
    limit = options["time_limit"]
    return RotationWish(
        replacement=ReplacementWish(
            driver=options["driver"] or "",
            command=tuple(options["command"]),
            environment=tuple(options["environment"]),
            timeout=float(options["command_timeout"]),
            environ=run.environ,
        ),
        reading=ReadingWish(threads=options["threads"], timeout=options["timeout"]),
        snapshot=options["snapshot"] or "",
        only_waiting=options["only_waiting"],
        again=options["again"],
        time_limit=timedelta(seconds=limit) if limit else None,
        max_idle=timedelta(seconds=options["max_idle"]),
        interval=timedelta(seconds=options["interval"]),
    )
