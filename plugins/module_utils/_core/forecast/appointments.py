# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The calendar of an update run: who can begin when over windows and freezes (``open``, ``freeze``, ``closed``), what
is waited for (``wait``), and what is expected then (``stage``)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from datetime import datetime

from ..schema.meta import EMPTY
from ..updates.facts import DONE
from ..updates.run import Members, RunState
from ..values.instants import write_time
from ..values.update_states import FAILED, RUNNING
from ..windows.spans import Span, Spans, meeting
from ..windows.taken import taken_spans
from .forecast import Forecast

OPEN, FREEZE, TAKEN, WAIT, STAGE = "open", "freeze", "closed", "wait", "stage"
ANY_TIME = "any time"
Freezes = t.Mapping[str, t.Sequence[tuple[str, Span]]]
"""What they are called and when they hold, by member."""
_Key = tuple[datetime, str, str, datetime]


@dataclass(frozen=True, kw_only=True)
class Appointment:
    """``open``: the members may begin; ``freeze``: they may not; ``closed``: what a freeze takes of an opening that
    their windows have; ``wait``: nothing is expected to be in flight; ``stage``: it is expected to go on. ``end`` None:
    nothing ends it by itself."""

    kind: str
    what: str
    start: datetime
    end: datetime | None
    members: tuple[str, ...] = ()

    @property
    def fixed(self) -> bool:
        """Whether it starts when it does, whoever looks and whenever: a window, a freeze, or what that takes of it."""
        return self.kind in (OPEN, FREEZE, TAKEN) and self.what != ANY_TIME

    def as_dict(self) -> dict[str, t.Any]:
        """As results have it: ``kind``, ``what``, ``start``, ``end`` and ``members``; instants in RFC 3339, or None."""
        return {
            "kind": self.kind,
            "what": self.what,
            "start": write_time(self.start),
            "end": write_time(self.end) if self.end else None,
            "members": list(self.members),
        }


def taken_words(freeze: str) -> str:
    """What is said of an opening that ``freeze``, in words, closes."""
    return f"window, by {freeze}"


def appointments(
    run: RunState,
    members: Members,
    freezes: Freezes,
    foreseen: Forecast,
    now: datetime,
    until: datetime,
    permitted: t.Mapping[str, Spans | None] = EMPTY,
) -> tuple[Appointment, ...]:
    """Openings, freezes and what these close of windows, expected waits and stages that meet the span from ``now`` to
    ``until``, two aware instants, by start, then kind and text; one for all members that share it, in the order of the
    run. They are told whole; only where members without windows may begin, at any time but in freezes, is cut to the
    span. ``freezes`` are those of each member by their names. ``permitted`` says by member when its windows are open,
    whatever freezes say; None for one without windows. Members that have ended or failed, are in flight or not known
    have nothing of their own."""
    waiting = [row.name for row in run.members if row.state not in (*DONE, FAILED, RUNNING)]
    found: dict[_Key, list[str]] = {}
    for name in waiting:
        view = members.get(name)
        if view is None:
            continue
        spans: t.Sequence[Span] = ((now, until),) if view.windows is None else view.windows
        always = view.windows is None or (name in permitted and permitted[name] is None)
        for start, end in meeting(spans, now, until):
            row = (max(start, now), OPEN, ANY_TIME, min(end, until)) if always else (start, OPEN, "window", end)
            found.setdefault(row, []).append(name)
        for named, (start, end) in freezes.get(name, ()):
            if start < until and end > now:
                found.setdefault((start, FREEZE, named, end), []).append(name)
        for taken in taken_spans(permitted.get(name) or (), freezes.get(name, ()), now, until):
            words = taken_words(" and ".join(f"freeze {each}" for each in taken.freezes))
            found.setdefault((taken.span[0], TAKEN, words, taken.span[1]), []).append(name)
    rows = [
        Appointment(kind=kind, what=what, start=start, end=end, members=tuple(names))
        for (start, kind, what, end), names in found.items()
    ]
    rows += _expected(foreseen, now, until)
    return tuple(sorted(rows, key=lambda each: (each.start, each.kind, each.what, each.members)))


def _expected(foreseen: Forecast, now: datetime, until: datetime) -> t.Iterator[Appointment]:
    """The waits of the forecast, then its stages that are expected to begin, as far as they meet the span."""
    for each in foreseen.waits:
        if each.start < until and (each.end is None or each.end > now):
            yield Appointment(kind=WAIT, what=f"{each.stage}: {each.message}", start=each.start, end=each.end)
    for stage in foreseen.stages:
        start, end = stage.expected.start, stage.expected.end
        if start and start < until and (end is None or end > now):
            yield Appointment(kind=STAGE, what=f"stage {stage.name}", start=start, end=end)
