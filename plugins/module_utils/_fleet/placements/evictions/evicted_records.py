# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What is recorded of a placement once it was evicted from a cluster: a line in its journal (``PlacementEvicted``), and
its status without the cluster's row."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from ...._core.errors import FleetError
from ...._core.objects.placements.cluster_resource_placement import ClusterResourcePlacement
from ...._core.schema.codec import encode
from ...._store.records import Lease, replace_unless_moved
from ...session import Session
from ..recorded import placement_of
from ..reported.in_namespace import StatusInNamespace

KIND = "ClusterResourcePlacement"
_ATTEMPTS = 5


def record_evicted(
    session: Session, placement: ClusterResourcePlacement, cluster: str, why: str, now: datetime, lease: Lease
) -> None:
    """Journals that the placement was evicted, and ``why``; then takes the cluster's row out of its status, and out of
    the copy in a namespace. What others write meanwhile is read anew. FleetError ``conflict`` if they do so at every
    attempt, and others of the records."""
    records, name = session.records, placement.name
    session.journal(KIND, name, "PlacementEvicted", f"evicted from {cluster}: {why}")
    copy = StatusInNamespace.of(records, session.hub is not None, placement)
    for _attempt in range(_ATTEMPTS):
        document = records.get(KIND, name)
        if document is None:
            return
        status = placement_of(document).status
        kept = tuple(row for row in status.placement_statuses if row.cluster_name != cluster)
        if kept == status.placement_statuses:
            return
        status = replace(status, placement_statuses=kept)
        status, failed = copy.write(status, status, document["metadata"]["generation"], now, lease)
        if replace_unless_moved(records, {**document, "status": encode(status)}, lease) is not None:
            if failed:
                session.say(f"{name}: {failed.message}")
            return
    hint = f"it was evicted all the same; the next apply takes {cluster} out of its status"
    raise FleetError("conflict", "the placement is being written all the time", f"{KIND}/{name}", hint)
