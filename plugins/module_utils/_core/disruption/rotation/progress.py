# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""How the nodes that a rotation has in flight come on (drained, gone, replaced, tried again by ``attempts`` and
``retryAfterSeconds``, given up as their member left: ``no-new-node``, ``drain-timeout``, ``not-replaced``), and what is
done next with each (``add-node``, ``drain``, ``release``)."""

from __future__ import annotations

import dataclasses
import typing as t
from dataclasses import dataclass
from datetime import datetime, timedelta

from ...machine import Blocker
from ...objects.clusters.node_rotation import AFTER
from .input import (
    RotationInput,
    RotationNode,
    cluster_in_name,
    whole_pool_name,
)
from .state import (
    DRAINING,
    GIVEN_UP,
    MEMBER_LEFT,
    RETURNING,
    ROTATED,
    SURGING,
    WAITING,
    NodeProgress,
    RotationState,
    limit_end,
    limit_passed,
)

# Start a new node; taint, drain and delete a node with its machine; take the taint away again.
ADD_NODE, DRAIN, RELEASE = "add-node", "drain", "release"


@dataclass(frozen=True)
class RotationAct:
    """Something to be done with a node, safe to be done again: add-node (one more of its pool), drain, release.
    ``attempt`` counts from 1 how often the node was begun, ``text`` says why, or is empty."""

    kind: str
    node: str
    pool: str
    attempt: int
    text: str = ""

    @property
    def operation(self) -> str:
        """Name of the operation that carries it out: ``node.attempt.kind``."""
        return f"{self.node}.{self.attempt}.{self.kind}"

    def as_dict(self) -> dict[str, str]:
        """As results have it: the fields without ``attempt``."""
        return {"kind": self.kind, "node": self.node, "pool": self.pool, "text": self.text}


_LEFT = "its member has left the fleet; if it was cordoned it stays so"
# All that holds the node back now; empty for nothing.
Held = t.Callable[[RotationNode], tuple[Blocker, ...]]


class RotationProgress:
    """One step of all nodes in flight; what is to be done with them is added to ``acts``. New nodes are handed out in
    the order of their names, each once, so that each node is asked (``advanced``) once in a step."""

    def __init__(self, state: RotationState, sight: RotationInput, now: datetime, held: Held) -> None:
        """Finds the new nodes: those that were not there at the start, that nobody has got, and that can take pods.
        ``held`` tells what holds a node back."""
        self._settings, self._sight, self._now, self._held = state.settings, sight, now, held
        self._there = {each.name: each for each in sight.nodes}
        self.acts: list[RotationAct] = []
        taken = {each.replacement for each in state.nodes if each.replacement}
        known = set(state.known)
        self._fresh: dict[str, list[RotationNode]] = {}
        for each in sorted(sight.nodes, key=lambda one: one.name, reverse=True):
            if each.name not in known and each.name not in taken and _usable(each):
                self._fresh.setdefault(whole_pool_name(each.pool), []).append(each)

    def advanced(self, node: NodeProgress) -> NodeProgress:
        """A node of the rotation, which must not have ended, after what was seen of it: failed in flight, gone,
        drained, replaced or too late; one that has failed, or is too late, waits for another try, or is given up. The
        same object if nothing has changed, or its cluster could not be read. What is next for it is in ``acts``."""
        if cluster_in_name(node.name) in self._sight.unknown:
            return node
        if node.phase == WAITING:
            return node if self._old(node) else self._gone_while_waiting(node)
        if node.name in self._sight.failed:
            return self._failed(node, "failed", self._sight.failed[node.name])
        found = _BY_PHASE[node.phase](self, node)
        if found.phase == node.phase and limit_passed(limit_end(node.since, self._settings.node_timeout), self._now):
            return self._late(node)
        return found

    def after_surging(self, node: NodeProgress) -> NodeProgress:
        """Drains the old node once a new one is there. If the old node has gone meanwhile, it only awaits its
        replacement, as of ``after_returning``."""
        if not self._old(node):
            return self.after_returning(self._turn(node, RETURNING))
        new = self._take(node)
        if new is None:
            return node
        self.acts.append(RotationAct(DRAIN, node.name, node.pool, node.attempts, f"{new.name} is there"))
        return dataclasses.replace(self._turn(node, DRAINING), replacement=new.name)

    def after_draining(self, node: NodeProgress) -> NodeProgress:
        """Once the old node is gone: ends, or awaits the replacement if that comes ``after``."""
        if self._old(node):
            return node
        if self._settings.replacement == AFTER:
            return self.after_returning(self._turn(node, RETURNING))
        return self._rotated(node, self._there.get(node.replacement))

    def after_returning(self, node: NodeProgress) -> NodeProgress:
        """Ends once a replacement is there for the node that is gone: one of the same name is another by its
        identity."""
        again = None if self._old(node) else self._there.get(node.name)
        new = again if again is not None and _usable(again) else self._take(node)
        if new is None:
            return node
        return dataclasses.replace(self._rotated(node, new), replacement=new.name)

    def _gone_while_waiting(self, node: NodeProgress) -> NodeProgress:
        """A waiting node that is gone: it ends as rotated, ``others removed it``. One that was begun before, and whose
        replacement comes ``after``, awaits that: it goes by the first try, however late, for Karpenter empties a node
        whose NodeClaim is deleted."""
        if node.attempts and self._settings.replacement == AFTER:
            return self.after_returning(self._turn(node, RETURNING))
        return self._end(node, ROTATED, "gone", "others removed it")

    def _late(self, node: NodeProgress) -> NodeProgress:
        """A node in flight whose phase takes too long: given up if it is gone (``not-replaced``), else failed
        (``no-new-node``, ``drain-timeout``)."""
        old = self._old(node)
        if old is None:
            return self._end(node, GIVEN_UP, "not-replaced", "the node is gone, and nothing came in its place in time")
        if node.phase == SURGING:
            return self._failed(node, "no-new-node", "no new node became ready in time")
        held = "; ".join(each.text for each in self._held(old))
        return self._failed(node, "drain-timeout", f"it was not drained in time{f': {held}' if held else ''}")

    def _failed(self, node: NodeProgress, code: str, text: str) -> NodeProgress:
        """A node in flight that has failed: let go if it is there, for which an act is added; then tried again later,
        or given up after its last attempt, or if it is gone."""
        old = self._old(node)
        if old is not None:
            self.acts.append(RotationAct(RELEASE, node.name, node.pool, node.attempts, text))
            node = dataclasses.replace(node, release=text)
        if old is None or node.attempts >= self._settings.attempts:
            return self._end(node, GIVEN_UP, code, text)
        # Later than now in any case: begun in one step with its release, one of the two would end the other.
        later = self._now + timedelta(seconds=max(self._settings.retry_after, 1))
        return dataclasses.replace(self._turn(node, WAITING), not_before=later, replacement="", code=code, text=text)

    def _old(self, node: NodeProgress) -> RotationNode | None:
        """The node itself, not another of its name; None if it is gone."""
        found = self._there.get(node.name)
        return found if found is not None and found.uid == node.uid else None

    def _take(self, node: NodeProgress) -> RotationNode | None:
        """The next new node of its pool, which nobody else gets then; None if there is none."""
        fresh = self._fresh.get(whole_pool_name(node.pool))
        return fresh.pop() if fresh else None

    def _turn(self, node: NodeProgress, phase: str) -> NodeProgress:
        """The node in another phase, which begins now."""
        return dataclasses.replace(node, phase=phase, since=self._now)

    def _rotated(self, node: NodeProgress, new: RotationNode | None) -> NodeProgress:
        """The node, ended as rotated, with what came in its place in words; None: not known."""
        return self._end(node, ROTATED, "rotated", _became(node, new))

    def _end(self, node: NodeProgress, phase: str, code: str, text: str) -> NodeProgress:
        """The node, ended now in that phase, with the reason as a code and in words."""
        return dataclasses.replace(self._turn(node, phase), code=code, text=text)


_BY_PHASE: dict[str, t.Callable[[RotationProgress, NodeProgress], NodeProgress]] = {
    SURGING: RotationProgress.after_surging,
    DRAINING: RotationProgress.after_draining,
    RETURNING: RotationProgress.after_returning,
}


def without_left(state: RotationState, sight: RotationInput, now: datetime) -> RotationState:
    """The state in which the nodes of clusters that have left the fleet are given up (``member-left``), but for those
    that had ended, and none of them is to be let go any more; the same object if no cluster has left."""
    if not sight.left:
        return state
    nodes = (_left(each, now) if cluster_in_name(each.name) in sight.left else each for each in state.nodes)
    return dataclasses.replace(state, nodes=tuple(nodes))


def _left(node: NodeProgress, now: datetime) -> NodeProgress:
    """The node of a cluster that has left the fleet: given up if it had not ended, and not to be let go any more."""
    if not node.ended:
        return dataclasses.replace(node, phase=GIVEN_UP, since=now, release="", code=MEMBER_LEFT, text=_LEFT)
    return dataclasses.replace(node, release="", text=f"{node.text}; {_LEFT}") if node.release else node


def _usable(node: RotationNode) -> bool:
    """Whether the node can take pods: it is Ready, initialized and not on its way out."""
    return node.ready and node.initialized and not node.deleting


def _became(old: NodeProgress, new: RotationNode | None) -> str:
    """What the node had, and what the one in its place has: image, version of the kubelet, or both, as they differ;
    where neither does, the first that is known of the old one. Without a new one only what it had, empty if that is not
    known."""
    had = {"image": old.image, "version": old.version}
    has = {"image": new.image, "version": new.version} if new else {}
    differ = [key for key, each in had.items() if each and has.get(key, "") not in ("", each)]
    told = differ or [key for key, each in had.items() if each][:1]
    before = f"had {' '.join(had[key] for key in told)}" if told else ""
    if new is None:
        return before
    name = new.name.removeprefix(f"{cluster_in_name(old.name)}/")
    now = " ".join(filter(None, (has[key] for key in told))) if told else new.image
    return "; ".join(filter(None, (before, f"{name} has {now}" if now else f"{name} has come for it")))
