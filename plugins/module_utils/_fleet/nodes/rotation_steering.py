# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A rotation in the conductor's loop: members, and what the records say of them, read again and again; the turn among
other rotations; drains and replacements begun, nodes let go; which members count as unknown, as a kind of theirs could
not be read, or as having left."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ..._core.disruption.members.member_nodes import (
    NODE_CLASS,
    MemberNodes,
)
from ..._core.disruption.members.nodes_snapshot import NodesSnapshot
from ..._core.disruption.rotation import decide as machine
from ..._core.disruption.rotation.input import OtherNode, RotationInput, cluster_in_name, scopes_left
from ..._core.disruption.rotation.progress import ADD_NODE, RELEASE, RotationAct
from ..._core.disruption.rotation.state import RETURNING, RotationState, limit_end, limit_passed
from ..._core.disruption.rotation.wake import all_waiting_shut_in
from ..._core.errors import FleetError
from ..._core.machine import Blocker, Decision, HeldBack
from ..._core.values.clock_skew import clock_skew_words, is_due_again
from ..._core.windows.fleet_windows import WindowAnswer
from ..._store.records import Lease
from ..conductor.journal import Change
from ..conductor.loop import AWAY, PASSING
from ..leases import leaving_problem
from ..recorded import DAMAGED
from .draining import NodeWork, retried_while_passing, uncordon
from .other_rotations import OtherRotations
from .replacing import NodeReplacer
from .rotation_ground import Around, unknown_ground
from .rotation_record import RotationBook
from .workers import NodeWorkers, WorkerHands

# Reads members at an aware instant, all of them for None or those of these names that are in the fleet. Who cannot be
# read is in ``failed``; FleetError ``no-workers`` alone.
Look = t.Callable[[datetime, "t.Collection[str] | None"], NodesSnapshot]
RotationChange = Change[RotationState]
LOOK, RELEASE_AGAIN = timedelta(seconds=2), timedelta(seconds=30)
AWAIT = "await"
COUNTED = "another rotation is just deciding what it begins"


def members_not_wholly_read(snapshot: NodesSnapshot) -> dict[str, str]:
    """Members of which not all is known that a decision needs (node classes it does not), each with why: first those
    that could not be read at all."""
    found = {name: each.message for name, each in snapshot.failed.items()}
    for member in snapshot.members:
        missing = [f"{kind}: {why.message}" for kind, why in member.missing.items() if kind != NODE_CLASS]
        if missing:
            found[member.name] = "; ".join(missing)
    return found


def members_left(state: RotationState, fleet: t.Container[str]) -> frozenset[str]:
    """Names of clusters with nodes of the rotation, ended or not, that are not in the fleet."""
    return frozenset(name for each in state.nodes if (name := cluster_in_name(each.name)) not in fleet)


@dataclass(frozen=True)
class _Stuck:
    """A node that could not be let go, why, and when that was last tried."""

    node: str
    failure: str
    at: datetime


class RotationSteering:
    """A rotation as the conductor's loop drives it (``Steering`` of ``conductor.loop``). ``around`` and ``look`` read
    what the records say, and the members; what was read of these is good for ``interval``."""

    def __init__(
        self,
        book: RotationBook,
        around: Around,
        look: Look,
        workers: NodeWorkers,
        replacer: NodeReplacer,
        others: OtherRotations,
        interval: timedelta = LOOK,
    ) -> None:
        self.book = book
        self._around, self._look, self._workers, self._replacer = around, look, workers, replacer
        self._ground = around.at_first
        self._others, self._interval = others, interval
        self._members: dict[str, MemberNodes] = {}
        self._unknown: dict[str, str] = {}
        self._unknown_since: dict[str, datetime] = {}
        self._beside: tuple[OtherNode, ...] = ()
        self._wait = ""
        self._doubts: tuple[str, ...] = ()
        self._leaving: t.Mapping[str, str] = {}
        self._decided: RotationState | None = None
        self._followed: tuple[datetime, datetime] | None = None
        self._looked: datetime | None = None
        self._ended: set[str] = set()
        self._fresh = False
        self._failed: dict[str, str] = {}
        self._stuck: dict[str, _Stuck] = {}
        self._waits: tuple[HeldBack, ...] = ()
        self._shut: t.Callable[[], bool] = lambda: False

    @property
    def waits(self) -> tuple[HeldBack, ...]:
        """What waits by now, last of all nodes that could not be let go."""
        held = ((each.node, Blocker("release", f"it stays cordoned: {each.failure}")) for each in self._stuck.values())
        return (*self._waits, *(HeldBack(node, (why,)) for node, why in held))

    def see(self, state: RotationState, now: datetime) -> RotationInput:
        """Members as they were read last: all of them anew after ``interval``, else those where work has ended.
        FleetErrors of the records and of ``look``; while records of other rotations are damaged, or it is not known
        what holds this one back, nothing begins instead."""
        if self._looked is None:
            self._workers.holds.inherit(cluster_in_name(each.node) for each in machine.acts_in_flight(state))
        self._fresh = is_due_again(self._looked, self._interval, now)
        if self._fresh:
            self._read(now)
        elif self._ended:
            self._put(self._look(now, self._ended), self._ended)
            self._ended = set()
        return self._sight(state, now)

    def decide(self, state: RotationState, seen: RotationInput, now: datetime) -> Decision[RotationState, RotationAct]:
        """As ``_core.disruption.rotation.decide``, of a state ``with_overdue_restarted`` as of the first call, or of
        the first after AWAY without any: the machine slept, and nobody worked on nodes. Keeps who waits for what."""
        since, last = self._followed or (now, now)
        self._followed = (now if is_due_again(last, AWAY, now) else since, now)
        self._decided = state
        found = machine.decide(machine.with_overdue_restarted(state, self._followed[0]), seen, now)
        self._waits = found.waits
        self._shut = lambda: all_waiting_shut_in(found.state, seen, scopes_left(found.state, seen, now))
        return found

    def acts_in_flight(self, state: RotationState) -> tuple[RotationAct, ...]:
        """As of the rotation's decider, and AWAIT for each node that is gone until the next one is ready; without nodes
        that cannot be let go just now, and those of members that have been unknown for longer than a node may take."""
        gone = (each for each in state.nodes if each.phase == RETURNING)
        awaited = (RotationAct(AWAIT, each.name, each.pool, each.attempts) for each in gone)
        flying = (each for each in machine.acts_in_flight(state) if each.operation not in self._stuck)
        lost = self._lost(state)
        return tuple(each for each in (*flying, *awaited) if cluster_in_name(each.node) not in lost)

    def look_before_beginning(
        self, decision: Decision[RotationState, RotationAct], seen: RotationInput, now: datetime
    ) -> RotationInput | None:
        """None if what was decided may begin: nodes are only let go, or nothing is done, and the turn is given back
        then; or members were read in this step, and it is our turn still or no node begins that others would have to
        count. Else reads members, unless just read, takes the turn if it is needed and free, and gives what is seen by
        then, for the state that was decided on: an act that has failed is in flight there, and not in the decision.
        FleetErrors as of ``see``."""
        if all(each.kind == RELEASE for each in decision.acts):
            self._others.end_turn()
            return None
        begins = any(machine.begins_node(each, decision.state.settings) for each in decision.acts)
        if self._fresh and (not begins or self._others.keeps_turn()):
            return None
        if not self._fresh:
            self._read(now)
            self._fresh = True
        if begins and self._others.take_turn():
            self._see_others()
            self._leaving = self._around.leaving()
        elif begins:
            self._wait = COUNTED
        return self._sight(self._decided or decision.state, now)

    def before_store(self, decision: Decision[RotationState, RotationAct]) -> RotationState:
        """The state as decided; nothing is added to it."""
        return decision.state

    def stored(self, state: RotationState, lease: Lease) -> None:
        """Gives the turn back: by now other rotations see in the records what this one begins."""
        self._others.end_turn()

    def carry_out(self, act: RotationAct, state: RotationState, resumed: bool) -> RotationChange | None:
        """Begins the act, which looks at the node first, so that ``resumed`` does not matter; nothing for AWAIT. Gives
        None: how it ended is met by ``drain_events`` and ``see``."""
        if act.kind == AWAIT:
            return None
        work = self._work(act, state)
        if act.kind == RELEASE:
            self._workers.begin(act.node, act.operation, lambda hands: _let_go(work, hands))
        elif act.kind == ADD_NODE:
            self._workers.begin(act.node, act.operation, lambda hands: self._replacer.add(work, hands))
        else:
            self._workers.begin(act.node, act.operation, lambda hands: self._replacer.replace(work, hands))
        return None

    def release(self, state: RotationState) -> None:
        """Ends work on members that have left the fleet, and gives back the leases on members on which nothing is in
        flight."""
        left = members_left(state, self._ground.fleet)
        for each in state.nodes if left else ():
            if cluster_in_name(each.name) in left:
                self._workers.halt(each.name)
        self._workers.holds.keep_only({cluster_in_name(each.node) for each in machine.acts_in_flight(state)})

    def drain_events(self, state: RotationState, now: datetime) -> t.Iterator[RotationChange]:
        """A change for each node that was let go; other ends are seen on the members, failures are kept for ``see``."""
        releases = {each.operation for each in machine.acts_in_flight(state) if each.kind == RELEASE}
        self._stuck = {name: each for name, each in self._stuck.items() if name in releases}
        for each in self._workers.ended():
            self._ended.add(cluster_in_name(each.node))
            if each.operation not in releases:
                self._failed |= {each.operation: each.failure} if each.failure else {}
            elif each.failure:
                self._stuck[each.operation] = _Stuck(each.node, each.failure, now)
            else:
                self._stuck.pop(each.operation, None)
                yield _released(each.operation)

    def keep(self, state: RotationState, now: datetime) -> None:
        """Gives the turn back, renews leases on members, and every 30 s tries again to let go of nodes where that
        failed."""
        self._others.end_turn()
        self._workers.holds.keep()
        for act in machine.acts_in_flight(state):
            stuck = self._stuck.get(act.operation)
            if stuck is not None and is_due_again(stuck.at, RELEASE_AGAIN, now):
                self._stuck[act.operation] = replace(stuck, at=now)
                self.carry_out(act, state, resumed=True)

    def settled(self, state: RotationState) -> bool:
        """Whether the rotation is done, and no node is to be let go any more."""
        return state.done and not machine.acts_in_flight(state)

    def next_look(self) -> datetime | None:
        """When members are read again, ``interval`` after the last time. None where nothing was read yet, or nothing
        waits and no member is unknown; and where nodes wait only for openings that are known, or for people who take an
        annotation away."""
        if self._looked is None or not (self.waits or self._unknown):
            return None
        if not (self._unknown or self._stuck) and self._shut():
            return None
        return self._looked + self._interval

    def wait(self, seconds: float) -> None:
        """Blocks until work on a node has ended, at most so many seconds."""
        self._workers.wait(seconds)

    def close(self) -> None:
        """Ends our turn, begins nothing any more, and gives the leases on all members back."""
        self._others.end_turn()
        self._workers.close()

    def _read(self, now: datetime) -> None:
        """Reads all members anew, with what the records say of them, and what other rotations have in flight. One that
        cannot be read is unknown: what was read of it before is not told for the present. FleetErrors as of ``see``."""
        blind = self._see_ground(now)
        self._members, self._unknown, self._ended = {}, {}, set()
        self._put(self._look(now, None), ())
        self._doubts = tuple(filter(None, (blind, clock_skew_words(self._around.clock_ahead()))))
        self._leaving = {}
        self._see_others()
        self._looked = now

    def _put(self, snapshot: NodesSnapshot, names: t.Iterable[str]) -> None:
        """What was read, in place of what was known of the members of these names, with since when members are
        unknown."""
        for name in names:
            self._members.pop(name, None)
            self._unknown.pop(name, None)
        unknown = members_not_wholly_read(snapshot)
        self._unknown |= unknown
        self._members |= {each.name: each for each in snapshot.members if each.name not in unknown}
        at = snapshot.captured_at
        self._unknown_since = {name: self._unknown_since.get(name, at) for name in self._unknown}

    def _lost(self, state: RotationState) -> set[str]:
        """Members that nobody waits for any more: unknown by now for longer than a node may take."""
        timeout = state.settings.node_timeout
        rows = ((name, limit_end(since, timeout)) for name, since in self._unknown_since.items())
        return {name for name, end in rows if self._looked is not None and limit_passed(end, self._looked)}

    def _see_ground(self, now: datetime) -> str:
        """Sees what holds the rotation back by now; why nothing may begin where that is not known, empty where it is.
        FleetErrors of PASSING are raised."""
        try:
            self._ground = self._around.ground(now)
        except FleetError as error:
            if error.code in PASSING:
                raise
            return unknown_ground(error)
        return ""

    def _see_others(self) -> None:
        """Reads what other rotations have in flight. While their records are damaged, nothing begins; other FleetErrors
        are raised."""
        try:
            self._beside, self._wait = self._others.in_flight(), ""
        except FleetError as error:
            if error.code != DAMAGED:
                raise
            self._wait = str(error)

    def _sight(self, state: RotationState, now: datetime) -> RotationInput:
        """What was read, with failures of acts that are in flight, for the decision. A member that is let go is
        closed."""
        begun = (each for each in machine.acts_in_flight(state) if each.kind != RELEASE)
        seen = self._ground.step_input(
            tuple(self._members.values()),
            now,
            failed={each.node: self._failed[each.operation] for each in begun if each.operation in self._failed},
            unknown=dict(self._unknown),
            flying={each.pool for each in state.nodes if not each.ended},
            others=self._beside,
            wait="; ".join(filter(None, (*self._doubts, self._wait))),
            stop=self.book.rotation.status.stop_requested,
            left=members_left(state, self._ground.fleet),
        )
        if not self._leaving:
            return seen
        why = {name: leaving_problem(name, holder).message for name, holder in self._leaving.items()}
        shut = {name: WindowAnswer(False, text, None) for name, text in why.items()}
        return replace(seen, windows={**seen.windows, **shut})

    def _work(self, act: RotationAct, state: RotationState) -> NodeWork:
        """What the act is about: the Node by its uid, and, but for a release, the instant from which its pods are
        deleted."""
        node = next(each for each in state.nodes if each.name == act.node)
        member, _slash, name = act.node.partition("/")
        until = limit_end(node.since, state.settings.grace_period) if act.kind != RELEASE else None
        operation = f"{self.book.name}/{name}.{act.attempt}"
        return NodeWork(member=member, node=name, uid=node.uid, operation=operation, until=until)


def _let_go(work: NodeWork, hands: WorkerHands) -> None:
    """Uncordons the node, tried again while its member does not answer. FleetError as of ``uncordon``."""
    retried_while_passing(hands, lambda: uncordon(hands.client(), work))


def _released(operation: str) -> RotationChange:
    """The change that a node was let go."""
    return lambda state: machine.released(state, operation)
