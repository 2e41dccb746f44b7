# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""When nodes expire by the ``expireAfter`` of their NodeClaims, which are due now, and which pods keep their drain
waiting (Karpenter, ``nodeclaim/expiration``).

Karpenter deletes an expired NodeClaim at once, whatever holds other methods back; its drain still waits for protected
pods, until the grace period ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ...cluster.cluster_state import ClusterState
from ...cluster.state_node import StateNode
from ...machine import Blocker
from ...objects.karpenter.node_claim import NodeClaim
from ...values.duration import as_timedelta, parse_or_never
from ...values.instants import later, write_time
from ...values.listed import number_of
from ..blockers import pod_blockers


@dataclass(frozen=True)
class Expiry:
    """When a node expires: ``due_at`` None: never; ``due``: Karpenter deletes it now. ``held`` are the blockers of pods
    that keep its drain waiting, ``note`` says what that means; both are empty unless it is due."""

    node: str
    due_at: datetime | None
    due: bool
    held: tuple[Blocker, ...] = ()
    note: str = ""


def due_at(claim: NodeClaim) -> datetime | None:
    """When a node expires: creation of its NodeClaim plus that one's own ``expireAfter`` (a new value in its pool
    drifts the node instead). None for ``Never``, an unknown creation, and an end beyond the calendar. ValueError if the
    duration cannot be read."""
    lifetime = parse_or_never(claim.spec.expire_after)
    created = claim.metadata.creation_timestamp
    if lifetime is None or created is None:
        return None
    return later(created, as_timedelta(lifetime))


def expiry(state: ClusterState, node: StateNode, now: datetime) -> Expiry:
    """What expiration means for a node at an aware instant. Nodes without a NodeClaim never expire; those whose
    NodeClaim goes already, or belongs to another provider, are not ``due``. ValueError as of ``due_at``."""
    at = due_at(node.claim) if node.claim is not None else None
    spared = node.claim_deleting or state.is_of_other_provider(node)
    if at is None or now < at or spared:
        return Expiry(node.name, at, False)
    held = pod_blockers(node.pods, state.pod_budgets, now)
    note = f"expired at {write_time(at)}; expiration is forceful: no budget and no annotation holds it back"
    if held:
        limit = (
            f"until terminationGracePeriod ({node.grace}) ends" if node.grace else "without end, for want of a deadline"
        )
        note += f"; the drain waits for {number_of(len(held), 'pod')} {limit}"
    return Expiry(node.name, at, True, held, note)


def expired(state: ClusterState, now: datetime) -> tuple[Expiry, ...]:
    """What expiration means for the nodes that are due at an aware instant, the longest due first, then by name.
    ValueError as of ``due_at``."""
    found = [each for each in (expiry(state, node, now) for node in state.nodes) if each.due]
    return tuple(sorted(found, key=lambda one: (one.due_at or now, one.node)))
