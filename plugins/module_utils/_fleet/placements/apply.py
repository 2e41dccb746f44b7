# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Carrying out a fleet plan: each placement under its lease, by waves through the conductor, then its status, mirrored
too; what failed, waits or was stopped (``ApplyResult``), how many clusters are done; whether a plan changes
anything."""

from __future__ import annotations

import contextlib
import typing as t
from dataclasses import dataclass, field, replace
from functools import partial

from ..._core.errors import FleetError, Problem, known_error
from ..._core.objects.placements.cluster_resource_placement import PlacementStatus
from ..._core.plan.document import LOST, PlacementPlan
from ..._core.plan.reached import reached, waits_for_availability
from ..._core.plan.status import placement_status
from ..._core.rollout.rolling.decide import RolloutSeen, RolloutState
from ..._core.values.listed import number_of
from ..._kube.parallel import in_parallel
from ..audit.placements import attest_placement
from ..conductor.interrupts import Interrupts
from ..conductor.loop import POLL, Conductor, Ending, RunLimits
from ..keeping import INTERRUPTED, Keeper
from ..members.members import Clients
from ..session import Session
from .abreast import PlacementWork, side_by_side
from .barred import barred_clusters, gaining_without_binding
from .binding_journal import BindingJournal
from .checks import contents_under, failures
from .crew.worker_crew import runners_for
from .cut_short import cut_short_problem, not_begun_problems, records_behind_problem, refuse_to_begin
from .look import ApplyOptions, MemberRunners, Outcomes, Writing, on_members
from .on_member.member_apply import MemberProgress
from .plan import FleetPlan, PlanRequest
from .recorded import RecordedPlacement, has_status
from .reported.in_namespace import StatusInNamespace
from .reported.mirror import mirror_statuses
from .rollout import MemberAct, Reach, RolloutSteering
from .rollout_words import RolloutTelling, Waiting, available_words, plan_counts
from .staged.hand_over import awaiting_staged_run, clusters_to_look_at, hand_over
from .write_records import Writer

# The plan made anew under the lease, with its records; FleetError if it is not the one looked at (``plan_again``).
Replan = t.Callable[[PlacementPlan], tuple[PlacementPlan, RecordedPlacement]]
# What others do to one placement, and to no other.
ITS_OWN = ("lease-held", "records-moved", "recovery-unfinished", "conflict")
Recorded = tuple[PlacementStatus, t.Optional[FleetError]]  # noqa: UP045  # pylint takes the other form for an error


@dataclass(frozen=True, kw_only=True)
class ApplyResult:
    """``changed``: something that was due on members or by the records was begun, or a status was mirrored; a new
    status of a placement alone does not count. ``outcomes`` are by placement and cluster, ``statuses`` the placements'
    own, without those left alone and those whose records failed. ``waits`` are rollouts that are not at their end,
    unless cut short. ``stopped`` are problems of whole placements: left alone, cut short, or with a status that could
    not be written."""

    changed: bool
    outcomes: t.Mapping[str, Outcomes]
    statuses: t.Mapping[str, PlacementStatus] = field(default_factory=dict)
    waits: t.Mapping[str, Waiting] = field(default_factory=dict)
    stopped: tuple[Problem, ...] = ()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What failed on members, then ``stopped``."""
        return (*failures(self.outcomes), *self.stopped)


def changes_anything(plan: PlacementPlan, outcomes: Outcomes) -> bool:
    """Whether carrying out the plan changes anything by the records, or on members by the ``outcomes`` of a look. What
    is due only on clusters with an error is no change unless something new is decided. One that loses the placement is
    a change while it can be looked at, unless staged runs are to take it away."""
    away = {name for name, outcome in outcomes.items() if outcome.error is not None}
    waiting = {each.cluster for each in plan.clusters if each.change == LOST and not plan.is_by_staged_runs}
    return plan.decides_change_beside(away) or any(
        outcome.changes or (outcome.error is None and name in waiting) for name, outcome in outcomes.items()
    )


@dataclass
class _Tally:
    """What became of one placement so far; ``ended`` says why no other is begun any more."""

    leases: contextlib.ExitStack
    changed: bool = False
    outcomes: dict[str, Outcomes] = field(default_factory=dict)
    statuses: dict[str, PlacementStatus] = field(default_factory=dict)
    waits: dict[str, Waiting] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    ended: str = ""
    begun: bool = False
    waiting: _Rollout | None = None


@dataclass(frozen=True, kw_only=True)
class _Work:
    """What is needed to carry out placements. ``runners`` go to the members of all of them; ``told`` says why this run
    is to end, ``stops`` whether nothing more is begun."""

    session: Session
    clients: Clients
    replan: Replan
    request: PlanRequest
    ways: ApplyOptions
    runners: MemberRunners
    told: t.Callable[[], str]
    stops: t.Callable[[], bool]


@dataclass(frozen=True, kw_only=True)
class _Rollout:
    """One placement that is being carried out, under its lease."""

    writer: Writer
    placement: dict[str, t.Any]
    keeper: Keeper
    steering: RolloutSteering
    conductor: Conductor[RolloutState, RolloutSeen, MemberAct]


def carry_out(
    session: Session, clients: Clients, plan: FleetPlan, replan: Replan, request: PlanRequest, ways: ApplyOptions
) -> ApplyResult:
    """Carries out the placements side by side; on a member they begin in the plan's order. One that waits for its
    members, or that somebody else holds or has changed, holds back no other; once this run is told to end, its records
    fail or something fails unexpectedly, no other begins. The problems are in the result, or raised if none has
    outcomes: ``no-workers``, ``lease-held``, ``records-moved``, ``interrupted``, those of ``replan`` and the records.
    FleetError as of ``runners_for``, by whose rules this is to be called."""
    with Interrupts() as told, contextlib.ExitStack() as stack:
        ways = replace(ways, diagnoses=True)
        runners = stack.enter_context(runners_for(clients, plan, ways, told))
        tallies = [_Tally(stack.enter_context(contextlib.ExitStack())) for _each in plan.plans]
        work = _Work(
            session=session,
            clients=clients,
            replan=replan,
            request=request,
            ways=ways,
            runners=runners,
            told=told,
            stops=lambda: any(each.ended for each in tallies),
        )
        courses = [
            PlacementWork([row.cluster for row in each.clusters], partial(_first_go, work, plan, each, tally))
            for each, tally in zip(plan.plans, tallies, strict=True)
        ]
        failed: tuple[Problem, ...] = ()
        try:
            side_by_side(courses, runners.threads, stops=work.stops)
        except FleetError as error:
            failed = error.problems
        _until_all_end(work, [each for each in tallies if each.waiting])
    left = [each for each, tally in zip(plan.plans, tallies, strict=True) if not tally.begun]
    problems = (*(problem for each in tallies for problem in each.problems), *failed, *not_begun_problems(left))
    found = {name: outcomes for each in tallies for name, outcomes in each.outcomes.items()}
    if problems and not found:
        raise FleetError.of(problems)
    return ApplyResult(
        changed=any(each.changed for each in tallies) or any(one.wrote for by in found.values() for one in by.values()),
        outcomes=found,
        statuses={name: status for each in tallies for name, status in each.statuses.items()},
        waits={name: waits for each in tallies for name, waits in each.waits.items()},
        stopped=problems,
    )


def _first_go(work: _Work, plan: FleetPlan, each: PlacementPlan, tally: _Tally) -> None:
    """Begins the placement, and carries it on until it has ended or waits for its members. What goes wrong ends up in
    the tally."""
    tally.begun = True
    try:
        refuse_to_begin(work.told())
        begun = _begun(work, plan, each, tally)
        if begun is not None and not _goes_on(work, begun, tally):
            tally.waiting = begun
    except Exception as caught:  # noqa: BLE001  # what others write is still to be told
        error = known_error(caught)
        tally.problems += [replace(problem, where=problem.where or each.name) for problem in error.problems]
        tally.leases.close()
        tally.ended = "" if error.code in ITS_OWN else error.code


def _begun(work: _Work, plan: FleetPlan, each: PlacementPlan, tally: _Tally) -> _Rollout | None:
    """The placement under its lease, with what is intended recorded. None if there is nothing to do, nothing is begun
    any more, or staged runs do the rest: what became of it is in the tally then. FleetError as of ``carry_out``."""
    uid, seen = plan.recorded[each.name].uid, dict[str, MemberProgress]()
    new = gaining_without_binding(each, plan.recorded[each.name])
    only = clusters_to_look_at(each)
    looked = on_members(each, uid, work.clients, work.ways, due=new, seen=seen, only=only, runners=work.runners)
    refuse_to_begin(work.told())
    changed = bool(new) or changes_anything(each, looked)
    due = changed or each.decides_change
    status = _status(each, {name: replace(one, done=True) for name, one in looked.items()}, plan, work)
    waits = work.ways.rollout.to_the_end and waits_for_availability(each, looked)
    if not due and not waits and has_status(plan.recorded[each.name].document, status):
        tally.outcomes[each.name], tally.statuses[each.name] = looked, status
        _mirror(work, each, tally)
        return None
    if work.stops():
        tally.begun = False
        return None
    if not uid:
        seen.clear()  # whether a member is held by a placement of another fleet can only be told by the uid
    records, holder = work.session.records, work.session.holder
    keeper = tally.leases.enter_context(Keeper(records, holder, work.told, window=work.runners.window()))
    lease = keeper.take(f"placement/{each.name}")
    current, recorded = work.replan(each)
    writer = Writer(
        records=records,
        lease=lease,
        plan=current,
        recorded=recorded,
        source=work.request.source,
        key=work.request.key,
        now=work.request.now,
        approved=work.request.approved,
        contents=contents_under(current, work.request),
    )
    if due:
        attest_placement(work.session, writer, looked, tally)
    placement = writer.write_spec()
    if due:
        writer.event("ApplyIntended", plan_counts(current))
    writer.write_snapshots(placement["metadata"]["generation"])
    tally.changed = tally.changed or changed
    reach = partial(_reached, work, current, placement["metadata"]["uid"], keeper, new, seen)
    if current.is_by_staged_runs:
        done = hand_over(work.session, writer, placement, keeper, looked, reach, work.told)
        tally.outcomes[each.name] = done.outcomes
        tally.ended = "" if done.ended in ITS_OWN else done.ended
        tally.statuses |= {each.name: done.status} if done.status else {}
        tally.problems += done.problems
        _mirror(work, current, tally)
        tally.leases.close()
        return None
    return _conducted(work, writer, placement, keeper, looked, reach)


def _conducted(
    work: _Work, writer: Writer, placement: dict[str, t.Any], keeper: Keeper, looked: Outcomes, reach: Reach
) -> _Rollout:
    """The placement with a conductor, which has not begun yet."""
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
        holder=session.holder, time_limit=rollout.time_limit, max_idle=rollout.max_idle, interrupted=work.told
    )
    telling = RolloutTelling(writer.plan.name, plan_counts(writer.plan), session.say, steering.lines)
    conductor = Conductor(journal, steering, session.clock, telling, limits)
    return _Rollout(writer=writer, placement=placement, keeper=keeper, steering=steering, conductor=conductor)


def _reached(
    work: _Work,
    plan: PlacementPlan,
    uid: str,
    keeper: Keeper,
    new: frozenset[str],
    seen: dict[str, MemberProgress],
    clusters: t.Container[str],
    write: bool,
) -> Outcomes:
    """Outcomes of going to the clusters, to write if asked to. FleetError as of ``barred_clusters``, ``on_members``."""
    if not write:
        return on_members(plan, uid, work.clients, work.ways, only=clusters, runners=work.runners)
    # Whoever lets a member go looks for bindings after it has said so; we look for such words after writing ours.
    barred = barred_clusters(work.session.records, plan)
    writing = Writing(permit=keeper.check, window=keeper.window, say=work.session.say, barred=barred)
    return on_members(
        plan, uid, work.clients, work.ways, writing=writing, due=new, seen=seen, only=clusters, runners=work.runners
    )


def _goes_on(work: _Work, rollout: _Rollout, tally: _Tally) -> bool:
    """Carries the placement on until it has ended, or waits for its members; whether it has ended. Then its leases are
    given back; what went wrong is in the tally."""
    name, steering = rollout.writer.plan.name, rollout.steering
    try:
        ending = rollout.conductor.step()
        while ending is None:
            if steering.idle:
                return False
            rollout.conductor.wait(0)
            ending = rollout.conductor.step()
        _finish(work, rollout, ending, tally)
    except Exception as caught:  # noqa: BLE001  # as in _first_go
        error = known_error(caught)
        tally.outcomes[name] = steering.outcomes
        tally.problems.append(records_behind_problem(name, error, steering.outcomes))
        tally.ended = "" if error.code in ITS_OWN else error.code
    tally.leases.close()
    return True


def _until_all_end(work: _Work, waiting: list[_Tally]) -> None:
    """Carries on those that wait, side by side, or in turn where no thread can be started, until all have ended."""
    while waiting:
        rollouts = [each.waiting for each in waiting if each.waiting]
        rollouts[0].conductor.wait(POLL)
        turns = {
            one.writer.plan.name: partial(_goes_on, work, one, tally)
            for one, tally in zip(rollouts, waiting, strict=True)
        }
        try:
            ended = list(in_parallel(turns, work.ways.threads).values())
        except FleetError:
            ended = [turn() for turn in turns.values()]
        for tally, each in zip(waiting, ended, strict=True):
            tally.problems += each.problems if isinstance(each, FleetError) else ()
        waiting = [tally for tally, each in zip(waiting, ended, strict=True) if not each]


def _finish(work: _Work, rollout: _Rollout, ending: Ending[RolloutState], tally: _Tally) -> None:
    """Records the status, and what was cut short or waits; says how far it came, if not cut. FleetError of records."""
    current, steering = rollout.writer.plan, rollout.steering
    outcomes = tally.outcomes[current.name] = _in_order(current, steering.outcomes)
    status, failed = rollout.conductor.again_while_unreachable(partial(_record_status, rollout, ending.state, work))
    tally.statuses[current.name] = status
    tally.problems += failed.problems if failed else ()
    _mirror(work, current, tally)
    came = work.told()
    if came:
        tally.problems.append(cut_short_problem(current, came, outcomes))
        tally.ended = INTERRUPTED
        return
    if ending.why != "settled" and (steering.waits or not steering.idle):
        tally.waits[current.name] = Waiting(
            why=ending.why, rows=steering.waits, lines=tuple(steering.lines()), resume_at=ending.resume_at
        )
    done, far = sum(1 for outcome in outcomes.values() if outcome.holds_all), reached(current, outcomes)
    work.session.say(f"{current.name}: {done:,} of {number_of(len(outcomes), 'cluster')} done{available_words(far)}")
    if work.ways.rollout.applied_only:
        work.session.say(f"{current.name}: applied was enough; no wave waited until its clusters were available")


def _mirror(work: _Work, plan: PlacementPlan, tally: _Tally) -> None:
    """Writes the status seen on the one member to the objects on the hub; problems go into the tally."""
    done = mirror_statuses(
        work.session.hub,
        plan,
        tally.outcomes[plan.name],
        work.request.resources is None,
        lambda cluster: work.clients.get(cluster).hide,
    )
    tally.changed = tally.changed or bool(done.written)
    tally.problems += done.problems


def _in_order(plan: PlacementPlan, outcomes: Outcomes) -> Outcomes:
    """The outcomes of the plan's clusters, in its order."""
    return {each.cluster: outcomes[each.cluster] for each in plan.clusters if each.cluster in outcomes}


def _record_status(rollout: _Rollout, state: RolloutState, work: _Work, again: bool) -> Recorded:
    """Writes the status, or deletes the records of a placement that has ended everywhere. The status, and why it could
    not be written into its namespace, None if it could. ``again``: an earlier try had no answer. FleetError of the
    records."""
    rollout.keeper.check_leases()
    writer, outcomes = rollout.writer, rollout.steering.outcomes
    copy = StatusInNamespace.of(work.session.records, work.session.hub is not None, writer.plan.placement)
    current, generation = writer.plan, rollout.placement["metadata"]["generation"]
    placement = writer.placement_as_left(rollout.placement) if again else rollout.placement
    previous, now = current.placement.status, work.session.clock()
    status = placement_status(current, outcomes, previous, generation, now, rollout.steering.not_begun(state))
    left = bool(state.bindings) or any(outcome.error or outcome.failures for outcome in outcomes.values())
    if current.deleting and not left:
        if placement is not None:
            copy.remove(writer.lease)
            writer.forget(placement)
        return status, None
    status, failed = copy.write(status, previous, generation, now, writer.lease)
    writer.write_status(placement or rollout.placement, status)
    return status, failed


def _status(plan: PlacementPlan, outcomes: Outcomes, fleet: FleetPlan, work: _Work) -> PlacementStatus:
    """The status that these outcomes would give, with what runs hold back; writes nothing. FleetError of the
    records."""
    document = fleet.recorded[plan.name].document
    generation, previous = document["metadata"]["generation"] if document else 1, plan.placement.status
    status = placement_status(plan, outcomes, previous, generation, work.request.now, awaiting_staged_run(plan))
    copy = StatusInNamespace.of(work.session.records, work.session.hub is not None, plan.placement)
    return copy.expected(status, previous, generation, work.request.now)
