# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Rebuilding the records of lost placements from the ApplySets on all members: placement, policy, snapshots and
bindings, the ApplySets taken over under the new uid, with digests of Secrets under our key; a recovery that was killed
goes on from what it wrote. Placed objects are never touched."""

from __future__ import annotations

import contextlib
import typing as t
from dataclasses import dataclass, replace

from ...._core.errors import FleetError
from ...._core.objects.api_groups import PLACEMENT_API
from ...._core.objects.audit.audit_entry import RECOVERED
from ...._core.objects.identity import Manifest, identify
from ...._core.objects.placements.binding import left_out_mark
from ...._core.objects.placements.cluster_resource_placement import ClusterResourcePlacement
from ...._core.objects.placements.key import CLEANUP, PlacementKey
from ...._core.objects.placements.snapshot_labels import LATEST, POLICY_INDEX, RESOURCE_HASH, RESOURCE_INDEX
from ...._core.plan.compose import policy_snapshot_of
from ...._core.plan.document import Rendered
from ...._core.resources.applyset import ApplySet, InventoryEntry
from ...._core.resources.sealing import sealed
from ...._core.resources.snapshots import resource_hash, snapshot_index
from ...._core.scheduling.picking.bindings import binding_name
from ...._core.schema.codec import encode
from ...._kube.client import KubeClient
from ...._kube.parallel import in_parallel
from ...._store.records import Lease, Record, Records
from ...audit.evidence import Deed, attested
from ...conductor.interrupts import Interrupts
from ...keeping import Keeper
from ...members.member_lease import Keep
from ...members.members import Clients
from ...session import Session
from ..on_member.member_parent import Parent
from ..on_member.observe import applysets_on, observe
from ..recorded import delete_record, is_clearing, is_recovering, refuse_strange, unmarked, with_recovery_mark
from ..sources import LoadedPlacement
from .former_records import (
    Ours,
    is_lost,
    known_of,
    named_apart,
    refuse_mixed,
)

EVERY_MEMBER = "records are rebuilt from all members or not at all: from some of them the others would be forgotten"


@dataclass(frozen=True, kw_only=True)
class Recovered:
    """Clusters, sorted, by placement: those whose records were rebuilt, or would be without ``write``, and those of
    placements that no manifest describes (``unknown``)."""

    recovered: t.Mapping[str, tuple[str, ...]]
    unknown: t.Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class Described:
    """A placement as its manifests describe it now, with the objects that it selects as members get them."""

    sourced: LoadedPlacement
    objects: tuple[Rendered, ...]


def recover(
    session: Session,
    clients: Clients,
    members: t.Collection[str],
    described: t.Mapping[str, Described],
    key_bytes: bytes,
    write: bool,
    former: t.Collection[str] = (),
) -> Recovered:
    """Rebuilds the records of the ``described`` placements that are lost (``is_lost``), by name, from what the members
    hold; without ``write`` it only says which. ``former`` are uids that they had in records which are given up;
    ``key_bytes`` seals Secrets. Every member must answer: from some of its clusters the others would be forgotten.
    FleetError with the problems of all that do not, ``mixed-fleets``, ``lease-held``, ``lease-lost``, ``conflict``
    (another run has written the records since they were compared), ``member-held``, ``member-lost``, ``member-moved``,
    ``foreign-applyset``, ``applyset-invalid``, ``record-damaged``, ``interrupted``, ``no-workers``, ApiError of a
    member, others of the records. Placements before that one are rebuilt then, and the next recovery goes on with
    it."""
    records = session.records
    # Before the members are read: what is written meanwhile is noticed under the lease.
    ours = {name: known_of(records, name) for name in described}
    found = in_parallel({name: _reader(clients, name) for name in sorted(members)})
    problems = [
        replace(each, where=name, hint=f"{each.hint}; {EVERY_MEMBER}" if each.hint else EVERY_MEMBER)
        for name, answer in found.items()
        if isinstance(answer, FleetError)
        for each in answer.problems
    ]
    if problems:
        raise FleetError.of(problems)
    held: dict[str, dict[str, ApplySet]] = {}
    for cluster, sets in found.items():
        for each in sets if isinstance(sets, tuple) else ():
            held.setdefault(each.placement, {})[cluster] = each
    refuse_mixed({name: by for name, by in held.items() if name in described}, ours, former)
    unknown = {name: tuple(sorted(by)) for name, by in held.items() if name not in described}
    lost = {name: by for name, by in sorted(held.items()) if name in described and is_lost(ours[name], by)}
    with Interrupts() as told:
        for name, by_cluster in lost.items() if write else ():
            with Keeper(records, session.holder, told) as keeper, contextlib.ExitStack() as leases:
                lease = keeper.take(f"placement/{name}")
                _refuse_moved(records, name, ours[name])
                keeps = [leases.enter_context(clients.holding(each, f"placement/{name}")) for each in by_cluster]
                under = _Lease(records, lease, (keeper.check, *keeps))
                kind = described[name].sourced.placement.key.kinds.placement
                with attested(session, Deed(action=RECOVERED, kind=kind, name=name, members=sorted(by_cluster))):
                    _rebuild(under, clients, described[name], by_cluster, key_bytes)
    return Recovered(recovered={name: tuple(sorted(by)) for name, by in lost.items()}, unknown=unknown)


def _refuse_moved(records: Records, name: str, before: Ours) -> None:
    """FleetError ``conflict`` if the placement's records are not as they were before. Others as of ``known_of``."""
    if known_of(records, name) != before:
        raise FleetError("conflict", "another run has written its records meanwhile", name, "run fleet_recover again")


def _reader(clients: Clients, name: str) -> t.Callable[[], tuple[ApplySet, ...]]:
    """What reads, when called, all ApplySets on the member."""
    return lambda: applysets_on(clients.get(name))


@dataclass(frozen=True)
class _Lease:
    """The records under one lease, and the members under theirs."""

    records: Records
    lease: Lease
    keeps: tuple[Keep, ...]

    def permit(self) -> None:
        """FleetError as of ``Keeper.check`` and ``KeptLease.keep`` where there is to be no further write."""
        for keep in self.keeps:
            keep()

    def get(self, kind: str, name: str) -> dict[str, t.Any] | None:
        """The record, None if there is none. FleetError as of ``Records.get``."""
        return self.records.get(kind, name)

    def has(self, placement: PlacementKey, kind: str, name: str) -> bool:
        """Whether a record that belongs to the placement is there. FleetError ``record-damaged`` for one of another,
        and as of ``Records.get``."""
        found = self.get(kind, placement.record(name))
        if found is not None:
            refuse_strange(found, placement)
        return found is not None

    def create(self, record: dict[str, t.Any]) -> dict[str, t.Any]:
        """As of ``Records.create``, once writes are permitted; FleetError as of ``permit`` too."""
        self.permit()
        return self.records.create(record, self.lease)

    def replace(self, record: dict[str, t.Any]) -> dict[str, t.Any]:
        """As of ``Records.replace``, once writes are permitted; FleetError as of ``permit`` too."""
        self.permit()
        return self.records.replace(record, self.lease)

    def clear(self, placement: PlacementKey, but: t.Mapping[tuple[str, str], str] | None = None) -> None:
        """Takes away what belongs to the placement, but not itself, nor what says the same (``_says``) as this, by kind
        and name. FleetError as of ``permit`` and ``delete_record``."""
        kinds = placement.kinds
        for kind in (kinds.binding, kinds.resource_snapshot, kinds.policy_snapshot):
            for each in self.records.list(kind, placement.labels, placement.namespace):
                if (but or {}).get((kind, each["metadata"]["name"])) != _says(each):
                    self.permit()
                    delete_record(self.records, each, self.lease)


def _rebuild(
    records: _Lease, clients: Clients, described: Described, held: t.Mapping[str, ApplySet], key_bytes: bytes
) -> None:
    """Writes the records of one placement from what its clusters ``held``, and takes over their ApplySets; until all is
    done the placement's record says that it is not whole. Errors as of ``recover``."""
    placement, key = described.sourced.placement, described.sourced.placement.key
    uid = _placement_record(records, placement)
    parents = {name: _adopted(clients.get(name), each, uid, described.objects) for name, each in held.items()}
    today = policy_snapshot_of(placement, None)[0].spec.policy_hash
    adopted = named_apart(key.name, {name: each for name, (each, _parent) in parents.items()}, today)
    latest = max(adopted.values(), key=lambda each: snapshot_index(each.resource_snapshot))
    newest = max(adopted.values(), key=lambda each: snapshot_index(each.policy_snapshot))
    policy = newest.policy_snapshot
    bindings = {cluster: binding_name(key.namespace, key.name, cluster, policy, ()) for cluster in adopted}
    contents = {
        snapshot: _contents(snapshot, adopted.values(), described.objects)
        for snapshot in sorted({each.resource_snapshot for each in adopted.values()})
    }
    kinds = key.kinds
    ours = {
        (kinds.policy_snapshot, policy): newest.policy_hash,
        **{(kinds.resource_snapshot, each.resource_snapshot): each.resource_hash for each in adopted.values()},
        **{(kinds.binding, bindings[cluster]): each.resource_snapshot for cluster, each in adopted.items()},
    }
    records.clear(key, but=ours)  # what a recovery that was killed has made of other answers of the members
    _write_policy_record(records, placement, newest)
    for snapshot, held_there in contents.items():
        of_it = next(each for each in adopted.values() if each.resource_snapshot == snapshot)
        manifests = [sealed(each, key_bytes, "recovered") for each in held_there]
        _write_resource_record(records, of_it, manifests, snapshot == latest.resource_snapshot)
    for cluster, each in sorted(adopted.items()):
        parents[cluster][1].write(each, records.permit)
        if not records.has(key, key.kinds.binding, bindings[cluster]):
            there = {one.id.key for one in each.inventory}
            lacking = [one for one in map(identify, contents[each.resource_snapshot]) if one.key not in there]
            records.create(_binding_record(bindings[cluster], cluster, each, left_out_mark(lacking)))
    _mark_whole(records, key)


def _placement_record(records: _Lease, placement: ClusterResourcePlacement) -> str:
    """The uid of the placement's record, which is made if need be. It says from here on that the others are not whole
    yet; what was recorded before is taken away first. FleetError as of ``_Lease.create``, ``replace`` and ``clear``."""
    found = records.get(placement.key.kinds.placement, str(placement.key))
    if found is None:
        metadata = {
            **placement.key.metadata(placement.name),
            "labels": dict(placement.metadata.labels),
            "annotations": unmarked(placement.metadata.annotations),
            "finalizers": [CLEANUP],
        }
        spec = encode(placement)["spec"]
        made = {"apiVersion": PLACEMENT_API, "kind": placement.key.kinds.placement, "metadata": metadata, "spec": spec}
        found = records.create(with_recovery_mark(made, begun=True, clearing=True))  # others may be left without it
    elif not is_recovering(found):
        found = records.replace(with_recovery_mark(found, begun=True, clearing=True))
    if is_clearing(found):
        records.clear(placement.key)
        found = records.replace(with_recovery_mark(found, begun=True))
    return str(found["metadata"]["uid"])


def _says(record: Record) -> str:
    """The content or policy that a snapshot is of, by its hash; of a binding, the snapshot that its cluster holds."""
    spec, annotations = record["spec"], record["metadata"].get("annotations") or {}
    found = spec.get("policyHash") or spec.get("resourceSnapshotName") or annotations.get(RESOURCE_HASH)
    return str(found or "")


def _mark_whole(records: _Lease, key: PlacementKey) -> None:
    """Takes off the placement's record that the others are not whole. FleetError as of ``_Lease.replace``."""
    found = records.get(key.kinds.placement, str(key))
    if found is not None and is_recovering(found):
        records.replace(with_recovery_mark(found, begun=False))


def _adopted(client: KubeClient, held: ApplySet, uid: str, objects: t.Sequence[Rendered]) -> tuple[ApplySet, Parent]:
    """The ApplySet under its new uid, and the parent that it will be written to. Digests of Secrets are under a new key
    too, so those whose live content is the wanted one take over the new digest. FleetError as of ``observe``."""
    wanted = {each.id.key: each for each in objects}
    observed = observe(client, held.placement, held.uid, objects)
    held, live = observed.recorded or held, observed.live
    inventory = []
    for each in held.inventory:
        new = wanted.get(each.id.key)
        same = new is not None and each.id.kind == "Secret" and _same_secret(new, live.get(each.id.key))
        inventory.append(InventoryEntry(id=each.id, hash=new.hash) if new is not None and same else each)
    whole = {each.id.key: each.hash for each in inventory} == {place: each.hash for place, each in wanted.items()}
    digest = resource_hash([each.hash for each in objects]) if whole else held.resource_hash
    adopted = replace(held, uid=uid, inventory=tuple(inventory), resource_hash=digest)
    return adopted, Parent(client, observed.recorded, observed.version)


def _same_secret(wanted: Rendered, live: t.Mapping[str, t.Any] | None) -> bool:
    """Whether the Secret on the member has the wanted ``data``; not if it is gone."""
    return live is not None and (wanted.manifest.get("data") or {}) == (live.get("data") or {})


def _write_policy_record(records: _Lease, placement: ClusterResourcePlacement, held: ApplySet) -> None:
    """The policy under which the members were picked, unless it is recorded; if it is not today's, its text is lost,
    the hash is known. FleetError as of ``_Lease.has`` and ``create``."""
    snapshot, _new = policy_snapshot_of(placement, None)
    spec = encode(snapshot.spec) if snapshot.spec.policy_hash == held.policy_hash else {"policyHash": held.policy_hash}
    name, key = held.policy_snapshot, placement.key
    labels = {**key.labels, POLICY_INDEX: str(snapshot_index(name)), LATEST: "true"}
    document = {
        "apiVersion": PLACEMENT_API,
        "kind": key.kinds.policy_snapshot,
        "metadata": {**key.metadata(name), "labels": labels},
        "spec": spec,
    }
    if not records.has(key, key.kinds.policy_snapshot, name):
        records.create(document)


def _contents(snapshot: str, held: t.Iterable[ApplySet], objects: t.Sequence[Rendered]) -> list[Manifest]:
    """What was in a snapshot, which one of ``held`` names at least: the manifests where they are those still, else the
    names, in order, of what any member has of it. What overrides have left out on one member may be on another."""
    sets = [each for each in held if each.resource_snapshot == snapshot]
    if sets[0].resource_hash == resource_hash([each.hash for each in objects]):
        return [each.manifest for each in objects]
    found = {one.id.key: one for each in sets for one in each.inventory}
    return [_named(found[key]) for key in sorted(found)]


def _write_resource_record(records: _Lease, held: ApplySet, content: t.Sequence[Manifest], latest: bool) -> None:
    """Writes the snapshot, in one part, unless a run that was killed has written it. FleetError as of ``_Lease.has``
    and ``create``."""
    name, key = held.resource_snapshot, PlacementKey.of(held.placement)
    if records.has(key, key.kinds.resource_snapshot, name):
        return
    labels = {**key.labels, RESOURCE_INDEX: str(snapshot_index(name)), LATEST: str(latest).lower()}
    annotations = {RESOURCE_HASH: held.resource_hash, "kubernetes-fleet.io/number-of-resource-snapshots": "1"}
    records.create(
        {
            "apiVersion": PLACEMENT_API,
            "kind": key.kinds.resource_snapshot,
            "metadata": {**key.metadata_with_finalizer(name), "labels": labels, "annotations": annotations},
            "spec": {"selectedResources": list(content)},
        }
    )


def _named(held: InventoryEntry) -> dict[str, t.Any]:
    """A manifest with nothing but kind and name."""
    metadata = {"name": held.id.name, **({"namespace": held.id.namespace} if held.id.namespace else {})}
    return {"apiVersion": held.id.api_version, "kind": held.id.kind, "metadata": metadata}


def _binding_record(name: str, cluster: str, held: ApplySet, annotations: t.Mapping[str, str]) -> dict[str, t.Any]:
    """The record of a binding, Bound to what the cluster holds; scores that are not known are left out."""
    key = PlacementKey.of(held.placement)
    decision: dict[str, t.Any] = {"clusterName": cluster, "selected": True, "reason": "recovered from the member"}
    scores = {key: value for key, value in (held.decision or {}).items() if value is not None}
    if scores:
        decision["clusterScore"] = scores
    return {
        "apiVersion": PLACEMENT_API,
        "kind": key.kinds.binding,
        "metadata": {
            **key.metadata_with_finalizer(name),
            "labels": key.labels,
            **({"annotations": dict(annotations)} if annotations else {}),
        },
        "spec": {
            "state": "Bound",
            "targetCluster": cluster,
            "schedulingPolicySnapshotName": held.policy_snapshot,
            "resourceSnapshotName": held.resource_snapshot,
            "clusterDecision": decision,
        },
    }
