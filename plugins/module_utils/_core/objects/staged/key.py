# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which staged update run is meant, and of which kinds is what belongs to it."""

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
        """The run that a text names."""
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
        """By which its approval requests are found, in its namespace."""
        return {RUN_LABEL: self.name}

    def metadata(self, name: str) -> dict[str, t.Any]:
        """Name and namespace of a record of its own."""
        return {"name": name, **({"namespace": self.namespace} if self.namespace else {})}

    def record(self, name: str) -> str:
        """What ``Records`` call its strategy or its approval request of this name."""
        return str(RunKey(self.namespace, name))

    def placement(self, name: str) -> PlacementKey:
        """The placement that it calls so."""
        return PlacementKey(self.namespace, name)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name
