# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A staged update run brought into the state that a verb asks for (``present``, ``started``, ``stopped``,
``conducted``): recorded with its strategies and terms, then carried on, or told as it would go on."""

from __future__ import annotations

from dataclasses import replace

from ...._core.errors import FleetError
from ...._core.objects.staged.update_run import INITIALIZE, RUN, STOP, ClusterStagedUpdateRun
from ...audit.actor import user
from ...audit.evidence import testify
from ...audit.staged_runs import deed_of_command
from ...given import record_specs
from ...members.members import members_to_write
from ...session import Session
from .conducting import (
    carry_on,
    lay_out,
    refuse_unfit,
    rehearse,
)
from .laying_out import is_laid_out
from .report import StagedOptions, StagedReport
from .run_record import keep_terms, record_run, refuse_stop, wanted_run
from .sources import StagedManifests
from .words import run_lines

PRESENT, STARTED, STOPPED, CONDUCTED = "present", "started", "stopped", "conducted"


def staged_run(
    session: Session, name: str, given: StagedManifests, state: str, wish: StagedOptions, *, write: bool
) -> StagedReport:
    """The run in this ``state``: PRESENT lays its stages out, STARTED and STOPPED only say so in its record, CONDUCTED
    carries it on, and starts it if it never was: one that is stopped stays so. Given strategies are recorded before it,
    terms of approvals after it; what was recorded stays where something fails later. A new run that could not begin,
    and one of another digest, unless it is there and to stop, is refused before it is recorded; one that has ended
    stands as it is. Without ``write`` nothing is recorded, and the report is of the run as it would be. FleetError as
    of ``wanted_run``, ``refuse_stop``, ``refuse_unfit``, ``record_run``, ``keep_terms``, ``rehearse``, ``lay_out``,
    ``carry_on``, ``members_to_write``, ``record_specs`` and ``user``; of ``rehearse`` a mere note where a run that is
    there is told to run, without a digest, or to stop."""
    wanted = wanted_run(session.records, name, given)
    if state == STOPPED:
        refuse_stop(wanted.run)
        wanted = wanted_run(session.records, name, given, STOP)
    elif state == STARTED or (state == CONDUCTED and wanted.run.spec.state == INITIALIZE):
        wanted = wanted_run(session.records, name, given, RUN)
    kept = record_specs(session.records, given.strategies.values(), write=False)
    changed = wanted.changed or kept
    bound = bool(wish.approved) and state != STOPPED
    only_told = state in (STARTED, STOPPED) and not wanted.is_new and not bound
    if not write:
        counts = state == CONDUCTED or (state == PRESENT and not is_laid_out(wanted.run))
        report = _as_it_goes_on(session, wanted.run, given, wish, only_told=only_told, counts=counts)
        return replace(report, changed=report.changed or changed)
    members = members_to_write(session) if wanted.is_new or state == CONDUCTED else {}
    if wanted.is_new:
        refuse_unfit(session, wanted.run, given, wish, members)
    elif wanted.changed and bound:
        rehearse(session, wanted.run, given, wish)  # a run that is refused is not told to go on before
    record_specs(session.records, given.strategies.values(), write=True)
    run = record_run(session.records, wanted, user(session) if wanted.changed else "")
    before, run = run, keep_terms(session, run, wish.terms)
    changed = changed or run is not before
    if wanted.changed:
        testify(session, deed_of_command(run, wanted.is_new, wish.approved))
    if state == CONDUCTED:
        report = carry_on(session, run, given, wish, members)
    elif state == PRESENT:
        report = lay_out(session, run, given, wish)
    else:
        report = _as_it_goes_on(session, run, given, wish, only_told=only_told)
    return replace(report, changed=report.changed or changed)


def _as_it_goes_on(
    session: Session,
    run: ClusterStagedUpdateRun,
    given: StagedManifests,
    wish: StagedOptions,
    *,
    only_told: bool,
    counts: bool = False,
) -> StagedReport:
    """As of ``rehearse``. Of one that is ``only_told`` to run or to stop, which holds in any case, an error is a note
    of the run as it is recorded; of any other it is raised."""
    try:
        return rehearse(session, run, given, wish, counts=counts)
    except FleetError as error:
        if not only_told:
            raise
        lines = tuple(run_lines(run, (), {}))
        return StagedReport(run=run, digest="", plan=None, changed=False, lines=lines, notes=error.problems)
