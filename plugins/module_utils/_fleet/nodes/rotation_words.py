# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a rotation tells people while it goes on, who waits for what, and the line in the journal for each node that was
disrupted (``DisruptionBegun``, ``Disrupted``, ``GivenUp``); texts folded to lines that fit a log."""

from __future__ import annotations

import textwrap
import typing as t
from dataclasses import dataclass, field
from datetime import datetime

from ..._core.disruption.origins import EXTERNAL, MANUAL
from ..._core.disruption.rotation.state import (
    BLOCKED,
    DRAINING,
    GIVEN_UP,
    RETURNING,
    ROTATED,
    SURGING,
    WAITING,
    NodeProgress,
    RotationState,
)
from ..._core.machine import HeldBack
from ..._core.values.instants import write_time
from ..._core.values.listed import listed

SHOWN, COLUMNS, WIDTH, NARROWEST = 10, 40, 80, 45
_WORDS = {
    WAITING: "waits",
    SURGING: "stays until a new node is ready",
    DRAINING: "draining",
    RETURNING: "gone, a new node is awaited",
    ROTATED: "gone",
    BLOCKED: "left as it is",
    GIVEN_UP: "given up",
}


@dataclass
class RotationTelling:
    """Tells people what becomes of nodes of the rotation ``name``, and what they wait for. ``say`` takes a line for
    people, ``event`` one for the journal: its reason and a sentence; ``waits`` gives what waits by now. ``stays`` is
    said once, after what is waited for."""

    name: str
    say: t.Callable[[str], None]
    event: t.Callable[[str, str], None]
    waits: t.Callable[[], tuple[HeldBack, ...]]
    stays: str = ""
    _phases: dict[str, tuple[str, int]] = field(default_factory=dict)
    _told: tuple[str, ...] = ()

    def begin(self, state: RotationState, now: datetime) -> None:
        """Notes where each node stands, which is no news later; tells nothing."""
        self._phases = {each.name: (each.phase, each.attempts) for each in state.nodes}

    def stored(self, state: RotationState, now: datetime) -> None:
        """Tells which nodes are in another phase or attempt than at the last call (or ``begin``), with a line in the
        journal for those that drain, were replaced or are given up; those that have ended first, for others begin by
        that."""
        for each in sorted(state.nodes, key=lambda one: not one.ended):
            key = (each.phase, each.attempts)
            if self._phases.get(each.name) == key:
                continue
            self._phases[each.name] = key
            self.say(f"{self.name}: {each.name} {_now(each)}")
            self._record(each)

    def waiting(self, state: RotationState, until: datetime | None, now: datetime) -> None:
        """Tells who waits for what, and that this is looked at again at ``until``, unless the same was told last;
        another ``until`` alone is no news. Then, the first time that something waits, says ``stays``."""
        self._tell_waits(until)
        if self._told and self.stays:
            self.say(f"{self.name}: {self.stays}")
            self.stays = ""

    def end(self, state: RotationState, why: str, now: datetime) -> None:
        """Tells what still waits then, if it is other than what was told last; nothing of a rotation that is done."""
        if not state.done:
            self._tell_waits(None)

    def _tell_waits(self, until: datetime | None) -> None:
        """Tells who waits for what, unless the same was told last, and with ``until``, if anything waits, when that is
        looked at again."""
        groups = _alike(self.waits())
        lines = tuple(waits_lines(self.waits()))
        if lines != self._told:
            self._told = lines
            for text, names in groups.items():
                own = f"NodeRotation {self.name} on {names[0].partition('/')[0]}: "
                self.say(f"{self.name}: {_few(names)} {'wait' if len(names) > 1 else 'waits'}:")
                self.say(f"{self.name}:   {text.replace(own, '')}")
            if until is not None and lines:
                self.say(f"{self.name}: looked at again at {write_time(until)}")

    def _record(self, node: NodeProgress) -> None:
        """A line in the journal for a node that drains, was rotated or was given up. One origin for each disruption:
        ours, or that of whoever removed the node before we came to it."""
        if node.phase == DRAINING:
            self.event("DisruptionBegun", f"{node.name}, origin {MANUAL}, attempt {node.attempts}")
        elif node.phase == ROTATED:
            origin = EXTERNAL if node.code == "gone" else MANUAL
            self.event("Disrupted", f"{node.name}, origin {origin}{_comes(node)}")
        elif node.phase == GIVEN_UP:
            self.event("GivenUp", f"{node.name}: {node.text}")


def waits_lines(waits: t.Iterable[HeldBack], short: bool = False) -> list[str]:
    """A line for each thing that nodes wait for, in the order of the first, with at most SHOWN of their names, or, if
    it is to be ``short``, as many as COLUMNS hold and at least one."""
    return [f"{_few(names) if short else listed(names, SHOWN)}: {text}" for text, names in _alike(waits).items()]


def folding(say: t.Callable[[str], None], before: str, taken: int = 0) -> t.Callable[[str], None]:
    """What says a text in lines of about WIDTH characters, those after the first behind ``before``, and further in.
    ``taken`` are characters that ``say`` puts before each."""

    width = max(WIDTH - taken, len(before) + NARROWEST)

    def said(text: str) -> None:
        """Says each line of the text; nothing for a text without words."""
        for line in folded(text, f"{before}     ", width):
            say(line)

    return said


def folded(text: str, further: str = "    ", width: int = WIDTH) -> list[str]:
    """The text in lines of at most ``width`` characters where its words allow that, those after the first behind
    ``further``; its own line breaks count as spaces. No line for a text without words."""
    return textwrap.wrap(text, width, subsequent_indent=further, break_long_words=False, break_on_hyphens=False)


def _alike(waits: t.Iterable[HeldBack]) -> dict[str, list[str]]:
    """Nodes by what they wait for."""
    groups: dict[str, list[str]] = {}
    for each in waits:
        groups.setdefault("; ".join(one.text for one in each.blockers), []).append(each.name)
    return groups


def _few(names: t.Sequence[str]) -> str:
    """As many of the names as COLUMNS hold, and at least one, with how many more there are."""
    shown = 1
    while shown < len(names) and len(", ".join(names[: shown + 1])) <= COLUMNS:
        shown += 1
    return listed(names, shown)


def _now(node: NodeProgress) -> str:
    """What happens to the node, or has; one that was replaced says by which."""
    if node.phase == ROTATED and node.replacement:
        return f"replaced by {node.replacement.removeprefix(node.name.partition('/')[0] + '/')}"
    words = _WORDS.get(node.phase, node.phase)
    return f"{words}: {node.text}" if node.text and node.code != "rotated" else words


def _comes(node: NodeProgress) -> str:
    """Words for the node that has come instead; empty if none is known."""
    return f", replaced by {node.replacement}" if node.replacement else ""
