# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A rotation from its definition to its end: planned, recorded, conducted, taken up again, stopped."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from ..._core.disruption.members.nodes_snapshot import NodesSnapshot
from ..._core.disruption.members.rotation_sight import RotationGround
from ..._core.disruption.origins import MANUAL
from ..._core.disruption.rotation.decide import begin, decide
from ..._core.disruption.rotation.state import RotationState
from ..._core.errors import FleetError, Problem
from ..._core.machine import HeldBack
from ..._core.objects.clusters.node_rotation import NodeRotation
from ..._core.schema.codec import encode
from ..._kube.client import Timeouts
from ..conductor.interrupts import Interrupts
from ..conductor.loop import Ending, RunLimits, conduct
from ..members.members import (
    Clients,
    Member,
    members_to_write,
    open_clients,
    recorded_members,
)
from ..recorded import recorded
from ..session import Session
from ..updates.gate_completion import user
from .reading import ReadingWish, nodes_file, read_members
from .replacing import NodeReplacer, ReplacementWish, driver_problems
from .rotation_record import (
    RotationBook,
    ask_to_stop,
    has_begun,
    record_begun,
    rotation_document,
    rotation_state,
)
from .rotation_steering import LOOK, RotationSteering, unreadable
from .rotation_words import RotationTelling
from .sources import KIND, NodeManifests, with_recorded
from .workers import MemberHolds, NodeWorkers


@dataclass(frozen=True, kw_only=True)
class RotationWish:
    """How a rotation is conducted. ``snapshot`` is a file to plan from instead of asking members."""

    replacement: ReplacementWish = ReplacementWish()
    reading: ReadingWish = ReadingWish()
    snapshot: str = ""
    time_limit: timedelta | None = None
    max_idle: timedelta = timedelta(minutes=2)
    interval: timedelta = LOOK


@dataclass(frozen=True, kw_only=True)
class RotationReport:
    """A rotation as it stands, or would begin. ``due`` says of nodes that are not begun why they are to be replaced;
    ``why`` and ``resume_at`` are as of ``conductor.loop.Ending``, ``why`` empty where nothing was conducted."""

    rotation: NodeRotation
    state: RotationState
    changed: bool
    due: t.Mapping[str, str] = field(default_factory=dict)
    begins: tuple[str, ...] = ()
    waits: tuple[HeldBack, ...] = ()
    why: str = ""
    resume_at: datetime | None = None
    notes: tuple[Problem, ...] = ()


def planned(session: Session, name: str, given: NodeManifests, wish: RotationWish) -> RotationReport:
    """The rotation as it would begin or go on now. Nothing is written; members are only read.

    FleetError ``no-such-rotation``, ``members-unread``, those of ``begin`` and of drivers.
    """
    ground, rotation, before = _asked(session, name, given)
    snapshot = _snapshot(session, ground, wish)
    return _foreseen(ground, rotation, before, snapshot, session.clock(), wish, given)


def conducted(session: Session, name: str, given: NodeManifests, wish: RotationWish) -> RotationReport:
    """Begins the rotation, or takes it up, and carries it on until it ends, waits for longer than allowed, or is out
    of time. FleetError as of ``planned`` and ``conductor.loop.conduct``."""
    ground, rotation, before = _asked(session, name, given)
    members = _taking(members_to_write(session), ground)
    fleet = {each: member.fleet for each, member in members.items()}
    waits = Timeouts.connecting(wish.reading.timeout)
    with open_clients(session, fleet, timeout=waits, strict=True) as clients:
        first = read_members(members, clients, wish.reading, session.clock())
        foreseen = None
        if not has_begun(before) or rotation_state(before).done:
            foreseen = _foreseen(ground, rotation, before, first, session.clock(), wish, given)
            if foreseen.state.done:
                return foreseen
            who = f"{MANUAL} by {user(session) or session.holder}"
            record_begun(session.records, rotation, foreseen.state, who)
        with Interrupts() as told:
            limits = RunLimits(
                holder=session.holder, time_limit=wish.time_limit, max_idle=wish.max_idle, interrupted=told
            )
            ending, steering = carried(session, ground, members, clients, wish, limits)
    return RotationReport(
        rotation=steering.book.rotation,
        state=ending.state,
        changed=ending.changed or foreseen is not None,
        due=foreseen.due if foreseen else {},
        waits=steering.waits if not ending.state.done else (),
        why=ending.why,
        resume_at=ending.resume_at if ending.why != "settled" else None,
        notes=given.findings,
    )


def stopped(session: Session, name: str, write: bool) -> RotationReport:
    """Asks for no more nodes to be begun; whoever conducts, or the next one, lets those in flight end. Nothing is
    written without ``write``. FleetError as of ``ask_to_stop``."""
    if write:
        changed = ask_to_stop(session.records, name)
        rotation = recorded(NodeRotation, rotation_document(session.records, name))
    else:
        rotation = recorded(NodeRotation, rotation_document(session.records, name))
        changed = not (rotation.status.stop_requested or rotation_state(rotation).done)
    return RotationReport(rotation=rotation, state=rotation_state(rotation), changed=changed)


def carried(
    session: Session,
    ground: RotationGround,
    members: t.Mapping[str, Member],
    clients: Clients,
    wish: RotationWish,
    limits: RunLimits,
) -> tuple[Ending[RotationState], RotationSteering]:
    """Conducts a rotation that is recorded. FleetError as of ``conductor.loop.conduct``."""
    name = ground.rotation.name

    def look(now: datetime) -> NodesSnapshot:
        return read_members(members, clients, wish.reading, now)

    workers = NodeWorkers(MemberHolds(clients, f"rotation/{name}"), session.clock, session.say)
    book, replacer = RotationBook(name), NodeReplacer(rotation=ground.rotation, wish=wish.replacement)
    steering = RotationSteering(book, ground, look, workers, replacer, wish.interval)
    telling = RotationTelling(name, session.say, partial(session.journal, KIND, name), lambda: steering.waits)
    ending = conduct(session.records, f"rotation/{name}", steering, session.clock, telling, limits)
    return ending, steering


def _asked(session: Session, name: str, given: NodeManifests) -> tuple[RotationGround, NodeRotation, NodeRotation]:
    """The rotation as it is wanted, and as it is recorded; what has begun goes on as it was begun."""
    everything = with_recorded(given, session.records)
    if name not in everything.rotations:
        rotation_document(session.records, name)
    rotation = everything.rotations[name]
    document = session.records.get(KIND, name)
    before = recorded(NodeRotation, document) if document is not None else rotation
    if has_begun(before) and not rotation_state(before).done and encode(before.spec) != encode(rotation.spec):
        hint = "carry it on as it is, or stop it first (state stopped, then conducted)"
        raise FleetError("rotation-begun", "it has begun, and the file says something else by now", name, hint)
    ground = RotationGround(rotation=rotation, maintenance=tuple(everything.maintenance.values()))
    return ground, rotation, before


def _taking(members: t.Mapping[str, Member], ground: RotationGround) -> dict[str, Member]:
    """The members that take part; all of them where budgets are over the fleet. FleetError ``no-members``."""
    whole = any(each.spec.budgets for each in ground.maintenance)
    found = {
        name: each for name, each in members.items() if whole or ground.takes(name, dict(each.cluster.metadata.labels))
    }
    if not found:
        hint = "join some with member_cluster, or look at spec.memberSelector and spec.members"
        raise FleetError("no-members", "no member takes part", f"{KIND}/{ground.rotation.name}", hint)
    return found


def _snapshot(session: Session, ground: RotationGround, wish: RotationWish) -> NodesSnapshot:
    if wish.snapshot:
        return nodes_file(wish.snapshot, session.clock())
    members = _taking(recorded_members(session.records), ground)
    waits = Timeouts.connecting(wish.reading.timeout)
    with open_clients(session, {name: each.fleet for name, each in members.items()}, timeout=waits) as clients:
        return read_members(members, clients, wish.reading, session.clock())


def _foreseen(
    ground: RotationGround,
    rotation: NodeRotation,
    before: NodeRotation,
    snapshot: NodesSnapshot,
    now: datetime,
    wish: RotationWish,
    given: NodeManifests,
) -> RotationReport:
    """The first step, or the next one of a rotation that goes on."""
    going = has_begun(before) and not rotation_state(before).done
    unknown = unreadable(snapshot)
    members = [each for each in snapshot.members if each.name not in unknown]
    if going:
        state, due = rotation_state(before), {}
    else:
        _refuse_unread(unknown)
        due = ground.due(members, now)
        problems = list(driver_problems(members, due, rotation, wish.replacement))
        if problems:
            raise FleetError.of(problems)
        state = begin(due, ground.sight(members, now), rotation.spec.pace, now)
    flying = {each.pool for each in state.nodes if not each.ended}
    seen = ground.sight(members, now, unknown=unknown, flying=flying, stop=before.status.stop_requested and going)
    found = decide(state, seen, now)
    return RotationReport(
        rotation=before if going else rotation,
        state=state,
        changed=bool(due) or going,
        due=due,
        begins=tuple(each.node for each in found.acts),
        waits=found.waits,
        resume_at=found.wake_at,
        notes=given.findings,
    )


def _refuse_unread(unknown: t.Mapping[str, str]) -> None:
    hint = "which nodes are due is not known there; mend it, or leave the member out by spec.memberSelector"
    if unknown:
        raise FleetError.of(Problem("members-unread", why, name, hint) for name, why in sorted(unknown.items()))
