# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a pod asks of its place (labels, affinity, spread, tolerations, zone of its volumes), what it gives up, wish by
wish in a fixed order, where there is none (Karpenter, ``scheduling/preferences.go``), and whether a node is made for it
at all (``Provisioner.Validate``)."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass, replace

from ...cluster.pod import Pod
from ...cluster.pod_manifest import PodAffinityTerm, PodSpread
from ...cluster.state_node import POOL, ZONE
from ...objects.placements.policy import Toleration
from ...values.node_selector import GT, LT, NodeSelectorRequirement, NodeSelectorTerm
from ...values.selector import DOES_NOT_EXIST, IN
from .requirement import (
    ALIASES,
    GTE,
    LTE,
    WELL_KNOWN,
    Requirements,
    intersected,
    of_labels,
    of_selector,
)

HOSTNAME = "kubernetes.io/hostname"
CAPACITY_TYPES = frozenset({"reserved", "spot", "on-demand"})
ANYWAY = "ScheduleAnyway"
SOFT_TAINTS = Toleration(operator="Exists", effect="PreferNoSchedule")
_COUNT = re.compile(r"\+?[0-9]{1,18}", re.ASCII)
Weighed = tuple[tuple[int, PodAffinityTerm], ...]


@dataclass(frozen=True)
class Wishes:
    """All that a pod asks for, as far as it has not been given up."""

    pod: Pod
    terms: tuple[NodeSelectorTerm, ...]
    preferred_terms: tuple[tuple[int, NodeSelectorTerm], ...]
    affinity: tuple[PodAffinityTerm, ...]
    preferred_affinity: Weighed
    anti_affinity: tuple[PodAffinityTerm, ...]
    preferred_anti_affinity: Weighed
    spread: tuple[PodSpread, ...]
    tolerations: tuple[Toleration, ...]

    @classmethod
    def of(cls, pod: Pod) -> Wishes:
        """All that the pod asks for, nothing given up; the heaviest wishes first, of equal ones as written."""
        return cls(
            pod=pod,
            terms=pod.node_affinity.terms if pod.node_affinity is not None else (),
            preferred_terms=_heaviest_first(pod.preferred_terms),
            affinity=pod.affinity,
            preferred_affinity=_heaviest_first(pod.preferred_affinity),
            anti_affinity=pod.anti_affinity,
            preferred_anti_affinity=_heaviest_first(pod.preferred_anti_affinity),
            spread=pod.spread,
            tolerations=pod.tolerations,
        )

    def relaxed(self, soft_taints: bool) -> Wishes | None:
        """What the pod asks for without the next wish, in upstream's order: an alternative of the required node
        affinity, while there is another, preferred pod affinity, preferred anti-affinity, preferred node affinity, a
        spread that may be missed; then soft taints are tolerated, if some pool has such a taint (``soft_taints``). None
        if nothing is left to give up."""
        if len(self.terms) > 1:
            return replace(self, terms=self.terms[1:])
        if self.preferred_affinity:
            return replace(self, preferred_affinity=self.preferred_affinity[1:])
        if self.preferred_anti_affinity:
            return replace(self, preferred_anti_affinity=self.preferred_anti_affinity[1:])
        if self.preferred_terms:
            return replace(self, preferred_terms=self.preferred_terms[1:])
        for place, each in enumerate(self.spread):
            if each.when_unsatisfiable == ANYWAY:
                # The last one takes its place, as upstream, where this decides which of several goes next.
                rest = [*self.spread[:place], self.spread[-1], *self.spread[place + 1 : -1]]
                return replace(self, spread=tuple(rest[: len(self.spread) - 1]))
        if soft_taints and SOFT_TAINTS not in self.tolerations:
            return replace(self, tolerations=(*self.tolerations, SOFT_TAINTS))
        return None

    def requirements(self, wishes: bool) -> Requirements:
        """What its node must be: the pod's node selector, the first of the alternatives of its node affinity, and with
        ``wishes`` the heaviest of the preferred ones."""
        found = of_labels(self.pod.node_selector)
        if wishes and self.preferred_terms:
            found = intersected(found, of_selector(self.preferred_terms[0][1].match_expressions))
        if self.terms:
            found = intersected(found, of_selector(self.terms[0].match_expressions))
        return found


class PodDemands:
    """A pod with what it asks for, worked out once: ``strict`` without wishes, ``requirements`` with the heaviest one
    if they are respected. ``shape`` is equal for pods that ask the same of a node alone; ``plain`` ones mind no other
    pods, host ports and volumes; ``amounts`` are CPU, memory and pods, in 10^-9 of their units.

    A pod whose volumes are claims stays in the ``zone`` of its node: disks may be bound to it.
    """

    __slots__ = (
        "amounts",
        "key",
        "plain",
        "pod",
        "ports",
        "requests",
        "requirements",
        "shape",
        "strict",
        "volumes",
        "wishes",
        "zone",
    )

    def __init__(self, wishes: Wishes, respect: bool, zone: str = "") -> None:
        """Works out what the pod of ``wishes`` asks for; ``respect``: its heaviest preference is a demand, too.
        ``zone`` is that of the node that it leaves, empty for none."""
        pod = wishes.pod
        self.wishes, self.pod, self.key = wishes, pod, pod.key
        self.requests, self.zone = pod.requests, zone
        self.amounts = (pod.requests.get("cpu", 0), pod.requests.get("memory", 0), pod.requests.get("pods", 0))
        self.requirements = wishes.requirements(respect)
        self.strict = wishes.requirements(False) if wishes.preferred_terms else self.requirements
        self.ports = pod.host_ports
        self.volumes = of_labels({ZONE: zone}) if pod.bound_volumes and zone else {}
        self.shape = (wishes.tolerations, frozenset(each.identity for each in self.requirements.values()))
        self.plain = not (
            self.ports
            or wishes.spread
            or wishes.affinity
            or wishes.anti_affinity
            or wishes.preferred_affinity
            or wishes.preferred_anti_affinity
            or pod.bound_volumes
        )


def acceptable(pod: Pod) -> bool:
    """Whether a node is made for it at all (Karpenter, ``Provisioner.Validate``): it must not keep away from pools,
    also by its heaviest wish, nor require fields, labels that Karpenter keeps for itself, the hostname among them, or
    values that nothing can have."""
    wishes = Wishes.of(pod)
    own = wishes.requirements(wishes=True).get(POOL)
    if own is not None and own.operator == DOES_NOT_EXIST:
        return False
    if any(each.match_fields for each in wishes.terms):
        return False
    rows = [NodeSelectorRequirement(key, IN, (value,)) for key, value in pod.node_selector.items()]
    return all(map(_valid, [*rows, *(row for each in wishes.terms for row in each.match_expressions)]))


def _valid(row: NodeSelectorRequirement) -> bool:
    """Whether Karpenter takes a row of a pod's selector: no label that it keeps for itself, values for In, a capacity
    type that there is, and a whole number from 0 as a bound."""
    key = ALIASES.get(row.key, row.key)
    domain = key.partition("/")[0] if "/" in key else ""
    kept = domain == "karpenter.sh" or domain.endswith(".karpenter.sh") or key == HOSTNAME
    if key not in WELL_KNOWN and kept:
        return False
    if row.operator == IN and not row.values:
        return False
    if row.operator == IN and key == "karpenter.sh/capacity-type" and CAPACITY_TYPES.isdisjoint(row.values):
        return False
    if row.operator in (GT, LT, GTE, LTE):
        return len(row.values) == 1 and _COUNT.fullmatch(row.values[0]) is not None
    return True


W = t.TypeVar("W")


def _heaviest_first(rows: tuple[tuple[int, W], ...]) -> tuple[tuple[int, W], ...]:
    """The rows by weight, of equal ones as written."""
    return tuple(sorted(rows, key=lambda row: -row[0]))
