# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What holds a node of a rotation back by itself: its annotation, its pods, their PodDisruptionBudgets."""

from __future__ import annotations

from datetime import datetime

from ...cluster.pod import DO_NOT_DISRUPT, protection
from ...machine import Blocker
from ..blockers import pod_blockers
from .admission import NO_LIMITS
from .input import RotationInput, RotationNode


class RotationBlockers:
    """``until`` collects the instants at which protections of pods end."""

    def __init__(self, sight: RotationInput, now: datetime) -> None:
        self._sight, self._now = sight, now
        self.until: set[datetime] = set()

    def of(self, node: RotationNode) -> tuple[Blocker, ...]:
        found = []
        if node.deleting:
            found.append(Blocker("deleting", f"node {node.name} is deleting or marked for deletion"))
        if node.annotated:
            text = f"node {node.name} is blocked through the annotation {DO_NOT_DISRUPT}"
            found.append(Blocker("node-annotation", text))
        pods = self._sight.pods.get(node.name, ())
        by_pods = pod_blockers(pods, self._sight.limits.get(node.cluster, NO_LIMITS), self._now)
        if any(each.code == "pod-annotation" for each in by_pods):
            self.until |= {at for pod in pods if (at := protection(pod, self._now).until) is not None}
        return (*found, *sorted(by_pods, key=lambda one: (one.code != "pod-annotation", one.text)))
