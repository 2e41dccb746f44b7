# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a placement may ask for that this version does not carry out is said, never passed over in silence."""

from __future__ import annotations

from ..errors import Problem
from ..objects.placements.cluster_resource_placement import ClusterResourcePlacement


def limitations(placement: ClusterResourcePlacement) -> tuple[Problem, ...]:
    """Wishes that are carried out in a simpler way than KubeFleet's, as docs/compatibility.md lists them."""
    strategy = placement.spec.strategy
    where = f"{placement.kind}/{placement.name} spec.strategy"
    said = {
        "reportBackStrategy": strategy.report_back_strategy is not None
        and strategy.report_back_strategy.type == "Mirror",
    }
    spread = placement.spec.status_reporting_scope == "NamespaceAccessible"
    reporting = Problem("limited", SCOPE_LIMIT, f"{placement.kind}/{placement.name} spec.statusReportingScope", SEE)
    found = [Problem("limited", LIMITS[field], f"{where}.{field}", SEE) for field, holds in said.items() if holds]
    return (*found, reporting) if spread else tuple(found)


SEE = "see docs/compatibility.md"
SCOPE_LIMIT = "the status is written on the placement alone, not into the namespace"
LIMITS = {
    "reportBackStrategy": "status is not mirrored to the objects on the hub",
}
