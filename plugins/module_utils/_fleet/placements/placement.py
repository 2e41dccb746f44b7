# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""ClusterResourcePlacements and ResourcePlacements, the whole way: read from files, inline or the hub, planned on
facts, looked at, carried out, reported (``waits``, ``left_behind``, ``availability``, ``waves``); brake limits out of a
verb's options."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial

from ..._core.cluster.facts.snapshot import FactsSnapshot
from ..._core.cluster.silence import SILENT
from ..._core.cluster.together import SilentGroup, silent_together
from ..._core.errors import FleetError, Problem
from ..._core.objects.placements.cluster_resource_placement import PlacementStatus
from ..._core.plan.brakes import BrakeLimits
from ..._core.plan.document import PlacementPlan
from ..._core.plan.looked import Looked
from ..._core.plan.outcome import MemberOutcome
from ..._core.plan.reached import reached
from ..._core.plan.waves import waves
from ..._core.values.instants import write_time
from ..._kube.client import Timeouts
from ..._store.digest_key import digest_key, known_digest_key
from ..._store.manifests import Manifest, read_manifests
from ..._store.revision import source_revision
from ..members.evacuation import Evacuation, evacuation, record_marks, still_held
from ..members.facts import needs_pods
from ..members.members import (
    Clients,
    Member,
    members_to_write,
    no_members,
    open_clients,
    recorded_members,
)
from ..members.recorded_facts import members_with_young_facts, recorded_or_read_facts
from ..session import Session
from .abreast import PlacementWork, side_by_side
from .apply import ApplyResult, carry_out, changes_anything
from .checks import (
    LeftBehind,
    check_brakes,
    check_digest,
    check_still_eligible,
    failures,
    left_behind,
    nothing_recorded_problems,
    silent_in,
    stopping_brakes,
    summary_of_look,
    unfulfilled,
    with_silence_told,
)
from .crew.worker_crew import runners_for
from .history.roll_back import RollBack, earlier_placements
from .look import ApplyOptions, MemberRunners, Outcomes, on_members
from .overrides import LoadedOverrides, overrides_in, with_overrides_on_hub
from .plan import FleetPlan, PlanRequest, Source, make_plans, plan_again
from .recorded import FROM_FILES, all_placements
from .rollout_words import Waiting
from .sources import (
    LoadedPlacement,
    catalogued,
    credentials_of,
    hubs_among,
    no_manifests_findings,
    placements_in,
    read_placement,
)
from .staged.hand_over import clusters_to_look_at

STOPPED, UNFULFILLED = "stopped", "unfulfilled"
APPLY_AGE, FILE_AGE = timedelta(minutes=10), timedelta(hours=24)


def _as_made(plan: FleetPlan) -> FleetPlan:
    return plan


@dataclass(frozen=True, kw_only=True)
class PlacementRequest:
    """Placements are from the first given of ``roll_back``, ``definition``, ``src``, else from the hub, only ``names``
    of them if there are any; with ``absent`` these ``names`` are to end. ``resources`` None: selected on the hub.
    ``facts`` is a loaded snapshot; without one recorded facts at most ``max_facts_age`` old (None: 10 minutes) are
    used, and other members are read, all with ``read`` or for a ResourcePlacement. ``judged`` adds findings and
    brakes to a plan, and leaves its digest. ``write`` carries the plan out, else ``look`` compares with members;
    ``approved`` is the digest that was approved, empty for none. ``render`` names a cluster of which all that it gets
    is told. ``evacuate``, ``readmit`` and ``empty_first`` are as of ``evacuation``. ``timeout`` is seconds to
    connect."""

    src: tuple[str, ...] = ()
    definition: t.Mapping[str, t.Any] | None = None
    names: tuple[str, ...] = ()
    absent: bool = False
    roll_back: RollBack | None = None
    evacuate: str = ""
    readmit: str = ""
    empty_first: bool = False
    resources: tuple[str, ...] | None = None
    facts: FactsSnapshot | None = None
    read: bool = False
    max_facts_age: timedelta | None = None
    limits: BrakeLimits = BrakeLimits()
    judged: t.Callable[[FleetPlan], FleetPlan] = _as_made
    ways: ApplyOptions = ApplyOptions()
    strict: bool = False
    approved: str = ""
    look: bool = True
    write: bool = False
    render: str = ""
    timeout: float = 5.0


@dataclass(frozen=True, kw_only=True)
class Report:
    """``changed``: the run changed something, or would. ``waits`` are rollouts that are not at their end; ``problems``
    name what failed, was left alone or could not be read. ``rendered`` is what one cluster gets, where that was asked.
    ``unread`` members did not answer when their facts were read. ``evacuation`` says who was marked, or would be.
    ``written``: the run was to write."""

    plan: FleetPlan
    outcomes: t.Mapping[str, Outcomes]
    statuses: t.Mapping[str, PlacementStatus]
    changed: bool
    waits: t.Mapping[str, Waiting] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    rendered: t.Sequence[t.Mapping[str, t.Any]] = field(default=(), repr=False)
    unread: frozenset[str] = frozenset()
    evacuation: Evacuation = Evacuation()
    written: bool = False

    @property
    def looked(self) -> Looked | None:
        """What was seen of the members where nothing was to be written; None where it was."""
        return None if self.written else summary_of_look(self.plan.plans, self.outcomes)

    @property
    def left_behind(self) -> tuple[LeftBehind, ...]:
        """What evacuated clusters that do not answer still hold; their silence is not among ``problems``."""
        return left_behind(self.plan.plans, self.outcomes)

    @property
    def together(self) -> tuple[SilentGroup, ...]:
        """Members that do not answer, now or when their facts were read, in groups as of ``silent_together``."""
        silent = {name for outcomes in self.outcomes.values() for name, each in outcomes.items() if each.silent}
        return silent_together(silent | self.unread, self.plan.facts.index.clusters)

    @property
    def shortfall(self) -> tuple[str, list[Problem]]:
        """In what the plan falls short, with the problems: ``stopped`` by brakes, else ``unfulfilled``, else empty and
        none."""
        stopped = stopping_brakes(self.plan)
        if stopped:
            return STOPPED, stopped
        lacking = unfulfilled(self.plan)
        return (UNFULFILLED, lacking) if lacking else ("", [])

    @property
    def resume_at(self) -> str:
        """When to go on with a rollout that waits, the earliest, in RFC 3339; empty where no instant is known."""
        instants = [each.resume_at for each in self.waits.values() if each.resume_at]
        return write_time(min(instants)) if instants else ""

    @property
    def waves(self) -> dict[str, list[list[str]]]:
        """Clusters by wave for each placement, as results have them. FleetError as of ``plan.waves.waves``."""
        return {each.name: [list(wave) for wave in waves(each)] for each in self.plan.plans}

    def outcomes_of(self, placement: str) -> t.Mapping[str, MemberOutcome]:
        """Outcomes of one placement by cluster; empty if nothing was looked at."""
        return self.outcomes.get(placement, {})

    @property
    def availability(self) -> dict[str, dict[str, t.Any]]:
        """How far each placement is on its clusters, as results have it, where ``reached`` can tell."""
        found = {plan.name: reached(plan, self.outcomes_of(plan.name)) for plan in self.plan.plans}
        return {name: far.as_dict() for name, far in found.items() if far is not None}


def run(session: Session, asked: PlacementRequest) -> Report:
    """Plans what is asked for, and looks at the members or writes, as asked. What fails on a member is in the report.
    FleetError ``no-members`` (not if ``absent``), ``no-workers``, of the records, and as of ``wanted_placements``,
    ``recorded_members``, ``recorded_or_read_facts``, ``plan_request``, ``evacuation``, ``make_plans``,
    ``check_digest``, ``judged``, ``rendered_on``; if it writes of ``members_to_write``, ``check_brakes``,
    ``check_still_eligible``, ``record_marks`` and ``carry_out``."""
    now = session.clock()
    placements, beside, told = _wanted(session, asked)
    members = members_to_write(session) if asked.write else recorded_members(session.records)
    fleet = {name: each.fleet for name, each in members.items()}
    timeouts = Timeouts.connecting(asked.timeout)
    pods = asked.facts is None and needs_pods(each.placement.spec for each in placements)
    inside = any(each.placement.namespace for each in placements)
    young = frozenset[str]() if inside else _members_not_read(members, asked, now, pods)
    with open_clients(session, fleet, timeout=timeouts, strict=asked.write, ready_first=young) as clients:
        facts = asked.facts
        if not members and not asked.absent and (facts is None or asked.write):
            raise no_members(session.records)
        if facts is None:
            facts = recorded_or_read_facts(members, young, clients, now, pods=pods, namespaces=inside)
        request = plan_request(session, asked, placements, beside, members, facts, now)
        known = [each.cluster for each in members.values()] or facts.members
        moves = evacuation(asked.evacuate, asked.readmit, known, asked.empty_first)
        told = (*told, *still_held(session.records, moves, {str(each.placement.key) for each in placements}))
        strange = () if asked.absent else nothing_recorded_problems(session.records.place, members, asked.facts)
        told = (*strange, *told, *request.findings)
        request = replace(request, findings=told, evacuation=moves)
        plan = make_plans(session, request)
        check_digest(plan, request)
        plan = asked.judged(plan)
        rendered = plan.rendered_on(asked.render) if asked.render else []
        # What was approved is all that may be deleted; else the brake counts what no plan names.
        ways = replace(asked.ways, unplanned=None if asked.approved else asked.limits.max_object_removals)
        ways = replace(ways, shows=ways.shows or not asked.write)
        parts = () if asked.absent else facts.partly_read_problems
        if not asked.write:
            report = _looked(plan, clients, asked.look, ways, parts)
            for note in clients.identities.notes():
                session.say(f"note: {note}")
            return _told(report, facts, moves, rendered)
        check_brakes(plan)
        if asked.approved:
            check_still_eligible(plan, members, clients)
        record_marks(session, moves)
        replan = partial(plan_again, session, request, plan)
        done = carry_out(session, clients, plan, replan, request, ways)
    return _told(_done(plan, done, parts), facts, moves, rendered)


def _told(
    report: Report, facts: FactsSnapshot, moves: Evacuation, rendered: t.Sequence[t.Mapping[str, t.Any]]
) -> Report:
    """The report with what is known besides, and without the silence of evacuated clusters among its problems."""
    unread = silent_in(facts)
    expected = {f"{each.cluster} ({each.placement})" for each in report.left_behind}
    return replace(
        report,
        plan=with_silence_told(report.plan, report.outcomes, unread),
        changed=report.changed or bool(moves.news),
        problems=tuple(each for each in report.problems if each.where not in expected or each.code not in SILENT),
        rendered=rendered,
        unread=unread,
        evacuation=moves,
    )


def _members_not_read(
    members: t.Mapping[str, Member], asked: PlacementRequest, now: datetime, pods: bool
) -> frozenset[str]:
    """Names of members that are not read now, as what is recorded of them is young enough; none with facts or read."""
    if asked.read or asked.facts is not None:
        return frozenset()
    return members_with_young_facts(members, now, asked.max_facts_age or APPLY_AGE, pods)


def wanted_placements(session: Session, asked: PlacementRequest) -> tuple[LoadedPlacement, ...]:
    """The placements of files, inline, on the hub, or rolled back; none if ``absent``. FleetError ``nothing-asked``,
    ``no-such-placement``, as of ``earlier_placements``, ``read_placement``, ``read_manifests``, ``placements_in``, of
    the records."""
    return _wanted(session, asked)[0]


def _overrides(session: Session, asked: PlacementRequest, manifests: t.Iterable[Manifest]) -> LoadedOverrides:
    """Those of files and hub; none where placements only end. Errors as of what it calls, ``with_overrides_on_hub``."""
    if asked.absent:
        return LoadedOverrides()
    written = overrides_in(manifests, asked.strict)
    return with_overrides_on_hub(written, session)


def _wanted(
    session: Session, asked: PlacementRequest
) -> tuple[tuple[LoadedPlacement, ...], tuple[Manifest, ...], tuple[Problem, ...]]:
    """The placements as of ``wanted_placements``, the manifests that were read for them, and what is to be told of
    where they were looked for. FleetError as there."""
    if asked.absent:
        return (), (), ()
    if asked.roll_back is not None:
        return earlier_placements(session, asked.names, asked.roll_back), read_manifests(asked.src), ()
    told: tuple[Problem, ...] = ()
    manifests: tuple[Manifest, ...] = ()
    if asked.definition is not None:
        found: tuple[LoadedPlacement, ...] = (read_placement(asked.definition, "definition", asked.strict),)
    elif asked.src:
        manifests = read_manifests(asked.src)
        found = placements_in(manifests, asked.strict)
        told = no_manifests_findings(asked.src, manifests, "src")
    elif session.hub is not None:
        there = (read_placement(_as_written(each), "hub", asked.strict) for each in all_placements(session.records))
        found = tuple(replace(each, of_record=True) for each in there)
    else:
        raise FleetError("nothing-asked", "there is no placement to work on", "src", "give src or definition")
    chosen = tuple(each for each in found if not asked.names or str(each.placement.key) in asked.names)
    missing = sorted(set(asked.names) - {str(each.placement.key) for each in chosen})
    if missing:
        where = ", ".join(asked.src) if asked.definition is None else "definition"
        raise FleetError("no-such-placement", f"there is no placement {', '.join(missing)}", where)
    if not chosen and not asked.src:
        raise FleetError("nothing-asked", "no placement is recorded", session.records.place)
    return chosen, manifests, told


def plan_request(
    session: Session,
    asked: PlacementRequest,
    placements: tuple[LoadedPlacement, ...],
    beside: tuple[Manifest, ...],
    members: t.Mapping[str, Member],
    facts: FactsSnapshot,
    now: datetime,
) -> PlanRequest:
    """What ``make_plans`` needs, with the source's revision and the key that seals Secrets, which is made if it is to
    write. ``max_facts_age`` None is 10 minutes to write without a digest, else 24 hours. ``beside`` are the manifests
    with the placements, for overrides among them. FleetError as of ``read_manifests``, ``overrides_in``,
    ``with_overrides_on_hub``, ``digest_key``, ``hubs_among``."""
    src = asked.src if asked.roll_back is None and asked.definition is None else ()  # else it came from elsewhere
    folder, origin = (src[0], f"{FROM_FILES}{','.join(src)}") if src else ("", "")
    revision = source_revision(folder, session.environ) if folder else ""
    age = asked.max_facts_age or (APPLY_AGE if asked.write and not asked.approved else FILE_AGE)
    files = read_manifests(asked.resources) if asked.resources is not None else None
    empty = no_manifests_findings(asked.resources or (), files or (), "resources")
    held = None if members else facts.held
    fleet = {name: each.fleet for name, each in members.items()}
    return PlanRequest(
        placements=placements,
        absent=asked.names if asked.absent else (),
        complete=bool(src) and not asked.names and not asked.absent,
        resources=catalogued(files) if files is not None else None,
        facts=facts,
        limits=replace(asked.limits, max_facts_age=age),
        source=Source(name=origin, revision=revision, folder=folder, environ=session.environ),
        members={name: each.cluster for name, each in members.items()},
        credentials=held.credentials if held else credentials_of(fleet.values()),
        prune_kinds=asked.ways.prune_kinds,
        findings=empty,
        now=now,
        key=digest_key(session.records) if asked.write else known_digest_key(session.records),
        approved=asked.approved,
        overrides=_overrides(session, asked, (*beside, *(files or ()))),
        hubs=hubs_among(fleet, session.hub, writes=asked.write) if files is None else frozenset(),
    )


def _as_written(document: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """A recorded placement as its author could have written it."""
    metadata = document["metadata"]
    kept = {key: metadata[key] for key in ("name", "namespace", "labels", "annotations") if key in metadata}
    return {**{key: document[key] for key in ("apiVersion", "kind", "spec") if key in document}, "metadata": kept}


def _looked(plan: FleetPlan, clients: Clients, look: bool, ways: ApplyOptions, parts: tuple[Problem, ...]) -> Report:
    """What would be done, by looking at members if ``look`` says so, else by records. FleetError ``no-workers``."""
    found: dict[str, Outcomes] = {}

    def looks(each: PlacementPlan, runners: MemberRunners) -> None:
        """Looks at the clusters of one placement, into ``found``."""
        uid, only = plan.recorded[each.name].uid, clusters_to_look_at(each)
        found[each.name] = on_members(each, uid, clients, ways, only=only, runners=runners)

    asked = plan.plans if look else ()
    with runners_for(clients, plan if look else None, ways) as runners:
        courses = [
            PlacementWork([row.cluster for row in each.clusters], partial(looks, each, runners)) for each in asked
        ]
        side_by_side(courses, runners.threads, ordered=False)
    outcomes = {each.name: found[each.name] for each in asked}
    changed = any(changes_anything(each, outcomes.get(each.name, {})) for each in plan.plans)
    return Report(plan=plan, outcomes=outcomes, statuses={}, changed=changed, problems=(*parts, *failures(outcomes)))


def _done(plan: FleetPlan, done: ApplyResult, parts: tuple[Problem, ...]) -> Report:
    """What was done, as a report. ``parts`` are the facts that could not be read, as problems."""
    return Report(
        plan=plan,
        outcomes=done.outcomes,
        statuses=done.statuses,
        changed=done.changed,
        waits=done.waits,
        written=True,
        problems=(*parts, *done.problems),
    )
