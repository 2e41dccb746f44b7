# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Carrying out a fleet plan: brakes and digest first, then each placement under its lease, then the records."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field, replace

from ..._core.errors import FleetError, Problem
from ..._core.objects.placements.cluster_resource_placement import PlacementStatus
from ..._core.plan.document import GAINED, KEPT, LOST, PlacementPlan
from ..._core.plan.member import NOT_GONE
from ..._core.plan.outcome import APPLY_FAILED
from ..._core.plan.reached import reached
from ..._core.plan.status import placement_status
from ..._core.schema.codec import decode, encode
from ..._core.values.approved_digest import approves, lack
from ..._store.records import Records
from ..conductor.interrupts import Interrupts
from ..keeping import INTERRUPTED, STOPS, Keeper
from ..leases import leaving_members
from ..members.members import Clients
from ..session import Session
from .look import (
    ApplyOptions,
    Outcomes,
    Writing,
    on_members,
)
from .member_apply import Seen
from .plan import FleetPlan, PlanRequest
from .recorded import RecordedPlacement
from .write_records import Writer

# The plan made under the lease must be the one that was looked at; another run may have written meanwhile.
Replan = t.Callable[[PlacementPlan], tuple[PlacementPlan, RecordedPlacement]]
CODES = {APPLY_FAILED: "not-applied", NOT_GONE: "not-gone"}


@dataclass(frozen=True, kw_only=True)
class ApplyResult:
    """``changed`` speaks of placements and members; ``statuses`` are the placements' status after the run.

    ``stopped`` says which placements were left alone, because another run works on them or this one had to end, and
    what had been written of those that were begun.
    """

    changed: bool
    outcomes: t.Mapping[str, Outcomes]
    statuses: t.Mapping[str, PlacementStatus] = field(default_factory=dict)
    stopped: tuple[Problem, ...] = ()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What failed on members, then what stopped placements."""
        return (*failures(self.outcomes), *self.stopped)


def failures(outcomes: t.Mapping[str, Outcomes]) -> tuple[Problem, ...]:
    """Everything that failed or could not be reached, by placement and cluster; what this run itself left when it had
    to end is told as a whole."""
    found = []
    for placement, by_cluster in outcomes.items():
        for cluster, outcome in by_cluster.items():
            if outcome.error and outcome.error.code not in STOPS:
                found.append(replace(outcome.error, where=f"{cluster} ({placement})"))
            for each in outcome.failures:
                code = CODES.get(each.reason, "refused-on-member")
                found.append(Problem(code, f"{each.id}: {each.message}", f"{cluster} ({placement})", each.reason))
    return tuple(found)


def check_brakes(plan: FleetPlan) -> None:
    """Raises all brakes that stop the plan, each with the option that lifts it."""
    stopped = stopping(plan)
    if stopped:
        raise FleetError.of(stopped)


def stopping(plan: FleetPlan) -> list[Problem]:
    """The brakes for which an apply is refused, each with the option that lifts it."""
    found = [
        Problem(
            f"brake-{brake.name.replace('_', '-')}",
            brake.message.removeprefix(f"{each.name}: "),
            each.name,
            f"if it is meant: {brake.option}",
        )
        for each in plan.plans
        for brake in each.brakes
        if brake.stops
    ]
    return list(dict.fromkeys(found))


def unfulfilled(plan: FleetPlan) -> list[Problem]:
    """The placements that get fewer clusters than their policies ask for."""
    hint = "placement_info with explain tells what is against a cluster"
    return [
        Problem("unfulfilled", f"{each.picked} of {each.wanted} clusters that the policy asks for", each.name, hint)
        for each in plan.plans
        if not each.fulfilled
    ]


def check_digest(plan: FleetPlan, approved: str) -> None:
    """Raises ``digest-mismatch`` when another plan than the approved one would be carried out."""
    if approved and not approves(approved, plan.digest):
        raise FleetError(
            "digest-mismatch",
            f"the approved plan has digest {approved[:16]}, the plan made now has {plan.digest[:16]}{lack(approved)}",
            hint="plan again, compare, and have the new digest approved",
        )


def changes(plan: PlacementPlan, outcomes: Outcomes) -> bool:
    """Whether carrying out the plan would change anything on a member or in what the records decide."""
    return plan.decides_change or any(outcome.changes for outcome in outcomes.values())


@dataclass
class _Tally:
    """What became of the placements so far."""

    changed: bool = False
    outcomes: dict[str, Outcomes] = field(default_factory=dict)
    statuses: dict[str, PlacementStatus] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    ended: str = ""


@dataclass(frozen=True, kw_only=True)
class _Sights:
    """What is known of the members of a placement before any is held: whether anything is ``due`` at all, clusters on
    which it is for sure, and what was seen on others."""

    due: bool
    new: frozenset[str]
    seen: dict[str, Seen]


@dataclass(frozen=True, kw_only=True)
class _Work:
    """What is needed to carry out one placement after the other. ``told`` says why this run is to end."""

    session: Session
    clients: Clients
    replan: Replan
    request: PlanRequest
    ways: ApplyOptions
    told: t.Callable[[], str]


def carry_out(
    session: Session, clients: Clients, plan: FleetPlan, replan: Replan, request: PlanRequest, ways: ApplyOptions
) -> ApplyResult:
    """Writes the placements one after another, the members of each in parallel.

    Placements that another run holds or has changed are passed over and named. When this run is told to end, or its
    records fail, nothing further is begun, and what was written is told. The problems are raised if nothing was done.
    """
    tally = _Tally()
    with Interrupts() as told:
        work = _Work(session=session, clients=clients, replan=replan, request=request, ways=ways, told=told)
        for place, each in enumerate(plan.plans):
            try:
                _refuse_to_begin(told())
                _placement(work, plan, each, tally)
            except FleetError as error:
                tally.problems += [replace(problem, where=problem.where or each.name) for problem in error.problems]
                if error.code not in ("lease-held", "records-moved"):
                    tally.ended = error.code
            if tally.ended:
                tally.problems += _not_begun(plan.plans[place + 1 :])
                break
    if tally.problems and not tally.outcomes:
        raise FleetError.of(tally.problems)
    return ApplyResult(
        changed=tally.changed,
        outcomes=tally.outcomes,
        statuses=tally.statuses,
        stopped=tuple(tally.problems),
    )


def _refuse_to_begin(came: str) -> None:
    if came:
        raise FleetError(INTERRUPTED, f"{came}; nothing was written", hint="run again")


def _not_begun(plans: t.Sequence[PlacementPlan]) -> list[Problem]:
    names = ", ".join(each.name for each in plans)
    return [Problem("not-begun", "these placements were not begun", names, "run again")] if plans else []


def _placement(work: _Work, plan: FleetPlan, each: PlacementPlan, tally: _Tally) -> None:
    uid, seen = plan.recorded[each.name].uid, dict[str, Seen]()
    new = _new_there(each, plan.recorded[each.name])
    looked = on_members(each, uid, work.clients, work.ways, told=work.told, due=new, seen=seen)
    _refuse_to_begin(work.told())
    due = bool(new) or changes(each, looked)
    status = _status(each, {name: replace(one, done=True) for name, one in looked.items()}, plan, work.request)
    if not due and not _differs(plan, each, status):
        tally.outcomes[each.name], tally.statuses[each.name] = looked, status
        return
    if not uid:
        seen.clear()  # whether a member is held by a placement of another fleet can only be told by the uid
    with Keeper(work.session.records, work.session.holder, work.told) as keeper:
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
        )
        sights = _Sights(due=due, new=new, seen=seen)
        _under_lease(work, writer, keeper, sights, tally)


def _new_there(plan: PlacementPlan, recorded: RecordedPlacement) -> frozenset[str]:
    """Clusters that this placement, or this content of it, was never meant for before: something is surely to be
    written there."""
    strategy = plan.placement.spec.strategy.apply_strategy
    if strategy is not None and strategy.type == "ReportDiff":
        return frozenset()
    known = {each["spec"]["targetCluster"] for each in recorded.bindings.values()}
    return frozenset(
        each.cluster
        for each in plan.clusters
        if (each.change == GAINED and each.cluster not in known)
        or (each.cause == "content-changed" and plan.resource_snapshot_new)
    )


def _under_lease(work: _Work, writer: Writer, keeper: Keeper, sights: _Sights, tally: _Tally) -> None:
    """Records what is intended, writes to the members, records what came of it."""
    current, say = writer.plan, work.session.say
    placement = writer.spec()
    if sights.due:
        writer.event("ApplyIntended", _summary(current))
    writer.snapshots(placement["metadata"]["generation"])
    bindings = writer.intended()
    # Whoever lets a member go looks for bindings after it has said so; we look for such words after writing ours.
    barred = _barred(work.session.records, current)
    say(f"{current.name}: {_summary(current)}")
    writing = Writing(permit=keeper.check, say=say, barred=barred)
    outcomes = on_members(
        current,
        placement["metadata"]["uid"],
        work.clients,
        work.ways,
        told=work.told,
        writing=writing,
        due=sights.new,
        seen=sights.seen,
    )
    tally.outcomes[current.name] = outcomes
    tally.changed = tally.changed or sights.due
    try:
        keeper.check_leases()
        status = _recorded(writer, placement, bindings, outcomes, work.request)
    except FleetError as error:
        tally.problems.append(_unrecorded(current.name, error, outcomes))
        tally.ended = error.code
        return
    tally.statuses[current.name] = status
    came = work.told()
    if came:
        tally.problems.append(_cut_short(current.name, came, outcomes))
        tally.ended = INTERRUPTED
        return
    done = sum(1 for outcome in outcomes.values() if outcome.applied)
    far = reached(current, outcomes)
    available = f", {far.available} of {far.clusters} available" if far else ""
    say(f"{current.name}: {done} of {len(outcomes)} clusters done{available}")


def _recorded(
    writer: Writer,
    placement: dict[str, t.Any],
    bindings: t.Mapping[str, dict[str, t.Any]],
    outcomes: Outcomes,
    request: PlanRequest,
) -> PlacementStatus:
    current = writer.plan
    generation = placement["metadata"]["generation"]
    status = placement_status(current, outcomes, current.placement.status, generation, request.now)
    writer.bindings(bindings, outcomes, status)
    left = any(outcome.error or outcome.failures for outcome in outcomes.values())
    if current.deleting and not left:
        writer.event("PlacementCleanupFinalizerRemoved", "nothing of the placement is left on any member")
        writer.forget(placement)
    else:
        writer.status(placement, status)
    return status


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
            message = f"{leaving[each.cluster]} is letting it go; nothing is written to it"
            barred[each.cluster] = Problem("member-leaving", message, each.cluster, "run again when it is gone")
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


def _summary(plan: PlacementPlan) -> str:
    counts = {
        "gained": len(plan.changed_clusters("gained")),
        "kept": len(plan.changed_clusters(KEPT)),
        "lost": len(plan.changed_clusters(LOST)),
    }
    return f"{len(plan.objects)} objects; clusters " + ", ".join(f"{count} {name}" for name, count in counts.items())
