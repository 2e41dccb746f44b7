# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Writing the records of one placement under its lease: spec with our marks, policy and resource snapshots (the latest
mark, ``revisionHistoryLimit``), status, journal (``PlacementRolloutCompleted``); and deleting them at its end."""

from __future__ import annotations

import contextlib
import typing as t
from dataclasses import dataclass, field
from datetime import datetime

from ..._core.errors import FleetError
from ..._core.objects.api_groups import PLACEMENT_API
from ..._core.objects.placements.cluster_resource_placement import PlacementStatus
from ..._core.objects.placements.key import CLEANUP
from ..._core.objects.placements.snapshot_labels import (
    LATEST,
    NUMBER_OF_CLUSTERS,
    POLICY_INDEX,
    RESOURCE_HASH,
    RESOURCE_INDEX,
)
from ..._core.plan.document import PlacementPlan
from ..._core.plan.status import policy_snapshot_status
from ..._core.resources.sealing import sealed
from ..._core.resources.snapshots import (
    in_parts,
    indices_to_drop,
    resource_snapshot_name,
    snapshot_index,
)
from ..._core.schema.codec import encode
from ..._core.schema.meta import find_condition
from ..._store.kinds import record_name
from ..._store.records import Lease, Records
from .plan import Source
from .recorded import (
    APPROVED,
    APPROVED_CONTENTS,
    REVISION,
    ROLLED_BACK,
    SOURCE,
    Document,
    RecordedPlacement,
    delete_record,
    placement_of,
    refuse_strange,
    unmarked,
)


@dataclass(frozen=True, kw_only=True)
class Writer:
    """Writes under one lease for one placement, over what was ``recorded`` when it was planned. ``source`` marks where
    it comes from, ``key`` seals Secrets. ``approved`` is the digest under which it is carried out, empty for none;
    ``contents`` is kept beside that (``contents_under``). FleetErrors are those of ``Records``."""

    records: Records
    lease: Lease
    plan: PlacementPlan
    recorded: RecordedPlacement
    source: Source
    key: bytes = field(repr=False)
    now: datetime
    approved: str = ""
    contents: str = ""

    def write_spec(self) -> Document:
        """Writes the placement itself, with our marks and (unless it is being deleted) our finalizer: the intent that
        everything else belongs to. Recorded labels and annotations stay, wanted or not, and so do source and revision
        where this one has none, or it ends; an earlier approval goes. Where files of no known revision bring another
        spec or content, a recorded revision is emptied. Gives the record."""
        old = self.recorded.document
        wanted = encode(self.plan.placement)
        metadata: Document = {
            **self.plan.key.metadata(self.plan.key.name),
            "labels": dict(self.plan.placement.metadata.labels),
            # A placement that was read from the records bears our marks as they were then.
            "annotations": unmarked(self.plan.placement.metadata.annotations),
            "finalizers": [CLEANUP],
        }
        if old is not None:
            before = old["metadata"]
            metadata = {
                **before,
                "labels": {**(before.get("labels") or {}), **metadata["labels"]},
                "annotations": {**(before.get("annotations") or {}), **metadata["annotations"]},
                "finalizers": _finalizers(before),
            }
        for name, value in ((SOURCE, self.source.name), (REVISION, self.source.revision)):
            if value and not self.plan.deleting:
                metadata["annotations"][name] = value
        anew = self.plan.resource_snapshot_new or self.plan.respecified
        if anew and self.source.folder and not self.source.revision and REVISION in metadata["annotations"]:
            metadata["annotations"][REVISION] = ""
        for name, value in ((APPROVED, self.approved), (APPROVED_CONTENTS, self.contents)):
            metadata["annotations"].pop(name, None)
            if self.approved:
                metadata["annotations"][name] = value
        document = {
            "apiVersion": PLACEMENT_API,
            "kind": self.plan.key.kinds.placement,
            "metadata": metadata,
            "spec": wanted["spec"],
        }
        if old is None:
            return self.records.create(document, self.lease)
        status = old.get("status")
        return self._changed(old, {**document, **({"status": status} if status else {})})

    def write_snapshots(self, generation: int) -> None:
        """Writes a new resource snapshot, and unless the placement ends the policy snapshot: a new one, or what was
        decided now into the one that is there. With a new one, a changed spec for resources, or where a killed apply
        has left the latest mark on another, that mark is taken off others of the kind, and those beyond the history
        limit go that no binding names. ``generation`` is the placement's. FleetError ``record-damaged`` too, for a
        record of another placement under a new name."""
        if not self.plan.deleting:
            self._write_policy_snapshot(generation)
        if self.plan.resource_snapshot_new:
            self._write_resource_snapshot()
        resources, index = self.recorded.resource_snapshots, snapshot_index(self.plan.resource_snapshot)
        changed = self.plan.resource_snapshot_new or self.plan.respecified
        if changed or _any_outdated(resources, RESOURCE_INDEX, index):
            self._retire(resources, RESOURCE_INDEX, index)

    def write_status(self, placement: Document, status: PlacementStatus) -> Document:
        """Writes the placement's status, and before that an event for each condition of ``EVENTS`` that has become
        True, with one more for a completed rollout. Gives the record; labels and the like that were written meanwhile
        stay. FleetError ``conflict`` where the spec is another by now, or the record is gone, ``record-damaged``
        too."""
        new = encode(status)
        before = {each.type for each in placement_of(placement).status.conditions if each.status == "True"}
        for condition in status.conditions:
            event = EVENTS.get(condition.type.removeprefix(self.plan.placement.kind))
            if event and condition.status == "True" and condition.type not in before:
                self.event(event, condition.message)
        last = find_condition(status.conditions, f"{self.plan.placement.kind}Available")
        if last and last.status == "True" and last.type not in before:
            self.event("PlacementRolloutCompleted", last.message)
        try:
            return self._changed(placement, {**placement, "status": new})
        except FleetError as error:
            found = self.placement_as_left(placement) if error.code == "conflict" else None
            if found is None or found is placement:
                raise
        return self._changed(found, {**found, "status": new})

    def placement_as_left(self, placement: Document) -> Document | None:
        """The placement's record as a write without an answer has left it, None if it is gone; the one given if the
        spec is another by now: to write over it is a ``conflict``."""
        found = self.records.get(self.plan.key.kinds.placement, self.plan.name)
        if found is not None and found["metadata"]["generation"] != placement["metadata"]["generation"]:
            return placement
        return found

    def event(self, reason: str, message: str) -> None:
        """Adds a line to the placement's journal. It is for people: a line that cannot be kept stops nothing."""
        with contextlib.suppress(FleetError):
            self.records.event(self.plan.key.kinds.placement, self.plan.name, "Normal", reason, message, self.now)

    def forget(self, placement: Document) -> None:
        """Deletes what is left of a placement that has ended, whose bindings are gone: its snapshots, then itself,
        which finalizers of others keep."""
        self.event("PlacementCleanupFinalizerRemoved", "nothing of the placement is left on any member")
        for each in (*self.recorded.resource_snapshots, *self.recorded.policy_snapshots):
            delete_record(self.records, each, self.lease)
        if not placement["metadata"].get("deletionTimestamp"):
            self.records.delete(self.plan.key.kinds.placement, self.plan.name, lease=self.lease)
            found = self.records.get(self.plan.key.kinds.placement, self.plan.name)
            if found is None:
                return
            placement = found
        finalizers = [each for each in placement["metadata"].get("finalizers") or () if each != CLEANUP]
        metadata = {**placement["metadata"], "finalizers": finalizers}
        self.records.replace({**placement, "metadata": metadata}, self.lease)

    def _write_policy_snapshot(self, generation: int) -> None:
        """Writes the policy snapshot, or into one that is there what was decided; older ones are retired with a new
        one, or where one of them still bears the latest mark."""
        snapshot = self.plan.policy_snapshot
        index = snapshot_index(snapshot.name)
        policy = self.plan.placement.spec.policy
        annotations = {"kubernetes-fleet.io/CRP-generation": str(generation)}
        if policy and policy.number_of_clusters is not None:
            annotations[NUMBER_OF_CLUSTERS] = str(policy.number_of_clusters)
        name = self.plan.key.record(snapshot.name)
        old = next((each for each in self.recorded.policy_snapshots if record_name(each) == name), None)
        decided = encode(policy_snapshot_status(self.plan, snapshot.status, generation, self.now))
        if old is not None:
            metadata = {**old["metadata"], "annotations": {**(old["metadata"].get("annotations") or {}), **annotations}}
            self._changed(old, {**old, "metadata": metadata, **({"status": decided} if decided else {})})
            if _any_outdated(self.recorded.policy_snapshots, POLICY_INDEX, index):
                self._retire(self.recorded.policy_snapshots, POLICY_INDEX, index)
            return
        document = {
            "apiVersion": PLACEMENT_API,
            "kind": self.plan.key.kinds.policy_snapshot,
            "metadata": {
                **self.plan.key.metadata(snapshot.name),
                "labels": {**self.plan.key.labels, POLICY_INDEX: str(index), LATEST: "true"},
                "annotations": annotations,
            },
            "spec": encode(snapshot.spec),
            "status": decided,
        }
        self._create(document)
        self._retire(self.recorded.policy_snapshots, POLICY_INDEX, index)

    def _write_resource_snapshot(self) -> None:
        """Writes the parts of the new resource snapshot, the master, which is the first part, last: parts that an apply
        has left which was killed before that count for nothing, become these or are deleted. FleetError
        ``record-damaged`` too, for one of another placement."""
        index = snapshot_index(self.plan.resource_snapshot)
        where = f"git:{self.source.revision}" if self.source.revision else self.source.name
        packed = in_parts(each.sealed or sealed(each.manifest, self.key, where) for each in self.plan.objects)
        names = [resource_snapshot_name(self.plan.key.name, index, number) for number in range(len(packed))]
        for each in self.recorded.resource_snapshots:
            metadata = each["metadata"]
            if int(metadata["labels"][RESOURCE_INDEX]) == index and metadata["name"] not in names:
                delete_record(self.records, each, self.lease)
        for number, (name, manifests) in reversed(list(enumerate(zip(names, packed, strict=True)))):
            labels = {**self.plan.key.labels, RESOURCE_INDEX: str(index)}
            annotations = {"kubernetes-fleet.io/subindex-of-resource-snapshot": str(number - 1)}
            if number == 0:
                labels[LATEST] = "true"
                annotations = {
                    RESOURCE_HASH: self.plan.resource_hash,
                    "kubernetes-fleet.io/number-of-resource-snapshots": str(len(packed)),
                    **self._origin(),
                }
            self._create(
                {
                    "apiVersion": PLACEMENT_API,
                    "kind": self.plan.key.kinds.resource_snapshot,
                    "metadata": {
                        **self.plan.key.metadata_with_finalizer(name),
                        "labels": labels,
                        "annotations": annotations,
                    },
                    "spec": {"selectedResources": list(manifests)},
                }
            )

    def _origin(self) -> dict[str, str]:
        """What a snapshot says of where its content comes from, for people and for a roll back."""
        back = self.plan.rolled_back
        revision = back.revision if back else self.source.revision
        said = {REVISION: revision, ROLLED_BACK: str(back.index) if back else ""}
        return {name: value for name, value in said.items() if value}

    def _create(self, document: Document) -> None:
        """Creates the record; one that is there already, which a run that was killed has written, becomes it.
        FleetError ``record-damaged`` for one of another placement."""
        there = self.records.get(document["kind"], record_name(document))
        if there is None:
            self.records.create(document, self.lease)
        else:
            refuse_strange(there, self.plan.key)
            self._changed(there, {**there, **document, "metadata": {**there["metadata"], **document["metadata"]}})

    def _retire(self, documents: t.Iterable[Document], label: str, newest: int) -> None:
        """Takes the latest mark off snapshots other than the ``newest``, and deletes what the history limit does not
        keep, but for what bindings name."""
        held = {
            name
            for each in self.recorded.known.bindings
            for name in (each.held_snapshot, each.spec.resource_snapshot_name)
        }
        indices = {int(each["metadata"]["labels"][label]) for each in documents} | {newest}
        gone = set(indices_to_drop(indices, self.plan.placement.spec.revision_history_limit))
        in_use = {int(each["metadata"]["labels"][label]) for each in documents if each["metadata"]["name"] in held}
        for each in documents:
            index = int(each["metadata"]["labels"][label])
            if index in gone - in_use:
                delete_record(self.records, each, self.lease)
            elif _any_outdated((each,), label, newest):
                labels = {**each["metadata"]["labels"], LATEST: "false"}
                self.records.replace({**each, "metadata": {**each["metadata"], "labels": labels}}, self.lease)

    def _changed(self, old: Document, new: Document) -> Document:
        """The record as it is kept; written only if it differs from the ``old`` one."""
        return old if old == new else self.records.replace(new, self.lease)


def _any_outdated(snapshots: t.Iterable[Document], label: str, newest: int) -> bool:
    """Whether one of the snapshots bears the latest mark and is not the ``newest`` by the index in that label."""
    return any(
        each["metadata"]["labels"].get(LATEST) == "true" and int(each["metadata"]["labels"][label]) != newest
        for each in snapshots
    )


def _finalizers(metadata: Document) -> list[str]:
    """With ours, unless the record is being deleted: then none can be added."""
    there = {*(metadata.get("finalizers") or ())}
    return sorted(there if metadata.get("deletionTimestamp") else {*there, CLEANUP})


EVENTS = {
    "Scheduled": "SchedulingSucceeded",
    "RolloutStarted": "PlacementRolloutStarted",
    "Overridden": "PlacementOverriddenSucceeded",
    "WorkSynchronized": "PlacementWorkSynchronized",
    "Applied": "PlacementApplied",
    "Available": "PlacementAvailable",
    "DiffReported": "PlacementDiffReported",
}
