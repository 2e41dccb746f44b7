# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What people ask of a staged update run: record it, start it, stop it, carry it on."""

from __future__ import annotations

from dataclasses import replace

from ...._core.objects.staged.update_run import INITIALIZE, RUN, STOP
from ...session import Session
from ...updates.gate import user
from .conducting import (
    carry_on,
    lay_out,
    refuse_unfit,
    rehearse,
)
from .report import StagedOptions, StagedReport
from .run_record import Commanded, record_run, refuse_stop, wanted_run
from .sources import StagedManifests, keep_strategies

PRESENT, STARTED, STOPPED, CONDUCTED = "present", "started", "stopped", "conducted"


def staged_run(
    session: Session, name: str, given: StagedManifests, state: str, wish: StagedOptions, *, write: bool
) -> StagedReport:
    """The run in this ``state``. A new one that could not begin is refused before anything is recorded; without
    ``write`` nothing is, and the report is of the run as it would be. FleetError as of what it calls."""
    wanted = wanted_run(session.records, name, given)
    if state == STOPPED:
        refuse_stop(wanted.run)
        wanted = wanted_run(session.records, name, given, STOP)
    elif state == STARTED or (state == CONDUCTED and wanted.run.spec.state == INITIALIZE):
        wanted = wanted_run(session.records, name, given, RUN)
    kept = keep_strategies(session.records, given, write=False)
    changed = wanted.changed or kept
    if not write:
        return rehearse(session, wanted.run, given, wish, changed)
    if wanted.is_new:
        refuse_unfit(session, wanted.run, given, wish)
    keep_strategies(session.records, given, write=True)
    report = _carried(session, wanted, given, state, wish)
    return replace(report, changed=report.changed or changed)


def _carried(
    session: Session, wanted: Commanded, given: StagedManifests, state: str, wish: StagedOptions
) -> StagedReport:
    run = record_run(session.records, wanted, user(session) if wanted.is_new else "")
    if state == CONDUCTED:
        return carry_on(session, run, given, wish)
    if state == PRESENT:
        return lay_out(session, run, given, wish)
    return rehearse(session, run, given, wish, changed=False)
