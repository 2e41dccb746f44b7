# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a cluster holds, or is to hold, of a placement: a resource snapshot with names of override snapshots; and a
binding as rollouts look at it."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..objects.placements.binding import ClusterResourceBinding
from ..schema.meta import NamespacedName


@dataclass(frozen=True, kw_only=True)
class Overrides:
    """Names of the overrides that a binding carries, in the order in which they apply: of ClusterResourceOverrides
    (``cluster``), and of ResourceOverrides. Ours are of effects (``effect_name``), KubeFleet's of override
    snapshots."""

    cluster: tuple[str, ...] = ()
    namespaced: tuple[NamespacedName, ...] = ()


NO_OVERRIDES = Overrides()
OverridesByCluster = t.Mapping[str, Overrides]
"""By name of the cluster; a cluster without an entry has none."""


@dataclass(frozen=True, kw_only=True)
class Content:
    """What a cluster holds, or is to hold: ``resource_snapshot`` is the name of the snapshot's first part, empty for
    nothing."""

    resource_snapshot: str = ""
    overrides: Overrides = NO_OVERRIDES


@dataclass(frozen=True, kw_only=True)
class RolloutBinding:
    """A binding, as rollouts look at it."""

    binding: ClusterResourceBinding

    @property
    def name(self) -> str:
        """Name of the binding."""
        return self.binding.metadata.name

    @property
    def cluster(self) -> str:
        """Name of the cluster that it binds."""
        return self.binding.spec.target_cluster

    @property
    def state(self) -> str:
        """Scheduled, Bound or Unscheduled, or whatever else the record says."""
        return self.binding.spec.state

    @property
    def deleting(self) -> bool:
        """Whether its deletion was asked for."""
        return self.binding.metadata.deletion_timestamp is not None

    @property
    def content(self) -> Content:
        """What its spec names, whether the cluster has it yet or not."""
        spec = self.binding.spec
        overrides = Overrides(
            cluster=spec.cluster_resource_override_snapshots, namespaced=spec.resource_override_snapshots
        )
        return Content(resource_snapshot=spec.resource_snapshot_name, overrides=overrides)


@dataclass(frozen=True, kw_only=True)
class WantedContent:
    """What every cluster is to hold; ``resource_snapshot`` is empty while there is none yet."""

    resource_snapshot: str
    overrides: OverridesByCluster

    def content_on(self, cluster: str) -> Content:
        """What this cluster is to hold, with the overrides that act there, if any."""
        overrides = self.overrides.get(cluster, NO_OVERRIDES)
        return Content(resource_snapshot=self.resource_snapshot, overrides=overrides)


def sorted_by_name(held: t.Iterable[RolloutBinding]) -> list[RolloutBinding]:
    """The bindings by name."""
    return sorted(held, key=lambda each: each.name)
