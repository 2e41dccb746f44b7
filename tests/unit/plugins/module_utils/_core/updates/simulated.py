# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A random fleet, strategy and script of actions on a virtual clock; every random choice comes from one seed."""

from __future__ import annotations

import random
import typing as t
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.machine import Decision
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.strategy import (
    APPROVAL,
    DAYS,
    SCHEDULED_START,
    GateConfiguration,
    ScheduledStartConfiguration,
    UpdateGroup,
    UpdateRunStrategy,
    UpdateStage,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates import commands
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.decide import decide
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import (
    Approval,
    GateRow,
    MemberBlocker,
    MemberRow,
    MemberView,
    RunState,
    UpdateAct,
    UpdateSeen,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.strategy import Candidate, resolve
from ansible_collections.gitops.fleet.plugins.module_utils._core.values import update_states as states
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.made import gates_of

T0 = datetime(2026, 8, 17, tzinfo=UTC)
UID = "0f8fad5b-d9cb-469f-a165-70867728950e"
REASONS = (states.VERSION_NOT_AVAILABLE, states.OPERATION_IN_PROGRESS, states.UNREACHABLE)
ACTIONS = (("result", 40), ("advance", 15), ("obstacle", 8), ("approve", 8), ("skip", 3), ("stop", 3), ("start", 10))
ACTIONS += (("precondition", 2), ("leave", 0.3))
LIMITS = ("", "0", "1", "2", "30%", "100%")
SLOTS = ("", "1", "2", "3", "25%", "100%")


@dataclass
class Script:
    """``action`` names what happened last, ``count`` is how much has; a decision was taken after each."""

    draw: random.Random
    run: RunState
    views: dict[str, MemberView]
    now: datetime = T0
    action: str = "create"
    count: int = 0
    before: RunState = field(init=False)
    decided: Decision[RunState, UpdateAct] = field(init=False)

    def __post_init__(self) -> None:
        self.settle(())

    def settle(self, given: t.Sequence[Approval]) -> None:
        """``before`` is what the decision started from."""
        self.count += 1
        self.before = self.run
        self.decided = decide(self.run, UpdateSeen(members=self.views, approvals=given), self.now)
        self.run = self.decided.state

    def act(self) -> None:
        names, weights = zip(*ACTIONS, strict=True)
        self.action = self.draw.choices(names, weights)[0]
        given = getattr(self, f"_{self.action}")()
        self.settle(given or ())

    def drive(self) -> None:
        """One step of somebody who wants the run to end: mends, approves, waits, starts again."""
        self.views = {name: MemberView(name=name, windows=view.windows) for name, view in self.views.items()}
        running = [row for row in rows(self.run) if row.state == states.RUNNING]
        waiting = [Approval(gate=gate.id, by="u", at=self.now) for gate in gates(self.run, states.PENDING)]
        try:
            self.action = "start"
            self.run = commands.start(self.run, self.now)
        except FleetError:
            self.action = "drive"
            if running:
                self.run = commands.with_attempt_end(self.run, running[0].operation, states.COMPLETED, self.now)
            elif not waiting and self.decided.wake_at:
                self.now = self.decided.wake_at
        self.settle(waiting)

    def _start(self) -> None:
        self._command(lambda: commands.start(self.run, self.now))

    def _stop(self) -> None:
        self._command(lambda: commands.stop(self.run))

    def _skip(self) -> None:
        """Mostly members, so that runs live long."""
        names = {
            states.MEMBER: [row.name for row in rows(self.run)],
            states.GROUP: [group.name for stage in self.run.stages for group in stage.groups],
            states.STAGE: [stage.name for stage in self.run.stages],
            states.AFTER_STAGE_WAIT: [stage.name for stage in self.run.stages if stage.wait],
        }
        kinds = self.draw.choices(tuple(names), (80, 6, 4, 10), k=self.draw.choice((1, 1, 1, 2)))
        chosen = [commands.SkipTarget(kind, self.draw.choice(names[kind])) for kind in kinds if names[kind]]
        self._command(lambda: commands.skip(self.run, chosen, self.now))

    def _command(self, command: t.Callable[[], RunState]) -> None:
        """A refused one changes nothing."""
        try:
            self.run = command()
        except FleetError as error:
            assert error.code == "conflict-state"
            self.action += " refused"

    def _result(self) -> None:
        running = [row for row in rows(self.run) if row.state == states.RUNNING]
        if running:
            result = self.draw.choices((states.COMPLETED, states.FAILED, states.SKIPPED), (70, 20, 10))[0]
            self.run = commands.with_attempt_end(self.run, self.draw.choice(running).operation, result, self.now)

    def _advance(self) -> None:
        if self.decided.wake_at and self.draw.random() < 0.6:
            self.now = self.decided.wake_at
        else:
            self.now += timedelta(seconds=self.draw.choice((1, 60, 3_600, 86_400)))

    def _approve(self) -> list[Approval]:
        waiting = list(gates(self.run, states.PENDING))
        return [Approval(gate=self.draw.choice(waiting).id, by="u", at=self.now)] if waiting else []

    def _obstacle(self) -> None:
        view = self._any_view()
        reason = self.draw.choice(REASONS)
        left = tuple(each for each in view.obstacles if each.reason != reason)
        if len(left) == len(view.obstacles):
            until = self.draw.choice((None, self.now + timedelta(minutes=self.draw.randint(1, 90))))
            left += (MemberBlocker(reason=reason, until=until),)
        self.views[view.name] = replace(view, obstacles=left)

    def _precondition(self) -> None:
        view, why = self._any_view(), MemberBlocker(reason="")
        skip, fail = self.draw.choice(((None, None), (why, None), (None, why)))
        self.views[view.name] = replace(view, skip=skip, fail=fail)

    def _leave(self) -> None:
        if len(self.views) > 2:
            del self.views[self._any_view().name]

    def _any_view(self) -> MemberView:
        return self.views[self.draw.choice(list(self.views))]


def script(seed: int) -> Script:
    draw = random.Random(seed)
    names = [f"m{number:02d}" for number in range(draw.randint(2, 16))]
    stages = tuple(_stage(draw, number) for number in range(draw.randint(1, 3)))
    groups = [group.name for stage in stages for group in stage.groups]
    fleet = [Candidate(name=name, group=draw.choice(groups)) for name in names]
    strategy = None if draw.random() < 0.05 else UpdateRunStrategy(stages=stages)
    run = RunState(name="r", uid=UID, stages=resolve(strategy, fleet, UID).stages)
    return Script(draw, run, {name: MemberView(name=name, windows=_windows(draw)) for name in names})


def rows(run: RunState) -> list[MemberRow]:
    return [row for stage in run.stages for group in stage.groups for row in group.members]


def gates(run: RunState, state: str) -> t.Iterator[GateRow]:
    return (gate for gate in gates_of(run) if gate.state == state)


def _stage(draw: random.Random, number: int) -> UpdateStage:
    return UpdateStage(
        name=f"s{number}",
        groups=tuple(
            UpdateGroup(
                name=f"g{number}-{each}",
                max_concurrency=draw.choice(SLOTS),
                max_allowed_failures=draw.choice(LIMITS),
                before_gates=_gates(draw, (APPROVAL, SCHEDULED_START)),
                after_gates=_gates(draw, (APPROVAL,)),
            )
            for each in range(draw.randint(1, 3))
        ),
        max_concurrency=draw.choice(SLOTS),
        max_allowed_failures=draw.choice(LIMITS),
        after_stage_wait_in_seconds=draw.choice((0, 0, 60, 3_600)),
        before_gates=_gates(draw, (APPROVAL, SCHEDULED_START)),
        after_gates=_gates(draw, (APPROVAL,)),
    )


def _gates(draw: random.Random, types: tuple[str, ...]) -> tuple[GateConfiguration, ...]:
    return tuple(_gate(draw, draw.choice(types)) for _gate_number in range(draw.choice((0, 0, 0, 0, 1, 2))))


def _gate(draw: random.Random, kind: str) -> GateConfiguration:
    if kind == APPROVAL:
        return GateConfiguration(type=kind)
    start = ScheduledStartConfiguration(
        start_day=draw.choice(DAYS),
        start_time=f"{draw.randint(0, 23):02d}:{draw.randint(0, 59):02d}",
        utc_offset=draw.choice(("+00:00", "-05:30", "+14:00")),
    )
    return GateConfiguration(type=kind, scheduled_start_configuration=start)


def _windows(draw: random.Random) -> tuple[tuple[datetime, datetime], ...] | None:
    """Every so many days for two years, longer than any script."""
    if draw.random() < 0.6:
        return None
    first = T0 + timedelta(hours=draw.randint(-30, 30))
    long, every = timedelta(hours=draw.randint(4, 24)), draw.randint(2, 7)
    return tuple(
        (opens, opens + long) for opens in (first + timedelta(days=every * each) for each in range(730 // every))
    )
