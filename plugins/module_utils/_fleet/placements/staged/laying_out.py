# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A staged update run decided on once, with what it gives to clusters; held against the digest that was approved
(``digest-mismatch``) and against brakes; its notes, the newer run, and the report of one that is not carried on."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ...._core.errors import FleetError, Problem
from ...._core.objects.staged.update_run import STOP, ClusterStagedUpdateRun
from ...._core.plan.document import PlacementPlan
from ...._core.rollout.staged.beside import open_beside
from ...._core.rollout.staged.decide import StagedDecision, StagedState, decide, is_over
from ...._core.rollout.staged.digest import staged_digest
from ...._core.rollout.staged.standing import RunStanding, last_newer_run, standing_of
from ...._core.rollout.staged.way_back import index_before
from ...._core.schema.meta import find_condition
from ...._core.values.approved_digest import refuse_another
from ...members.members import Member
from ...session import Session
from ..checks import braked
from ..sources import credentials_of, hubs_among
from .approvals import judge_of, seen_requests
from .report import StagedOptions, StagedReport
from .run_plan import planned, refuse_other_overrides
from .sources import StagedManifests
from .words import run_lines
from .world import RunGround, run_ground

Members = t.Mapping[str, Member]
"""All of the fleet, by name."""


@dataclass(frozen=True, kw_only=True)
class Laid:
    """A run decided on once: what it is decided on, and what it gives to clusters (``plan``, None where it could not
    begin, and where it has ended, or is to stop, and cannot be planned: why one that stops cannot is in
    ``plan_errors``). ``digest`` is that of the run, ``beside`` warns of others that are open when it begins."""

    ground: RunGround
    decision: StagedDecision
    plan: PlacementPlan | None
    digest: str
    beside: tuple[Problem, ...] = ()
    plan_errors: tuple[Problem, ...] = ()

    @property
    def run(self) -> ClusterStagedUpdateRun:
        """The run as it was decided on."""
        return self.decision.state.run


def is_laid_out(run: ClusterStagedUpdateRun) -> bool:
    """Whether its stages are recorded, or that it could not begin (the condition ``Initialized``, whatever its
    status)."""
    return find_condition(run.status.conditions, "Initialized") is not None


def laid_out(
    session: Session,
    run: ClusterStagedUpdateRun,
    given: StagedManifests,
    wish: StagedOptions,
    members: Members,
    *,
    sends: bool,
) -> Laid:
    """The run decided on as it stands, twice: which snapshot it takes is known once it has begun, which overrides act
    only with the content; once, and without a plan, where it cannot begin, and where one that has ended, or is to stop,
    cannot be planned or is kept by brakes. ``given`` counts before what is recorded; with ``sends`` the content of
    Secrets must be had. Nothing is written. FleetError as of ``run_ground``, ``seen_requests``, ``hubs_among``, and of
    any other run of ``planned`` and ``refuse_other_overrides``."""
    ground, now = run_ground(session.records, run, given), session.clock()
    digest = staged_digest(run, ground.hash_of(run.status.resource_snapshot_index_used))
    judge = judge_of(session, run, digest, wish.terms)
    requests = seen_requests(session.records, run, digest, judge)
    bindings = ground.bindings
    first = decide(StagedState(run=run), ground.seen(bindings, requests), now)
    index = first.state.run.status.resource_snapshot_index_used
    if first.state.failure is not None or not index:
        return Laid(ground=ground, decision=first, plan=None, digest=digest)
    credentials = credentials_of(each.fleet for each in members.values())
    fleet = {name: each.fleet for name, each in members.items()}
    # Files that are given are the content: nothing of it was selected on the hub.
    hubs = frozenset[str]() if given.resources else hubs_among(fleet, session.hub, writes=sends)
    ways, begun = wish.ways, first.state.run
    over, begins = is_over(run), not is_laid_out(run)
    try:
        plan = planned(
            session, begun, ground, given, credentials, wish.limits, ways.prune_kinds, hubs=hubs, sends=sends
        )
        if not (over or begins):
            refuse_other_overrides(run, plan)
            if run.spec.state == STOP:
                _refuse_braked(plan)
    except FleetError as error:
        if begins or not (over or run.spec.state == STOP):
            raise
        problems = () if over else error.problems
        return Laid(ground=ground, decision=first, plan=None, digest=digest, plan_errors=problems)
    second = decide(StagedState(run=run), ground.seen(bindings, requests, plan.overrides), now)
    digest = staged_digest(second.state.run, ground.hash_of(index))
    return Laid(ground=ground, decision=second, plan=plan, digest=digest, beside=open_beside(run, ground.runs))


def check_plan(laid: Laid, wish: StagedOptions) -> None:
    """FleetError ``digest-mismatch``, or all brakes that stop the plan; nothing of a run that is over or has none."""
    if laid.plan is None or is_over(laid.run):
        return
    check_digest(laid, wish.approved)
    _refuse_braked(laid.plan)


def _refuse_braked(plan: PlacementPlan) -> None:
    """FleetError with all brakes that stop the plan."""
    stopped = braked([plan])
    if stopped:
        raise FleetError.of(stopped)


def check_digest(laid: Laid, approved: str) -> None:
    """FleetError ``digest-mismatch`` if another digest was approved, or too few digits of it; an empty one passes."""
    hint = "its clusters, strategy or content have changed; look at it again and have the new digest approved"
    refuse_another(approved, laid.digest, "the run now is", str(laid.run.key), hint)


def notes_of(laid: Laid, given: StagedManifests) -> tuple[Problem, ...]:
    """Findings of what was given, of the plan, or why there is none, and of runs beside this one, each once."""
    found = laid.plan.findings if laid.plan else laid.plan_errors
    return tuple(dict.fromkeys((*given.findings, *found, *laid.beside)))


def report_not_carried_on(laid: Laid, given: StagedManifests, changed: bool) -> StagedReport:
    """The report of a run that is not carried on, or stops by its records alone; ``changed``: its record is another by
    now."""
    return StagedReport(
        run=laid.run,
        digest=laid.digest,
        plan=laid.plan,
        changed=changed,
        resume_at=laid.decision.wake_at,
        lines=tuple(run_lines(laid.run, laid.decision.waits, {})),
        notes=notes_of(laid, given),
        before=index_before(laid.run, laid.ground.bindings),
        newer=newer_of(laid.run, laid.ground),
    )


def newer_of(run: ClusterStagedUpdateRun, ground: RunGround) -> RunStanding | None:
    """How the run after this one stands, as of ``last_newer_run``; None if there is none."""
    newer = last_newer_run(run, ground.runs)
    return standing_of(newer) if newer else None
