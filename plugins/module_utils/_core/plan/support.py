# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Findings ``limited`` for what one placement asks of KubeFleet's API and cannot have here: mirroring of status
(``reportBackStrategy``), and a namespace to report status in (``statusReportingScope``)."""

from __future__ import annotations

from ..errors import Problem
from ..objects.placements.cluster_resource_placement import ClusterResourcePlacement
from .reported.mirror import mirror_obstacle, wants_mirror


def limitations(placement: ClusterResourcePlacement, *, on_hub: bool, from_hub: bool) -> tuple[Problem, ...]:
    """A Problem ``limited`` for mirroring of status and for a namespace to report status in, if the placement asks for
    it and it cannot be done (docs/compatibility.md). ``on_hub``: the records are kept there, and not in a file,
    ``from_hub``: the resources are those on the hub."""
    about, found = f"{placement.kind}/{placement.key} spec", []
    why = mirror_obstacle(placement, from_hub) if wants_mirror(placement) else ""
    if why:
        found.append(Problem("limited", why, f"{about}.strategy.reportBackStrategy", SEE))
    if placement.reporting_namespace and not on_hub:
        found.append(Problem("limited", SCOPE_LIMIT, f"{about}.statusReportingScope", SEE))
    return tuple(found)


SEE = "see docs/compatibility.md"
SCOPE_LIMIT = "the records are kept in a file, and there is no hub into whose namespace the status could be written"
