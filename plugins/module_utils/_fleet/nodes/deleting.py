# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Nodes that somebody deletes by hand, all at once, each drained first, let go again if it is not empty in time
(``node-stays``, ``node-held``): no budget of nodes holds them back, PodDisruptionBudgets do.

They are replaced as in a rotation. One that is deleted when its time is over goes all the same. A deletion that was
killed goes on when it is called again.
"""

from __future__ import annotations

import time
import typing as t
from dataclasses import dataclass

from ..._core.cluster.silence import SILENT
from ..._core.disruption.origins import LET_GO
from ..._core.errors import FleetError, Problem
from ..._core.objects.clusters.node_rotation import BY_HAND, NodeRotation, NodeRotationSpec
from ..._core.schema.meta import ObjectMeta
from ..conductor.interrupts import Interrupts
from ..conductor.loop import PASSING
from ..members.members import Clients
from ..session import Session
from .draining import NodeWork, retried_while_passing, the_node, uncordon
from .replacing import NodeReplacer, ReplacementWish
from .workers import MemberHolds, NodeWorkers, WorkerHands

LOOK, LET_GO_SECONDS = 0.5, 30.0


@dataclass(frozen=True, kw_only=True)
class NodeDeletion:
    """Nodes of one member to be deleted by hand. ``uids`` are those of the Nodes by name, without the member;
    ``timeout`` is in seconds, for all of them."""

    member: str
    uids: t.Mapping[str, str]
    replacement: ReplacementWish
    timeout: float

    def work(self, name: str) -> NodeWork:
        """What is done with the Node of that name, which must be among ``uids``."""
        return NodeWork(member=self.member, node=name, uid=self.uids[name], operation=f"{BY_HAND}/{name}")


def delete_nodes(session: Session, clients: Clients, wish: NodeDeletion) -> tuple[Problem, ...]:
    """Drains, replaces and deletes the Nodes as of ``NodeReplacer.replace``, all at once, and waits until they are
    gone, ``timeout`` is over, or this process is told to end. Gives, by name, a ``node-stays`` for each that stayed,
    which is uncordoned unless this process was told to end, or a ``node-held`` for one that could not be uncordoned.
    What fails at one node is its problem, and not raised. Nobody else may delete nodes of the member by hand
    meanwhile."""
    rotation = NodeRotation(metadata=ObjectMeta(name=BY_HAND), spec=NodeRotationSpec())
    replacer = NodeReplacer(rotation=rotation, wish=wish.replacement)
    workers = NodeWorkers(MemberHolds(clients, f"{BY_HAND}/{wish.member}"), session.clock, session.say)
    deletion = _Deletion(clients, wish, workers)
    with Interrupts() as told:
        try:
            for name in wish.uids:
                workers.begin(f"{wish.member}/{name}", name, _deleting(replacer, wish.work(name)))
            failures = deletion.wait(told)
            ending = bool(told())
            held = {} if ending else deletion.let_go(tuple(failures))
        finally:
            workers.close()
    hint = f"it may be cordoned still; the same again goes on with it, or let it go: {LET_GO}" if ending else ""
    return tuple(_stays(wish.member, name, why, held, hint) for name, why in sorted(failures.items()))


def _deleting(replacer: NodeReplacer, work: NodeWork) -> t.Callable[[WorkerHands], None]:
    """What a worker does with the node: it is drained and replaced as of ``NodeReplacer.replace``."""
    return lambda hands: replacer.replace(work, hands)


def _stays(member: str, name: str, why: str, held: t.Mapping[str, str], hint: str) -> Problem:
    """``node-stays``, or ``node-held`` for a node of ``held``, which says why it is still cordoned."""
    if name not in held:
        return Problem("node-stays", why, f"{member}/{name}", hint)
    hint = f"let it go once its member answers: {LET_GO}"
    return Problem("node-held", f"{why}; it stays cordoned: {held[name]}", f"{member}/{name}", hint)


class _Deletion:
    """What becomes of the nodes while workers are at them, whose operations have their names."""

    def __init__(self, clients: Clients, wish: NodeDeletion, workers: NodeWorkers) -> None:
        self._clients, self._wish, self._workers = clients, wish, workers

    def wait(self, told: t.Callable[[], str]) -> dict[str, str]:
        """Waits for the nodes, until ``told`` or the timeout. Why each stays, by name, that failed or is not gone by
        then."""
        failures: dict[str, str] = {}
        left, deleted = list(self._wish.uids), set[str]()
        end = time.monotonic() + self._wish.timeout
        while left and not told() and time.monotonic() < end:
            self._wait_for_end()
            ended = self._workers.ended()
            failures |= {each.operation: each.failure for each in ended if each.failure}
            deleted |= {each.operation for each in ended}
            gone = self._gone([name for name in left if name in deleted], failures)
            left = [name for name in left if name not in gone and name not in failures]
        gone = self._gone(left, failures)
        late = f"{self._wish.timeout:g} s"
        why = told() or f"it was not empty within {late}"
        still = f"it is deleted, and was not gone within {late}: Karpenter, or who has a finalizer on it, goes on"
        return {name: still if name in deleted and not told() else why for name in left if name not in gone} | failures

    def let_go(self, names: t.Sequence[str]) -> dict[str, str]:
        """Uncordons these nodes, all at once, within LET_GO_SECONDS; why each stays cordoned that could not be, by
        name."""
        for name in names:
            self._workers.begin(f"{self._wish.member}/{name}", f"{name} released", self._uncordoning(name))
        left = {f"{name} released": name for name in names}
        held = {}
        end = time.monotonic() + LET_GO_SECONDS
        while left and time.monotonic() < end:
            self._wait_for_end()
            for each in self._workers.ended():
                name = left.pop(each.operation, "")
                if name and each.failure:
                    held[name] = each.failure
        return held | dict.fromkeys(left.values(), "its member does not answer")

    def _wait_for_end(self) -> None:
        """Has leases renewed that are due, and waits until a worker ends, LOOK seconds at most."""
        self._workers.holds.keep()
        self._workers.wait(LOOK)

    def _gone(self, names: t.Iterable[str], failures: dict[str, str]) -> set[str]:
        """Those of the nodes that are known to be gone, without any of ``failures``; an error that does not pass by
        itself goes in there. A member that does not answer is not asked for the others: each would take as long."""
        found = set()
        for name in names:
            if name in failures:
                continue
            try:
                if the_node(self._clients.get(self._wish.member), self._wish.work(name)) is None:
                    found.add(name)
            except FleetError as error:
                if error.code in SILENT:
                    break
                if error.code not in PASSING:
                    failures[name] = error.message
        return found

    def _uncordoning(self, name: str) -> t.Callable[[WorkerHands], None]:
        """What a worker does to let the node go, again and again while its member does not answer."""
        work = self._wish.work(name)
        return lambda hands: retried_while_passing(hands, lambda: uncordon(hands.client(), work))
