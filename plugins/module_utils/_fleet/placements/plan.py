# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Planning placements: specs, records and facts in, plans and their digest out; one made again under its lease
(``records-moved``); which placements end (``source-gone``); ``selects-nothing``. Nothing is written."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field
from datetime import datetime

from ..._core.cluster.facts.held import Holdings
from ..._core.cluster.facts.recorded import members_to_decide_on
from ..._core.cluster.facts.snapshot import FactsSnapshot, snapshot_digest
from ..._core.errors import FleetError, Problem
from ..._core.objects.clusters.member_cluster import MemberCluster
from ..._core.objects.placements.cluster_resource_placement import ClusterResourcePlacement
from ..._core.objects.placements.key import PlacementKey
from ..._core.objects.reading import check_update
from ..._core.objects.scopes import Scopes
from ..._core.plan.brakes import Brake, BrakeLimits
from ..._core.plan.compose import Facts, WantedPlacement, brakes_of, compose
from ..._core.plan.digest import plans_digest
from ..._core.plan.document import LOST, SCHEMA, ClusterPlan, PlacementPlan
from ..._core.plan.losing.handed_over import handed_over
from ..._core.plan.rendering import Sealing, shown_on
from ..._core.plan.support import limitations
from ..._core.resources.catalog import Catalog
from ..._core.resources.sealing import has_secrets
from ..._core.resources.selection import Selected
from ..._core.scheduling.index import FleetIndex
from ..._kube.client import KubeClient
from ..._store.records import Records
from ..members.evacuation import Evacuation
from ..session import Session
from .history.older import missing_overrides_problem, older_revision_brake, records_moved, revision_unknown_problem
from .history.roll_back import rolls_forward_problem
from .holdings import held_placement
from .overrides import LoadedOverrides, overrides_concerning
from .recorded import (
    SOURCE,
    RecordedPlacement,
    all_placements,
    as_recorded,
    is_recovering,
    recorded_placement,
    unfinished_recovery_problem,
)
from .sources import (
    EarlierContent,
    LoadedPlacement,
    located_problems,
    now_credentials,
    rendered,
    selected_for,
)
from .staged.listed import runs_upset

DELETED, SOURCE_GONE, NAMED = "deleted", "source-gone", 10
CHANGED = "another run has changed the placement since it was planned"
RESPECIFIED, GONE = "its spec was changed since it was planned", "somebody has deleted it since it was read"


@dataclass(frozen=True, kw_only=True)
class Source:
    """``name`` marks in the records where placements come from, ``revision`` is a Git commit or empty, ``folder`` a
    path in the checkout that can tell whether one commit descends from another."""

    name: str = ""
    revision: str = ""
    folder: str = ""
    environ: t.Mapping[str, str] | None = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True)
class PlanRequest:
    """``resources`` are those of files; None: selected on the hub. ``absent`` names placements that are to end; with
    ``complete`` so do recorded ones of the same source that are not among ``placements``. ``members`` are the recorded
    ones, ``credentials`` the Secrets by which members are reached, ``hubs`` those that are the hub on which resources
    are selected. ``key`` seals Secrets; without one their content is left out. ``approved`` is the digest that was
    asked for, empty for none. ``evacuation`` says who is evacuated or readmitted, beside what is recorded of that."""

    placements: tuple[LoadedPlacement, ...]
    absent: tuple[str, ...] = ()
    complete: bool = False
    resources: Catalog | None = None
    facts: FactsSnapshot
    limits: BrakeLimits
    source: Source = Source()
    members: t.Mapping[str, MemberCluster] = field(default_factory=dict)
    credentials: frozenset[tuple[str, str]] = frozenset()
    prune_kinds: tuple[str, ...] = ()
    findings: tuple[Problem, ...] = ()
    now: datetime
    key: bytes = field(repr=False)
    approved: str = ""
    overrides: LoadedOverrides = LoadedOverrides()
    evacuation: Evacuation = Evacuation()
    hubs: frozenset[str] = frozenset()

    @property
    def kinds(self) -> Scopes:
        """Which kinds are namespaced, as far as files say for sure; nothing where resources are selected on the hub."""
        return self.resources.sure if self.resources else {}


@dataclass(frozen=True, kw_only=True)
class FleetPlan:
    """Plans in the order of their names, with the records (``recorded``) and manifests (``wanted``), by name, that they
    were made from. ``findings`` are about all of them."""

    plans: tuple[PlacementPlan, ...]
    recorded: t.Mapping[str, RecordedPlacement]
    facts: Facts
    wanted: t.Mapping[str, LoadedPlacement] = field(default_factory=dict)
    findings: tuple[Problem, ...] = ()

    @property
    def facts_digest(self) -> str:
        """The digest of the facts snapshot that was decided on."""
        return self.facts.digest

    @property
    def digest(self) -> str:
        """The digest of all plans together, which an approval is bound to."""
        return plans_digest({each.name: each.digest for each in self.plans})

    def rendered_on(self, cluster: str) -> list[dict[str, t.Any]]:
        """What each placement that the cluster is to hold brings there, in the order of names. FleetError
        ``unknown-cluster``."""
        if cluster not in self.facts.index.positions:
            near = ", ".join(self.facts.index.names[:NAMED]) or "none"
            raise FleetError("unknown-cluster", f"{cluster!r:.80} is no cluster of the fleet: {near}", "render")
        holders = (each for each in self.plans if any(_gets(one, cluster) for one in each.clusters))
        return [shown_on(each, cluster) for each in holders]

    def as_dict(self) -> dict[str, t.Any]:
        """As it is written to a file, and read by ``_core.plan.approved``; ``facts`` is a digest."""
        return {
            "schema": SCHEMA,
            "digest": self.digest,
            "facts": self.facts_digest,
            "findings": [each.as_dict() for each in self.findings],
            "placements": [each.as_dict() for each in self.plans],
        }


def _gets(row: ClusterPlan, cluster: str) -> bool:
    """Whether the row is that of the cluster, and the cluster is to hold the placement."""
    return row.cluster == cluster and row.change != LOST


def make_plans(session: Session, request: PlanRequest) -> FleetPlan:
    """The plans of all that is asked for, by name. A given placement ends if it is ``absent`` or its record is being
    deleted; one that ends unrecorded has no plan. FleetError ``recovery-unfinished``, of the records and as of
    ``recorded_placement``; then every problem of every placement at once. Brakes are not raised."""
    records = session.records
    members, told = members_to_decide_on(request.facts, request.members, records.place)
    facts = Facts(
        index=FleetIndex(request.evacuation.marked(members), request.facts.captured_at),
        captured_at=request.facts.captured_at,
        digest=snapshot_digest(request.facts),
    )
    sourced = {str(each.placement.key): each for each in request.placements}
    # Where no member is recorded there is nothing to plan on but what the facts carry.
    held = None if request.members else request.facts.held
    ending = dict.fromkeys(request.absent, DELETED) | _source_gone(_documents(records, held), request, sourced)
    names = sorted(sourced.keys() | ending.keys())
    recorded = {name: held_placement(held, name) if held else recorded_placement(records, name) for name in names}
    _refuse_half_recovered(recorded)
    wishes: dict[str, WantedPlacement] = {}
    plans: list[PlacementPlan] = []
    problems: list[Problem] = []
    for name, record in recorded.items():
        try:
            wanted = _wanted(name, sourced.get(name), ending.get(name, ""), record, session.hub, request)
            if wanted is not None:
                wishes[name] = wanted
                plans.append(compose(wanted, record.known, facts, request.now, request.limits))
        except FleetError as error:
            problems.extend(error.problems)
    if problems:
        raise FleetError.of(problems)

    def braked(each: PlacementPlan, rows: t.Sequence[ClusterPlan]) -> tuple[Brake, ...]:
        """The brakes of the plan with these rows."""
        return brakes_of(wishes[each.name], recorded[each.name].known, facts, request.now, request.limits, rows)

    hubs = {each.name: _hubs(request, each, recorded[each.name]) for each in plans}
    plans = handed_over(plans, braked, hubs)
    upset = () if held else runs_upset(records, plans, recorded)
    return FleetPlan(
        plans=tuple(plans),
        recorded=recorded,
        facts=facts,
        wanted=sourced,
        findings=(*request.findings, *request.overrides.findings, *told, *upset),
    )


def plan_again(
    session: Session, request: PlanRequest, fleet: FleetPlan, before: PlacementPlan
) -> tuple[PlacementPlan, RecordedPlacement]:
    """The plan of one placement (``before``, of the ``fleet``) with what is recorded of it now, on the facts of the
    fleet's plan; decided again only if that has moved. FleetError ``records-moved`` if that gives another plan, a brake
    stops it now, its spec is neither what was planned on nor what is wanted, or one that was read from the records is
    gone or changed; and as of ``make_plans``."""
    record = recorded_placement(session.records, before.name)
    planned_on, sourced = fleet.recorded[before.name], fleet.wanted.get(before.name)
    if sourced and sourced.of_record and _is_edited(record, sourced):
        raise records_moved(before.name, RESPECIFIED if record.document else GONE)
    if record == planned_on:
        return before, record
    _refuse_half_recovered({before.name: record})
    ending = DELETED if before.name in request.absent else ""
    if request.complete and before.name not in fleet.wanted and _is_from(record.document, request.source):
        ending = SOURCE_GONE
    specs = [each.placement.spec for each in (planned_on, sourced) if each and each.placement]
    if sourced and record.placement and record.placement.spec not in specs:
        raise records_moved(before.name, RESPECIFIED)
    wanted = _wanted(before.name, sourced, ending, record, session.hub, request) if sourced or ending else None
    now = _again(wanted, record, fleet, before, request) if wanted else None
    if now is None or now.digest != before.digest:
        raise records_moved(before.name, CHANGED)
    stopped = next((each for each in now.brakes if each.stops), None)
    if stopped is not None:
        told = stopped.message.removeprefix(f"{before.name}: ")
        raise records_moved(before.name, f"{CHANGED}, and now a brake stops it: {told}")
    return now, record


def _again(
    wanted: WantedPlacement, record: RecordedPlacement, fleet: FleetPlan, before: PlacementPlan, request: PlanRequest
) -> PlacementPlan:
    """The plan made anew beside the others of the fleet. FleetError as of ``compose``."""
    now = compose(wanted, record.known, fleet.facts, request.now, request.limits)

    def braked(_plan: PlacementPlan, rows: t.Sequence[ClusterPlan]) -> tuple[Brake, ...]:
        """The brakes of the plan with these rows; of no other is anything new."""
        return brakes_of(wanted, record.known, fleet.facts, request.now, request.limits, rows)

    hubs = {now.name: _hubs(request, now, record)}
    plans = handed_over([now if each.name == before.name else each for each in fleet.plans], braked, hubs)
    return next(each for each in plans if each.name == before.name)


def _hubs(request: PlanRequest, plan: PlacementPlan, record: RecordedPlacement) -> frozenset[str]:
    """The request's hubs; none for a placement that ends and came from files, as its resources may have, too."""
    annotations = (record.document or {}).get("metadata", {}).get("annotations") or {}
    return frozenset() if plan.deleting and annotations.get(SOURCE) else request.hubs


def _is_edited(record: RecordedPlacement, sourced: LoadedPlacement) -> bool:
    """Whether the record, from which the placement was read, is gone, or has another spec than it, as it was read and
    as it is to be written."""
    now, was = record.placement, (record.document or {}).get("spec")
    return now is None or bool(was != sourced.document.get("spec") and now.spec != sourced.placement.spec)


def _is_from(document: t.Mapping[str, t.Any] | None, source: Source) -> bool:
    """Whether a placement was recorded from this source; never for a source without a name."""
    annotations = (document or {}).get("metadata", {}).get("annotations") or {}
    return bool(source.name) and annotations.get(SOURCE) == source.name


def _documents(records: Records, held: Holdings | None) -> t.Iterator[t.Mapping[str, t.Any]]:
    """Documents of all placements, ``held`` or recorded, listed when asked for: FleetError of the records."""
    if held is None:
        yield from all_placements(records)
    else:
        yield from (each.document for each in held.placements.values() if each.document is not None)


def _source_gone(
    documents: t.Iterable[t.Mapping[str, t.Any]], request: PlanRequest, present: t.Container[str]
) -> dict[str, str]:
    """The placements recorded from the source that are not ``present`` in it, each with ``source-gone``; none unless
    the request is ``complete`` and the source has a name."""
    if not request.complete or not request.source.name:
        return {}
    names = (str(PlacementKey.of_record(each)) for each in documents if _is_from(each, request.source))
    return {name: SOURCE_GONE for name in names if name not in present}


def _wanted(
    name: str,
    sourced: LoadedPlacement | None,
    ending: str,
    record: RecordedPlacement,
    hub: KubeClient | None,
    request: PlanRequest,
) -> WantedPlacement | None:
    """What is wanted of one placement, which ends too if its record is being deleted; None if it is to end and does
    not exist. FleetError with what is wrong with it."""
    if record.placement and record.placement.metadata.deletion_timestamp:
        ending = DELETED
    if ending:
        if record.placement is None:
            return None
        return WantedPlacement(
            placement=record.placement,
            deleting=ending,
            older_source=_older(name, record, request) if ending == SOURCE_GONE else None,
            prune_kinds=request.prune_kinds,
        )
    if sourced is None:
        raise AssertionError("a placement is wanted or ends")
    old = record.placement
    if old:
        problems = check_update(old, sourced.placement, sourced.where)
        if problems:
            raise FleetError.of(problems)
    if sourced.earlier is not None:
        return _rolled_back(sourced, sourced.earlier, record, hub, request)
    source = request.source
    selected = selected_for(sourced.placement, request.resources, hub, request.credentials)
    if selected.problems:
        raise FleetError.of(located_problems(selected.problems, sourced))
    origin = f"git:{source.revision}" if source.revision else source.name
    own = (
        *selected.findings,
        *_of_content(selected, request),
        *revision_unknown_problem(record, source.revision, source.folder),
    )
    sealing = Sealing(key=request.key, source=origin)
    objects = rendered(selected, sealing)
    own = (*own, *rolls_forward_problem(record, objects))
    return WantedPlacement(
        placement=as_recorded(sourced.placement, old, sourced.of_record),
        objects=objects,
        overrides=overrides_concerning(request.overrides, sourced.placement, [each.id for each in objects]),
        sealing=sealing,
        findings=(*sourced.findings, *_limits(sourced.placement, hub, request), *located_problems(own, sourced)),
        older_source=_older(name, record, request),
        prune_kinds=request.prune_kinds,
        empty_first=request.evacuation.empty_first,
        kinds=request.kinds,
        respecified=old is not None and old.spec != sourced.placement.spec,
    )


def _rolled_back(
    sourced: LoadedPlacement,
    earlier: EarlierContent,
    record: RecordedPlacement,
    hub: KubeClient | None,
    request: PlanRequest,
) -> WantedPlacement:
    """What was selected then is what is placed, with the overrides of today. FleetError ``overrides-missing``,
    ``fleet-credentials`` for what the fleet has come to live on since, and as of ``overrides_concerning``."""
    ids = [each.id for each in earlier.objects]
    overrides = overrides_concerning(request.overrides, sourced.placement, ids)
    refused = (
        *(() if overrides else missing_overrides_problem(record)),
        *now_credentials(ids, request.credentials),
    )
    if refused:
        raise FleetError.of(located_problems(refused, sourced))
    return WantedPlacement(
        placement=as_recorded(sourced.placement, record.placement, sourced.of_record),
        objects=earlier.objects,
        overrides=overrides,
        sealing=Sealing(key=request.key, source=f"git:{earlier.of.revision}" if earlier.of.revision else ""),
        findings=(*sourced.findings, *_limits(sourced.placement, hub, request)),
        prune_kinds=request.prune_kinds,
        empty_first=request.evacuation.empty_first,
        kinds=request.kinds,
        rolled_back=earlier.of,
    )


def _limits(placement: ClusterResourcePlacement, hub: KubeClient | None, request: PlanRequest) -> tuple[Problem, ...]:
    """Findings on what of the spec is not carried out here."""
    return limitations(placement, on_hub=hub is not None, from_hub=hub is not None and request.resources is None)


def _of_content(selected: Selected, request: PlanRequest) -> t.Iterator[Problem]:
    """Findings ``selects-nothing``, and ``secrets-left-out`` where Secrets are selected and there is no key."""
    if not selected.objects:
        yield Problem("selects-nothing", "the placement selects no object at all", "spec.resourceSelectors")
    if not request.key and any(map(has_secrets, selected.objects)):
        message = "no key is kept with these records, so the content of Secrets is not part of the digest"
        yield Problem("secrets-left-out", message, hint="a plan to be approved needs the records of the fleet")


def _older(name: str, record: RecordedPlacement, request: PlanRequest) -> Brake | None:
    """The brake ``allow_older`` of ``older_revision_brake``, for the request's source."""
    source, allow = request.source, request.limits.allow_older
    return older_revision_brake(name, record, source.revision, source.folder, allow, source.environ)


def _refuse_half_recovered(recorded: t.Mapping[str, RecordedPlacement]) -> None:
    """FleetError ``recovery-unfinished`` for each: from some of its bindings a placement would be planned as if the
    other clusters held nothing."""
    found = [name for name, each in recorded.items() if is_recovering(each.document)]
    if found:
        raise FleetError.of(map(unfinished_recovery_problem, found))
