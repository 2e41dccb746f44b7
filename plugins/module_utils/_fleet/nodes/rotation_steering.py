# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What is special to rotations while they are conducted: members read again and again, drains, nodes let go."""

from __future__ import annotations

import typing as t
from datetime import datetime, timedelta

from ..._core.disruption.members.member_nodes import (
    NODE_CLASS,
    MemberNodes,
)
from ..._core.disruption.members.nodes_snapshot import NodesSnapshot
from ..._core.disruption.members.rotation_sight import RotationGround
from ..._core.disruption.rotation import decide as machine
from ..._core.disruption.rotation.input import RotationInput, cluster_in_name
from ..._core.disruption.rotation.progress import ADD_NODE, RELEASE, RotationAct
from ..._core.disruption.rotation.state import RETURNING, RotationState, limit_end
from ..._core.machine import Decision, HeldBack
from ..._store.records import Lease
from ..conductor.journal import Change
from .draining import NodeWork, patiently, uncordon
from .replacing import NodeReplacer
from .rotation_record import RotationBook
from .workers import NodeWorkers, WorkerHands

Look = t.Callable[[datetime], NodesSnapshot]
RotationChange = Change[RotationState]
LOOK = timedelta(seconds=2)
AWAIT = "await"


def unreadable(snapshot: NodesSnapshot) -> dict[str, str]:
    """Members of which not all is known that a decision needs, each with why."""
    found = {name: each.message for name, each in snapshot.failed.items()}
    for member in snapshot.members:
        missing = [f"{kind}: {why.message}" for kind, why in member.missing.items() if kind != NODE_CLASS]
        if missing:
            found[member.name] = "; ".join(missing)
    return found


class RotationSteering:
    """A rotation for the loop. ``look`` reads the members; ``interval`` is for how long what was read is good."""

    def __init__(
        self,
        book: RotationBook,
        ground: RotationGround,
        look: Look,
        workers: NodeWorkers,
        replacer: NodeReplacer,
        interval: timedelta = LOOK,
    ) -> None:
        self.book = book
        self._ground, self._look, self._workers, self._replacer = ground, look, workers, replacer
        self._interval = interval
        self._members: tuple[MemberNodes, ...] = ()
        self._unknown: dict[str, str] = {}
        self._looked: datetime | None = None
        self._fresh = False
        self._failed: dict[str, str] = {}
        self.waits: tuple[HeldBack, ...] = ()

    def see(self, state: RotationState, now: datetime) -> RotationInput:
        self._fresh = self._looked is None or now >= self._looked + self._interval
        if self._fresh:
            self._read(now)
        return self._sight(state, now)

    def decide(self, state: RotationState, seen: RotationInput, now: datetime) -> Decision[RotationState, RotationAct]:
        found = machine.decide(state, seen, now)
        self.waits = found.waits
        return found

    def acts_in_flight(self, state: RotationState) -> tuple[RotationAct, ...]:
        """What is waited for too: a node that has gone, until the next one is ready, keeps the conductor here."""
        gone = (each for each in state.nodes if each.phase == RETURNING)
        awaited = (RotationAct(AWAIT, each.name, each.pool, each.attempts) for each in gone)
        return (*machine.acts_in_flight(state), *awaited)

    def clear(
        self, decision: Decision[RotationState, RotationAct], seen: RotationInput, now: datetime
    ) -> RotationInput | None:
        """Nothing is begun on what was read some time ago."""
        if self._fresh or all(each.kind == RELEASE for each in decision.acts):
            return None
        self._read(now)
        self._fresh = True
        return self._sight(decision.state, now)

    def before_store(self, decision: Decision[RotationState, RotationAct]) -> RotationState:
        return decision.state

    def stored(self, state: RotationState, lease: Lease) -> None:
        """The record is all that there is to see."""

    def carry_out(self, act: RotationAct, state: RotationState, resumed: bool) -> RotationChange | None:
        """Begins the act, which looks at the node first, whoever began it before."""
        if act.kind == AWAIT:
            return None
        work = self._work(act, state)
        if act.kind == RELEASE:
            self._workers.halt(act.node)
            self._failed.pop(act.node, None)
            self._workers.begin(act.node, act.operation, lambda hands: _let_go(work, hands))
        elif act.kind == ADD_NODE:
            self._workers.begin(act.node, act.operation, lambda hands: self._replacer.add(work, hands))
        else:
            self._workers.begin(act.node, act.operation, lambda hands: self._replacer.replace(work, hands))
        return None

    def release(self, state: RotationState) -> None:
        self._workers.holds.keep_only({cluster_in_name(each.node) for each in machine.acts_in_flight(state)})

    def record(self, state: RotationState, now: datetime) -> t.Iterator[RotationChange]:
        releases = {each.operation for each in machine.acts_in_flight(state) if each.kind == RELEASE}
        for each in self._workers.ended():
            self._looked = None
            if each.operation in releases and not each.failure:
                yield _released(each.operation)
            elif each.failure:
                self._failed[each.node] = each.failure

    def keep(self, state: RotationState, now: datetime) -> None:
        self._workers.holds.keep()

    def settled(self, state: RotationState) -> bool:
        return state.done and not machine.acts_in_flight(state)

    def next_look(self) -> datetime | None:
        """Pods come and go, and so do what holds them and who does not answer."""
        if self._looked is None or not (self.waits or self._unknown):
            return None
        return self._looked + self._interval

    def wait(self, seconds: float) -> object:
        self._workers.wait(seconds)
        return None

    def close(self) -> None:
        self._workers.close()

    def _read(self, now: datetime) -> None:
        """A member that cannot be read is unknown: what was read of it before is not told for the present."""
        snapshot = self._look(now)
        self._unknown = unreadable(snapshot)
        self._members = tuple(each for each in snapshot.members if each.name not in self._unknown)
        self._looked = now

    def _sight(self, state: RotationState, now: datetime) -> RotationInput:
        flying = {each.pool for each in state.nodes if not each.ended}
        return self._ground.sight(
            self._members,
            now,
            failed=dict(self._failed),
            unknown=dict(self._unknown),
            flying=flying,
            stop=self.book.rotation.status.stop_requested,
        )

    def _work(self, act: RotationAct, state: RotationState) -> NodeWork:
        node = next(each for each in state.nodes if each.name == act.node)
        member, _slash, name = act.node.partition("/")
        until = limit_end(node.since, state.settings.grace_period) if act.kind != RELEASE else None
        operation = f"{self.book.name}/{name}.{act.attempt}"
        return NodeWork(member=member, node=name, uid=node.uid, operation=operation, until=until)


def _let_go(work: NodeWork, hands: WorkerHands) -> None:
    patiently(hands, lambda: uncordon(hands.client(), work))


def _released(operation: str) -> RotationChange:
    return lambda state: machine.released(state, operation)
