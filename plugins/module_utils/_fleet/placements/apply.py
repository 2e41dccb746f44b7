# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Carrying out a fleet plan: each placement under its lease, by waves through the conductor, then its status."""

from __future__ import annotations

import contextlib
import typing as t
from dataclasses import dataclass, field, replace
from functools import partial

from ..._core.errors import FleetError, Problem
from ..._core.objects.placements.cluster_resource_placement import PlacementStatus
from ..._core.plan.document import GAINED, LOST, PlacementPlan
from ..._core.plan.reached import reached
from ..._core.plan.status import placement_status
from ..._core.rollout.rolling.decide import RolloutSeen, RolloutState
from ..._core.schema.codec import decode, encode
from ..._store.records import Records
from ..conductor.interrupts import Interrupts
from ..conductor.loop import (
    POLL,
    Conductor,
    Ending,
    RunLimits,
)
from ..keeping import INTERRUPTED, STOPS, Keeper
from ..leases import is_leaving, leaving_members
from ..members.members import Clients
from ..session import Session
from .binding_journal import BindingJournal
from .checks import failures
from .look import (
    ApplyOptions,
    Outcomes,
    Writing,
    on_members,
)
from .on_member.member_apply import Seen
from .plan import FleetPlan, PlanRequest
from .recorded import RecordedPlacement
from .rollout import MemberAct, Reach, RolloutSteering
from .rollout_words import RolloutTelling, Waiting, summary
from .write_records import Writer

# The plan made under the lease must be the one that was looked at; another run may have written meanwhile.
Replan = t.Callable[[PlacementPlan], tuple[PlacementPlan, RecordedPlacement]]


@dataclass(frozen=True, kw_only=True)
class ApplyResult:
    """``changed`` speaks of placements and members; ``statuses`` are the placements' status after the run.

    ``waits`` are rollouts that have not come to their end, and what they wait for. ``stopped`` says which placements
    were left alone, because another run works on them or this one had to end, and what had been written of those that
    were begun.
    """

    changed: bool
    outcomes: t.Mapping[str, Outcomes]
    statuses: t.Mapping[str, PlacementStatus] = field(default_factory=dict)
    waits: t.Mapping[str, Waiting] = field(default_factory=dict)
    stopped: tuple[Problem, ...] = ()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What failed on members, then what stopped placements."""
        return (*failures(self.outcomes), *self.stopped)


def changes(plan: PlacementPlan, outcomes: Outcomes) -> bool:
    """Whether carrying out the plan would change anything on a member or in what the records decide."""
    waiting = {each.cluster for each in plan.clusters if each.change == LOST}
    return plan.decides_change or any(
        outcome.changes or (outcome.error is None and name in waiting) for name, outcome in outcomes.items()
    )


@dataclass
class _Tally:
    """What became of the placements so far."""

    changed: bool = False
    outcomes: dict[str, Outcomes] = field(default_factory=dict)
    statuses: dict[str, PlacementStatus] = field(default_factory=dict)
    waits: dict[str, Waiting] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    ended: str = ""


@dataclass(frozen=True, kw_only=True)
class _Work:
    """What is needed to carry out one placement after the other. ``told`` says why this run is to end."""

    session: Session
    clients: Clients
    replan: Replan
    request: PlanRequest
    ways: ApplyOptions
    told: t.Callable[[], str]


@dataclass(frozen=True, kw_only=True)
class _Rollout:
    """One placement that is being carried out, under its lease."""

    writer: Writer
    placement: dict[str, t.Any]
    keeper: Keeper
    leases: contextlib.ExitStack
    steering: RolloutSteering
    conductor: Conductor[RolloutState, RolloutSeen, MemberAct]


def carry_out(
    session: Session, clients: Clients, plan: FleetPlan, replan: Replan, request: PlanRequest, ways: ApplyOptions
) -> ApplyResult:
    """Begins the placements one after another, the members of each wave in parallel; one that waits for its members
    holds back no other.

    Placements that another run holds or has changed are passed over and named. When this run is told to end, or its
    records fail, nothing further is begun, and what was written is told. The problems are raised if nothing was done.
    """
    tally = _Tally()
    with Interrupts() as told, contextlib.ExitStack() as stack:
        ways = replace(ways, diagnoses=True)
        work = _Work(session=session, clients=clients, replan=replan, request=request, ways=ways, told=told)
        open_rollouts: list[_Rollout] = []
        for place, each in enumerate(plan.plans):
            leases = stack.enter_context(contextlib.ExitStack())
            try:
                _refuse_to_begin(told())
                begun = _begun(work, plan, each, tally, leases)
                if begun is not None and not _goes_on(work, begun, tally):
                    open_rollouts.append(begun)
            except FleetError as error:
                leases.close()
                tally.problems += [replace(problem, where=problem.where or each.name) for problem in error.problems]
                if error.code not in ("lease-held", "records-moved"):
                    tally.ended = error.code
            if tally.ended:
                tally.problems += _not_begun(plan.plans[place + 1 :])
                break
        _until_all_end(work, open_rollouts, tally)
    if tally.problems and not tally.outcomes:
        raise FleetError.of(tally.problems)
    return ApplyResult(
        changed=tally.changed,
        outcomes=tally.outcomes,
        statuses=tally.statuses,
        waits=tally.waits,
        stopped=tuple(tally.problems),
    )


def _refuse_to_begin(came: str) -> None:
    if came:
        raise FleetError(INTERRUPTED, f"{came}; nothing was written", hint="run again")


def _not_begun(plans: t.Sequence[PlacementPlan]) -> list[Problem]:
    names = ", ".join(each.name for each in plans)
    return [Problem("not-begun", "these placements were not begun", names, "run again")] if plans else []


def _begun(
    work: _Work, plan: FleetPlan, each: PlacementPlan, tally: _Tally, leases: contextlib.ExitStack
) -> _Rollout | None:
    """The placement under its lease, with what is intended recorded; None if there is nothing to do."""
    uid, seen = plan.recorded[each.name].uid, dict[str, Seen]()
    new = _new_there(each, plan.recorded[each.name])
    looked = on_members(each, uid, work.clients, work.ways, told=work.told, due=new, seen=seen)
    _refuse_to_begin(work.told())
    due = bool(new) or changes(each, looked)
    status = _status(each, {name: replace(one, done=True) for name, one in looked.items()}, plan, work.request)
    if not due and not _differs(plan, each, status):
        tally.outcomes[each.name], tally.statuses[each.name] = looked, status
        return None
    if not uid:
        seen.clear()  # whether a member is held by a placement of another fleet can only be told by the uid
    keeper = leases.enter_context(Keeper(work.session.records, work.session.holder, work.told))
    lease = keeper.take(f"placement/{each.name}")
    current, recorded = work.replan(each)
    writer = Writer(
        records=work.session.records,
        lease=lease,
        plan=current,
        recorded=recorded,
        source=work.request.source,
        key=work.request.key,
        now=work.request.now,
        approved=work.request.approved,
    )
    placement = writer.spec()
    if due:
        writer.event("ApplyIntended", summary(current))
    writer.snapshots(placement["metadata"]["generation"])
    tally.changed = tally.changed or due
    reach = partial(_reached, work, current, placement["metadata"]["uid"], keeper, new, seen)
    return _conducted(work, writer, placement, keeper, leases, looked, reach)


def _conducted(
    work: _Work,
    writer: Writer,
    placement: dict[str, t.Any],
    keeper: Keeper,
    leases: contextlib.ExitStack,
    looked: Outcomes,
    reach: Reach,
) -> _Rollout:
    rollout, session = work.ways.rollout, work.session
    steering = RolloutSteering(
        writer.plan,
        reach,
        looked,
        session.say,
        work.told,
        session.clock(),
        applied_only=rollout.applied_only,
        to_the_end=rollout.to_the_end,
    )
    journal = BindingJournal(session.records, writer.lease, keeper.check_leases, writer.plan, writer.recorded.bindings)
    journal.note(lambda state: steering.taken_up(state, session.clock()))
    limits = RunLimits(
        holder=session.holder,
        time_limit=rollout.time_limit,
        max_idle=rollout.max_idle,
        interrupted=work.told,
    )
    telling = RolloutTelling(writer.plan.name, summary(writer.plan), session.say, steering.lines)
    conductor = Conductor(journal, steering, session.clock, telling, limits)
    return _Rollout(
        writer=writer,
        placement=placement,
        keeper=keeper,
        leases=leases,
        steering=steering,
        conductor=conductor,
    )


def _reached(
    work: _Work,
    plan: PlacementPlan,
    uid: str,
    keeper: Keeper,
    new: frozenset[str],
    seen: dict[str, Seen],
    clusters: t.Container[str],
    write: bool,
) -> Outcomes:
    """Goes to the clusters, and writes what is due there if asked to."""
    if not write:
        return on_members(plan, uid, work.clients, work.ways, told=work.told, only=clusters)
    # Whoever lets a member go looks for bindings after it has said so; we look for such words after writing ours.
    barred = _barred(work.session.records, plan)
    writing = Writing(permit=keeper.check, say=work.session.say, barred=barred)
    return on_members(
        plan, uid, work.clients, work.ways, told=work.told, writing=writing, due=new, seen=seen, only=clusters
    )


def _goes_on(work: _Work, rollout: _Rollout, tally: _Tally) -> bool:
    """Carries the placement on until it has ended, or waits for its members; whether it has ended."""
    name, steering = rollout.writer.plan.name, rollout.steering
    try:
        ending = rollout.conductor.step()
        while ending is None:
            if steering.idle:
                return False
            steering.wait(0)
            ending = rollout.conductor.step()
        _finished(work, rollout, ending, tally)
    except FleetError as error:
        tally.outcomes[name] = steering.outcomes
        tally.problems.append(_unrecorded(name, error, steering.outcomes))
        tally.ended = error.code
    rollout.leases.close()
    return True


def _until_all_end(work: _Work, waiting: list[_Rollout], tally: _Tally) -> None:
    while waiting:
        waiting[0].steering.wait(POLL)
        waiting = [each for each in waiting if not _goes_on(work, each, tally)]


def _finished(work: _Work, rollout: _Rollout, ending: Ending[RolloutState], tally: _Tally) -> None:
    """The placement's status, and what is said of it."""
    current, steering = rollout.writer.plan, rollout.steering
    outcomes = tally.outcomes[current.name] = _in_order(current, steering.outcomes)
    rollout.keeper.check_leases()
    tally.statuses[current.name] = _recorded(rollout, ending.state, work)
    came = work.told()
    if came:
        tally.problems.append(_cut_short(current.name, came, outcomes))
        tally.ended = INTERRUPTED
        return
    if ending.why != "settled" and steering.waits:
        tally.waits[current.name] = Waiting(
            why=ending.why, rows=steering.waits, lines=tuple(steering.lines()), resume_at=ending.resume_at
        )
    done = sum(1 for outcome in outcomes.values() if outcome.applied)
    far = reached(current, outcomes)
    available = f", {far.available} of {far.clusters} available" if far else ""
    work.session.say(f"{current.name}: {done} of {len(outcomes)} clusters done{available}")
    if work.ways.rollout.applied_only:
        work.session.say(f"{current.name}: applied was enough; no wave waited until its clusters were available")


def _in_order(plan: PlacementPlan, outcomes: Outcomes) -> Outcomes:
    return {each.cluster: outcomes[each.cluster] for each in plan.clusters if each.cluster in outcomes}


def _recorded(rollout: _Rollout, state: RolloutState, work: _Work) -> PlacementStatus:
    writer, outcomes = rollout.writer, rollout.steering.outcomes
    current, placement = writer.plan, rollout.placement
    generation = placement["metadata"]["generation"]
    status = placement_status(
        current,
        outcomes,
        current.placement.status,
        generation,
        work.session.clock(),
        rollout.steering.not_begun(state),
    )
    left = bool(state.bindings) or any(outcome.error or outcome.failures for outcome in outcomes.values())
    if current.deleting and not left:
        writer.event("PlacementCleanupFinalizerRemoved", "nothing of the placement is left on any member")
        writer.forget(placement)
    else:
        writer.status(placement, status)
    return status


def _new_there(plan: PlacementPlan, recorded: RecordedPlacement) -> frozenset[str]:
    """Clusters that this placement was never meant for before: something is surely to be written there."""
    strategy = plan.placement.spec.strategy.apply_strategy
    if strategy is not None and strategy.type == "ReportDiff":
        return frozenset()
    known = {each["spec"]["targetCluster"] for each in recorded.bindings.values()}
    return frozenset(each.cluster for each in plan.clusters if each.change == GAINED and each.cluster not in known)


def _barred(records: Records, plan: PlacementPlan) -> dict[str, Problem]:
    """Clusters that have left the fleet since it was planned, or are about to: what is written there would be lost."""
    members = records.names("FleetMember")
    leaving = leaving_members(records)
    barred = {}
    for each in plan.clusters:
        if each.cause == "left-the-fleet":
            continue
        if each.cluster not in members:
            barred[each.cluster] = Problem("not-a-member", "it has left the fleet meanwhile", each.cluster, "run again")
        elif each.cluster in leaving:
            barred[each.cluster] = is_leaving(each.cluster, leaving[each.cluster])
    return barred


def _unrecorded(name: str, error: FleetError, outcomes: Outcomes) -> Problem:
    """The members were written and the records could not follow: lost to another run, or out of reach."""
    hint = "run again: it looks at the members and takes up what stands there"
    message = f"the records were not brought up to date: {error.message}. On members this run has written"
    return Problem(error.code, f"{message} {_account(outcomes)}", name, hint)


def _cut_short(name: str, came: str, outcomes: Outcomes) -> Problem:
    left = sorted(cluster for cluster, each in outcomes.items() if each.error and each.error.code in STOPS)
    rest = f"not done: {', '.join(left)}" if left else "all its clusters are done"
    message = f"{came}; on members this run has written {_account(outcomes)}; {rest}"
    return Problem(INTERRUPTED, message, name, "run again: it goes on from here")


def _account(outcomes: Outcomes) -> str:
    """What was written, by cluster."""
    told = [f"{cluster}: {each.account}" for cluster, each in outcomes.items() if each.wrote or each.doubtful]
    return "; ".join(told) or "nothing"


def _status(plan: PlacementPlan, outcomes: Outcomes, fleet: FleetPlan, request: PlanRequest) -> PlacementStatus:
    document = fleet.recorded[plan.name].document
    generation = document["metadata"]["generation"] if document else 1
    return placement_status(plan, outcomes, plan.placement.status, generation, request.now)


def _differs(fleet: FleetPlan, plan: PlacementPlan, status: PlacementStatus) -> bool:
    """Whether the recorded status says something else than the one found now."""
    document = fleet.recorded[plan.name].document
    if document is None:
        return True
    old = decode(PlacementStatus, document.get("status") or {})
    return bool(encode(old) != encode(status))
