# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Node by node: why it may be disrupted (``causes``: Empty, Drifted, Expired, Due), everything that keeps it from being
so (``blockers``), whether it is a ``candidate``, when it ``expires``, how far its ``drain`` is, and who disrupts it
now."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from datetime import datetime

from ...cluster.facts.node import image_of, pool_label_key
from ...cluster.pod import reschedulable
from ...cluster.state_node import StateNode
from ...machine import Blocker
from ...objects.clusters.node_rotation import DueNodes, NodeRotation
from ...schema.meta import EMPTY as NONE
from ...values.instants import write_time
from ..blockers import node_blockers, pod_blockers, without_overruled
from ..methods.drift import Drift, drift
from ..methods.expiration import Expiry, expiry
from ..origins import origin
from ..rotation.state import RotationState
from ..termination import deadline, drain_step
from .member_nodes import NODE_CLAIM, NODE_POOL, PDB, POD, MemberNodes
from .rotation_sight import RotationGround

EMPTY, DRIFTED, EXPIRED, DUE = "Empty", "Drifted", "Expired", "Due"
# Gates that speak of Karpenter only: without it a node is nobody's candidate, and a rotation may take it.
KARPENTER_ONLY = ("not-managed", "not-initialized", "no-pool-label", "no-pool", "no-node")
# Where one of these could not be read, nobody knows whether it holds a node; the last two speak of pods.
NEEDED = (NODE_POOL, NODE_CLAIM, PDB, POD)


@dataclass(frozen=True, kw_only=True)
class NodeAnswer:
    """``causes`` are why it may be disrupted, in words, by cause (``Empty``, ``Drifted``, ``Expired``, ``Due``).
    ``graceful`` are the gates that hold emptiness and consolidation back, ``eventual`` those that hold drift back,
    ``rotation`` those that our own rotation looks at. ``expires`` is when Karpenter deletes it, None: never; ``drain``
    how far Karpenter has come with draining it, in a sentence, empty unless its NodeClaim is being deleted and pods are
    known. ``managed``: it has a NodeClaim. ``version`` is its kubelet's; ``origin``, who disrupts it now, empty for
    nobody."""

    member: str
    node: str
    pool: str
    causes: t.Mapping[str, str]
    graceful: tuple[Blocker, ...]
    eventual: tuple[Blocker, ...]
    rotation: tuple[Blocker, ...]
    expires: datetime | None
    origin: str
    managed: bool
    drain: str = ""
    image: str = ""
    version: str = ""

    def as_dict(self) -> dict[str, t.Any]:
        """As results have it: the three sorts of blockers under ``blockers``; ``candidate``, whether it is managed and
        nothing is in ``graceful``; ``expires`` is a text, empty for never."""
        return {
            "member": self.member,
            "node": self.node,
            "pool": self.pool,
            "image": self.image,
            "version": self.version,
            "causes": dict(self.causes),
            "blockers": {
                "graceful": [each.as_dict() for each in self.graceful],
                "eventual": [each.as_dict() for each in self.eventual],
                "rotation": [each.as_dict() for each in self.rotation],
            },
            "candidate": self.managed and not self.graceful,
            "expires": write_time(self.expires) if self.expires else "",
            "origin": self.origin,
            "drain": self.drain,
        }


def node_answers(
    members: t.Iterable[MemberNodes],
    rotations: t.Iterable[NodeRotation],
    now: datetime,
    begun: t.Mapping[str, RotationState] = NONE,
) -> tuple[NodeAnswer, ...]:
    """All Nodes of the members, in the order of these and then by name, at an aware instant, those too that Karpenter
    overlooks. Of several ``rotations`` for which a node is due the last one is told; ``begun`` says by name where those
    stand that have begun without ``spec.due``: until one is over its nodes that have not ended are due and no others,
    then those as of ``due_of``. ValueError for a selector or a duration of a rotation, or a duration of a NodeClaim,
    that is none; FleetError as of ``drift``."""
    grounds = [RotationGround(rotation=each) for each in rotations]
    out = []
    for member in members:
        due = {name: why for each in grounds for name, why in _due(each, member, now, begun).items()}
        out += [_answer(member, node, due, now) for node in member.whole.nodes if node.node is not None]
    return tuple(out)


def _due(
    ground: RotationGround, member: MemberNodes, now: datetime, begun: t.Mapping[str, RotationState]
) -> dict[str, str]:
    """By name, the nodes of the member that are due for the rotation, with the sentence that tells it; of one in
    ``begun`` those that it has not replaced yet, or has left. ValueError for a selector or a duration that is none."""
    rotation = ground.rotation
    state = begun.get(rotation.name) if rotation.spec.due == DueNodes() else None
    if state is None:
        found = ground.due([member], now)
    elif state.over:
        left = {each.name: f"it was left as the rotation ended: {each.text}" for each in state.nodes if each.text}
        found = {name: left.get(name, why) for name, why in ground.due_of([member], now, state).items()}
    else:
        waiting = {each.name for each in state.nodes if not each.ended}
        found = {name: why for name, why in ground.due([member], now).items() if name in waiting}
    return {name.partition("/")[2]: f"NodeRotation {rotation.name}: {why}" for name, why in found.items()}


def _answer(member: MemberNodes, node: StateNode, due: t.Mapping[str, str], now: datetime) -> NodeAnswer:
    """The answer about one node, which must have a Node, at an aware instant; ``due`` are sentences by name of the
    Node. ValueError for a duration of its NodeClaim that is none; FleetError as of ``drift``."""
    state = member.state
    lives = expiry(state, node, now)
    own = (*_unread(member), *node_blockers(state, node, now))
    by_pods = pod_blockers(node.pods, state.pod_budgets, now)
    graceful = (*own, *by_pods)
    labels = node.node.labels if node.node else node.labels
    return NodeAnswer(
        member=member.name,
        node=node.node_name,
        pool=node.pool or labels.get(pool_label_key(labels), ""),
        image=image_of(labels, node.node.image) if node.node else "",
        version=node.node.kubelet_version if node.node else "",
        causes=dict(_causes(member, node, lives, due, now)),
        graceful=graceful,
        eventual=without_overruled(graceful, node),
        rotation=(*(each for each in own if each.code not in KARPENTER_ONLY), *by_pods),
        expires=lives.due_at,
        origin=origin(node, now),
        managed=node.claim is not None,
        drain=_drain(member, node, now),
    )


def _unread(member: MemberNodes) -> t.Iterator[Blocker]:
    """The blocker ``unknown`` for each kind of ``NEEDED`` that could not be read, with why."""
    for kind in NEEDED:
        if kind in member.missing:
            yield Blocker("unknown", f"{kind} could not be read: {member.missing[kind].message}", kind in (PDB, POD))


def _drain(member: MemberNodes, node: StateNode, now: datetime) -> str:
    """How far Karpenter has come with the drain of a node whose NodeClaim is being deleted, in a sentence; empty for
    other nodes, and where pods are not known. ValueError as of ``deadline``."""
    if node.claim is None or node.claim.metadata.deletion_timestamp is None or not member.pods_known:
        return ""
    return drain_step(node.pods, deadline(node.claim), now).text


def _causes(
    member: MemberNodes, node: StateNode, lives: Expiry, due: t.Mapping[str, str], now: datetime
) -> t.Iterator[tuple[str, str]]:
    """The causes why the node may be disrupted, with words, in the order ``Empty``, ``Drifted``, ``Expired``, ``Due``;
    ``Empty`` is never told where pods are not known. FleetError as of ``drift``."""
    if member.pods_known and not any(map(reschedulable, node.pods)):
        yield EMPTY, "no pod on it would need room elsewhere"
    found = _drift(member, node, now)
    if found is not None:
        yield DRIFTED, f"{found.reason}: {found.text}"
    if lives.due:
        yield EXPIRED, lives.note
    if node.node_name in due:
        yield DUE, due[node.node_name]


def _drift(member: MemberNodes, node: StateNode, now: datetime) -> Drift | None:
    """Why the node has drifted: what its NodeClaim says, if Karpenter has found it, else as pool and class stand now.
    None if it has not, without a NodeClaim, and if its pool is not there. FleetError as of ``drift``."""
    pool = member.state.pools.get(node.pool)
    if node.claim is None or pool is None:
        return None
    told = node.claim.condition("Drifted")
    if told is not None and told.status == "True":
        return Drift(told.reason, told.message or "as Karpenter has found")
    return drift(pool, node, now)
