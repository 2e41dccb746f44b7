# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Nodes that a pool could make: one option for each instance type and offering that its requirements admit."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..objects.clusters.member_cluster import Taint
from ..schema.prop import prop
from ..values.node_selector import compatible
from ..values.selector import IN
from .cluster_state import ClusterState, StatePool
from .pod import Pod
from .pod_fit import refusal
from .pod_reading import read
from .state_node import POOL, free_of


@dataclass(frozen=True, kw_only=True)
class Option:
    """One thing that a new node could be; ``free`` is what the DaemonSets of the cluster leave of it."""

    pool: str
    instance_type: str
    zone: str
    capacity_type: str
    price: float | None
    available: bool
    labels: t.Mapping[str, str]
    taints: tuple[Taint, ...]
    free: t.Mapping[str, int]

    def as_dict(self) -> dict[str, t.Any]:
        return {
            "instanceType": self.instance_type,
            "zone": self.zone,
            "capacityType": self.capacity_type,
            "price": self.price,
        }


@dataclass(frozen=True, kw_only=True)
class _ClaimTemplate:
    taints: tuple[Taint, ...] = prop("Taints of its nodes.", default=())


@dataclass(frozen=True, kw_only=True)
class _Template:
    spec: _ClaimTemplate = prop("Spec.", default=_ClaimTemplate())


@dataclass(frozen=True, kw_only=True)
class _PoolSpec:
    weight: int = prop("Pools with more are tried first.", default=0)
    template: _Template = prop("Template.", default=_Template())


@dataclass(frozen=True, kw_only=True)
class _PoolManifest:
    spec: _PoolSpec = prop("Spec.", default=_PoolSpec())


def options_by_pool(state: ClusterState) -> list[tuple[Option, ...]]:
    """What each pool could make, in the order in which pools are tried: by weight, then by name.

    Static pools and those of other providers make nothing for pods.
    """
    pools = [each for each in state.pools.values() if each.managed and not each.static and each.instance_types]
    rows = [(read(_PoolManifest, each.pool.manifest, f"NodePool {each.name}").spec, each) for each in pools]
    ordered = sorted(rows, key=lambda row: (-row[0].weight, row[1].name))
    return [tuple(_options(pool, spec.template.spec.taints, state.daemons)) for spec, pool in ordered]


def _options(pool: StatePool, taints: tuple[Taint, ...], daemons: tuple[Pod, ...]) -> t.Iterator[Option]:
    for kind in pool.instance_types or ():
        for offering in kind.offerings:
            labels = _labels(pool, kind.node_labels(offering))
            if labels is None:
                continue
            running = [each for each in daemons if not refusal(each, labels, taints)]
            yield Option(
                pool=pool.name,
                instance_type=kind.name,
                zone=offering.zone,
                capacity_type=offering.capacity_type,
                price=offering.cost,
                available=offering.available,
                labels=labels,
                taints=taints,
                free=free_of(kind.allocatable, running),
            )


def _labels(pool: StatePool, of_type: t.Mapping[str, str]) -> dict[str, str] | None:
    """The labels of such a node, None if the pool does not admit it.

    A label that the type does not have comes from the requirement: the first of its values.
    """
    given = {each.key: min(each.values) for each in pool.requirements if each.operator == IN and each.values}
    labels = {**given, **pool.labels, **of_type, POOL: pool.name}
    return labels if all(compatible(each, labels) for each in pool.requirements) else None
