# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a rotation tells people while it goes on, and the line in the journal for each node that was disrupted."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field
from datetime import datetime

from ..._core.disruption.origins import EXTERNAL, MANUAL
from ..._core.disruption.rotation.state import (
    DRAINING,
    GIVEN_UP,
    ROTATED,
    NodeProgress,
    RotationState,
)
from ..._core.machine import HeldBack
from ..._core.values.instants import write_time
from ..._core.values.listed import listed

SHOWN = 10


@dataclass
class RotationTelling:
    """``event`` takes a line for the journal: its reason and a sentence; ``waits`` is what waits by now."""

    name: str
    say: t.Callable[[str], None]
    event: t.Callable[[str, str], None]
    waits: t.Callable[[], tuple[HeldBack, ...]]
    _phases: dict[str, tuple[str, int]] = field(default_factory=dict)
    _told: tuple[str, ...] = ()

    def begin(self, state: RotationState, now: datetime) -> None:
        """What was known before is no news."""
        self._phases = {each.name: (each.phase, each.attempts) for each in state.nodes}

    def stored(self, state: RotationState, now: datetime) -> None:
        """Who has ended or begun since, once it is recorded; who ended first, for others begin by that."""
        for each in sorted(state.nodes, key=lambda one: not one.ended):
            key = (each.phase, each.attempts)
            if self._phases.get(each.name) == key:
                continue
            self._phases[each.name] = key
            text = f": {each.text}" if each.text else ""
            came = each.replacement.removeprefix(f"{each.name.partition('/')[0]}/")
            new = f", {came} has come for it" if came and each.phase == ROTATED else ""
            self.say(f"{self.name}: {each.name} {each.phase}{text}{new}")
            self._record(each)

    def waiting(self, state: RotationState, until: datetime | None, now: datetime) -> None:
        """Who waits for what, as long as that is news."""
        lines = tuple(waits_lines(self.waits()))
        if lines != self._told:
            self._told = lines
            for line in lines:
                self.say(f"{self.name}: {line}")
            if until is not None and lines:
                self.say(f"{self.name}: looked at again at {write_time(until)}")

    def end(self, state: RotationState, why: str, now: datetime) -> None:
        """What still waits then."""
        if not state.done:
            self.waiting(state, None, now)

    def _record(self, node: NodeProgress) -> None:
        """One origin for each disruption: ours, or that of whoever removed the node before we came to it."""
        if node.phase == DRAINING:
            self.event("DisruptionBegun", f"{node.name}, origin {MANUAL}, attempt {node.attempts}")
        elif node.phase == ROTATED:
            origin = EXTERNAL if node.code == "gone" else MANUAL
            self.event("Disrupted", f"{node.name}, origin {origin}{_comes(node)}")
        elif node.phase == GIVEN_UP:
            self.event("GivenUp", f"{node.name}: {node.text}")


def waits_lines(waits: t.Iterable[HeldBack]) -> list[str]:
    """Nodes that wait for the same thing in one line."""
    groups: dict[str, list[str]] = {}
    for each in waits:
        groups.setdefault("; ".join(one.text for one in each.blockers), []).append(each.name)
    return [f"{listed(names, SHOWN)}: {text}" for text, names in groups.items()]


def _comes(node: NodeProgress) -> str:
    return f", replaced by {node.replacement}" if node.replacement else ""
