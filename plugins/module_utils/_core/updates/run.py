# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The rows that are stored of an update run (members, groups, stages, gates, waits); what a decision sees beside them
(members with windows and obstacles, approvals), and its acts. States of groups, stages and the run are derived from
these, never stored by hand."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from ..values.update_states import (
    ALREADY_AT_TARGET,
    COMPLETED,
    NEW,
    NOT_STARTED,
    PENDING,
    SKIPPED,
    SYSTEM,
    TERMINAL,
    USER,
)
from ..windows.spans import Spans

UNREACHABLE_TIMEOUT = timedelta(minutes=30)


@dataclass(frozen=True, kw_only=True)
class MemberRow:
    """One member in the run.

    ``attempt`` is 0 until it is first dispatched, then counts from 1; ``operation`` names the latest attempt,
    ``reference`` is what its driver gave back to find it again. Versions are those observed before and after it,
    ``node_images`` (``family-version``) those of its pools after it. ``skipped_by`` is user or system; ``skipped_via``
    the kind of target that the user named. ``completed`` is when it ended: Completed, Failed or Skipped. ``started`` is
    the first dispatch, whatever attempt this is; ``pending_since`` since when it is Pending for the present ``reason``.
    """

    name: str
    state: str = NOT_STARTED
    attempt: int = 0
    operation: str = ""
    reference: str = ""
    version_before: str = ""
    version_after: str = ""
    node_images: tuple[str, ...] = ()
    reason: str = ""
    message: str = ""
    skipped_by: str = ""
    skipped_via: str = ""
    started: datetime | None = None
    completed: datetime | None = None
    pending_since: datetime | None = None

    @property
    def skipped_behind_target(self) -> bool:
        """Whether the run itself skipped the member for another reason than being at the target already; unlike
        ``retry.is_left_behind`` not so of one that failed."""
        return self.state == SKIPPED and self.skipped_by == SYSTEM and self.reason != ALREADY_AT_TARGET

    @property
    def recorded_at_target(self) -> bool:
        """Whether the record says that the member is at the target: Completed, or Skipped by no user and not
        ``skipped_behind_target``."""
        skipped_there = self.state == SKIPPED and self.skipped_by != USER and not self.skipped_behind_target
        return self.state == COMPLETED or skipped_there


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """When a scheduled gate completes itself: the next such weekday (``Monday``) and time (``HH:MM``), at the offset
    ``+HH:MM`` (empty: UTC)."""

    day: str
    time: str
    utc_offset: str


@dataclass(frozen=True, kw_only=True)
class GateRow:
    """One gate. ``schedule`` None: only people complete it. ``id`` is a lower-case GUID, known from the beginning; the
    Gate object of that name is made once it is Pending.

    ``due`` is set when a scheduled gate opens. ``by`` is who completed it, empty for the clock; ``verified`` whether
    the hub vouched for that name then. ``refused`` says who refused to open it and why, empty if nobody did.
    """

    name: str
    id: str
    schedule: Schedule | None = None
    state: str = NOT_STARTED
    opened: datetime | None = None
    due: datetime | None = None
    completed: datetime | None = None
    by: str = ""
    verified: bool = False
    refused: str = ""


@dataclass(frozen=True, kw_only=True)
class WaitRow:
    """The wait after a stage. ``ends`` is fixed when it begins; ``reason`` says why it was Skipped, empty where its
    stage came to be Skipped of itself."""

    seconds: int
    state: str = NOT_STARTED
    reason: str = ""
    started: datetime | None = None
    ends: datetime | None = None
    completed: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class GroupRow:
    """One group. Limits are resolved integers. ``user_skipped`` and ``breached`` (the halt latch) cannot be derived.
    ``reached``: a gate of it was opened, or a member was tried, or it is empty and its stage was reached."""

    name: str
    members: tuple[MemberRow, ...]
    max_concurrency: int
    max_allowed_failures: int
    before_gates: tuple[GateRow, ...] = ()
    after_gates: tuple[GateRow, ...] = ()
    user_skipped: bool = False
    breached: bool = False
    reached: bool = False


@dataclass(frozen=True, kw_only=True)
class StageRow:
    """One stage. Limits, ``user_skipped`` and ``breached`` as of a group; ``reached``: its turn has come.
    ``next_group`` is the index of the group that the round robin serves next."""

    name: str
    groups: tuple[GroupRow, ...]
    max_concurrency: int
    max_allowed_failures: int
    wait: WaitRow | None = None
    before_gates: tuple[GateRow, ...] = ()
    after_gates: tuple[GateRow, ...] = ()
    user_skipped: bool = False
    breached: bool = False
    reached: bool = False
    next_group: int = 0


def with_members_changed(stage: StageRow, change: t.Callable[[MemberRow], MemberRow]) -> StageRow:
    """The stage with each member changed; the same object if ``change`` gives each the same back."""
    groups = []
    for group in stage.groups:
        members = tuple(map(change, group.members))
        unchanged = all(new is old for new, old in zip(members, group.members, strict=True))
        groups.append(group if unchanged else replace(group, members=members))
    if all(new is old for new, old in zip(groups, stage.groups, strict=True)):
        return stage
    return replace(stage, groups=tuple(groups))


@dataclass(frozen=True, kw_only=True)
class RunState:
    """Everything stored of one update run. ``phase`` is NEW until the first start, then ACTIVE; ``stop_requested`` is
    set by a stop until the next start. ``started`` is the first dispatch of a member, ``completed`` since when the run
    is Completed, Skipped or Failed. ``unreachable_timeout`` is how long a member may wait as Unreachable before it is
    Skipped."""

    name: str
    uid: str
    stages: tuple[StageRow, ...]
    phase: str = NEW
    stop_requested: bool = False
    started: datetime | None = None
    completed: datetime | None = None
    unreachable_timeout: timedelta = UNREACHABLE_TIMEOUT

    @property
    def members(self) -> tuple[MemberRow, ...]:
        """The members of all stages and groups, in order."""
        return tuple(row for stage in self.stages for group in stage.groups for row in group.members)

    @property
    def refused_gates(self) -> tuple[GateRow, ...]:
        """Open gates that somebody refused to pass, by stages in order, in each the stage's own before those of its
        groups."""
        gates: list[GateRow] = []
        for stage in self.stages:
            gates += (*stage.before_gates, *stage.after_gates)
            for group in stage.groups:
                gates += (*group.before_gates, *group.after_gates)
        return tuple(gate for gate in gates if gate.refused and gate.state == PENDING)

    @property
    def unfinished(self) -> frozenset[str]:
        """Names of members that are not Completed, Skipped or Failed."""
        return frozenset(row.name for row in self.members if row.state not in TERMINAL)


@dataclass(frozen=True, kw_only=True)
class MemberBlocker:
    """Why a member cannot start now, or ever: a reason code, and a message, which may be empty. ``until`` is when it is
    known to end, None where that is not known."""

    reason: str
    message: str = ""
    until: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class ClosedOpening:
    """The first opening of windows that a freeze closes. At ``start`` it would begin, or the freeze begins amid it;
    ``by`` names the freeze, which holds from ``since`` on."""

    start: datetime
    by: str
    since: datetime


@dataclass(frozen=True, kw_only=True)
class MemberView:
    """What is true of a member at the instant of a decision.

    ``windows`` are intervals in order and apart, None for a member without windows, empty where none comes; ``shut``
    names those who close them now, ``closed`` are openings that freezes take away. ``obstacles`` are what else keeps it
    from starting, such as that it is unreachable. With ``skip`` (already at the target) or ``fail`` (a precondition) it
    is not upgraded when its turn comes, but goes to that end.
    """

    name: str
    in_fleet: bool = True
    windows: Spans | None = None
    shut: tuple[str, ...] = ()
    closed: tuple[ClosedOpening, ...] = ()
    obstacles: tuple[MemberBlocker, ...] = ()
    skip: MemberBlocker | None = None
    fail: MemberBlocker | None = None


Members = t.Mapping[str, MemberView]
"""By name; a member without a view has left the fleet."""


@dataclass(frozen=True, kw_only=True)
class Approval:
    """An approval that counts, for the ``gate`` of that id, given ``at`` that instant. ``by`` names who; ``verified``
    is whether the hub vouches for that."""

    gate: str
    by: str
    at: datetime
    verified: bool = False


@dataclass(frozen=True, kw_only=True)
class Begin:
    """Start this attempt on this member. ``operation`` is its name, the same each time, by which a repeated start is
    known."""

    stage: str
    group: str
    member: str
    attempt: int
    operation: str


@dataclass(frozen=True, kw_only=True)
class OpenGate:
    """Show the gate, which became Pending. ``group`` is empty for a stage's own."""

    stage: str
    group: str
    timing: str
    gate: GateRow

    @property
    def operation(self) -> str:
        """The id of the gate."""
        return self.gate.id


UpdateAct = Begin | OpenGate  # pylint: disable=unsupported-binary-operation  # Python 3.11 can


@dataclass(frozen=True, kw_only=True)
class UpdateSeen:
    """What a decision looks at beside the run. ``approvals`` are those that count. ``gates`` are open gates as their
    objects have them, by id; others are taken as the run has them."""

    members: Members
    approvals: t.Sequence[Approval] = ()
    gates: t.Mapping[str, GateRow] = field(default_factory=dict)
