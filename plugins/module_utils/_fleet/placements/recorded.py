# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The records of placements read and typed: names, status, bindings, snapshots (``records-damaged``); our own
annotations told apart from an author's; ``no-such-placement``, ``recovery-unfinished``; a binding or snapshot deleted;
which clusters still hold what they lose."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass, replace

from ..._core.errors import FleetError, Problem
from ..._core.objects.identity import identify
from ..._core.objects.placements.binding import UNSCHEDULED, ClusterResourceBinding, ResourceBinding
from ..._core.objects.placements.cluster_resource_placement import (
    ClusterResourcePlacement,
    PlacementStatus,
    ResourcePlacement,
)
from ..._core.objects.placements.key import CLEANUP, PARENT, PLACEMENT_KINDS, PlacementKey
from ..._core.objects.placements.scheduling_policy_snapshot import ClusterSchedulingPolicySnapshot
from ..._core.objects.placements.snapshot_labels import POLICY_INDEX, RESOURCE_HASH, RESOURCE_INDEX
from ..._core.plan.changes import Earlier
from ..._core.plan.compose import RecordedState
from ..._core.schema.codec import encode
from ..._core.schema.hints import did_you_mean
from ..._core.values.listed import listed
from ..._store.kinds import record_name
from ..._store.records import Lease, Records
from ..recorded import DAMAGED, decoded, recorded

SOURCE = "gitops.fleet/source"
# What stands there before the paths of files, with commas between them.
FROM_FILES = "files:"
REVISION = "gitops.fleet/revision"
# The digest under which a placement was last begun to be carried out: until that is done it needs no other approval.
APPROVED = "gitops.fleet/approved"
# What any cluster was to get then, and by which options more is deleted, as a digest: overrides, labels of clusters and
# options can change it without a new snapshot.
APPROVED_CONTENTS = "gitops.fleet/approved-contents"
# On a resource snapshot that a roll back has made: the index of that whose content it has.
ROLLED_BACK = "gitops.fleet/rolled-back-to"
# On a placement whose records are being rebuilt, until they are whole.
RECOVERING = "gitops.fleet/recovering"
CLEARING = "clearing"
# What we note on a placement ourselves, whatever its author wrote.
_MARKS = (SOURCE, REVISION, APPROVED, APPROVED_CONTENTS, RECOVERING)
# The number of a snapshot, as it is written.
INDEX = re.compile("[0-9]{1,9}")

Document = dict[str, t.Any]


def unmarked(annotations: t.Mapping[str, str]) -> dict[str, str]:
    """The annotations of a placement without those that we note on it ourselves."""
    return {name: each for name, each in annotations.items() if name not in _MARKS}


@dataclass(frozen=True, kw_only=True)
class RecordedPlacement:
    """Raw records, to be written back, beside what decisions are made from (``known``). ``document`` is that of the
    placement, None without one; ``bindings`` are by name, snapshots in the order of their indices."""

    document: Document | None
    bindings: t.Mapping[str, Document]
    policy_snapshots: tuple[Document, ...]
    resource_snapshots: tuple[Document, ...]
    known: RecordedState

    @property
    def placement(self) -> ClusterResourcePlacement | None:
        """The object of the record; None without one. FleetError ``record-damaged``."""
        return placement_of(self.document) if self.document else None

    @property
    def uid(self) -> str:
        """The uid of the placement's record; empty if there is none."""
        return str(self.document["metadata"]["uid"]) if self.document else ""


def statuses_of(placements: t.Iterable[Document]) -> dict[str, PlacementStatus]:
    """The status of each recorded placement, empty if it has none yet, by name (``namespace/name`` in a namespace).
    FleetError ``record-damaged``."""
    return {str(PlacementKey.of_record(each)): placement_of(each).status for each in placements}


def placement_of(document: Document) -> ClusterResourcePlacement:
    """The object of a placement's record. FleetError ``record-damaged``."""
    return decoded(ResourcePlacement if document["kind"] == "ResourcePlacement" else ClusterResourcePlacement, document)


def has_status(document: Document | None, status: PlacementStatus) -> bool:
    """Whether this is the status in a placement's record; False without one. FleetError ``record-damaged``."""
    return document is not None and encode(placement_of(document).status) == encode(status)


def binding_of(document: Document) -> ClusterResourceBinding:
    """The object of a binding's record. FleetError ``record-damaged``, also for one that names no cluster or no
    state."""
    found = decoded(ClusterResourceBinding, document)
    if found.spec.target_cluster and found.spec.state:
        return found
    return recorded(ResourceBinding if document["kind"] == "ResourceBinding" else ClusterResourceBinding, document)


def as_recorded(
    placement: ClusterResourcePlacement, old: ClusterResourcePlacement | None, of_record: bool = False
) -> ClusterResourcePlacement:
    """The placement with uid and status as recorded (``old``; None for a new one), and with the recorded labels and
    annotations where it was read from its own record (``of_record``), which somebody may have edited since. A changed
    spec is the next generation."""
    if old is None:
        return replace(placement, metadata=replace(placement.metadata, generation=1))
    generation = old.metadata.generation + (placement.spec != old.spec)
    said = (old if of_record else placement).metadata
    metadata = replace(
        placement.metadata,
        uid=old.metadata.uid,
        generation=generation,
        labels=said.labels,
        annotations=said.annotations,
    )
    return replace(placement, metadata=metadata, status=old.status)


def cluster_of(document: Document) -> str:
    """The cluster of a binding's record. FleetError ``record-damaged``."""
    spec = document.get("spec")
    found = spec.get("targetCluster") if isinstance(spec, dict) else None
    return found if found and isinstance(found, str) else binding_of(document).spec.target_cluster


def is_recovering(document: Document | None) -> bool:
    """Whether a recovery was begun and is not at its end: bindings may be missing."""
    return RECOVERING in ((document or {}).get("metadata", {}).get("annotations") or {})


def unfinished_recovery_problem(name: str) -> Problem:
    """The problem ``recovery-unfinished``: nothing is decided until a recovery of the placement is at its end."""
    text = "its records were not rebuilt to the end, so that it is not known where it is"
    return Problem("recovery-unfinished", text, name, "run fleet_recover again")


def is_clearing(document: Document | None) -> bool:
    """Whether a recovery still has to take away what was recorded before it."""
    return ((document or {}).get("metadata", {}).get("annotations") or {}).get(RECOVERING) == CLEARING


def with_recovery_mark(document: Document, *, begun: bool, clearing: bool = False) -> Document:
    """A copy of the placement's record that says that a recovery was ``begun``, or says so no more. ``clearing``: what
    was recorded before is to go first."""
    metadata = document["metadata"]
    annotations = {name: each for name, each in (metadata.get("annotations") or {}).items() if name != RECOVERING}
    marks = {RECOVERING: CLEARING if clearing else "true"} if begun else {}
    return {**document, "metadata": {**metadata, "annotations": {**annotations, **marks}}}


def all_placements(records: Records, name: str = "") -> list[Document]:
    """The records of all placements, those of no namespace first; with a ``name`` of that one only. FleetError of the
    records."""
    found = (each for kinds in PLACEMENT_KINDS for each in records.list(kinds.placement))
    return [each for each in found if not name or str(PlacementKey.of_record(each)) == name]


def no_such_placement(name: str, known: t.Sequence[str], place: str) -> FleetError:
    """The FleetError ``no-such-placement``, not raised; its hint is the known name that is most like it, else names
    that are known."""
    there = f"there are: {listed(known)}" if known else ""
    text = f"there is no placement {name}".rstrip()
    return FleetError("no-such-placement", text, place, did_you_mean(name, known) or there)


def names_of(placements: t.Iterable[Document]) -> list[str]:
    """Names of the placements of these records (``name``, or ``namespace/name``), sorted."""
    return sorted(str(PlacementKey.of_record(each)) for each in placements)


def all_bindings(records: Records, name: str = "") -> list[Document]:
    """The records of the bindings of all placements, those of no namespace first; with a ``name`` those of that
    placement only. FleetError of the records."""
    found = (each for kinds in PLACEMENT_KINDS for each in records.list(kinds.binding))
    return [each for each in found if not name or str(PlacementKey.of_parent(each)) == name]


def held_by_bindings(bindings: t.Iterable[Document]) -> dict[str, set[str]]:
    """The clusters of these records of bindings by the placement's name (``namespace/name`` in a namespace; empty for
    records that name none). FleetError as of ``cluster_of``."""
    held: dict[str, set[str]] = {}
    for each in bindings:
        held.setdefault(str(PlacementKey.of_parent(each)), set()).add(cluster_of(each))
    return held


def recorded_placement(records: Records, name: str) -> RecordedPlacement:
    """Everything recorded under a placement's name (``namespace/name`` in a namespace), also without the placement
    itself. FleetError as of ``recorded_from``, and of the records."""
    key = PlacementKey.of(name)
    return recorded_from(
        records.get(key.kinds.placement, name),
        records.list(key.kinds.binding, key.labels, key.namespace),
        records.list(key.kinds.policy_snapshot, key.labels, key.namespace),
        records.list(key.kinds.resource_snapshot, key.labels, key.namespace),
        records.place,
    )


def refuse_strange(document: Document, placement: PlacementKey) -> None:
    """FleetError ``record-damaged`` for a binding or a snapshot under a name of this placement's whose label says
    another."""
    parent = PlacementKey.of_parent(document)
    if parent != placement:
        whose = f"it is labelled as one of {parent}" if parent.name else "it is labelled as nobody's"
        hint = f"it is a record of {placement}: set its label {PARENT} right, or delete it and run again"
        raise FleetError(DAMAGED, whose, f"{document['kind']}/{record_name(document)}", hint)


def delete_record(records: Records, document: Document, lease: Lease | None) -> None:
    """Deletes a binding or a snapshot, if it is there; finalizers of others keep it until they go. Ours is taken off
    first: one whose namespace is being deleted is gone with that, and where this process ends in between the next one
    deletes it. FleetError as of ``Records``."""
    kind, name = document["kind"], record_name(document)
    if CLEANUP not in (document["metadata"].get("finalizers") or ()):
        records.delete(kind, name, lease=lease)
        return
    found = records.get(kind, name)
    if found is None:
        return
    others = [each for each in found["metadata"].get("finalizers") or () if each != CLEANUP]
    records.replace({**found, "metadata": {**found["metadata"], "finalizers": others}}, lease)
    if not found["metadata"].get("deletionTimestamp"):
        records.delete(kind, name, lease=lease)


def recorded_from(
    document: Document | None,
    bound: t.Iterable[Document],
    policy_snapshots: t.Sequence[Document],
    resource_snapshots: t.Sequence[Document],
    place: str,
) -> RecordedPlacement:
    """A recorded placement, made of documents of it: its bindings (``bound``), snapshots in any order, ``document``
    None without a record of its own. In ``known`` snapshots of the highest index count, whatever their marks, of
    resource snapshots only those with their hash. FleetError ``records-damaged`` at ``place`` for a snapshot without
    its number or with what is no object, ``record-damaged`` for a binding or a policy that cannot be read."""
    bindings = {each["metadata"]["name"]: each for each in bound}
    policies = _by_index(policy_snapshots, POLICY_INDEX, place)
    resources = _by_index(resource_snapshots, RESOURCE_INDEX, place)
    masters = [each for each in resources if RESOURCE_HASH in (each["metadata"].get("annotations") or {})]
    latest = masters[-1] if masters else None
    contents = {each["metadata"]["name"]: _resources_in_snapshot(each, resources) for each in masters}
    known = RecordedState(
        bindings=tuple(binding_of(_as_if_not_deleted(bindings[each])) for each in sorted(bindings)),
        policy_snapshot=decoded(ClusterSchedulingPolicySnapshot, policies[-1]) if policies else None,
        resource_snapshot=latest["metadata"]["name"] if latest else "",
        resource_index=int(latest["metadata"]["labels"][RESOURCE_INDEX]) if latest else -1,
        resource_hash=latest["metadata"]["annotations"][RESOURCE_HASH] if latest else "",
        contents={name: tuple(map(identify, found)) for name, found in contents.items()},
        earlier={name: Earlier(manifests=tuple(found)) for name, found in contents.items()},
    )
    return RecordedPlacement(
        document=document,
        bindings=bindings,
        policy_snapshots=policies,
        resource_snapshots=resources,
        known=known,
    )


def _as_if_not_deleted(document: Document) -> Document:
    """The binding's record as if it were not being deleted: one that somebody, or the end of its namespace, has deleted
    says what its cluster holds all the same."""
    metadata = {name: each for name, each in document["metadata"].items() if name != "deletionTimestamp"}
    return {**document, "metadata": metadata}


def _by_index(documents: t.Sequence[Document], label: str, place: str) -> tuple[Document, ...]:
    """The snapshots in the order of their indices, then of their names. FleetError ``records-damaged`` for one that is
    not sound."""
    for each in documents:
        if not _is_sound(each, label):
            text = f"the record {each['kind']}/{each['metadata']['name']} is damaged"
            hint = "restore it from a backup, or delete it and rebuild the records from the members (recover)"
            raise FleetError("records-damaged", text, place, hint)
    return tuple(sorted(documents, key=lambda each: (int(each["metadata"]["labels"][label]), each["metadata"]["name"])))


def _is_sound(document: Document, label: str) -> bool:
    """Whether a snapshot has its number, and one of resources nothing but named objects in it."""
    try:
        index = document["metadata"]["labels"].get(label, "")
        resources = document["spec"].get("selectedResources") if label == RESOURCE_INDEX else []
        return bool(INDEX.fullmatch(index)) and isinstance(resources, list) and all(map(identify, resources))
    except (FleetError, KeyError, TypeError, AttributeError):
        return False


def _resources_in_snapshot(master: Document, all_parts: t.Iterable[Document]) -> list[Document]:
    """The objects in all parts of a snapshot, part by part."""
    index = master["metadata"]["labels"][RESOURCE_INDEX]
    parts = (each for each in all_parts if each["metadata"]["labels"][RESOURCE_INDEX] == index)
    return [manifest for part in parts for manifest in part["spec"]["selectedResources"]]


def clusters_still_holding(bindings: t.Iterable[ClusterResourceBinding]) -> set[str]:
    """The clusters of bindings that are unscheduled (the placement is to leave them) and still hold a snapshot."""
    return {each.spec.target_cluster for each in bindings if each.spec.state == UNSCHEDULED and each.held_snapshot}
