# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Recording and deleting FleetMaintenances by themselves (``no-maintenance-given``): what becomes other in them
(``changes``, ``same``), and for which members that moves the openings (``openings-unknown``). No run is begun or
carried on, and no member is asked."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace

from ..._core.errors import FleetError, Problem
from ..._core.overview.maintenance_changes import MaintenanceChange, maintenance_change
from ..._core.overview.openings import ClusterOpenings, permission_changed
from ..._store.records import Record
from ..audit.maintenance import maintenance_spec_of, testify_change
from ..given import record_specs
from ..session import Session
from ..updates.sources import UpdateManifests
from .openings import MAINTENANCE, OpeningsQuestion, nothing_given, openings_report


@dataclass(frozen=True, kw_only=True)
class MaintenanceReport:
    """``changes`` are of FleetMaintenances that come, become other, or go, by name; ``same`` are the names of the rest.
    ``before`` and ``after`` are all members by what was and what is recorded then, in one order; empty where nothing
    changes, or that cannot be worked out, of which ``findings`` tell."""

    changes: tuple[MaintenanceChange, ...] = ()
    same: tuple[str, ...] = ()
    before: tuple[ClusterOpenings, ...] = ()
    after: tuple[ClusterOpenings, ...] = ()
    findings: tuple[Problem, ...] = ()

    @property
    def moved_members(self) -> tuple[str, ...]:
        """Names of members for which what is permitted changes, as of ``permission_changed``, in the order of
        ``before``."""
        return tuple(
            old.name
            for old, new in zip(self.before, self.after, strict=True)
            if any(permission_changed(one, new.permissions[work]) for work, one in old.permissions.items())
        )


def record_maintenance(
    session: Session, given: UpdateManifests, write: bool, src: t.Sequence[str] = ()
) -> MaintenanceReport:
    """Records, with ``write``, the FleetMaintenances that are new or other, and evidence of each with the commit of
    ``src``. FleetError ``no-maintenance-given``, as of ``record_specs``, and of the records; what was written before
    that stays."""
    if not given.maintenance:
        raise nothing_given()
    records, stored = session.records, _stored(session)
    due = [each for each in given.maintenance.values() if record_specs(records, (each,), write=False)]
    problems = list(given.findings)
    changes = tuple(
        maintenance_change(each.name, maintenance_spec_of(stored.get(each.name), problems), each.spec)
        for each in sorted(due, key=lambda each: each.name)
    )
    supposed = replace(given, maintenance={each.name: each for each in due})
    found = _seen(session, supposed, changes, problems) if due else MaintenanceReport(findings=tuple(problems))
    for change in changes if write else ():
        record_specs(records, (given.maintenance[change.name],), write=True)
        testify_change(session, change, found.moved_members, src)
    return replace(found, same=tuple(sorted(given.maintenance.keys() - {each.name for each in due})))


def delete_maintenance(session: Session, names: t.Sequence[str], write: bool) -> MaintenanceReport:
    """Deletes, with ``write``, those FleetMaintenances that are there, and keeps evidence of each. FleetErrors of the
    records; what was deleted before that is gone."""
    stored, problems = _stored(session), list[Problem]()
    there = [name for name in sorted(set(names)) if name in stored]
    changes = tuple(maintenance_change(name, maintenance_spec_of(stored[name], problems), None) for name in there)
    found = _seen(session, UpdateManifests(gone=frozenset(there)), changes, problems) if there else MaintenanceReport()
    for change in changes if write else ():
        session.records.delete(MAINTENANCE, change.name)
        testify_change(session, change, found.moved_members)
    return replace(found, same=tuple(sorted(set(names) - set(there))))


def _stored(session: Session) -> dict[str, Record]:
    """The recorded FleetMaintenances by name, not judged. FleetError of the records."""
    return {each["metadata"]["name"]: each for each in session.records.list(MAINTENANCE)}


def _seen(
    session: Session, supposed: UpdateManifests, changes: tuple[MaintenanceChange, ...], problems: list[Problem]
) -> MaintenanceReport:
    """The changes with what they move, and ``problems`` as findings. What cannot be worked out keeps nothing from being
    recorded, and is told, with ``openings-unknown``; without members, nothing is worked out."""
    found = MaintenanceReport(changes=changes)
    try:
        if session.records.list("FleetMember"):
            seen = openings_report(session, OpeningsQuestion(supposed=supposed))
            found = replace(found, before=seen.before, after=seen.clusters)
    except FleetError as error:
        problems += [each for each in error.problems if each not in problems]
        words = "which openings this moves is not known, because of what is recorded already"
        problems.append(Problem("openings-unknown", words, "", "look again: gitops.fleet.when"))
    return replace(found, findings=tuple(problems))
