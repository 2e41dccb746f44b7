# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Who disrupts a node (``origin``): Karpenter by its rules (``Drift``, ``Consolidation``, ``Expiration``), a person or
one of our rotations through our verbs (``manual``, the annotation ``gitops.fleet/disrupted-by``), or somebody else by
deleting it (``external``)."""

from __future__ import annotations

import typing as t
from datetime import datetime

from ..cluster.state_node import StateNode
from ..foreign import in_line
from ..objects.karpenter.node_pool import DRIFTED, EMPTY_REASON, UNDERUTILIZED
from ..values.duration import as_timedelta, parse_or_never

# On the Node, while one of our verbs is at it: the name of what is carried out, behind that of who does so and a slash.
DISRUPTED_BY = "gitops.fleet/disrupted-by"
# What a person types where none of our verbs lets the node go: by the mark it counts as disrupted, and is left alone.
LET_GO = f"kubectl uncordon NODE, and kubectl annotate node NODE {DISRUPTED_BY}-"
EXPIRATION, DRIFT, CONSOLIDATION = "Expiration", "Drift", "Consolidation"
MANUAL, EXTERNAL = "manual", "external"
_BY_REASON = {DRIFTED: DRIFT, EMPTY_REASON: CONSOLIDATION, UNDERUTILIZED: CONSOLIDATION}


def origin(node: StateNode, now: datetime) -> str:
    """Who disrupts the node at an aware instant: ``manual``, if one of our verbs has marked it; by the NodeClaim's
    condition DisruptionReason, if that is True, ``Drift``, ``Consolidation``, another reason itself, or ``external``
    without one; else ``Expiration``, if its lifetime had ended when it was deleted; else ``external``. Empty if it is
    neither marked by us nor on its way out (``StateNode.deleting``). ValueError for an ``expireAfter`` that is no
    duration."""
    if node.node is not None and node.node.annotations.get(DISRUPTED_BY):
        return MANUAL
    if not node.deleting:
        return ""
    reason = node.claim.condition("DisruptionReason") if node.claim is not None else None
    if reason is not None and reason.status == "True":
        return _BY_REASON.get(reason.reason, reason.reason or EXTERNAL)
    return EXPIRATION if _expired(node, now) else EXTERNAL


def disrupted_by(annotations: t.Mapping[str, str]) -> str:
    """Which rotation, by name, has the node with these annotations in hand, or ``by-hand``:
    ``gitops.fleet/disrupted-by`` up to a slash. Empty if none of our verbs has it."""
    return in_line(annotations.get(DISRUPTED_BY, "").partition("/")[0])


def _expired(node: StateNode, now: datetime) -> bool:
    """Whether its NodeClaim was deleted at, or after, the end of its lifetime, ``now`` standing for a deletion that
    nobody tells. ValueError for a lifetime that is no duration."""
    if node.claim is None or node.claim.metadata.creation_timestamp is None:
        return False
    lifetime = parse_or_never(node.claim.spec.expire_after)
    if lifetime is None:
        return False
    asked = node.claim.metadata.deletion_timestamp or now
    return asked - node.claim.metadata.creation_timestamp >= as_timedelta(lifetime)
