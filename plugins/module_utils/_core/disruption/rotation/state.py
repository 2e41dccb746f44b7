# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a rotation of nodes remembers from step to step. ``schema.encode`` and ``decode`` make JSON of it and back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from ...objects.karpenter.node_pool import DRIFTED
from ...schema.prop import prop

WAITING = "Waiting"
# In flight: a new node is awaited; the node is drained; it is gone, and what replaces it is awaited.
SURGING, DRAINING, RETURNING = "Surging", "Draining", "Returning"
IN_FLIGHT = (SURGING, DRAINING, RETURNING)
# Ended. Blocked: something held it back until the end, and nothing was done to it.
ROTATED, BLOCKED, GIVEN_UP = "Rotated", "Blocked", "GivenUp"
ENDED = (ROTATED, BLOCKED, GIVEN_UP)

# Whether a new node comes before the old one goes, after it, or not at all.
BEFORE, AFTER, NONE = "before", "after", "none"


@dataclass(frozen=True, kw_only=True)
class RotationSettings:
    """Times are whole seconds; 0 means no limit, except for ``soak`` and ``retry_after``.

    A wave is ``growth`` times as large as the one before if that went well, else it is the first size again.
    """

    reason: str = prop("Reason that budgets are asked for.", default=DRIFTED)
    replacement: str = prop("When a new node comes.", default=AFTER, enum=(BEFORE, AFTER, NONE))
    surge: int | str = prop("Most new nodes awaited at once, of the nodes of the rotation; rounded up.", default=1)
    first_wave: int = prop("Nodes of the first wave.", default=1, minimum=1)
    growth: int = prop("How much larger the next wave is.", default=2, minimum=1)
    largest_wave: int = prop("Most nodes of a wave.", default=0, minimum=0)
    soak: int = prop("Pause after a wave.", default=0, minimum=0)
    node_timeout: int = prop("How long one stage of a node may take.", default=3600, minimum=0)
    attempts: int = prop("How often a node is tried.", default=1, minimum=1)
    retry_after: int = prop("Pause before a node is tried again.", default=300, minimum=0)
    max_failures: int = prop("Nodes that may be given up; one more ends the rotation.", default=0, minimum=0)
    blocked_timeout: int = prop("How long a node may be blocked.", default=0, minimum=0)
    time_limit: int = prop("How long nodes may be begun.", default=0, minimum=0)


@dataclass(frozen=True, kw_only=True)
class NodeProgress:
    """One node. ``since`` is when its phase began; ``code`` and ``text`` say why it ended as it did."""

    name: str = prop("Name of the node.")
    uid: str = prop("Identity of the Node.", default="")
    pool: str = prop("Pool that it belongs to.", default="")
    created_at: datetime | None = prop("When it was made.", default=None)
    phase: str = prop("Phase.", default=WAITING)
    wave: int = prop("Wave that it was begun in.", default=0)
    attempts: int = prop("How often it was begun.", default=0)
    since: datetime | None = prop("When the phase began.", default=None)
    not_before: datetime | None = prop("When it may be tried again.", default=None)
    blocked_since: datetime | None = prop("Since when it is blocked.", default=None)
    replacement: str = prop("Node that came for it.", default="")
    release: str = prop("Why it is to be let go, until that is done.", default="")
    code: str = prop("Why it ended.", default="")
    text: str = prop("The same in words.", default="")

    @property
    def in_flight(self) -> bool:
        return self.phase in IN_FLIGHT

    @property
    def ended(self) -> bool:
        return self.phase in ENDED


@dataclass(frozen=True, kw_only=True)
class Wave:
    number: int = prop("Number, from 1.", default=0)
    size: int = prop("Nodes that it may begin.", default=0)
    begun: int = prop("Nodes that it has begun.", default=0)
    ended_at: datetime | None = prop("When its last node ended.", default=None)


@dataclass(frozen=True, kw_only=True)
class RotationState:
    """``known`` are the nodes that were there at the start: others are new. ``halted`` says why no node is begun."""

    settings: RotationSettings = prop("Settings.", default=RotationSettings())
    nodes: tuple[NodeProgress, ...] = prop("Nodes to rotate, by name.", default=())
    known: tuple[str, ...] = prop("Nodes at the start, by name.", default=())
    wave: Wave = prop("Present wave.", default=Wave())
    started_at: datetime | None = prop("When it began.", default=None)
    halted: str = prop("Why no more nodes are begun.", default="")

    def count(self, *phases: str) -> int:
        return sum(each.phase in phases for each in self.nodes)

    @property
    def done(self) -> bool:
        return all(each.ended for each in self.nodes)

    @property
    def counts(self) -> dict[str, int]:
        """How many nodes are in each phase that has any."""
        phases = (WAITING, *IN_FLIGHT, *ENDED)
        return {phase: number for phase in phases if (number := self.count(phase))}


def after(start: datetime | None, seconds: int) -> datetime | None:
    """The end of a time limit; None if there is no limit, or it has not begun."""
    return start + timedelta(seconds=seconds) if start is not None and seconds else None


def passed(limit: datetime | None, now: datetime) -> bool:
    """Whether the limit is reached; no limit never is."""
    return limit is not None and now >= limit
