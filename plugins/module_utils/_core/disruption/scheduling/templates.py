# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which pools may make nodes (Ready, weight, not static), within what ``spec.limits`` and domains, and from what
templates; what DaemonSets take of these (Karpenter, ``scheduling/nodeclaimtemplate.go``)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace

from ...cluster.cluster_state import StatePool
from ...cluster.pod import Pod
from ...cluster.pod_reading import nano_amounts, read_as
from ...cluster.pod_requests import summed_requests
from ...cluster.state_node import POOL
from ...objects.clusters.member_cluster import Taint
from ...objects.clusters.tolerations import first_untolerated
from ...schema.meta import EMPTY, Condition, find_condition
from ...schema.prop import prop
from ...values.selector import IN
from .kinds import CatalogueType, Kinds, matching, types_for_min_values
from .requirement import (
    LabelRequirement,
    Requirements,
    compatible,
    intersected,
    intersects,
    narrow,
    of_labels,
    requirement,
)
from .rooms import Ports
from .simulation import NewNode
from .wishes import Wishes

NODES = "nodes"
READY = "Ready"
SOFT = "PreferNoSchedule"


@dataclass(frozen=True, kw_only=True)
class _Row:
    key: str = prop("Label.")
    operator: str = prop("How it is compared.")
    values: tuple[str, ...] = prop("Values.", default=())
    min_values: int | None = prop("Fewest different values.", default=None)


@dataclass(frozen=True, kw_only=True)
class _Reference:
    group: str = prop("Group.", default="")
    kind: str = prop("Kind.", default="")
    name: str = prop("Name.", default="")


@dataclass(frozen=True, kw_only=True)
class _Claim:
    node_class_ref: _Reference = prop("Class.", default=_Reference())
    requirements: tuple[_Row, ...] = prop("What nodes may be made.", default=())
    taints: tuple[Taint, ...] = prop("Taints of its nodes.", default=())


@dataclass(frozen=True, kw_only=True)
class _Template:
    spec: _Claim = prop("Spec.", default=_Claim())


@dataclass(frozen=True, kw_only=True)
class _Spec:
    weight: int = prop("Pools with more are tried first.", default=0)
    limits: t.Mapping[str, str] = prop("The most that its nodes have together.", default=EMPTY, quantity=True)
    template: _Template = prop("Template.", default=_Template())


@dataclass(frozen=True, kw_only=True)
class _Status:
    conditions: tuple[Condition, ...] = prop("Conditions.", default=())


@dataclass(frozen=True, kw_only=True)
class _Pool:
    spec: _Spec = prop("Spec.", default=_Spec())
    status: _Status = prop("Status.", default=_Status())


@dataclass(frozen=True)
class MakingPool:
    """A pool that may make nodes for pods. ``limits`` are in 10^-9 of each resource's unit, ``nodes`` among them.
    ``requirements`` are its own and its labels, ``template`` also all other labels that its nodes get; ``kinds`` are
    all its types."""

    pool: StatePool
    weight: int
    limits: t.Mapping[str, int]
    taints: tuple[Taint, ...]
    requirements: Requirements
    template: Requirements
    kinds: Kinds

    @property
    def name(self) -> str:
        """Name of the NodePool."""
        return self.pool.name


@dataclass(frozen=True)
class DaemonGroup:
    """Types on whose nodes the same DaemonSets run, and what these take: ``overhead`` in 10^-9 of each resource's unit,
    host ports by pod."""

    kinds: Kinds
    overhead: t.Mapping[str, int]
    ports: Ports


@dataclass(frozen=True)
class Template:
    """A pool with the types that its own demands leave, and the same in groups by the DaemonSets that run on them."""

    pool: MakingPool
    requirements: Requirements
    kinds: Kinds
    groups: tuple[DaemonGroup, ...]


def making_pools(pools: t.Iterable[StatePool]) -> list[MakingPool]:
    """The pools that may make nodes, those with more weight first, then by name from the end of the alphabet.

    Left out are static ones, those of other providers, on their way out, or with conditions that do not say Ready.
    FleetError ``undecodable``, also for a pool that is left out unless its provider is another; ``invalid-quantity``.
    """
    rows = [(read_as(_Pool, each.pool.manifest, f"NodePool {each.name}"), each) for each in pools if each.managed]
    found = [
        _making(row, pool)
        for row, pool in rows
        if not pool.static and pool.pool.metadata.deletion_timestamp is None and _ready(row)
    ]
    found.sort(key=lambda one: one.name, reverse=True)
    return sorted(found, key=lambda one: -one.weight)


def pool_limits(pool: StatePool) -> t.Mapping[str, int]:
    """``spec.limits`` of a pool of any sort, in 10^-9 of each resource's unit, empty without limits. FleetError
    ``undecodable``, ``invalid-quantity``."""
    return nano_amounts(
        read_as(_Pool, pool.pool.manifest, f"NodePool {pool.name}").spec.limits, f"NodePool {pool.name}"
    )


def static_node(pool: StatePool) -> NewNode:
    """The node that a pool with ``replicas`` starts, under the name ``new-1``: all that it demands, without types,
    since the provider chooses. FleetError as of ``pool_limits``."""
    making = _making(read_as(_Pool, pool.pool.manifest, f"NodePool {pool.name}"), pool)
    return NewNode("new-1", pool.name, making.template, ())


def template(of: MakingPool, daemons: t.Sequence[Pod], known: frozenset[str]) -> tuple[Template | None, bool]:
    """What the pool makes nodes from, None if its demands leave no type that can be had now, or too few for
    ``minValues``; and whether ``minValues`` is why. ``daemons`` are one pod of each DaemonSet; ``known``, labels that
    pods may ask about freely."""
    kept = tuple(each for each in of.kinds if matching(each, of.template) and each.offered(of.template))
    short = types_for_min_values(kept, of.template)[1]
    if not kept or short is not None:
        return None, short is not None
    return Template(of, of.template, kept, tuple(_groups(of, kept, daemons, known))), False


def _making(row: _Pool, pool: StatePool) -> MakingPool:
    """The pool as one that makes nodes, whatever its conditions. FleetError ``invalid-quantity`` for a limit that is
    none."""
    spec = row.spec.template.spec
    own: Requirements = {}
    for each in spec.requirements:
        narrow(own, requirement(each.key, each.operator, each.values, each.min_values))
    reference = spec.node_class_ref
    labels = pool.labels | {POOL: pool.name, f"{reference.group}/{reference.kind.lower()}": reference.name}
    simulated = {"karpenter.sh/registered": "true", "karpenter.sh/initialized": "true"}
    return MakingPool(
        pool=pool,
        weight=row.spec.weight,
        limits=nano_amounts(row.spec.limits, f"NodePool {pool.name}"),
        taints=spec.taints,
        requirements=intersected(own, of_labels(pool.labels)),
        template=intersected(intersected(own, of_labels(labels)), of_labels(simulated)),
        kinds=tuple(CatalogueType(each) for each in pool.instance_types or ()),
    )


def _ready(row: _Pool) -> bool:
    """Whether the condition Ready is True; without it, whether there is no condition at all."""
    condition = find_condition(row.status.conditions, READY)
    return condition.status == "True" if condition is not None else not row.status.conditions


def _groups(of: MakingPool, kinds: Kinds, daemons: t.Sequence[Pod], known: frozenset[str]) -> t.Iterator[DaemonGroup]:
    """The types in groups by the DaemonSets that would run on them, in the order of the first type of each."""
    by_daemons: dict[tuple[str, ...], tuple[list[CatalogueType], list[Pod]]] = {}
    for kind in kinds:
        running = [each for each in daemons if _runs_on(each, of, kind, known)]
        key = tuple(sorted(each.key for each in running))
        by_daemons.setdefault(key, ([], running))[0].append(kind)
    for group, running in by_daemons.values():
        ports = {each.key: each.host_ports for each in running if each.host_ports}
        yield DaemonGroup(tuple(group), summed_requests(running), ports)


def _runs_on(daemon: Pod, of: MakingPool, kind: CatalogueType, known: frozenset[str]) -> bool:
    """Whether the pod of a DaemonSet would run on nodes of the type: it tolerates the pool's taints, soft ones left
    aside, and any of its alternatives is met."""
    wishes = Wishes.of(daemon)
    hard = tuple(each for each in of.taints if each.effect != SOFT)
    if first_untolerated(hard, wishes.tolerations) is not None:
        return False
    rest = wishes.terms or (None,)
    for place in range(len(rest)):
        asked = _demands_at(wishes, place)
        if compatible(of.template, asked, known) and intersects(kind.requirements, asked):
            return True
    return False


def _demands_at(wishes: Wishes, place: int) -> Requirements:
    """What the alternative at that place of a pod's node affinity asks for, with its node selector, preferences left
    aside."""
    return replace(wishes, terms=wishes.terms[place:]).requirements(wishes=False)


def possible_domains(pools: t.Iterable[MakingPool]) -> dict[str, dict[str, list[tuple[Taint, ...]]]]:
    """By label: the values that nodes of pools could have, none where these are open, each with the taints of the pools
    that could make them; a pool without taints stands for all. Pools without instance types are left out.

    What a demand excludes counts too, as upstream, unless the catalogue narrows it.
    """
    out: dict[str, dict[str, list[tuple[Taint, ...]]]] = {}
    for pool in pools:
        if not pool.kinds:
            continue
        rows: list[LabelRequirement] = []
        for kind in pool.kinds:
            rows += intersected(pool.requirements, kind.requirements).values()
        rows += [each for each in pool.requirements.values() if each.operator == IN]
        for key, value in dict.fromkeys((each.key, value) for each in rows for value in sorted(each.values)):
            _note(out.setdefault(key, {}), value, pool.taints)
        for each in rows:
            out.setdefault(each.key, {})
    return out


def _note(domains: dict[str, list[tuple[Taint, ...]]], value: str, taints: tuple[Taint, ...]) -> None:
    """Adds a value with the taints of one more pool, in place; a pool without taints replaces all others, and none is
    added beside it."""
    known = domains.get(value)
    if known is None or not taints:
        domains[value] = [taints]
    elif known[0]:
        known.append(taints)
