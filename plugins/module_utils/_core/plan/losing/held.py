# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a cluster holds of a placement, by its binding and the recorded snapshots: what is known to be there, what
writes that did not end may have put there (``leftover``), and how much of it a plan takes away, for the brake on
objects (``max_object_removals``)."""

from __future__ import annotations

import typing as t

from ...objects.identity import ObjectId, ObjectKey
from ...objects.placements.binding import HELD_BEFORE, ClusterResourceBinding
from ...resources.snapshots import snapshot_index
from ..brakes import ObjectLoss
from ..document import LOST, ClusterPlan

SnapshotContents = t.Mapping[str, tuple[ObjectId, ...]]
"""The objects of each recorded snapshot, by its name."""


def holds_any(binding: ClusterResourceBinding) -> bool:
    """Whether its cluster is known to hold a snapshot."""
    return bool(binding.held_snapshot)


def held_objects(contents: SnapshotContents, binding: ClusterResourceBinding) -> tuple[ObjectId, ...]:
    """The objects of the snapshot that the cluster holds, but those left out there; none where no record has it."""
    there = contents.get(binding.held_snapshot, ())
    return tuple(each for each in there if each.key not in binding.left_out)


def begun_objects(contents: SnapshotContents, binding: ClusterResourceBinding) -> tuple[ObjectId, ...]:
    """The objects of the snapshot whose write was begun there and is not known to have ended: they count as held, also
    what overrides leave out of them, as that is not known."""
    return contents.get(binding.spec.resource_snapshot_name, ()) if HELD_BEFORE in binding.metadata.annotations else ()


def left_over(contents: SnapshotContents, binding: ClusterResourceBinding) -> dict[ObjectKey, ObjectId]:
    """What runs that did not end may have put there: the contents of snapshots newer than the one that is held, of all
    where none is, and, where a write was begun, that of the snapshot which it was to bring, and what was left out of
    the one held. Objects that are held as well are among it."""
    had, begun = binding.held_snapshot, begun_objects(contents, binding)
    newest = snapshot_index(had) if had else -1
    marked = HELD_BEFORE in binding.metadata.annotations
    again = (each for each in contents.get(had, ()) if marked and each.key in binding.left_out)
    newer = (each for name, ids in contents.items() if snapshot_index(name) > newest for each in ids)
    return {each.key: each for each in (*again, *newer, *begun)}


def object_losses(
    contents: SnapshotContents, bindings: t.Iterable[ClusterResourceBinding], clusters: t.Iterable[ClusterPlan]
) -> list[ObjectLoss]:
    """In the order of ``clusters``, how much each loses that keeps or gets the placement and has a binding already: of
    what it is known to hold, and, where a write was begun, a second one of that and the write's objects together, so
    that a write cut short permits no more. Of several bindings of a cluster one that holds something counts."""
    before = {each.spec.target_cluster: each for each in sorted(bindings, key=holds_any)}
    found = []
    for each in clusters:
        binding = before.get(each.cluster)
        if each.change == LOST or binding is None:
            continue
        held, begun = held_objects(contents, binding), begun_objects(contents, binding)
        found.append(ObjectLoss(cluster=each.cluster, held=len(held), deleted=len(each.prune)))
        if begun:
            there = {one.key for one in (*held, *begun)}
            found.append(ObjectLoss(cluster=each.cluster, held=len(there), deleted=each.counted))
    return found
