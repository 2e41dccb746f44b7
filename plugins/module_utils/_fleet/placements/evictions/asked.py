# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Evictions that are asked for and the disruption budgets that guard: read from options, files and records
(``nothing-asked``, ``not-evictable``, ``budget-kept``), and recorded."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace
from datetime import datetime

from ...._core.errors import FleetError, Problem
from ...._core.objects.api_groups import PLACEMENT_API
from ...._core.objects.placements.disruption_budget import ClusterResourcePlacementDisruptionBudget
from ...._core.objects.placements.eviction import ClusterResourcePlacementEviction, EvictionSpec
from ...._core.objects.placements.key import PlacementKey
from ...._core.objects.reading import check_update, read
from ...._core.rollout.eviction import is_over
from ...._core.schema.codec import encode
from ...._core.schema.meta import ObjectMeta
from ...._core.values.instants import write_time
from ...._store.manifests import Manifest, read_manifests
from ...._store.records import Lease, Records
from ...recorded import all_decoded, decoded
from ..recorded import SOURCE, Document
from ..sources import BUDGET, EVICTION, no_manifests_findings


@dataclass(frozen=True, kw_only=True)
class RequestedEviction:
    """One eviction, with the record of it (``document``), None where there is none yet. ``kept``: it is recorded
    whatever comes of it, as an object is tried once; a command may be given again."""

    eviction: ClusterResourcePlacementEviction
    document: Document | None
    kept: bool

    @property
    def is_over(self) -> bool:
        """Whether it was carried out, refused, or is recorded as invalid."""
        return is_over(self.eviction)

    def says(self, eviction: ClusterResourcePlacementEviction) -> bool:
        """Whether its record has the conditions of ``eviction`` already."""
        return self.document is not None and self.document.get("status") == encode(eviction.status)


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """All that is asked for. ``budgets`` are by name; ``written`` are those of files, recorded under their ``source``;
    ``dropped`` names those that are recorded under it and go."""

    evictions: tuple[RequestedEviction, ...]
    budgets: t.Mapping[str, ClusterResourcePlacementDisruptionBudget]
    written: tuple[ClusterResourcePlacementDisruptionBudget, ...] = ()
    source: str = ""
    dropped: tuple[str, ...] = ()
    findings: tuple[Problem, ...] = ()


def wanted_evictions(
    records: Records, src: t.Sequence[str], placement: str, clusters: t.Sequence[str], now: datetime
) -> Wanted:
    """The evictions of ``placement`` from ``clusters``, which name none twice, each the recorded one that is not over,
    if there is one, else a new one; of files then only the budgets. Without a placement those of the files, and all
    that are recorded and not over. By placement, those that were begun first, then the oldest records. Nothing is
    written.

    Budgets that the same files held and do not hold any more go, but for those that guard what is to be evicted now,
    and none where the files hold nothing at all: a folder may be empty by accident (finding ``budget-kept``). A
    recorded eviction that cannot be read is among the findings, unless without a placement a file has an eviction of
    its name: nobody knows whether that was carried out. That, and a budget that stays and cannot be read, are a
    FleetError ``record-damaged``. FleetError ``nothing-asked``, ``not-evictable``, ``duplicate-object``, as of
    ``read_manifests``, ``read``, ``check_update``, and of the records.
    """
    if placement and not clusters:
        raise FleetError("nothing-asked", "no cluster is named that the placement is to leave", "clusters")
    if PlacementKey.of(placement).namespace:
        hint = "taint the cluster, or change the policy: the next apply takes the placement off it under its budgets"
        raise FleetError("not-evictable", "evictions are for ClusterResourcePlacements only", placement, hint)
    manifests = read_manifests(src)
    evictions, budgets, findings = _read(manifests)
    source = f"files:{','.join(src)}" if src else ""
    recorded, damaged = _recorded(records)
    if placement:
        asked = [_by_option(placement, cluster, recorded.values(), now) for cluster in clusters]
    else:
        _refuse_unknown(evictions, damaged)
        asked = [_from_file(each, recorded) for each in evictions]
        names = {each.name for each in evictions}
        asked += [
            RequestedEviction(eviction=each, document=document, kept=True)
            for name, (each, document) in recorded.items()
            if name not in names and not is_over(each)
        ]
    documents = records.list(BUDGET)
    gone = _gone(documents, source, {each.name for each in budgets})
    due = {each.eviction.spec.placement_name for each in asked if not each.is_over}
    dropped = tuple(name for name in gone if manifests and name not in due)
    known = all_decoded(
        ClusterResourcePlacementDisruptionBudget,
        (each for each in documents if each["metadata"]["name"] not in dropped),
    )
    return Wanted(
        evictions=tuple(sorted(asked, key=_order)),
        budgets={**known, **{each.name: each for each in budgets}},
        written=budgets,
        source=source,
        dropped=dropped,
        findings=(
            *no_manifests_findings(src, manifests, "src"),
            *findings,
            *damaged,
            *(_budget_kept(name, src) for name in gone if name not in dropped),
        ),
    )


def record_budgets(records: Records, wanted: Wanted, write: bool) -> bool:
    """Records the disruption budgets of the files under their ``source``, name and spec alone, so that evictions asked
    for elsewhere meet them too; deletes those ``dropped``. Gives whether any record is another one by that, or would be
    without ``write``. FleetError ``conflict`` or ``already-exists`` if somebody writes one at the same time, and others
    of the records; what was written before stays."""
    changed = False
    for each in wanted.written if wanted.source else ():
        old = records.get(BUDGET, each.name)
        metadata: Document = dict(old["metadata"]) if old else {"name": each.name}
        metadata["annotations"] = {**(metadata.get("annotations") or {}), SOURCE: wanted.source}
        document: Document = {
            "apiVersion": PLACEMENT_API,  # as it is stored, whichever version the file says
            "kind": BUDGET,
            "metadata": metadata,
            "spec": encode(each.spec),
        }
        if old == {**(old or {}), **document}:
            continue
        changed = True
        if write and old is None:
            records.create(document)
        elif write:
            records.replace({**(old or {}), **document})
    for name in wanted.dropped if write else ():
        records.delete(BUDGET, name)
    return changed or bool(wanted.dropped)


def record_eviction(
    records: Records, asked: RequestedEviction, eviction: ClusterResourcePlacementEviction, lease: Lease
) -> RequestedEviction:
    """Records the eviction with its conditions, under the lease, as a new record without labels and annotations, or
    over that of ``asked``, of which only the conditions change; gives ``asked`` as it is now. FleetError of the
    records, such as ``lease-lost``, ``conflict``, ``already-exists``, ``record-damaged``."""
    status = {"status": encode(eviction.status)}
    if asked.document is None:
        document = encode(replace(eviction, metadata=ObjectMeta(name=eviction.name)))
        made = records.create({**document, **status}, lease)
    elif asked.says(eviction):
        made = asked.document
    else:
        made = records.replace({**asked.document, **status}, lease)
    return replace(asked, eviction=decoded(ClusterResourcePlacementEviction, made), document=made, kept=True)


def _read(
    manifests: t.Iterable[Manifest],
) -> tuple[
    tuple[ClusterResourcePlacementEviction, ...],
    tuple[ClusterResourcePlacementDisruptionBudget, ...],
    tuple[Problem, ...],
]:
    """Evictions and budgets among the manifests, and what is worth a word; other kinds are passed over. FleetError with
    all that is wrong, ``duplicate-object`` among it."""
    found: dict[tuple[str, str], t.Any] = {}
    problems, findings = list[Problem](), list[Problem]()
    for each in manifests:
        kind = str(each.document.get("kind"))
        if kind not in (EVICTION, BUDGET):
            continue
        try:
            reading = read(each.document, each.where, False, written=each.written)
        except FleetError as error:
            problems += error.problems
            continue
        if (kind, reading.object.name) in found:
            problems.append(Problem("duplicate-object", f"{kind} {reading.object.name} stands twice", each.where))
        found[kind, reading.object.name] = reading.object
        findings += [Problem(one.code, one.message, one.where or each.where) for one in reading.findings]
    if problems:
        raise FleetError.of(problems)
    objects = found.values()
    evictions = tuple(each for each in objects if isinstance(each, ClusterResourcePlacementEviction))
    budgets = tuple(each for each in objects if isinstance(each, ClusterResourcePlacementDisruptionBudget))
    return evictions, budgets, tuple(findings)


def _recorded(records: Records) -> tuple[dict[str, tuple[ClusterResourcePlacementEviction, Document]], list[Problem]]:
    """Those that can be read, by name, and what is wrong with the others. FleetError where they cannot be listed."""
    found, problems = dict[str, tuple[ClusterResourcePlacementEviction, Document]](), list[Problem]()
    for each in records.list(EVICTION):
        try:
            found[each["metadata"]["name"]] = decoded(ClusterResourcePlacementEviction, each), each
        except FleetError as error:
            problems += error.problems
    return found, problems


def _refuse_unknown(evictions: t.Iterable[ClusterResourcePlacementEviction], damaged: t.Collection[Problem]) -> None:
    """FleetError ``record-damaged`` where the record of a file's eviction cannot be read: it alone tells whether that
    was carried out before."""
    names = {f"{EVICTION}/{each.name}" for each in evictions}
    problems = [each for each in damaged if each.where in names]
    if problems:
        raise FleetError.of(problems)


def _gone(documents: t.Iterable[Document], source: str, names: t.Container[str]) -> list[str]:
    """Names of the recorded budgets, given as documents, that came from the ``source`` and are not among the ``names``
    that it holds now; none without a source."""
    from_there = (each["metadata"]["name"] for each in documents if source and _source_of(each) == source)
    return sorted(name for name in from_there if name not in names)


def _budget_kept(name: str, src: t.Sequence[str]) -> Problem:
    """That a budget which is not in the files any more still guards its placement."""
    text = f"{', '.join(src)} held it when it was recorded and does not now; it guards {name} all the same"
    hint = "if it is to go: run evict from there, with other manifests in it, and without an eviction of the placement"
    return Problem("budget-kept", text, f"{BUDGET}/{name}", hint)


def _source_of(document: Document) -> str:
    """The source under which a budget is recorded; empty for none."""
    return str((document["metadata"].get("annotations") or {}).get(SOURCE, ""))


def _from_file(
    each: ClusterResourcePlacementEviction,
    recorded: t.Mapping[str, tuple[ClusterResourcePlacementEviction, Document]],
) -> RequestedEviction:
    """An eviction of a file, or its record with what became of it before. FleetError as of ``check_update`` if the file
    changes what may not change."""
    if each.name not in recorded:
        return RequestedEviction(eviction=_fresh(each), document=None, kept=True)
    old, document = recorded[each.name]
    problems = check_update(old, each, f"{EVICTION}/{each.name}")
    if problems:
        raise FleetError.of(problems)
    return RequestedEviction(eviction=old, document=document, kept=True)


def _by_option(
    placement: str,
    cluster: str,
    recorded: t.Iterable[tuple[ClusterResourcePlacementEviction, Document]],
    now: datetime,
) -> RequestedEviction:
    """The recorded eviction of this placement and cluster that is not over, as a run which was cut short leaves it;
    else a new one, named by both and ``now``."""
    spec = EvictionSpec(placement_name=placement, cluster_name=cluster)
    for each, document in recorded:
        if each.spec == spec and not is_over(each):
            return RequestedEviction(eviction=each, document=document, kept=True)
    name = f"{placement}-{cluster}-{write_time(now)}".lower().replace(":", "-")
    eviction = ClusterResourcePlacementEviction(metadata=ObjectMeta(name=name), spec=spec)
    return RequestedEviction(eviction=_fresh(eviction), document=None, kept=False)


def _fresh(each: ClusterResourcePlacementEviction) -> ClusterResourcePlacementEviction:
    """The eviction as the first generation."""
    return replace(each, metadata=replace(each.metadata, generation=1))


def _order(asked: RequestedEviction) -> tuple[str, bool, str, str]:
    """What evictions are sorted by: placement, those that were begun first, then when they were made, those without a
    record last."""
    metadata = asked.eviction.metadata
    created = str((asked.document or {}).get("metadata", {}).get("creationTimestamp", "~"))
    return asked.eviction.spec.placement_name, not asked.eviction.status.conditions, created, metadata.name
