# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which staged update run is meant, by namespace and name, and of which KubeFleet kinds its strategy and approvals
are."""

from __future__ import annotations

from dataclasses import dataclass

from ..identity import ScopedName
from ..placements.key import PlacementKey
from .approval import RUN_LABEL


@dataclass(frozen=True)
class RunKinds:
    """A kind of staged update run, and the kinds of its strategy and of what it asks for."""

    run: str
    strategy: str
    approval: str


CLUSTER_SCOPED = RunKinds("ClusterStagedUpdateRun", "ClusterStagedUpdateStrategy", "ClusterApprovalRequest")
NAMESPACED = RunKinds("StagedUpdateRun", "StagedUpdateStrategy", "ApprovalRequest")
RUN_KINDS = (CLUSTER_SCOPED, NAMESPACED)
# Those that people write.
DEFINED_KINDS = tuple(kind for each in RUN_KINDS for kind in (each.run, each.strategy))


@dataclass(frozen=True, order=True)
class RunKey(ScopedName):
    """Which staged update run is meant; ``namespace`` is empty for a ClusterStagedUpdateRun. Whatever belongs to a run
    lies in its namespace. Ordered by namespace, then name."""

    @property
    def kinds(self) -> RunKinds:
        """The kind of the run and those of its strategy and approval requests: the cluster-scoped ones without a
        namespace, else the namespaced ones."""
        return NAMESPACED if self.namespace else CLUSTER_SCOPED

    @property
    def title(self) -> str:
        """Kind and name, as problems have them: ``ClusterStagedUpdateRun/web``, ``StagedUpdateRun/shop/web``."""
        return f"{self.kinds.run}/{self}"

    @property
    def labels(self) -> dict[str, str]:
        """The label that is on all of its approval requests, by which they are found in its namespace; a new dict."""
        return {RUN_LABEL: self.name}

    def placement(self, name: str) -> PlacementKey:
        """The key of the placement of that name, in the namespace of the run if it has one."""
        return PlacementKey(self.namespace, name)
