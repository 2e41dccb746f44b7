# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What ails the pods of a workload, by their status: why they wait, crash or find no node, such as ``pod web-1:
ImagePullBackOff``."""

from __future__ import annotations

import typing as t

from ..errors import FleetError
from ..values.parts import mapping, rows

Pod = t.Mapping[str, t.Any]
WORKLOADS = frozenset({("apps", "Deployment"), ("apps", "StatefulSet"), ("apps", "DaemonSet")})
# Of containers on their way, and of what comes with a trouble that has its own name.
USUAL = frozenset({"ContainerCreating", "PodInitializing", "Completed"})
WORDS = 160


def pod_trouble(pods: t.Iterable[Pod]) -> str:
    """The trouble of the first of the pods that has one, such as ``pod web-1: ImagePullBackOff``, its words cut at
    ``WORDS`` characters; empty if none tells of one. Of one pod, containers come before what the scheduler says, init
    containers first. A pod that is malformed is passed over."""
    for pod in pods:
        try:
            found = _container_trouble(pod) or _unscheduled(pod)
            name = mapping(pod, "metadata").get("name", "?")
        except (FleetError, ValueError):
            continue
        if found:
            return f"pod {name}: {found[:WORDS]}"
    return ""


def _container_trouble(pod: Pod) -> str:
    """The first reason, not one of ``USUAL``, why a container waits or has ended, init containers first; empty if there
    is none. ValueError for a status of another structure."""
    status = mapping(pod, "status")
    for each in (*rows(status, "initContainerStatuses"), *rows(status, "containerStatuses")):
        state = mapping(each, "state")
        waiting, ended = mapping(state, "waiting"), mapping(state, "terminated")
        reason = str(waiting.get("reason") or ended.get("reason") or "")
        if reason and reason not in USUAL:
            return reason
    return ""


def _unscheduled(pod: Pod) -> str:
    """Why the scheduler finds no node, as ``reason: message``; empty where it does. ValueError for a status of another
    structure."""
    for each in rows(mapping(pod, "status"), "conditions"):
        if each.get("type") == "PodScheduled" and each.get("status") == "False":
            return f"{each.get('reason', 'Unschedulable')}: {each.get('message', '')}".rstrip(": ")
    return ""
