# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Carrying out a fleet plan: brakes and digest first, then each placement under its lease, then the records."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field, replace

from .._core.errors import FleetError, Problem
from .._core.objects.cluster_resource_placement import PlacementStatus
from .._core.objects.schema import decode, encode
from .._core.plan.document import KEPT, LOST, PlacementPlan
from .._core.plan.status import placement_status
from .._store.records import Records
from .holding import take
from .look import Outcomes, Ways, on_members
from .members import Clients
from .plan import FleetPlan, PlanRequest
from .write_records import Writer

LEASE_SECONDS = 300
Replan = t.Callable[[], FleetPlan]
Say = t.Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Applied:
    """``changed`` speaks of placements and members; ``statuses`` are the placements' status after the run.

    ``held`` says which placements were left alone because another run works on them.
    """

    changed: bool
    outcomes: t.Mapping[str, Outcomes]
    statuses: t.Mapping[str, PlacementStatus] = field(default_factory=dict)
    held: tuple[Problem, ...] = ()

    @property
    def problems(self) -> tuple[Problem, ...]:
        return (*failures(self.outcomes), *self.held)


def failures(outcomes: t.Mapping[str, Outcomes]) -> tuple[Problem, ...]:
    """Everything that failed or could not be reached, by placement and cluster."""
    found = []
    for placement, by_cluster in outcomes.items():
        for cluster, outcome in by_cluster.items():
            if outcome.error:
                found.append(replace(outcome.error, where=f"{cluster} ({placement})"))
            for each in outcome.failures:
                code = "not-applied" if each.reason == "ManifestApplyFailed" else "refused-on-member"
                found.append(Problem(code, f"{each.id}: {each.message}", f"{cluster} ({placement})", each.reason))
    return tuple(found)


def check_brakes(plan: FleetPlan) -> None:
    """Raises all brakes that stop the plan, each with the option that lifts it."""
    stopped = [
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
    if stopped:
        raise FleetError.of(list(dict.fromkeys(stopped)))


def check_digest(plan: FleetPlan, approved: str) -> None:
    """Raises ``digest-mismatch`` when another plan than the approved one would be carried out."""
    if approved and approved != plan.digest:
        raise FleetError(
            "digest-mismatch",
            f"the approved plan has digest {approved[:16]}, the plan made now has {plan.digest[:16]}",
            hint="plan again, compare, and have the new digest approved",
        )


def changes(plan: PlacementPlan, outcomes: Outcomes) -> bool:
    """Whether carrying out the plan would change anything on a member or in what the records decide."""
    return plan.decides_change or any(outcome.changes for outcome in outcomes.values())


def carry_out(
    records: Records,
    clients: Clients,
    plan: FleetPlan,
    replan: Replan,
    request: PlanRequest,
    ways: Ways,
    holder: str,
    say: Say,
) -> Applied:
    """Writes the placements one after another, the members of each in parallel.

    Placements that another run holds are passed over and named; ``lease-held`` is raised if no other is left.
    """
    changed = False
    held: list[Problem] = []
    outcomes: dict[str, Outcomes] = {}
    statuses: dict[str, PlacementStatus] = {}
    for each in plan.plans:
        looked = on_members(each, plan.recorded[each.name].uid, clients, ways, write=False)
        due = changes(each, looked)
        status = _status(each, {name: replace(one, done=True) for name, one in looked.items()}, plan, request)
        if not due and not _differs(plan, each, status):
            outcomes[each.name], statuses[each.name] = looked, status
            continue
        try:
            lease = take(records, f"placement/{each.name}", holder, LEASE_SECONDS)
        except FleetError as error:
            if error.code != "lease-held":
                raise
            held.extend(error.problems)
            continue
        changed = changed or due
        try:
            fresh = _same_plan(replan(), each)
            current = next(one for one in fresh.plans if one.name == each.name)
            writer = Writer(
                records=records,
                lease=lease,
                plan=current,
                recorded=fresh.recorded[each.name],
                source=request.source,
                key=request.key,
                now=request.now,
            )
            outcomes[each.name], statuses[each.name] = _one(writer, clients, fresh, request, ways, looked, due, say)
        finally:
            records.release(lease)
    if held and not outcomes:
        raise FleetError.of(held)
    return Applied(changed=changed, outcomes=outcomes, statuses=statuses, held=tuple(held))


def _one(
    writer: Writer,
    clients: Clients,
    plan: FleetPlan,
    request: PlanRequest,
    ways: Ways,
    looked: Outcomes,
    due: bool,
    say: Say,
) -> tuple[Outcomes, PlacementStatus]:
    current = writer.plan
    placement = writer.spec()
    if due:
        writer.event("ApplyIntended", _summary(current))
    writer.snapshots(placement["metadata"]["generation"])
    bindings = writer.intended()
    say(f"{current.name}: {_summary(current)}")
    outcomes = on_members(current, placement["metadata"]["uid"], clients, ways, write=True, looked=looked)
    generation = placement["metadata"]["generation"]
    status = placement_status(current, outcomes, current.placement.status, generation, request.now)
    writer.bindings(bindings, outcomes, status)
    left = any(outcome.error or outcome.failures for outcome in outcomes.values())
    if current.deleting and not left:
        writer.event("PlacementCleanupFinalizerRemoved", "nothing of the placement is left on any member")
        writer.forget(placement)
        return outcomes, status
    writer.status(placement, status)
    done = sum(1 for outcome in outcomes.values() if outcome.applied)
    say(f"{current.name}: {done} of {len(outcomes)} clusters done")
    return outcomes, status


def _same_plan(fresh: FleetPlan, before: PlacementPlan) -> FleetPlan:
    """The plan made under the lease must be the one that was looked at; another run may have written meanwhile."""
    now = next((each for each in fresh.plans if each.name == before.name), None)
    if now is None or now.digest != before.digest:
        raise FleetError(
            "records-moved", "another run has changed the placement since it was planned", before.name, "run again"
        )
    return fresh


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
