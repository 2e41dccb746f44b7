# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The bindings of one placement (ClusterResourceBinding) as they are taken up when a run begins, and stored by
compare-and-swap, a record for each cluster; generations, removals that were begun, and writes without an answer looked
up."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import datetime

from ..._core.errors import FleetError
from ..._core.objects.placements.binding import (
    HELD_BEFORE,
    REMOVING,
    UNSCHEDULED,
    ClusterResourceBinding,
)
from ..._core.objects.placements.rollout_strategy import ApplyStrategy, with_apply_defaults
from ..._core.plan.document import LOST, PlacementPlan
from ..._core.rollout.content import RolloutBinding
from ..._core.rollout.readiness import ROLLOUT_STARTED
from ..._core.rollout.rolling.decide import RolloutState
from ..._core.schema.codec import encode
from ..._core.values.instants import parse_time, write_time
from ..._store.records import Lease, Record, Records, result_of_unanswered_write
from ..conductor.journal import Change
from ..conductor.loop import PASSING
from .recorded import Document, delete_record


class BindingJournal:
    """A placement's bindings, and how what has changed of them is stored, each by compare-and-swap.

    It begins with what the plan's scheduler has decided of them. Nobody else writes them while the lease is held: a
    conflict is an error. ``documents`` are their records by name; ``check`` raises once the lease is lost.
    """

    def __init__(
        self,
        records: Records,
        lease: Lease,
        check: t.Callable[[], None],
        plan: PlacementPlan,
        documents: t.Mapping[str, Document],
    ) -> None:
        self.lease = lease
        self._records = records
        self._check = check
        self._key = plan.key
        self._documents = dict(documents)
        self._unanswered: dict[str, Record] = {}
        self._kept: dict[str, RolloutBinding] = {}
        self.state = RolloutState(bindings=tuple(_begun_with(plan, documents)))

    def load(self) -> None:
        """Only checks the lease: nobody else writes while it is held. FleetError ``lease-lost``."""
        self._check()

    def note(self, change: Change[RolloutState]) -> None:
        """Makes the change, which is stored with the next state."""
        self.state = change(self.state)

    def renew(self) -> None:
        """Only checks the lease, which is renewed elsewhere. FleetError ``lease-lost``."""
        self._check()

    def store(self, state: RolloutState, in_flight: bool) -> bool:
        """Writes the bindings that have changed, and deletes the records of those that are gone; an earlier write that
        had no answer is looked up first. Always True; ``in_flight`` does not matter. FleetError ``lease-lost``,
        ``conflict`` or ``already-exists`` where somebody wrote all the same, and others of the records; what was
        written before stays."""
        kept = []
        for each in state.bindings:
            if self._kept.get(each.name) != each or each.name in self._unanswered:
                each = self._written(each)
                self._kept[each.name] = each
            kept.append(each)
        names = {each.name for each in kept}
        for name in self._unanswered.keys() - names:
            self._find_unanswered(name)
        for name in self._documents.keys() - names:
            delete_record(self._records, self._documents[name], self.lease)
            del self._documents[name]
            self._kept.pop(name, None)
        self.state = replace(state, bindings=tuple(kept))
        return True

    def _written(self, held: RolloutBinding) -> RolloutBinding:
        """The binding as it is stored, written only if it differs: one write is one generation, whatever was decided on
        the way to it. FleetError of the records."""
        self._find_unanswered(held.name)
        old = self._documents.get(held.name)
        spec = {**encode(held.binding.spec), "resourceSnapshotName": held.binding.spec.resource_snapshot_name}
        generation = 1 if old is None else old["metadata"]["generation"] + (spec != old["spec"])
        held = RolloutBinding(binding=_stamped(held.binding, generation))
        metadata: Document = (
            {**self._key.metadata_with_finalizer(held.name), "labels": self._key.labels}
            if old is None
            else old["metadata"]
        )
        annotations = _annotations(held.binding)
        metadata = {key: each for key, each in metadata.items() if key != "annotations"}
        new: Document = {
            **(old or {"apiVersion": held.binding.api_version, "kind": self._key.kinds.binding}),
            "metadata": {**metadata, **({"annotations": annotations} if annotations else {})},
            "spec": spec,
        }
        status = encode(held.binding.status)
        if status or (old and "status" in old):
            new["status"] = status
        if new != old:
            self._write(held.name, new)
        return held

    def _write(self, name: str, new: Document) -> None:
        """Replaces or creates the record; one that had no answer is remembered as such. FleetError of the records."""
        write = self._records.replace if name in self._documents else self._records.create
        try:
            self._documents[name] = write(new, self.lease)
        except FleetError as error:
            if error.code in PASSING:
                self._unanswered[name] = new
            raise

    def _find_unanswered(self, name: str) -> None:
        """Takes over what an earlier write without an answer has left; nothing if there was none. FleetError as of
        ``Records.get``."""
        wanted = self._unanswered.get(name)
        if wanted is not None:
            found = result_of_unanswered_write(self._records, wanted, self._documents.get(name))
            if found is not None:
                self._documents[name] = found
            del self._unanswered[name]


def _begun_with(plan: PlacementPlan, documents: t.Mapping[str, Document]) -> t.Iterator[RolloutBinding]:
    """The bindings as the scheduler leaves them. Those of clusters that have left the fleet are there no more, nor
    unscheduled ones without a record."""
    strategy = None if plan.is_by_staged_runs else with_apply_defaults(plan.placement.spec.strategy.apply_strategy)
    gone = {each.cluster for each in plan.clusters if each.change == LOST and each.cause == "left-the-fleet"}
    for binding in plan.bindings:
        document = documents.get(binding.name)
        if binding.spec.target_cluster in gone or (document is None and binding.spec.state == UNSCHEDULED):
            continue
        generation = document["metadata"]["generation"] if document else 0
        yield RolloutBinding(binding=taken_up(binding, generation, strategy))


def taken_up(
    binding: ClusterResourceBinding, generation: int, strategy: ApplyStrategy | None
) -> ClusterResourceBinding:
    """The binding at the start of a run, with conditions that count for ``generation``; without a ``strategy`` it keeps
    its own. Where a write was begun and did not end (HELD_BEFORE) only the condition ``RolloutStarted`` stays. An
    unscheduled one whose removal was begun (REMOVING) has the ``deletion_timestamp``."""
    conditions = tuple(replace(each, observed_generation=generation) for each in binding.status.conditions)
    if HELD_BEFORE in binding.metadata.annotations:
        conditions = tuple(each for each in conditions if each.type == ROLLOUT_STARTED)
    annotations = dict(binding.metadata.annotations)
    removing = annotations.pop(REMOVING, "")
    since = _instant(removing) if removing and binding.spec.state == UNSCHEDULED else None
    metadata = replace(binding.metadata, annotations=annotations, generation=generation, deletion_timestamp=since)
    return replace(
        binding,
        metadata=metadata,
        spec=replace(binding.spec, apply_strategy=strategy or binding.spec.apply_strategy),
        status=replace(binding.status, conditions=conditions),
    )


def _instant(text: str) -> datetime | None:
    """The instant in a text; None for any other text."""
    try:
        return parse_time(text)
    except ValueError:
        return None


def _stamped(binding: ClusterResourceBinding, generation: int) -> ClusterResourceBinding:
    """The binding at this generation; conditions that counted for its former one count for this one."""
    was = binding.metadata.generation
    if was == generation:
        return binding
    conditions = tuple(
        replace(each, observed_generation=generation) if each.observed_generation == was else each
        for each in binding.status.conditions
    )
    return replace(
        binding,
        metadata=replace(binding.metadata, generation=generation),
        status=replace(binding.status, conditions=conditions),
    )


def _annotations(binding: ClusterResourceBinding) -> dict[str, str]:
    """The binding's annotations, with a mark if it is being removed."""
    since = binding.metadata.deletion_timestamp
    marks = {REMOVING: write_time(since)} if since else {}
    return {**binding.metadata.annotations, **marks}
