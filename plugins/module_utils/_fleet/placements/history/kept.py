# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The resource snapshots that the records keep of a placement, how old each is (``age``), which is a roll back, and
which clusters hold which."""

from __future__ import annotations

import typing as t
from datetime import datetime

from ...._core.objects.placements.resource_snapshot import ClusterResourceSnapshot
from ...._core.objects.placements.snapshot_labels import RESOURCE_HASH, RESOURCE_INDEX
from ...._core.resources.history import KeptSnapshot, RolledBack, SnapshotRow, history
from ...recorded import decoded
from ...session import Session
from ..recorded import INDEX, REVISION, ROLLED_BACK, Document, RecordedPlacement, recorded_placement


def snapshot_rows(session: Session, names: t.Iterable[str]) -> tuple[SnapshotRow, ...]:
    """A row for each of the ``kept_snapshots`` of these placements, in the order of ``names``, then of indices. ``age``
    is in seconds, None where it is not known when it was made. FleetError as of ``recorded_placement`` and
    ``kept_snapshots``."""
    return tuple(
        row for name in names for row in _rows(recorded_placement(session.records, name), name, session.clock())
    )


def _rows(recorded: RecordedPlacement, name: str, now: datetime) -> t.Iterator[SnapshotRow]:
    """The rows of one placement as of ``snapshot_rows``; clusters, sorted, are those whose bindings name the snapshot.
    FleetError as of ``kept_snapshots``."""
    kept = kept_snapshots(recorded)
    holders: dict[str, list[str]] = {}
    for each in recorded.known.bindings:
        holders.setdefault(each.held_snapshot, []).append(each.spec.target_cluster)
    for step in history(kept):
        yield SnapshotRow(
            placement=name,
            step=step,
            latest=step.snapshot is kept[-1],
            clusters=tuple(sorted(holders.get(step.snapshot.name, ()))),
            age=(now - step.snapshot.created).total_seconds() if step.snapshot.created else None,
        )


def kept_snapshots(recorded: RecordedPlacement) -> tuple[KeptSnapshot, ...]:
    """The resource snapshots of the placement in the order of their indices, each with the content of all its parts;
    one without its hash is left out; none of what is ``remembered``. FleetError ``record-damaged``."""
    return tuple(
        _kept(each, recorded)
        for each in recorded.resource_snapshots
        if RESOURCE_HASH in (each["metadata"].get("annotations") or {})
    )


def _kept(master: Document, recorded: RecordedPlacement) -> KeptSnapshot:
    """The snapshot of a ``master`` record with the content of all parts; ``rolled_back`` None unless a roll back has
    made it. FleetError ``record-damaged``."""
    metadata = master["metadata"]
    annotations = metadata["annotations"]
    revision, back = str(annotations.get(REVISION, "")), str(annotations.get(ROLLED_BACK, ""))
    return KeptSnapshot(
        name=metadata["name"],
        index=int(metadata["labels"][RESOURCE_INDEX]),
        hash=annotations[RESOURCE_HASH],
        manifests=recorded.known.earlier[metadata["name"]].manifests,
        created=decoded(ClusterResourceSnapshot, {**master, "spec": {}}).metadata.creation_timestamp,
        revision=revision,
        rolled_back=RolledBack(index=int(back), revision=revision) if INDEX.fullmatch(back) else None,
    )
