# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Nodes that are to be made, while pods are put on them in thought (Karpenter, ``scheduling/nodeclaim.go``).

A new node is all types that take its pods, and each further pod narrows them.
"""

from __future__ import annotations

import typing as t

from ...objects.clusters.tolerations import first_untolerated
from .kinds import CatalogueType, Kinds, matching, types_for_min_values
from .requirement import LabelRequirement, Requirements, compatible, has_min_values, intersected
from .rooms import Ports, port_clash
from .templates import Template
from .topology import PodTopology
from .wishes import HOSTNAME, PodDemands

# What was found out about types before: by template, types so far, demands and amounts.
Memory = dict[t.Any, Kinds]


class NewClaim:
    """A node to be made from a template, ``pods`` being those put on it in thought. ``kinds`` are the types that are
    left, ``requests`` what its pods take, in 10^-9 of each resource's unit. ``memory``, for what was worked out once,
    is shared by all."""

    __slots__ = ("hostname", "kinds", "memory", "name", "pods", "ports", "requests", "requirements", "template")

    def __init__(self, name: str, template: Template, kinds: Kinds, memory: Memory) -> None:
        self.name, self.template, self.kinds, self.memory = name, template, kinds, memory
        self.hostname = f"hostname of {name}"
        self.requirements: Requirements = dict(template.requirements)
        self.requirements[HOSTNAME] = LabelRequirement(HOSTNAME, frozenset((self.hostname,)))
        self.pods: list[PodDemands] = []
        self.requests: dict[str, int] = {}
        self.ports: Ports = {}

    def take(self, asked: PodDemands, topology: PodTopology, known: frozenset[str]) -> bool:
        """Puts the pod on it if it can be, and counts it in ``topology``; False, with nothing changed, if it cannot.
        ``known`` are labels about which pods may ask although the pool does not speak of them."""
        taints = self.template.pool.taints
        if taints and first_untolerated(taints, asked.wishes.tolerations) is not None:
            return False
        if not compatible(self.requirements, asked.requirements, known):
            return False
        demands = intersected(self.requirements, asked.requirements)
        if asked.volumes:
            if not compatible(demands, asked.volumes, known):
                return False
            demands = intersected(demands, asked.volumes)
        between = topology.demands(asked, taints, demands)
        if between is None or not compatible(demands, between, known):
            return False
        demands = intersected(demands, between)
        requests = dict(self.requests)
        for name, amount in asked.requests.items():
            requests[name] = requests.get(name, 0) + amount
        kinds = self._left(asked, demands, requests)
        if not kinds:
            return False
        self.pods.append(asked)
        self.kinds, self.requests, self.requirements = kinds, requests, demands
        if asked.ports:
            self.ports = {**self.ports, asked.key: asked.ports}
        topology.record(asked, taints, demands)
        return True

    def final_requirements(self) -> Requirements:
        """What it demands, in a new dict, without the hostname that it had only in thought."""
        return {key: one for key, one in self.requirements.items() if key != HOSTNAME}

    def _left(self, asked: PodDemands, demands: Requirements, requests: dict[str, int]) -> Kinds:
        """The types as of ``_filtered``, worked out once for all claims that ask the same, unless host ports are asked
        for."""
        if asked.ports or self.ports:
            return self._filtered(asked, demands, requests)
        known = (
            id(self.template),
            id(self.kinds),
            frozenset(each.identity for key, each in demands.items() if key != HOSTNAME),
            frozenset(requests.items()),
        )
        found = self.memory.get(known)
        if found is None:
            found = self.memory[known] = self._filtered(asked, demands, requests)
            # The tuple behind an id must not make room for another while the memory lives.
            self.memory.setdefault(("kept", id(self.kinds)), self.kinds)
        return found

    def _filtered(self, asked: PodDemands, demands: Requirements, requests: dict[str, int]) -> Kinds:
        """The types that meet the demands, have room beside their daemons and free host ports, and can be had; none at
        all if they are too few for ``minValues``."""
        able = {id(each) for each in self.kinds}
        kept: list[CatalogueType] = []
        for group in self.template.groups:
            if asked.ports and (port_clash(asked, group.ports) or port_clash(asked, self.ports)):
                continue
            total = dict(group.overhead)
            for name, amount in requests.items():
                total[name] = total.get(name, 0) + amount
            kept += [
                each
                for each in group.kinds
                if id(each) in able and each.fits(total) and matching(each, demands) and each.offered(demands)
            ]
        if kept and has_min_values(demands) and types_for_min_values(tuple(kept), demands)[1] is not None:
            return ()
        return tuple(kept)
