# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which placement is meant, by namespace and name, of which KubeFleet kinds the records are that belong to it, and by
which label (``parent-CRP``) and finalizer (``gitops.fleet/cleanup``)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..identity import ScopedName

PARENT = "kubernetes-fleet.io/parent-CRP"
# The finalizer of a placement, and of what its end on members is read from where its namespace could go before it.
CLEANUP = "gitops.fleet/cleanup"


@dataclass(frozen=True)
class PlacementKinds:
    """A kind of placement, and the kinds of its records."""

    placement: str
    binding: str
    policy_snapshot: str
    resource_snapshot: str


CLUSTER_SCOPED = PlacementKinds(
    "ClusterResourcePlacement",
    "ClusterResourceBinding",
    "ClusterSchedulingPolicySnapshot",
    "ClusterResourceSnapshot",
)
NAMESPACED = PlacementKinds(
    "ResourcePlacement",
    "ResourceBinding",
    "SchedulingPolicySnapshot",
    "ResourceSnapshot",
)
PLACEMENT_KINDS = (CLUSTER_SCOPED, NAMESPACED)


@dataclass(frozen=True, order=True)
class PlacementKey(ScopedName):
    """Which placement is meant; ``namespace`` is empty for a ClusterResourcePlacement. Ordered by namespace, then
    name."""

    @classmethod
    def of_record(cls, document: t.Mapping[str, t.Any]) -> PlacementKey:
        """The placement whose own manifest or record this is, of whatever kind, by the namespace and name in its
        metadata alone; KeyError where there are no metadata, or no name in them."""
        metadata = document["metadata"]
        return cls(str(metadata.get("namespace") or ""), str(metadata["name"]))

    @classmethod
    def of_parent(cls, document: t.Mapping[str, t.Any]) -> PlacementKey:
        """The placement that a record (a binding, a snapshot) belongs to, by its namespace and its label
        ``parent-CRP``; one without a name where it has no such label. KeyError without metadata."""
        metadata = document["metadata"]
        return cls(str(metadata.get("namespace") or ""), str((metadata.get("labels") or {}).get(PARENT, "")))

    @property
    def kinds(self) -> PlacementKinds:
        """The kind of the placement and those of its binding and snapshots: the cluster-scoped ones without a
        namespace, else the namespaced ones."""
        return NAMESPACED if self.namespace else CLUSTER_SCOPED

    @property
    def labels(self) -> dict[str, str]:
        """The label that is on all of its bindings and snapshots, by which they are found in its namespace; a new
        dict."""
        return {PARENT: self.name}

    def metadata_with_finalizer(self, name: str) -> dict[str, t.Any]:
        """``metadata`` for writing a new record of that ``name`` that tells what members hold (a binding, a snapshot),
        in a new dict. One in a namespace bears our finalizer ``gitops.fleet/cleanup``, and so outlives the deletion of
        its namespace until members are cleaned."""
        return {**self.metadata(name), **({"finalizers": [CLEANUP]} if self.namespace else {})}
