# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Whether a pod fits a node, as the kube-scheduler's filters have it: resources, node selector, required node
affinity, taints, host ports, zones of volumes. What depends on other pods is in ``pod_topology``.

A pod whose volumes are claims is kept in the zone of its present node, because its disks may be bound to it.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..objects.clusters.member_cluster import Taint
from ..objects.clusters.tolerations import first_untolerated
from ..values.node_selector import selects
from .pod import Pod
from .state_node import HOSTNAME, ZONE

Amounts = t.Mapping[str, int]
HARD = ("NoSchedule", "NoExecute")


@dataclass(kw_only=True)
class Room:
    """A node while pods are put on it in thought; ``labels`` have the hostname. ``ready``: pods run there already."""

    name: str
    labels: t.Mapping[str, str]
    taints: tuple[Taint, ...] = ()
    free: dict[str, int]
    pods: list[Pod] = field(default_factory=list)
    ready: bool = True

    def put(self, pod: Pod) -> None:
        self.pods.append(pod)
        for name, amount in pod.requests.items():
            self.free[name] = self.free.get(name, 0) - amount


def lacking(free: Amounts, requests: Amounts) -> str:
    """The first resource of which there is too little; empty if it fits. Zero fits everywhere."""
    for name, amount in requests.items():
        if amount > free.get(name, 0) and amount > 0:
            return name
    return ""


def refusal(pod: Pod, labels: t.Mapping[str, str], taints: tuple[Taint, ...], zone: str = "") -> str:
    """Why the pod may not run on a node of these labels and taints; empty if it may.

    ``zone`` is where the pod runs now, for its volumes. A malformed affinity matches nothing.
    """
    if pod.unjudged:
        return f"its {pod.unjudged} cannot be judged here"
    if any(labels.get(key) != value for key, value in pod.node_selector.items()):
        return "node selector"
    if pod.node_affinity is not None and not _selects(pod, labels):
        return "node affinity"
    taint = first_untolerated(tuple(each for each in taints if each.effect in HARD), pod.tolerations)
    if taint is not None:
        return f"taint {taint.key}"
    if pod.bound_volumes and zone and labels.get(ZONE) != zone:
        return "zone of its volumes"
    return ""


def ports_taken(pod: Pod, others: t.Iterable[Pod]) -> bool:
    """Whether one of the others on a node has a host port that the pod wants."""
    return bool(pod.host_ports) and any(port in each.host_ports for each in others for port in pod.host_ports)


def by_size(pod: Pod) -> tuple[int, int, str]:
    """Large pods first, by CPU and then by memory (Karpenter's queue); ties by name."""
    return -pod.requests.get("cpu", 0), -pod.requests.get("memory", 0), pod.key


def with_hostname(labels: t.Mapping[str, str], name: str) -> t.Mapping[str, str]:
    """A node's labels, with its name as ``kubernetes.io/hostname`` where they do not say it."""
    return labels if HOSTNAME in labels else {**labels, HOSTNAME: name}


def _selects(pod: Pod, labels: t.Mapping[str, str]) -> bool:
    try:
        return pod.node_affinity is not None and selects(pod.node_affinity, labels, labels.get(HOSTNAME, ""))
    except ValueError:
        return False
