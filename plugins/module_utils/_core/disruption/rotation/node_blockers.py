# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What holds a node of a rotation back by itself: ``deleting``, ``disrupted`` (who else has it), ``node-annotation``,
its protected pods and their PDBs (``pod-annotation``, ``pdb``, ``pdb-several``), these not where a drain has a deadline
(``terminationGracePeriodSeconds``)."""

from __future__ import annotations

from datetime import datetime

from ...cluster.pod import DO_NOT_DISRUPT
from ...cluster.pod_disruption import protection
from ...machine import Blocker
from ..blockers import pod_blockers
from .admission import NO_LIMITS
from .input import RotationInput, RotationNode


class RotationBlockers:
    """What holds back nodes of a rotation at an aware instant, asked node by node. ``until`` collects the instants at
    which protections of pods end. ``past_pods``: a drain has a deadline, so that no pod keeps a node from being
    begun."""

    def __init__(self, sight: RotationInput, now: datetime, past_pods: bool = False) -> None:
        self._sight, self._now, self._past_pods = sight, now, past_pods
        self.until: set[datetime] = set()

    def blockers_of(self, node: RotationNode) -> tuple[Blocker, ...]:
        """What holds the node back: what is its own (``deleting``, ``disrupted``, ``node-annotation``), then, unless
        ``past_pods``, protected pods (``pod-annotation``), then PodDisruptionBudgets (``pdb``, ``pdb-several``), each
        by their text. Adds to ``until`` the ends of its pods' protections, if one holds."""
        found = []
        if node.deleting:
            found.append(Blocker("deleting", f"node {node.name} is deleting or marked for deletion"))
        if self._sight.by_another(node):
            found.append(Blocker("disrupted", f"node {node.name} is in the hands of {node.disruptor}"))
        if node.annotated:
            text = f"node {node.name} is blocked through the annotation {DO_NOT_DISRUPT}"
            found.append(Blocker("node-annotation", text))
        if self._past_pods:
            return tuple(found)
        pods = self._sight.pods.get(node.name, ())
        by_pods = pod_blockers(pods, self._sight.limits.get(node.cluster, NO_LIMITS), self._now)
        if not by_pods:
            return tuple(found)
        if any(each.code == "pod-annotation" for each in by_pods):
            self.until |= {at for pod in pods if (at := protection(pod, self._now).until) is not None}
        return (*found, *sorted(by_pods, key=lambda one: (one.code != "pod-annotation", one.text)))
