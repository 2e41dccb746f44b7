# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The whole way of placements: read what is wanted, capture or load facts, plan, look, and carry out if asked to."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from .._core.errors import FleetError, Problem
from .._core.facts.snapshot import FactsSnapshot
from .._core.objects.cluster_resource_placement import PlacementStatus
from .._core.plan.brakes import BrakeLimits
from .._core.plan.outcome import MemberOutcome
from .._kube.access import ready
from .._kube.client import KubeClient, Timeouts
from .._kube.parallel import in_parallel
from .._store.digest_key import digest_key, known_digest_key
from .._store.manifests import read_manifests
from .._store.records import Records
from .._store.revision import source_revision
from .apply import Applied, carry_out, changes, check_brakes, check_digest, failures
from .facts import needs_pods, read_fleet
from .look import Outcomes, Ways, on_members
from .member_lease import MemberLeases
from .members import Clients, Member, members_to_write, recorded_members
from .plan import FleetPlan, PlanRequest, Source, make_plans
from .sources import PLACEMENT, Sourced, placements_in, read_placement, resources_from_files

APPLY_AGE, FILE_AGE = timedelta(minutes=10), timedelta(hours=24)
UNSEALED = b"no key is kept yet"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a run is asked to do. ``facts`` is a loaded snapshot; without one the members are read now.

    ``write`` carries the plan out, ``look`` compares with the members; neither needs a member for a plan alone.
    """

    src: tuple[str, ...] = ()
    definition: t.Mapping[str, t.Any] | None = None
    names: tuple[str, ...] = ()
    absent: bool = False
    resources: tuple[str, ...] | None = None
    facts: FactsSnapshot | None = None
    max_facts_age: timedelta | None = None
    limits: BrakeLimits = BrakeLimits()
    ways: Ways = Ways()
    strict: bool = False
    approved: str = ""
    look: bool = True
    write: bool = False
    timeout: float = 5.0
    environ: t.Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Report:
    """``changed`` is what the run changed, or would change; ``problems`` name members and objects that failed."""

    plan: FleetPlan
    outcomes: t.Mapping[str, Outcomes]
    statuses: t.Mapping[str, PlacementStatus]
    changed: bool
    problems: tuple[Problem, ...] = ()

    def of(self, placement: str) -> t.Mapping[str, MemberOutcome]:
        return self.outcomes.get(placement, {})


def brake_limits(max_removals: str, allow_empty: bool, allow_older: bool) -> BrakeLimits:
    """Limits from options; FleetError ``bad-option`` where ``max_removals`` is neither a number nor a percentage."""
    share = max_removals.removesuffix("%")
    if not (share.isascii() and share.isdigit()) or (share != max_removals and int(share) > 100):
        raise FleetError("bad-option", f"{max_removals!r} is neither a number nor 0% to 100%", "max_removals")
    return BrakeLimits(
        max_removals=max_removals if share != max_removals else int(share),
        allow_empty=allow_empty,
        allow_older=allow_older,
    )


def run(
    records: Records, hub: KubeClient | None, asked: Asked, now: datetime, holder: str, say: t.Callable[[str], None]
) -> Report:
    """Plans what is asked for; looks at the members; writes if asked to and neither brake nor digest forbids it."""
    placements = wanted_placements(records, hub, asked)
    members = members_to_write(records, hub) if asked.write else recorded_members(records)
    fleet = {name: each.fleet for name, each in members.items()}
    timeouts = Timeouts(connect=asked.timeout, read=max(30.0, asked.timeout))
    leases = MemberLeases(records, holder)
    with Clients(members=fleet, hub=hub, timeout=timeouts, strict=asked.write, leases=leases) as clients:
        facts = asked.facts
        if facts is None:
            if not members and not asked.absent:
                raise FleetError(
                    "no-members", "no cluster has joined the fleet", records.place, "join some with member_cluster"
                )
            pods = needs_pods(each.placement.spec for each in placements)
            facts = _read(members, clients, now, pods)
        request = plan_request(records, asked, placements, facts, now)
        plan = make_plans(records, hub, request)
        parts = () if asked.absent else facts.partly_read
        if not asked.write:
            report = _looked(plan, clients, asked, parts)
            for note in clients.identities.notes():
                say(f"note: {note}")
            return report
        check_digest(plan, asked.approved)
        check_brakes(plan)
        if asked.approved:
            _still_eligible(members.keys() & _picked(plan), clients)
        done = carry_out(
            records, clients, plan, lambda: make_plans(records, hub, request), request, asked.ways, holder, say
        )
    return _done(plan, done, parts)


def _read(members: t.Mapping[str, Member], clients: Clients, now: datetime, pods: bool) -> FactsSnapshot:
    """Facts of now; if not one member can be read, that is a fault on our side, and no plan is made on it."""
    reading = read_fleet(members, clients, now, pods, threads=32)
    if members and len(reading.failed) == len(members):
        raise FleetError.of([replace(error.problems[0], where=name) for name, error in reading.failed.items()])
    return reading.snapshot


def wanted_placements(records: Records, hub: KubeClient | None, asked: Asked) -> tuple[Sourced, ...]:
    """The placements to be present: from files, inline, or those on the hub; all their problems at once."""
    if asked.absent:
        return ()
    if asked.definition is not None:
        return (read_placement(asked.definition, "definition", asked.strict),)
    if asked.src:
        found = placements_in(read_manifests(asked.src), asked.strict)
    elif hub is not None:
        documents = records.list(PLACEMENT)
        found = tuple(read_placement(_as_written(each), "hub", asked.strict) for each in documents)
    else:
        raise FleetError("nothing-asked", "there is no placement to work on", "src", "give src or definition")
    chosen = tuple(each for each in found if not asked.names or each.placement.name in asked.names)
    missing = sorted(set(asked.names) - {each.placement.name for each in chosen})
    if missing:
        raise FleetError("no-such-placement", f"there is no placement {', '.join(missing)}", ", ".join(asked.src))
    if not chosen and not asked.src:
        raise FleetError("nothing-asked", "no placement is recorded", records.place)
    return chosen


def plan_request(
    records: Records, asked: Asked, placements: tuple[Sourced, ...], facts: FactsSnapshot, now: datetime
) -> PlanRequest:
    """What ``make_plans`` needs, with the source's revision and the key that seals Secrets."""
    folder = asked.src[0] if asked.src else ""
    revision = source_revision(folder, asked.environ) if folder else ""
    age = asked.max_facts_age or (APPLY_AGE if asked.write and not asked.approved else FILE_AGE)
    limits = BrakeLimits(
        max_removals=asked.limits.max_removals,
        allow_empty=asked.limits.allow_empty,
        max_facts_age=age,
        allow_older=asked.limits.allow_older,
    )
    key = digest_key(records) if asked.write else known_digest_key(records) or UNSEALED
    return PlanRequest(
        placements=placements,
        absent=asked.names if asked.absent else (),
        complete=bool(asked.src) and not asked.names and not asked.absent,
        resources=resources_from_files(asked.resources) if asked.resources is not None else None,
        facts=facts,
        limits=limits,
        source=Source(name=f"files:{','.join(asked.src)}" if asked.src else "", revision=revision, folder=folder),
        now=now,
        key=key,
    )


def _as_written(document: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """A recorded placement as its author could have written it."""
    metadata = document["metadata"]
    kept = {key: metadata[key] for key in ("name", "labels", "annotations") if key in metadata}
    return {**{key: document[key] for key in ("apiVersion", "kind", "spec")}, "metadata": kept}


def _looked(plan: FleetPlan, clients: Clients, asked: Asked, parts: tuple[Problem, ...]) -> Report:
    outcomes: dict[str, Outcomes] = {}
    if asked.look:
        for each in plan.plans:
            uid = plan.recorded[each.name].uid
            outcomes[each.name] = on_members(each, uid, clients, asked.ways, write=False)
    changed = any(changes(each, outcomes.get(each.name, {})) for each in plan.plans)
    return Report(plan=plan, outcomes=outcomes, statuses={}, changed=changed, problems=(*parts, *failures(outcomes)))


def _done(plan: FleetPlan, done: Applied, parts: tuple[Problem, ...]) -> Report:
    return Report(
        plan=plan,
        outcomes=done.outcomes,
        statuses=done.statuses,
        changed=done.changed,
        problems=(*parts, *done.problems),
    )


def _picked(plan: FleetPlan) -> set[str]:
    return {each.cluster for one in plan.plans for each in one.clusters if each.change != "lost"}


def _still_eligible(names: t.Collection[str], clients: Clients) -> None:
    """An approved plan rests on older facts: each cluster that it picked must still answer before anything is done."""
    answers = in_parallel({name: _asks_ready(clients, name) for name in sorted(names)})
    problems = [
        Problem(
            "became-ineligible",
            "a cluster that the approved plan picks is not ready any more",
            name,
            "plan again with fresh facts",
        )
        for name, answer in answers.items()
        if answer is not True
    ]
    if problems:
        raise FleetError.of(problems)


def _asks_ready(clients: Clients, name: str) -> t.Callable[[], bool]:
    return lambda: bool(ready(clients.get(name)))
