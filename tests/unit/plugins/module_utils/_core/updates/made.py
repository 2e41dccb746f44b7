# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Update runs for the tests of this folder: laid out by text, played event by event, shown by text.

``laid("s1(600){g1:a,b; g2:c}, s2{g3:e}")`` is a run of two stages, with a wait of 600 s after the first. States are
shown by letters: N NotStarted, R Running, P Pending, Sg Stopping, St Stopped, K Skipped, F Failed, C Completed.
"""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from ansible_collections.gitops.fleet.plugins.module_utils._core.machine import Decision
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates import commands
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.decide import decide
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import (
    Approval,
    Begin,
    GateRow,
    GroupRow,
    MemberBlocker,
    MemberRow,
    MemberView,
    RunState,
    StageRow,
    UpdateAct,
    UpdateSeen,
    WaitRow,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.status import RunStatus, derive
from ansible_collections.gitops.fleet.plugins.module_utils._core.values import update_states as states

T0 = datetime(2026, 8, 17, tzinfo=UTC)
UID = "0f8fad5b-d9cb-469f-a165-70867728950e"
LETTERS = {
    states.NOT_STARTED: "N",
    states.RUNNING: "R",
    states.PENDING: "P",
    states.STOPPING: "Sg",
    states.STOPPED: "St",
    states.SKIPPED: "K",
    states.FAILED: "F",
    states.COMPLETED: "C",
}
_STAGE = re.compile(r"(\w+)(?:\((\d+)\))?\{([^}]*)\}")


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def laid(text: str) -> RunState:
    """Limits are the defaults: one member of each group at once, no failure allowed."""
    return RunState(name="r", uid=UID, stages=tuple(_stage(*found) for found in _STAGE.findall(text)))


def gates_of(run: RunState) -> t.Iterator[GateRow]:
    """Stage by stage those of the stage, then those of its groups."""
    for stage in run.stages:
        yield from (*stage.before_gates, *stage.after_gates)
        for group in stage.groups:
            yield from (*group.before_gates, *group.after_gates)


def _stage(name: str, wait: str, groups: str) -> StageRow:
    return StageRow(
        name=name,
        groups=tuple(_group(*group.strip().split(":")) for group in groups.split(";")),
        max_concurrency=50,
        max_allowed_failures=0,
        wait=WaitRow(seconds=int(wait)) if wait else None,
    )


def _group(name: str, members: str) -> GroupRow:
    rows = tuple(MemberRow(name=member) for member in members.split(",") if member)
    return GroupRow(name=name, members=rows, max_concurrency=1, max_allowed_failures=0)


def changed(run: RunState, node: str, **fields: t.Any) -> RunState:
    """The run with fields of the stage or group of this name set."""
    stages = []
    for stage in run.stages:
        groups = (replace(group, **fields) if group.name == node else group for group in stage.groups)
        stage = replace(stage, groups=tuple(groups))
        stages.append(replace(stage, **fields) if stage.name == node else stage)
    return replace(run, stages=tuple(stages))


def gate(name: str, state: str = states.NOT_STARTED, **more: t.Any) -> tuple[GateRow, ...]:
    return (GateRow(name=name, id=f"id-{name}", state=state, **more),)


@dataclass
class Play:
    """A run and its members; each method is an event, and what follows from it at the same instant."""

    run: RunState
    now: datetime = T0
    views: dict[str, MemberView] = field(default_factory=dict)
    decided: Decision[RunState, UpdateAct] = field(init=False)

    def __post_init__(self) -> None:
        for stage in self.run.stages:
            for group in stage.groups:
                for row in group.members:
                    self.views.setdefault(row.name, MemberView(name=row.name))
        self.decided = Decision(state=self.run)

    def start(self) -> Play:
        return self._then(commands.start(self.run, self.now))

    def stop(self) -> Play:
        return self._then(commands.stop(self.run))

    def skip(self, *targets: str) -> Play:
        named = [commands.SkipTarget(*target.split(":")) for target in targets]
        return self._then(commands.skip(self.run, named, self.now))

    def ends(self, *members: str, result: str = states.COMPLETED, message: str = "") -> Play:
        for member in members:
            row = self.member(member)
            assert row.state == states.RUNNING
            self._then(commands.with_attempt_end(self.run, row.operation, result, self.now, message))
        return self

    def fails(self, *members: str, message: str = "broken") -> Play:
        return self.ends(*members, result=states.FAILED, message=message)

    def approve(self, *names: str) -> Play:
        return self._then(self.run, [Approval(gate=f"id-{name}", by="anna", at=self.now) for name in names])

    def wait(self, seconds: float) -> Play:
        self.now += timedelta(seconds=seconds)
        return self._then(self.run)

    def sees(self, member: str, **view: t.Any) -> Play:
        """What is true of the member from now on."""
        self.views[member] = replace(self.views[member], **view)
        return self._then(self.run)

    def blocked(self, member: str, reason: str = states.VERSION_NOT_AVAILABLE, until: datetime | None = None) -> Play:
        return self.sees(member, obstacles=(MemberBlocker(reason=reason, until=until),))

    def leaves(self, member: str) -> Play:
        del self.views[member]
        return self._then(self.run)

    def _then(self, run: RunState, given: t.Sequence[Approval] = ()) -> Play:
        self.decided = decide(run, UpdateSeen(members=self.views, approvals=given), self.now)
        self.run = self.decided.state
        return self

    @property
    def begun(self) -> list[str]:
        """Members that the last event started, in order."""
        return [each.member for each in self.decided.acts if isinstance(each, Begin)]

    @property
    def status(self) -> RunStatus:
        return derive(self.run)

    @property
    def running(self) -> list[str]:
        rows = (row for stage in self.run.stages for group in stage.groups for row in group.members)
        return [row.name for row in rows if row.state == states.RUNNING]

    def member(self, name: str) -> MemberRow:
        rows = (row for stage in self.run.stages for group in stage.groups for row in group.members)
        return next(row for row in rows if row.name == name)

    def gate(self, name: str) -> GateRow:
        return next(gate for gate in gates_of(self.run) if gate.name == name)

    def state_of_wait(self, stage: int = 0) -> str:
        wait = self.run.stages[stage].wait
        assert wait is not None
        return LETTERS[wait.state]

    @property
    def tree(self) -> str:
        """``R[s1 R{g1 R:aR bN}, s2 N{g2 N:cN}]``."""
        status = self.status
        pairs = zip(self.run.stages, status.stages, strict=True)
        stages = (
            f"{stage.name} {LETTERS[one.state]}{{{'; '.join(self._groups(stage, one.groups))}}}" for stage, one in pairs
        )
        return f"{LETTERS[status.state]}[{', '.join(stages)}]"

    def _groups(self, stage: StageRow, groups: t.Sequence[t.Any]) -> t.Iterator[str]:
        for group, one in zip(stage.groups, groups, strict=True):
            members = " ".join(f"{row.name}{LETTERS[row.state]}" for row in group.members)
            yield f"{group.name} {LETTERS[one.state]}:{members}"


def played(text: str) -> Play:
    return Play(laid(text))
