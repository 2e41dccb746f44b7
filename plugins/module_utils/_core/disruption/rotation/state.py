# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a rotation of nodes remembers from step to step (phase of each node from ``Waiting`` to ``Rotated``, ``Blocked``
or ``GivenUp``, the wave, ``counts``), and when its time limits (``nodeTimeoutSeconds``, ``blockedTimeoutSeconds``,
``soakSeconds``) end. ``schema.encode`` and ``decode`` make JSON of it and back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from ...objects.clusters.node_rotation import RotationSettings
from ...schema.prop import prop

WAITING = "Waiting"
# In flight: a new node is awaited; the node is drained; it is gone, and what replaces it is awaited.
SURGING, DRAINING, RETURNING = "Surging", "Draining", "Returning"
IN_FLIGHT = (SURGING, DRAINING, RETURNING)
# Ended. Blocked: something held it back until the end, and nothing was done to it.
ROTATED, BLOCKED, GIVEN_UP = "Rotated", "Blocked", "GivenUp"
ENDED = (ROTATED, BLOCKED, GIVEN_UP)
# The code of a node that was given up as its member left the fleet.
MEMBER_LEFT = "member-left"


@dataclass(frozen=True, kw_only=True)
class NodeProgress:
    """One node. ``since`` is when its phase began; ``code`` and ``text`` say why it ended as it did, or why its last
    try failed."""

    name: str = prop("Name of the node.")
    uid: str = prop("Identity of the Node.", default="")
    pool: str = prop("Pool that it belongs to.", default="")
    created_at: datetime | None = prop("When it was made.", default=None)
    image: str = prop("Its image.", default="")
    version: str = prop("Version of its kubelet.", default="")
    phase: str = prop("Phase.", default=WAITING)
    wave: int = prop("Wave that it was begun in.", default=0)
    attempts: int = prop("How often it was begun.", default=0)
    begun_at: datetime | None = prop("When it was begun for the first time.", default=None)
    since: datetime | None = prop("When the phase began.", default=None)
    not_before: datetime | None = prop("When it may be tried again.", default=None)
    blocked_since: datetime | None = prop("Since when it is blocked in the window that is open.", default=None)
    blocked_before: int = prop("Seconds that it was blocked in windows before.", default=0)
    replacement: str = prop("Node that came for it.", default="")
    release: str = prop("Why it is to be let go, until that is done.", default="")
    code: str = prop("Why it ended.", default="")
    text: str = prop("The same in words.", default="")

    @property
    def in_flight(self) -> bool:
        """Whether it awaits a new node, is drained, or is gone and awaits what replaces it."""
        return self.phase in IN_FLIGHT

    def blocked_until(self, timeout: int) -> datetime | None:
        """When a waiting node will have been blocked for so many seconds of open windows; None: it is not blocked in
        one now, or there is no limit (0)."""
        end = limit_end(self.blocked_since, timeout)
        return end and end - timedelta(seconds=self.blocked_before)

    @property
    def ended(self) -> bool:
        """Whether it is rotated, blocked or given up; it may have to be let go yet (``release``)."""
        return self.phase in ENDED


@dataclass(frozen=True, kw_only=True)
class Wave:
    """Nodes that are begun together; number 0 is before the first."""

    number: int = prop("Number, from 1.", default=0)
    size: int = prop("Nodes that it may begin.", default=0)
    begun: int = prop("Nodes that it has begun.", default=0)
    ended_at: datetime | None = prop("When its last node ended.", default=None)


@dataclass(frozen=True, kw_only=True)
class RotationState:
    """``known`` are the nodes that were there at the start: others are new. ``halted`` says why no node is begun;
    ``since`` is when a rotation was asked for of which this one replaces what was left."""

    settings: RotationSettings = prop("Settings.", default=RotationSettings())
    nodes: tuple[NodeProgress, ...] = prop("Nodes to rotate, by name.", default=())
    known: tuple[str, ...] = prop("Nodes at the start, by name.", default=())
    wave: Wave = prop("Present wave.", default=Wave())
    started_at: datetime | None = prop("When it began.", default=None)
    halted: str = prop("Why no more nodes are begun.", default="")
    since: datetime | None = prop("When it began, if that was before this start.", default=None)

    @property
    def asked_at(self) -> datetime | None:
        """When it was asked for; None if it has not begun."""
        return self.since or self.started_at

    def count(self, *phases: str) -> int:
        """How many nodes are in one of the phases."""
        return sum(each.phase in phases for each in self.nodes)

    def failed(self, *phases: str) -> int:
        """How many nodes are in one of the phases, without those given up as their member left the fleet
        (``member-left``)."""
        return sum(each.phase in phases and each.code != MEMBER_LEFT for each in self.nodes)

    @property
    def in_hand(self) -> bool:
        """Whether something is left that was begun: nodes in flight, or such that are to be let go."""
        return any(each.in_flight or each.release for each in self.nodes)

    @property
    def done(self) -> bool:
        """Whether all nodes have ended; also without any."""
        return all(each.ended for each in self.nodes)

    @property
    def over(self) -> bool:
        """Whether all nodes have ended and none is to be let go any more."""
        return self.done and not self.in_hand

    @property
    def counts(self) -> dict[str, int]:
        """How many nodes are in each phase that has any, in the order of the phases."""
        phases = (WAITING, *IN_FLIGHT, *ENDED)
        return {phase: number for phase in phases if (number := self.count(phase))}


def limit_end(start: datetime | None, seconds: int) -> datetime | None:
    """The end of a time limit; None if there is no limit (0 seconds), or it has not begun."""
    return start + timedelta(seconds=seconds) if start is not None and seconds else None


def limit_passed(limit: datetime | None, now: datetime) -> bool:
    """Whether a time limit, as of ``limit_end``, is reached; no limit never is."""
    return limit is not None and now >= limit
