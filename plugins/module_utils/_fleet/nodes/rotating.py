# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A rotation as its verb is asked for it, with the answer: planned, recorded, conducted, taken up again
(``rotation-begun``), left as it is (``only_waiting``), stopped; ``members-unread``, ``record-damaged``, and nodes that
stay since they are ``young``."""

from __future__ import annotations

import shlex
import typing as t
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property, partial

from ..._core.disruption.members.member_nodes import MemberNodes
from ..._core.disruption.members.nodes_snapshot import NodesSnapshot
from ..._core.disruption.members.rotation_sight import RotationGround
from ..._core.disruption.origins import MANUAL
from ..._core.disruption.rotation.decide import begin, begins_node, decide, with_overdue_restarted
from ..._core.disruption.rotation.input import OtherNode, cluster_in_name
from ..._core.disruption.rotation.state import DRAINING, SURGING, WAITING, RotationState
from ..._core.errors import FleetError, Problem
from ..._core.machine import HeldBack
from ..._core.objects.audit.audit_entry import ROTATION_BEGUN, ROTATION_STOPPED
from ..._core.objects.clusters.node_rotation import DueNodes, NodeRotation
from ..._core.schema.codec import encode
from ..._core.values.clock_skew import clock_skew_words
from ..._kube.client import Timeouts
from ..._store.records import Record
from ..audit.actor import user
from ..audit.evidence import failing
from ..audit.rotations import attested_telling, testify_command
from ..conductor.interrupts import Interrupts
from ..conductor.loop import Ending, RunLimits, conduct
from ..members.members import Clients, Member, members_to_write, open_clients, recorded_members, strangers_remark
from ..recorded import recorded
from ..session import Session
from .other_rotations import OtherRotations, in_flight_beside, kept_meanwhile
from .reading import ReadingWish, nodes_file, read_members
from .replacing import NodeReplacer, ReplacementWish, driver_problems
from .rotation_ground import RecordedFleet, RotationAround
from .rotation_record import (
    RotationBook,
    ask_to_stop,
    has_begun,
    is_carried_on_by_schedule,
    record_begun,
    refuse_too_large,
    rotation_document,
    rotation_state,
    status_once_stopped,
)
from .rotation_steering import LOOK, RotationSteering, members_left, members_not_wholly_read
from .rotation_words import RotationTelling, folding
from .sources import KIND, NodeManifests, with_recorded
from .workers import MemberHolds, NodeWorkers


@dataclass(frozen=True, kw_only=True)
class RotationWish:
    """How a rotation is conducted. ``snapshot`` is a file for ``planned``, alone; ``only_waiting`` leaves a rotation as
    it is that no schedule carries on (``is_carried_on_by_schedule``); ``again`` has one without ``spec.due`` that has
    ended replace all nodes once more, those that have come since, too. What was read of members is good for
    ``interval``; ``time_limit`` and ``max_idle`` are as of ``conductor.loop.RunLimits``."""

    replacement: ReplacementWish = ReplacementWish()
    reading: ReadingWish = ReadingWish()
    snapshot: str = ""
    only_waiting: bool = False
    again: bool = False
    time_limit: timedelta | None = None
    max_idle: timedelta = timedelta(minutes=2)
    interval: timedelta = LOOK


@dataclass(frozen=True, kw_only=True)
class RotationReport:
    """A rotation as it stands, or would begin. ``due``: of one that begins, why nodes are to be replaced; ``begins``:
    of one ``planned``, which begin now; both by ``member/node``. ``changed``: something was written, or would be; True
    of one ``planned`` that goes on. ``why`` is of ``loop.Ending``, empty if none was conducted; ``resume_at``, if
    known, is when it goes on. So many ``young`` nodes stay: they came after ``since``, when it began first."""

    rotation: NodeRotation
    state: RotationState
    changed: bool
    due: t.Mapping[str, str] = field(default_factory=dict)
    begins: tuple[str, ...] = ()
    waits: tuple[HeldBack, ...] = ()
    why: str = ""
    resume_at: datetime | None = None
    notes: tuple[Problem, ...] = ()
    young: int = 0
    since: datetime | None = None


def planned(session: Session, name: str, given: NodeManifests, wish: RotationWish) -> RotationReport:
    """The rotation as it would begin or go on now, or as it stands where ``only_waiting`` leaves it. Nothing is
    written. FleetError ``no-such-rotation``, ``rotation-begun`` (what is given differs from what goes on),
    ``no-members`` (not from a file), ``members-unread``, ``record-damaged``, ``rotation-too-large``, ``no-workers``,
    and as of ``nodes_file``, ``begin`` and ``driver_problems``."""
    asked = _asked(session, name, given)
    if asked.is_left(wish):
        return asked.as_it_stands
    snapshot, ahead = _snapshot(session, asked, wish)
    others = in_flight_beside(session.records, name)
    return _foreseen(asked, snapshot, others, session.clock(), wish, clock_skew_words(ahead))


def conduct_rotation(session: Session, name: str, given: NodeManifests, wish: RotationWish) -> RotationReport:
    """Begins the rotation, or takes it up, and carries it on until it ends, waits for longer than allowed, or is out of
    time. One that is taken up needs a way to replace its nodes, too, unless it is to stop. One without nodes that are
    due is neither recorded nor conducted. FleetError as of ``planned``, ``members_to_write``, ``user`` and
    ``conductor.loop.conduct``, and ``conflict`` where somebody else has just begun or written it (with ``only_waiting``
    it is left as it stands then). What was begun stays recorded."""
    asked = _asked(session, name, given)
    if asked.is_left(wish):
        return asked.as_it_stands
    members = _taking(members_to_write(session), asked)
    known = {each: member.fleet for each, member in members.items()}
    waits = Timeouts.connecting(wish.reading.timeout)
    with open_clients(session, known, timeout=waits, strict=True) as clients:
        foreseen = None
        if asked.going:
            _refuse_other_drivers(session, asked, members, clients, wish)
        else:
            first = read_members(members, clients, wish.reading, session.clock())
            foreseen = _foreseen(asked, first, in_flight_beside(session.records, name), session.clock(), wish)
            if foreseen.state.done:
                return foreseen
            who = f"{MANUAL} by {user(session) or session.holder}"
            try:
                record_begun(session.records, asked.ground.rotation, foreseen.state, who, asked.document)
            except FleetError as error:
                if not (wish.only_waiting and error.code == "conflict"):
                    raise
                return asked.as_it_stands  # another schedule has just begun it
            testify_command(session, ROTATION_BEGUN, name, changed=True)
        with Interrupts() as told:
            limits = RunLimits(
                holder=session.holder, time_limit=wish.time_limit, max_idle=wish.max_idle, interrupted=told
            )
            heard = replace(session, say=folding(session.say, f"{name}:"))
            fleet = RecordedFleet(session.records)
            around = RotationAround(asked.ground, members, clients, wish.reading, fleet, given.maintenance)
            ending, steering = conduct_recorded_rotation(heard, around, wish, limits, asked.uid)
    return RotationReport(
        rotation=steering.book.rotation,
        state=ending.state,
        changed=ending.changed or foreseen is not None,
        due=foreseen.due if foreseen else {},
        waits=steering.waits,
        why=ending.why,
        resume_at=ending.resume_at if ending.why != "settled" else None,
        notes=foreseen.notes if foreseen else given.findings,
        young=foreseen.young if foreseen else 0,
        since=foreseen.since if foreseen else None,
    )


def stop_rotation(session: Session, name: str, write: bool) -> RotationReport:
    """Asks for no more nodes to be begun, nor by a schedule as they grow old; whoever conducts lets those in flight
    end, and with nothing in hand the rotation ends at once. Without ``write`` only ``changed`` says what would be.
    FleetError as of ``ask_to_stop``."""
    if write:
        stopping = ask_to_stop(session.records, name, session.clock())
        changed = testify_command(session, ROTATION_STOPPED, name, changed=stopping)
        rotation = recorded(NodeRotation, rotation_document(session.records, name))
    else:
        rotation = recorded(NodeRotation, rotation_document(session.records, name))
        changed = status_once_stopped(rotation, session.clock()) is not None
    return RotationReport(rotation=rotation, state=rotation_state(rotation), changed=changed)


def conduct_recorded_rotation(
    session: Session, around: RotationAround, wish: RotationWish, limits: RunLimits, uid: str = ""
) -> tuple[Ending[RotationState], RotationSteering]:
    """Conducts a rotation that is recorded, by this ``uid`` if it is known, with evidence of it; how that ended, and
    the steering as it is then. FleetError as of ``conductor.loop.conduct``."""
    rotation = around.at_first.rotation
    name = rotation.name
    lease = f"rotation/{name}"

    def look(now: datetime, names: t.Collection[str] | None) -> NodesSnapshot:
        """What the members of these names hold, all for None, while the lease of the rotation is kept."""
        with kept_meanwhile(session.records, lease, limits.holder):
            return around.look(now, names)

    workers = NodeWorkers(MemberHolds(around.clients, lease), session.clock, session.say)
    book, replacer = RotationBook(name, uid), NodeReplacer(rotation=rotation, wish=wish.replacement)
    others = OtherRotations(session.records, name, limits.holder)
    steering = RotationSteering(book, around, look, workers, replacer, others, wish.interval)
    event = partial(session.journal, KIND, name)
    telling = RotationTelling(name, session.say, event, lambda: steering.waits, limits.stays)
    attested = attested_telling(session, telling, rotation)
    with failing(attested.testimony):
        ending = conduct(session.records, lease, steering, session.clock, attested, limits)
    return ending, steering


@dataclass(frozen=True, kw_only=True)
class _AskedRotation:
    """The rotation as it is wanted, in ``ground``, and as it is recorded: ``document`` is None where it is not, and
    ``before`` is what is wanted then."""

    ground: RotationGround
    before: NodeRotation
    document: Record | None
    given: NodeManifests

    @property
    def uid(self) -> str:
        """Of the record; empty without one."""
        return str(self.document["metadata"].get("uid", "")) if self.document else ""

    @cached_property
    def state(self) -> RotationState:
        """Where it stands, without nodes if it has not begun. FleetError ``record-damaged``."""
        return rotation_state(self.before)

    @property
    def going(self) -> bool:
        """Whether it has begun and is not over, so that it goes on as it was begun. FleetError as of ``state``."""
        return has_begun(self.before) and not self.state.over

    @property
    def to_replace(self) -> frozenset[str]:
        """The nodes of one that goes on which are there and still to be replaced, by name; none if it is to stop.
        FleetError as of ``state``."""
        if self.before.status.stop_requested or self.state.halted:
            return frozenset()
        return frozenset(each.name for each in self.state.nodes if each.phase in (WAITING, SURGING, DRAINING))

    def replaces_rest(self, wish: RotationWish) -> bool:
        """Whether it only goes on where it ended: without ``spec.due`` the reason for it is that somebody has begun it,
        and a node that has come since needs no replacing by that. FleetError as of ``state``."""
        specs = (self.ground.rotation.spec, self.before.spec)
        return not wish.again and self.state.asked_at is not None and all(each.due == DueNodes() for each in specs)

    def is_left(self, wish: RotationWish) -> bool:
        """Whether ``only_waiting`` leaves it as it is: it is not recorded, does not wait any more since it was found
        waiting, or is to begin again and all its members have left the fleet. FleetError as of ``state``."""
        if not wish.only_waiting:
            return False
        return not (self.document and is_carried_on_by_schedule(self.before)) or not (self.going or self._has_members)

    @property
    def _has_members(self) -> bool:
        """Whether a member of the fleet, as it is now, takes part."""
        return any(self.ground.takes(name, labels) for name, labels in self.ground.fleet.items())

    @property
    def as_it_stands(self) -> RotationReport:
        """A report of what is recorded, or else given, without a change. FleetError as of ``state``."""
        return RotationReport(rotation=self.before, state=self.state, changed=False, notes=self.given.findings)


def _asked(session: Session, name: str, given: NodeManifests) -> _AskedRotation:
    """The rotation of that name, as it is given or else recorded. FleetError ``no-such-rotation``, ``rotation-begun``
    where it goes on and something else is given, ``record-damaged``."""
    everything = with_recorded(given, session.records)
    if name not in everything.rotations:
        rotation_document(session.records, name)
    rotation = everything.rotations[name]
    document = session.records.get(KIND, name)
    fleet = {each: dict(member.cluster.metadata.labels) for each, member in recorded_members(session.records).items()}
    found = _AskedRotation(
        ground=RotationGround(rotation=rotation, maintenance=tuple(everything.maintenance.values()), fleet=fleet),
        before=recorded(NodeRotation, document) if document is not None else rotation,
        document=document,
        given=given,
    )
    if found.going and encode(found.before.spec) != encode(rotation.spec):
        raise FleetError("rotation-begun", "it has begun, and the file says something else", name, _instead(found))
    return found


def _instead(asked: _AskedRotation) -> str:
    """What to type for it to go on, or to end so that it can be begun by the file that is there now."""
    command = f"ansible-playbook gitops.fleet.rotate -e {shlex.quote(f'rotation={asked.ground.rotation.name}')}"
    ends = f", then {command} until nodes in flight have ended" if asked.state.in_hand else ""
    return f"carry it on as it was begun: {command}; or stop it: {command} -e state=stopped{ends}, and begin it anew"


def _taking(members: t.Mapping[str, Member], asked: _AskedRotation) -> dict[str, Member]:
    """The members that take part, and those with nodes that were begun with; all of them where budgets are over the
    fleet. None for one that goes on and whose members have all left: its nodes are given up. FleetError ``no-members``
    for another, and as of ``_AskedRotation.state``."""
    ground = asked.ground
    begun = {cluster_in_name(each.name) for each in asked.state.nodes if not each.ended or each.release}
    found = {
        name: each
        for name, each in members.items()
        if ground.over_fleet or name in begun or ground.takes(name, dict(each.cluster.metadata.labels))
    }
    if not found and not asked.going:
        hint = "join some (gitops.fleet.join), or look at spec.memberSelector and spec.members"
        raise FleetError("no-members", "no member takes part", f"{KIND}/{ground.rotation.name}", hint)
    return found


def _snapshot(session: Session, asked: _AskedRotation, wish: RotationWish) -> tuple[NodesSnapshot, timedelta]:
    """What members that take part hold, now or as the file has it, and how far clocks are ahead of ours. FleetError as
    of ``nodes_file``, or ``_taking`` and ``read_members``."""
    if wish.snapshot:
        return nodes_file(wish.snapshot, session.clock()), timedelta(0)
    members = _taking(recorded_members(session.records), asked)
    waits = Timeouts.connecting(wish.reading.timeout)
    with open_clients(session, {name: each.fleet for name, each in members.items()}, timeout=waits) as clients:
        return read_members(members, clients, wish.reading, session.clock()), clients.clock_ahead()


def _foreseen(
    asked: _AskedRotation,
    snapshot: NodesSnapshot,
    others: tuple[OtherNode, ...],
    now: datetime,
    wish: RotationWish,
    wait: str = "",
) -> RotationReport:
    """The first step, or the next one of a rotation that goes on, in which nothing begins if there is a ``wait`` for
    something; nothing is written. FleetError ``members-unread`` and ``rotation-too-large`` for the first, and as of
    ``_refuse_driverless`` and ``begin``."""
    ground, rotation = asked.ground, asked.ground.rotation
    unknown = members_not_wholly_read(snapshot)
    members = [each for each in snapshot.members if each.name not in unknown]
    young, since = 0, None
    if asked.going:
        state, due = with_overdue_restarted(asked.state, now), {}
        _refuse_driverless(asked, members, asked.to_replace, wish)
    else:
        _refuse_unread({name: why for name, why in unknown.items() if _concerns(ground, name)})
        due = ground.due(members, now)
        if asked.replaces_rest(wish):
            everything, due = due, ground.due_of(members, now, asked.state)
            young, since = len(everything) - len(due), asked.state.asked_at
        _refuse_driverless(asked, members, due, wish)
        state = replace(begin(due, ground.step_input(members, now), rotation.spec.pace, now), since=since)
        refuse_too_large(rotation.name, state)
    flying = {each.pool for each in state.nodes if not each.ended}
    stop = asked.before.status.stop_requested and asked.going
    there = {*ground.fleet, *unknown, *(each.name for each in snapshot.members)}
    left = members_left(state, there)
    seen = ground.step_input(
        members, now, unknown=unknown, flying=flying, others=others, wait=wait, stop=stop, left=left
    )
    found = decide(state, seen, now)
    return RotationReport(
        rotation=asked.before if asked.going else rotation,
        state=state,
        changed=bool(due) or asked.going,
        due=due,
        begins=tuple(each.node for each in found.acts if begins_node(each, state.settings)),
        waits=found.waits,
        resume_at=found.wake_at,
        notes=(*asked.given.findings, *strangers_remark(rotation.spec.members, there, f"{KIND}/{rotation.name}")),
        young=young,
        since=since,
    )


def _refuse_other_drivers(
    session: Session, asked: _AskedRotation, members: t.Mapping[str, Member], clients: Clients, wish: RotationWish
) -> None:
    """FleetError as of ``driver_problems`` where a rotation that goes on is taken up with another driver, or without
    its command, so that a node cannot be replaced, as far as members can be read now."""
    clusters = {cluster_in_name(name) for name in asked.to_replace}
    theirs = {name: each for name, each in members.items() if name in clusters}
    if theirs:
        snapshot = read_members(theirs, clients, replace(wish.reading, pods=False), session.clock())
        unknown = members_not_wholly_read(snapshot)
        known = [each for each in snapshot.members if each.name not in unknown]
        _refuse_driverless(asked, known, asked.to_replace, wish)


def _refuse_driverless(
    asked: _AskedRotation, members: t.Iterable[MemberNodes], names: t.Container[str], wish: RotationWish
) -> None:
    """FleetError with the ``driver_problems`` of these nodes, if there are any."""
    problems = list(driver_problems(members, names, asked.ground.rotation, wish.replacement))
    if problems:
        raise FleetError.of(problems)


def _concerns(ground: RotationGround, name: str) -> bool:
    """Whether the rotation has to know what the member holds: it takes part, nobody can tell whether it does, or
    budgets of the fleet count its nodes."""
    labels = ground.fleet.get(name)
    return ground.over_fleet or labels is None or ground.takes(name, labels)


def _refuse_unread(unknown: t.Mapping[str, str]) -> None:
    """FleetError with a ``members-unread`` for each member that is not wholly known."""
    hint = "which nodes are due is not known there; mend it, or leave the member out by spec.memberSelector"
    if unknown:
        raise FleetError.of(Problem("members-unread", why, name, hint) for name, why in sorted(unknown.items()))
