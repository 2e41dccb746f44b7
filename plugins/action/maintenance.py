# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

from ..module_utils._core.errors import FleetError
from ..module_utils._fleet.overview.maintenance import MaintenanceReport, delete_maintenance, record_maintenance
from ..module_utils._fleet.session import Session
from ..module_utils._fleet.updates.sources import UpdateManifests, maintenance_manifests
from ..module_utils._report.commands.next_steps import after_maintenance
from ..module_utils._report.overview.maintenance_text import maintenance_text
from ..module_utils._report.text import notes_text
from ..plugin_utils._verb import Answer, Run, Verb


class ActionModule(Verb):
    """Record maintenance windows and freezes, or delete them, and nothing else; which openings of clusters that
    moves."""

    def carry_out(self, options: dict[str, t.Any], run: Run) -> Answer:
        """Records the given FleetMaintenances, or deletes the named ones, with evidence, and tells which openings that
        moves; in check mode nothing is written, and the outcome is ``planned`` if anything would change. FleetError as
        of ``_refuse_other_options``, ``maintenance_manifests``, ``record_maintenance`` and ``delete_maintenance``."""
        _refuse_other_options(options)
        given = maintenance_manifests(options["src"], options["definition"], options["strict"])
        with run.open(options) as session:
            found = _done(session, options, given, not run.check_mode)
        lines = maintenance_text(found.changes, found.same, found.before, found.after, not run.check_mode)
        lines += notes_text(found.findings)
        for line in lines:
            run.say(line)
        answer = Answer(
            changed=bool(found.changes),
            outcome="planned" if run.check_mode and found.changes else "done",
            data={
                "changes": [each.as_dict() for each in found.changes],
                "moved": list(found.moved_members),
                "notes": [each.as_dict() for each in found.findings],
                "table": lines,
            },
        )
        return run.with_next(answer, after_maintenance(answer.changed and not run.check_mode), fails=False)


def _refuse_other_options(options: t.Mapping[str, t.Any]) -> None:
    """FleetError ``nothing-asked`` for state ``absent`` without names, ``bad-option`` for ``absent`` with manifests,
    and for names with another state: what is deleted is named, what is recorded names itself."""
    deletes = options["state"] == "absent"
    if deletes and not options["names"]:
        raise FleetError("nothing-asked", "state absent needs the names of FleetMaintenances", "names")
    if deletes and (options["src"] or options["definition"]):
        raise FleetError("bad-option", "state absent goes by names alone", "src")
    if options["names"] and not deletes:
        raise FleetError("bad-option", "names are of FleetMaintenances that are deleted, by state absent", "names")


def _done(session: Session, options: t.Mapping[str, t.Any], given: UpdateManifests, write: bool) -> MaintenanceReport:
    """The report after the named FleetMaintenances were deleted or the given ones recorded, as ``state`` says; without
    ``write`` they would be. FleetError as of ``delete_maintenance`` and ``record_maintenance``."""
    if options["state"] == "absent":
        return delete_maintenance(session, options["names"], write)
    return record_maintenance(session, given, write, options["src"])
