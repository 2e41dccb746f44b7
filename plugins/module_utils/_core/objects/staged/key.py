# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which staged update run is meant, by namespace and name, and of which KubeFleet kinds its strategy and approvals
are."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

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


@dataclass(frozen=True, order=True)
class RunKey:
    """``namespace`` is empty for a ClusterStagedUpdateRun. As text it is ``namespace/name`` or the name: no name has a
    slash, so that no two runs have one text. Whatever belongs to a run lies in its namespace."""

    namespace: str
    name: str

    @classmethod
    def of(cls, text: str) -> RunKey:
        """The run that a text names: ``namespace/name``, or the name of a ClusterStagedUpdateRun."""
        namespace, _slash, name = text.rpartition("/")
        return cls(namespace, name)

    @property
    def kinds(self) -> RunKinds:
        """Its own kind and those of what belongs to it."""
        return NAMESPACED if self.namespace else CLUSTER_SCOPED

    @property
    def title(self) -> str:
        """Kind and name, as problems have them."""
        return f"{self.kinds.run}/{self}"

    @property
    def labels(self) -> dict[str, str]:
        """The label that is on all of its approval requests, by which they are found in its namespace."""
        return {RUN_LABEL: self.name}

    def metadata(self, name: str) -> dict[str, t.Any]:
        """``metadata`` of a record of its own: the name that is given, and its namespace if it has one."""
        return {"name": name, **({"namespace": self.namespace} if self.namespace else {})}

    def record(self, name: str) -> str:
        """The name by which ``Records`` know its strategy or approval request: ``namespace/name``, or the name
        alone."""
        return str(RunKey(self.namespace, name))

    def placement(self, name: str) -> PlacementKey:
        """The placement of that name, in the namespace of the run if it has one."""
        return PlacementKey(self.namespace, name)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name
