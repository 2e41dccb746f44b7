# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What Karpenter says of a node, a pod or a pool in an event, in its words: ``DisruptionBlocked``,
``Unconsolidatable``, ``NoCompatibleInstanceTypes``, ``DoNotDisruptUntil``, ``DoNotDisruptGracePeriodElapsed``,
``InvalidDoNotDisruptAnnotation``, and gates as errors."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass
from datetime import datetime

from ...cluster.pod import DO_NOT_DISRUPT, Pod, reschedulable
from ...cluster.pod_disruption import drainable, protection
from ...machine import Blocker
from ...values.duration import UNITS, parse_duration
from ...values.instants import SECONDS, write_time

NODE, NODE_POOL, POD = "Node", "NodePool", "Pod"
BLOCKED, UNCONSOLIDATABLE = "DisruptionBlocked", "Unconsolidatable"
APPROVED, CANDIDATE, NO_TYPES = "ConsolidationApproved", "ConsolidationCandidate", "NoCompatibleInstanceTypes"
# Gates behind which upstream has no NodeClaim or Node to speak of, or does not speak.
SILENT = ("in-command", "not-managed", "no-node")
_WORDS = {
    "in-command": "candidate is already being disrupted",
    "not-managed": "node isn't managed by karpenter",
    "no-node": "nodeclaim does not have an associated node",
    "not-initialized": "node isn't initialized",
    "deleting": "node is deleting or marked for deletion",
    "nominated": "node is nominated for a pending pod",
    "node-annotation": f'disruption is blocked through the "{DO_NOT_DISRUPT}" annotation',
    "no-pool-label": "node doesn't have required label (label=karpenter.sh/nodepool)",
    "no-pool": "nodepool not found (NodePool={pool})",
    "pod-annotation": f'pod has "{DO_NOT_DISRUPT}" annotation (Pod={{pod}})',
    "pdb": "pdb prevents pod evictions (PodDisruptionBudget=[{pdb}])",
    "pdb-several": "eviction does not support multiple PDBs (PodDisruptionBudget(s)=[{pdb}])",
}


@dataclass(frozen=True, order=True)
class NodeEvent:
    """An event about the object of this ``kind`` (Node, NodePool or Pod) and ``name`` (of a pod ``namespace/name``)."""

    kind: str
    name: str
    reason: str
    message: str

    def as_dict(self) -> dict[str, str]:
        """As results have it: the fields."""
        return {"kind": self.kind, "name": self.name, "reason": self.reason, "message": self.message}


def error_of(blocker: Blocker) -> str:
    """The gate that keeps a node from being disrupted, in upstream's words. KeyError for a code that upstream does not
    know."""
    about = {key: str(value).replace(", ", " ") for key, value in blocker.about.items()}
    return _WORDS[blocker.code].format_map(about)


def blocked(node: str, blocker: Blocker) -> NodeEvent | None:
    """The event that a node cannot be disrupted (``DisruptionBlocked``); None where upstream says nothing (``SILENT``).
    KeyError as of ``error_of``."""
    if blocker.code in SILENT:
        return None
    text = error_of(blocker)
    return NodeEvent(NODE, node, BLOCKED, f"NodePool{text[8:]}" if blocker.code == "no-pool" else _sentence(text))


def unconsolidatable(node: str, message: str) -> NodeEvent:
    """The event that consolidation leaves a candidate alone; ``message`` says why, in upstream's words."""
    return NodeEvent(NODE, node, UNCONSOLIDATABLE, message)


def budget_blocked(pool: str, reason: str) -> NodeEvent:
    """The event that budgets let a pool lose no node for a reason (``DisruptionBlocked``)."""
    return NodeEvent(
        NODE_POOL, pool, BLOCKED, f"No allowed disruptions for disruption reason {reason} due to blocking budget"
    )


def no_types(pool: str, min_values: bool) -> NodeEvent:
    """The event that a pool can make no node; ``min_values``: because too few types are left for ``minValues``."""
    why = " due to minValues incompatibility" if min_values else ""
    return NodeEvent(
        NODE_POOL, pool, NO_TYPES, f"NodePool requirements filtered out all compatible available instance types{why}"
    )


def _sentence(text: str) -> str:
    """The text with a capital letter in front."""
    return text[:1].upper() + text[1:]


def of_annotations(pods: t.Iterable[Pod], now: datetime, moving: bool = False) -> t.Iterator[NodeEvent]:
    """The events about annotations do-not-disrupt, as of ``of_annotation``, of active pods, in the order given; with
    ``moving``, where upstream asks whether they need a place, only of those that are ``drainable`` or
    ``reschedulable``."""
    for pod in pods:
        if DO_NOT_DISRUPT in pod.annotations and pod.active and (not moving or reschedulable(pod) or drainable(pod)):
            event = of_annotation(pod, now)
            if event is not None:
                yield event


def of_annotation(pod: Pod, now: datetime) -> NodeEvent | None:
    """The event about the annotation do-not-disrupt, which the pod must have (else KeyError): it cannot be read, holds
    for a time, or holds no more. None for ``true``, and for a pod that has not started."""
    found, written = protection(pod, now), pod.annotations[DO_NOT_DISRUPT]
    if found.problem:
        message = f"Invalid {DO_NOT_DISRUPT} annotation: {_why_invalid(written)}, ignoring annotation"
        return NodeEvent(POD, pod.key, "InvalidDoNotDisruptAnnotation", message)
    if found.until is None:
        return None
    if found.holds:
        until = write_time(found.until, SECONDS)
        message = f"The {DO_NOT_DISRUPT} grace period will elapse at {until}"
        return NodeEvent(POD, pod.key, "DoNotDisruptUntil", message)
    message = f"The {DO_NOT_DISRUPT} grace period has elapsed, pod is now disruptable"
    return NodeEvent(POD, pod.key, "DoNotDisruptGracePeriodElapsed", message)


def _why_invalid(written: str) -> str:
    """Why a text is no duration that protects, in upstream's words."""
    try:
        parse_duration(written)
    except ValueError:
        return f'failed to parse "{written}" as a duration: {_go_error(written)}'
    return f'duration "{written}" must be positive'


def _go_error(written: str) -> str:
    """Why a text is no duration, as ``time.ParseDuration`` puts it."""
    rest = written[1:] if written[:1] in ("+", "-") else written
    while rest and (found := re.match(r"([0-9]*)(?:\.([0-9]*))?", rest)):
        if not (found[1] or found[2]):
            break
        rest = rest[found.end() :]
        unit = re.match(r"[^0-9.]*", rest)
        name = unit[0] if unit else ""
        if not name:
            return f'time: missing unit in duration "{written}"'
        if name not in UNITS:
            return f'time: unknown unit "{name}" in duration "{written}"'
        rest = rest[len(name) :]
    return f'time: invalid duration "{written}"'
