# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Nodes deleted by hand, all at once: no budget of nodes holds them back, PodDisruptionBudgets do.

Each is drained first and replaced as in a rotation. One that is not empty in time is let go again. Who is killed and
called again goes on.
"""

from __future__ import annotations

import time
import typing as t
from dataclasses import dataclass

from ..._core.errors import FleetError, Problem
from ..._core.objects.clusters.node_rotation import NodeRotation, NodeRotationSpec
from ..._core.schema.meta import ObjectMeta
from ..conductor.interrupts import Interrupts
from ..members.members import Clients
from ..session import Session
from .draining import NodeWork, patiently, present, uncordon
from .replacing import NodeReplacer, ReplacementWish
from .workers import MemberHolds, NodeWorkers, WorkerHands

OPERATION = "by-hand"
LOOK = 0.5


@dataclass(frozen=True, kw_only=True)
class NodeDeletion:
    """``uids`` are those of the Nodes by name; ``timeout`` is for each of them, in seconds."""

    member: str
    uids: t.Mapping[str, str]
    replacement: ReplacementWish
    timeout: float


def delete_nodes(session: Session, clients: Clients, wish: NodeDeletion) -> tuple[Problem, ...]:
    """Drains and deletes them, all at once, and waits until they are gone. A ``node-stays`` for each that stayed, which
    is uncordoned unless this process was told to end. FleetError of the member; ``node-held`` if it cannot be asked."""
    rotation = NodeRotation(metadata=ObjectMeta(name=OPERATION), spec=NodeRotationSpec())
    replacer = NodeReplacer(rotation=rotation, wish=wish.replacement)
    workers = NodeWorkers(MemberHolds(clients, OPERATION), session.clock, session.say)
    failures: dict[str, str] = {}
    left = dict(wish.uids)
    end = time.monotonic() + wish.timeout
    with Interrupts() as told:
        try:
            for name, uid in left.items():
                work = _work(wish.member, name, uid)
                workers.begin(f"{wish.member}/{name}", name, _deleting(replacer, work))
            while left and not told() and time.monotonic() < end:
                workers.wait(LOOK)
                failures |= {each.operation: each.failure for each in workers.ended() if each.failure}
                left = {
                    name: uid
                    for name, uid in left.items()
                    if name not in failures and present(clients.get(wish.member), _work(wish.member, name, uid))
                }
            why = told() or f"it was not empty within {wish.timeout:g} s"
            failures |= dict.fromkeys(left, why)
            for name in failures:
                workers.halt(f"{wish.member}/{name}")
                if not told():
                    _let_go(workers, wish, name)
        finally:
            workers.close()
    return tuple(Problem("node-stays", text, f"{wish.member}/{name}") for name, text in sorted(failures.items()))


def _deleting(replacer: NodeReplacer, work: NodeWork) -> t.Callable[[WorkerHands], None]:
    return lambda hands: replacer.replace(work, hands)


def _let_go(workers: NodeWorkers, wish: NodeDeletion, name: str) -> None:
    """Uncordons the node, if that is still possible, and waits for it. FleetError ``node-held`` after 30 s."""
    work = _work(wish.member, name, wish.uids[name])
    workers.begin(f"{wish.member}/{name}", name, lambda hands: patiently(hands, lambda: uncordon(hands.client(), work)))
    end = time.monotonic() + 30
    while time.monotonic() < end:
        workers.wait(LOOK)
        if any(each.operation == name for each in workers.ended()):
            return
    raise FleetError("node-held", "it stays cordoned, for its member does not answer", f"{wish.member}/{name}")


def _work(member: str, name: str, uid: str) -> NodeWork:
    return NodeWork(member=member, node=name, uid=uid, operation=f"{OPERATION}/{name}")
