# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Plugin ``SamePlacementAffinity`` (KubeFleet scheduler): who holds the placement is not picked twice, and who held
it under an older policy is preferred among equals."""

from __future__ import annotations


def passing(everyone: int, held: int) -> int:
    """Clusters of ``everyone`` that are not among those that hold the placement under the current policy (bit sets)."""
    return everyone & ~held


def bonus(obsolete: int, position: int) -> int:
    """1 for a cluster that was picked under an older policy, 0 for others; compared last and never recorded."""
    return obsolete >> position & 1
