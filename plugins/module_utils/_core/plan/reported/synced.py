# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""KubeFleet's condition ``StatusSynced`` (``statusReportingScope: NamespaceAccessible``): whether the status of a
placement stands in its namespace, too."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from ...objects.placements.cluster_resource_placement import STANDS_IN, STATUS_SYNCED, PlacementStatus
from ...schema.meta import find_condition, next_condition


def with_synced(
    status: PlacementStatus, previous: PlacementStatus, namespace: str, failed: str, generation: int, now: datetime
) -> PlacementStatus:
    """``status`` with the condition ``StatusSynced`` at its end: True, or False where ``failed`` says why it could not
    be written into the ``namespace``. Its transition time is ``now``, but where ``previous`` has it with the same
    status. ``generation`` is that of the placement."""
    if failed:
        row = ("False", "StatusSyncFailed", f"the status could not be written into namespace {namespace}: {failed}")
    else:
        row = ("True", "StatusSyncSucceeded", f"{STANDS_IN}{namespace}")
    old = find_condition(previous.conditions, STATUS_SYNCED)
    condition = next_condition(old, STATUS_SYNCED, row, now, generation)
    return replace(status, conditions=(*without_synced(status).conditions, condition))


def without_synced(status: PlacementStatus) -> PlacementStatus:
    """The status without the condition ``StatusSynced``, as it is written into the namespace."""
    return replace(status, conditions=tuple(each for each in status.conditions if each.type != STATUS_SYNCED))
