# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What goes on by steps as bars over time, and an update run as such: stages, groups, members, gates and waits, what
happened and what is expected (``expectedEnd``, ``latestEnd``, ``windows``); the order of runs."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ..forecast.forecast import Forecast, PartForecast
from ..objects.updates.run_status import (
    UpdateGroupStatus,
    UpdateRunGateStatus,
    UpdateStageStatus,
    UpdateStatus,
    WaitStatus,
)
from ..objects.updates.update_run import UpdateRun
from ..updates.facts import DONE
from ..updates.record.summary import TAKEN_UP
from ..updates.run import Members
from ..values.instants import SECONDS, write_time
from ..values.update_states import PENDING
from ..windows.clocks import shifted
from ..windows.spans import Spans, clipped

RUN, STAGE, GROUP, MEMBER, GATE, WAIT = "run", "stage", "group", "member", "gate", "wait"
WAVE, NODE = "wave", "node"
UPDATE_RUN, STAGED_RUN, ROTATION = KINDS = "update run", "staged run", "rotation"
BESIDE = timedelta(hours=12)


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One line of the chart: ``what`` is run, stage, group, member, gate, wait, wave or node, ``depth`` 0 for the run.
    ``why`` says more of its state. ``expected`` is None where nothing is forecast; ``windows`` None for a member that
    may begin at any time, or of which they are not told. ``due`` is when a gate or a wait ends by itself; ``since`` is
    when the obstacle of a member began. ``approved``: of an open gate, that it is approved, which whoever carries the
    run on takes up. ``blocked``: of a node that waits, that something of its own (its pods, their PodDisruptionBudgets,
    an annotation) holds it back while its window is open."""

    what: str
    name: str
    depth: int
    status: UpdateStatus
    why: str = ""
    due: datetime | None = None
    since: datetime | None = None
    approved: bool = False
    blocked: bool = False
    expected: PartForecast | None = None
    windows: Spans | None = None

    def as_dict(self) -> dict[str, t.Any]:
        """The bar as reports have it, without ``since``, ``approved`` and ``blocked``: ``state``, ``start`` and ``end``
        of the status; ``expectedStart``, ``expectedEnd``, ``latestEnd`` (the 90th percentile), ``expectedState`` (at
        the end) and ``waitsFor`` (the blocker, empty for a member that has begun) of the forecast; ``windows`` are
        pairs. Instants in RFC 3339, cut to whole seconds."""
        expected = self.expected
        over = self.what == MEMBER and self.status.start_time is not None
        return {
            "what": self.what,
            "name": self.name,
            "depth": self.depth,
            "state": self.status.state,
            "start": _time(self.status.start_time),
            "end": _time(self.status.completed_time),
            "due": _time(self.due),
            "why": self.why,
            "expectedStart": _time(expected.expected.start) if expected else None,
            "expectedEnd": _time(expected.expected.end) if expected else None,
            "latestEnd": _time(expected.end.p90) if expected else None,
            "expectedState": expected.state if expected else "",
            "waitsFor": expected.blocker if expected and not over else "",
            "windows": None if self.windows is None else [[_time(a), _time(b)] for a, b in self.windows],
        }


@dataclass(frozen=True, kw_only=True)
class RunChart:
    """A run, of one of ``KINDS``; its ``bars`` begin with the run itself. ``state`` is the one that its record comes
    to, ``outcome`` how an update run ended, ``target`` what it brings, ``progress`` how much of it is done, in words.
    ``over``: nothing of it is left to do, which is never so of an update run that is Failed. ``forecast``: whether
    there is one in it. ``of`` is the placement of a staged run; it is ``overridden`` if clusters have overrides that
    are not done with it."""

    kind: str
    name: str
    state: str
    outcome: str
    target: str
    message: str
    progress: str
    over: bool
    bars: tuple[Bar, ...] = field(default=())
    forecast: bool = False
    made_at: datetime | None = None
    of: str = ""
    overridden: bool = False

    def as_dict(self) -> dict[str, t.Any]:
        """The chart as reports have it, without ``made_at``, ``of`` and ``overridden``."""
        return {
            "kind": self.kind,
            "name": self.name,
            "state": self.state,
            "over": self.over,
            "outcome": self.outcome,
            "target": self.target,
            "message": self.message,
            "progress": self.progress,
            "forecast": self.forecast,
            "bars": [each.as_dict() for each in self.bars],
        }


def run_chart(
    run: UpdateRun, now: datetime, forecast: Forecast | None = None, members: Members | None = None
) -> RunChart:
    """An update run as a chart: the run, then its stages in order with their groups, members, gates and waits.
    ``members`` tell the windows, which are cut to the time from its start, or ``now``, to its end, the latest that is
    expected, or ``now``, whichever comes last, with 12 hours on each side. ``now`` is aware."""
    status = run.status
    ends = [each.status.completed_time for each in status.members] + [status.status.completed_time]
    starts = [each.status.start_time for each in status.members] + [status.status.start_time]
    last = forecast.run.end.p90 or forecast.run.expected.end if forecast else None
    begin = shifted(min((each for each in starts if each), default=now), -BESIDE)
    until = shifted(max([now, *(each for each in (*ends, last) if each)]), BESIDE)
    drawing = _Drawing(
        stages={each.name: each for each in forecast.stages} if forecast else {},
        members={each.name: each for each in forecast.members} if forecast else {},
        windows={
            name: tuple(clipped(view.windows, begin, until))
            for name, view in (members or {}).items()
            if view.windows is not None
        },
    )
    whole = Bar(what=RUN, name=run.name, depth=0, status=status.status, why=status.message,
                expected=forecast.run if forecast else None)  # fmt: skip
    return RunChart(
        kind=UPDATE_RUN,
        name=run.name,
        state=status.status.state,
        over=status.status.state in DONE,
        outcome=status.outcome,
        target=run.target or run.spec.managed_cluster_update.upgrade.type,
        message=status.message,
        progress=status.progress,
        bars=(whole, *(each for stage in status.stages for each in drawing.stage(stage))),
        forecast=forecast is not None,
        made_at=run.metadata.creation_timestamp,
    )


def in_order(charts: t.Iterable[RunChart]) -> tuple[RunChart, ...]:
    """Runs that are not over first, and the newest first of these and of the others, those without ``made_at`` last."""
    return tuple(sorted(charts, key=lambda each: (each.over, -each.made_at.timestamp() if each.made_at else 0.0)))


@dataclass(frozen=True)
class _Drawing:
    """What bars of an update run have beside its status, by name: forecasts of stages and members, and windows."""

    stages: t.Mapping[str, PartForecast]
    members: t.Mapping[str, PartForecast]
    windows: t.Mapping[str, Spans]

    def stage(self, stage: UpdateStageStatus) -> t.Iterator[Bar]:
        """The bars of a stage: gates before it, itself, its groups, gates after it, its wait."""
        yield from (_gate(each, 1) for each in stage.before_gates)
        yield Bar(what=STAGE, name=stage.name, depth=1, status=stage.status, why=stage.message,
                  expected=self.stages.get(stage.name))  # fmt: skip
        for group in stage.groups:
            yield from self.group(group)
        yield from (_gate(each, 1) for each in stage.after_gates)
        if stage.after_stage_wait_status is not None:
            yield _wait(stage.after_stage_wait_status)

    def group(self, group: UpdateGroupStatus) -> t.Iterator[Bar]:
        """The bars of a group: gates before it, itself, its members, gates after it."""
        yield from (_gate(each, 2) for each in group.before_gates)
        yield Bar(what=GROUP, name=group.name, depth=2, status=group.status, why=group.message)
        for each in group.members:
            yield Bar(
                what=MEMBER,
                name=each.name,
                depth=3,
                status=each.status,
                why=": ".join(filter(None, (each.reason, each.message))),
                since=each.pending_since,
                expected=self.members.get(each.name),
                windows=self.windows.get(each.name),
            )
        yield from (_gate(each, 2) for each in group.after_gates)


def _gate(gate: UpdateRunGateStatus, depth: int) -> Bar:
    """The bar of a gate. ``why`` tells who has approved, completed or refused it, or how to approve one that is open
    and does not end by itself, as one that was refused does not; empty for others."""
    is_open = gate.status.state == PENDING
    approved = is_open and bool(gate.by)
    asked = f"approve {gate.gate_id}" if is_open and gate.gate_id and not gate.due else ""
    if gate.by:
        asked = f"approved by {gate.by}; {TAKEN_UP}" if is_open else f"completed by {gate.by}"
    elif gate.refused:
        asked = f"refused by {gate.refused}"
    return Bar(
        what=GATE,
        name=gate.display_name or gate.id,
        depth=depth,
        status=gate.status,
        why=asked,
        due=None if is_open and gate.refused else gate.due,
        approved=approved,
    )


def _wait(wait: WaitStatus) -> Bar:
    """The bar of the wait after a stage, named by its length in seconds."""
    return Bar(
        what=WAIT,
        name=f"{wait.wait_duration_in_seconds} s",
        depth=1,
        status=wait.status,
        why=wait.reason,
        due=wait.ends,
    )


def _time(instant: datetime | None) -> str | None:
    """In RFC 3339, cut to whole seconds."""
    return write_time(instant, SECONDS) if instant else None
