# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Evidence of windows, freezes and budgets of the fleet (FleetMaintenance) that are recorded, changed or deleted; the
spec in a record, damaged or not."""

from __future__ import annotations

import typing as t

from ..._core.errors import FleetError, Problem
from ..._core.objects.audit.audit_entry import MAINTENANCE_DELETED, MAINTENANCE_RECORDED
from ..._core.objects.clusters.fleet_maintenance import FleetMaintenance, FleetMaintenanceSpec
from ..._core.overview.maintenance_changes import GOES, MaintenanceChange, maintenance_change
from ..._store.records import Record
from ..given import record_specs
from ..recorded import recorded
from ..session import Session
from .evidence import Deed, testify
from .update_runs import revision_of

KIND = "FleetMaintenance"


def record_with_evidence(
    session: Session, wanted: t.Iterable[FleetMaintenance], write: bool, src: t.Sequence[str] | None = None
) -> bool:
    """Records, with ``write``, those that are new or other, with evidence of each; whether there are any. ``src`` are
    the paths that they were read from, for the commit. FleetError as of ``given.record_specs``; what was written before
    that stays."""
    changed = False
    for each in wanted:
        stored = session.records.get(KIND, each.name)
        if not record_specs(session.records, (each,), write):
            continue
        changed = True
        if write:
            testify_change(session, maintenance_change(each.name, maintenance_spec_of(stored, []), each.spec), src=src)
    return changed


def testify_change(
    session: Session, change: MaintenanceChange, members: t.Sequence[str] = (), src: t.Sequence[str] | None = None
) -> None:
    """Writes the entry of a change that was made; ``members`` are those whose openings it moves, if that is known;
    ``src`` as of ``record_with_evidence``."""
    deed = Deed(
        action=MAINTENANCE_DELETED if change.mark == GOES else MAINTENANCE_RECORDED,
        kind=KIND,
        name=change.name,
        members=members,
        revision=revision_of(session, src),
        message=change.words,
    )
    testify(session, deed)


def maintenance_spec_of(document: Record | None, problems: list[Problem]) -> FleetMaintenanceSpec | None:
    """The spec in the document, None without a document; an empty spec, with problems added to ``problems``, where it
    cannot be read."""
    if document is None:
        return None
    try:
        return recorded(FleetMaintenance, document).spec
    except FleetError as error:
        problems += error.problems
        return FleetMaintenanceSpec()
