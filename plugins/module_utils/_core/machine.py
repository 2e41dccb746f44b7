# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The shape of everything that goes on by steps (update run, staged run, placement rollout, node rotation): a decision
with its acts (``Decision``), what is held back by what (``Blocker``), when to look again (``wake_at``), what is in
flight.

A machine is two pure functions, ``decide`` and ``acts_in_flight``: no network, no clock, no chance. The new state,
which holds the intents, is stored by compare-and-swap, and only then are acts begun. An act is idempotent under its
operation name: whoever comes after a crash looks for it under that name before it is begun again.
"""

from __future__ import annotations

import types
import typing as t
from dataclasses import dataclass, field
from datetime import datetime

NOTHING: t.Mapping[str, str | int] = types.MappingProxyType({})


@dataclass(frozen=True)
class Blocker:
    """One thing in the state of the world that stands against something (a node's disruption, an upgrade): its code, a
    sentence, and what it speaks of.

    ``by_pod``: a pod holds it, so that a deadline of the node overrides it. ``about`` are further keys of ``as_dict``.
    """

    code: str
    text: str
    by_pod: bool = False
    about: t.Mapping[str, str | int] = field(default_factory=lambda: NOTHING, hash=False)

    def as_dict(self) -> dict[str, t.Any]:
        """``code``, ``text`` and ``byPod``, and beside them what is in ``about``, whose keys win."""
        return {"code": self.code, "text": self.text, "byPod": self.by_pod, **self.about}


@dataclass(frozen=True)
class HeldBack:
    """What does not go on now, by its name in that machine (of a member, a node, a binding, a stage), and what holds it
    back."""

    name: str
    blockers: tuple[Blocker, ...]


class Act(t.Protocol):
    """Something to be done outside, or to be waited for there. The same act decided again has the same
    ``operation``."""

    @property
    def operation(self) -> str:
        """The name under which it is begun, and looked for after a crash."""


S = t.TypeVar("S")
A_co = t.TypeVar("A_co", bound=Act, covariant=True)
X_contra = t.TypeVar("X_contra", contravariant=True)


@dataclass(frozen=True, kw_only=True)
class Decision(t.Generic[S, A_co]):
    """One step. ``state`` is to be stored before ``acts`` are begun. ``waits`` say what does not go on and why.

    ``wake_at``, aware, is the next instant at which time alone can change something; None if only an event can.
    """

    state: S
    acts: tuple[A_co, ...] = ()
    waits: tuple[HeldBack, ...] = ()
    wake_at: datetime | None = None


class Machine(t.Protocol[S, X_contra, A_co]):
    """The two functions, as a module or an object has them. A ``Steering`` has them too, and its acts in flight may be
    others."""

    def decide(self, state: S, seen: X_contra, now: datetime) -> Decision[S, A_co]:
        """The next step from ``state``, which is stored, and ``seen``, what is true of the world, at an aware instant.
        The acts are to be begun now; some machines decide one again until it is seen done."""

    def acts_in_flight(self, state: S) -> tuple[A_co, ...]:
        """What was begun by the state and has not ended; empty for nothing. The conductor stays while its ``Steering``
        names any, until its time is over or it is interrupted."""
