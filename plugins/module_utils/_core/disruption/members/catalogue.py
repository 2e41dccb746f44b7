# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The list of instance types that new nodes could be: read and judged (``catalogue-invalid``), or, without one,
observed on the nodes that are there; on-demand offerings priced by a price list, and all put into a state.

No API server tells what a provider offers, and nodes tell only what there is already.
"""

from __future__ import annotations

import dataclasses
import typing as t
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from ...cluster.cluster_state import ClusterState, StatePool
from ...cluster.instance_types import ON_DEMAND, InstanceType, Offering, read_instance_type
from ...cluster.state_node import CAPACITY_TYPE, INSTANCE_TYPE, ZONE, StateNode
from ...errors import FleetError, Problem
from ...schema.meta import EMPTY
from ..scheduling.requirement import WELL_KNOWN

FORM = (
    'such as {"instanceTypes": [{"name": "m.large", "labels": {"kubernetes.io/arch": "amd64"}, "allocatable": '
    '{"cpu": "1900m", "memory": "7Gi", "pods": "110"}, "capacity": {"cpu": "2", "memory": "8Gi", "pods": "110"}, '
    '"offerings": [{"zone": "a", "capacityType": "spot", "price": 0.04}]}]}'
)
# Of one node, or of what made it; the others that providers set describe the type.
_OF_A_NODE = (INSTANCE_TYPE, CAPACITY_TYPE, ZONE)
_KARPENTER, _CORE = "karpenter.", "karpenter.sh/"


@dataclass(frozen=True, kw_only=True)
class Catalogue:
    """The instance types that new nodes could be. ``types`` None: nobody gave a list, and they are taken from the nodes
    that are there (``observed_types``). ``prices`` of an hour, by name of the type, are for on-demand offerings that
    have none."""

    types: tuple[InstanceType, ...] | None = None
    prices: Mapping[str, float] = field(default_factory=lambda: EMPTY, hash=False)

    @property
    def given(self) -> bool:
        """Whether somebody gave a list, be it an empty one."""
        return self.types is not None

    def put_into(self, state: ClusterState) -> ClusterState:
        """A copy of the cluster, every pool of which makes nodes of these types, or without a list of those as of
        ``observed_types``, FleetError included; with ``prices``."""
        types = tuple(map(self._priced, observed_types(state) if self.types is None else self.types))
        pools = {name: dataclasses.replace(each, instance_types=types) for name, each in state.pools.items()}
        return dataclasses.replace(state, pools=pools)

    def _priced(self, kind: InstanceType) -> InstanceType:
        """The type, with the price of ``prices`` in on-demand offerings that have none that is usable."""
        price = self.prices.get(kind.name)
        if price is None:
            return kind
        offerings = tuple(
            dataclasses.replace(each, price=price) if each.capacity_type == ON_DEMAND and each.cost is None else each
            for each in kind.offerings
        )
        return dataclasses.replace(kind, offerings=offerings)


NO_CATALOGUE = Catalogue()


def read_catalogue(document: t.Any, where: str) -> tuple[InstanceType, ...]:
    """The instance types of a list, or of an object with the list as ``instanceTypes``, in its order; ``where`` names
    the file. FleetError ``catalogue-invalid`` with all problems: also for an empty list, a type that stands there twice
    or lacks name, allocatable or offerings, and a price that is none."""
    listed = document.get("instanceTypes") if isinstance(document, Mapping) else document
    if not isinstance(listed, list) or not listed:
        raise FleetError("catalogue-invalid", "this is no list of instance types", where, FORM)
    found: list[InstanceType] = []
    problems: list[Problem] = []
    for place, each in enumerate(listed):
        at = f"{where} instanceTypes[{place}]"
        try:
            kind = read_instance_type(each)
        except FleetError as error:
            problems += [Problem("catalogue-invalid", one.message, at, FORM) for one in error.problems]
            continue
        found.append(kind)
        problems += [Problem("catalogue-invalid", text, at, FORM) for text in _wrong(kind)]
    twice = [name for name, count in Counter(each.name for each in found).items() if count > 1]
    problems += [Problem("catalogue-invalid", f"type {name} stands there twice", where) for name in sorted(twice)]
    if problems:
        raise FleetError.of(problems)
    return tuple(found)


def observed_types(state: ClusterState) -> tuple[InstanceType, ...]:
    """A type for each that nodes with a NodeClaim name, by name: the least that any of them has, the well-known and
    providers' labels in which they agree, those of one node and of pools left out, and the zones and capacity types
    (on-demand where none is said) in which they stand, without prices. FleetError ``invalid-quantity`` for a NodeClaim
    that cannot be read."""
    by_type: dict[str, list[StateNode]] = defaultdict(list)
    for each in state.nodes:
        if each.claim is not None and each.labels.get(INSTANCE_TYPE):
            by_type[each.labels[INSTANCE_TYPE]].append(each)
    of_pools = {key for pool in state.pools.values() for key in _pool_labels(pool)}
    return tuple(_observed(name, nodes, of_pools) for name, nodes in sorted(by_type.items()))


def _observed(name: str, nodes: list[StateNode], of_pools: set[str]) -> InstanceType:
    """The type that these nodes, one at least, are of, as of ``observed_types``, FleetError included; ``of_pools`` are
    the labels to leave out."""
    described = set.intersection(*(set(each.labels.items()) for each in nodes))
    claims = [each.claim.metadata.labels for each in nodes if each.claim is not None]
    places = {
        (labels.get(ZONE, ""), labels.get(CAPACITY_TYPE) or ON_DEMAND)
        for labels in (*(each.labels for each in nodes), *claims)
    }
    return InstanceType(
        name=name,
        labels={key: value for key, value in sorted(described) if _of_the_type(key) and key not in of_pools},
        allocatable=_least_amounts([each.allocatable for each in nodes]),
        capacity=_least_amounts([each.capacity for each in nodes]),
        offerings=tuple(Offering(zone=zone, capacity_type=kind) for zone, kind in sorted(places)),
    )


def _least_amounts(told: t.Sequence[Mapping[str, int]]) -> dict[str, int]:
    """The least of each amount that all of them have, one at least."""
    common = set.intersection(*map(set, told))
    return {key: min(each[key] for each in told) for key in sorted(common)}


def _of_the_type(key: str) -> bool:
    """Whether a label describes a type: a well-known one, or one of a provider (``karpenter.`` and more), but none of
    ``karpenter.sh/``, and not name, capacity type or zone."""
    provided = key.startswith(_KARPENTER) and not key.startswith(_CORE)
    return key not in _OF_A_NODE and not key.startswith(_CORE) and (provided or key in WELL_KNOWN)


def _pool_labels(pool: StatePool) -> set[str]:
    """The keys of labels that the pool, or its class, puts on its nodes."""
    group, kind = pool.pool.template.node_class
    return {*pool.labels, f"{group}/{kind.lower()}"}


def _wrong(kind: InstanceType) -> t.Iterator[str]:
    """What is wrong with a type, in words: no name, no allocatable, no offerings, a price that is none."""
    if not kind.name:
        yield "a type has no name"
    if not kind.allocatable:
        yield f"type {kind.name!r:.60} has nothing that pods could ask for (allocatable)"
    if not kind.offerings:
        yield f"type {kind.name!r:.60} can be had nowhere (offerings)"
    for each in kind.offerings:
        if each.price is not None and each.cost is None:
            yield f"type {kind.name!r:.60}: {each.price!r:.60} is no price of an hour"
