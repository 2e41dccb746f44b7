# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What the states of an update run, its stages and groups are derived from: members counted by state, and flags of the
stored rows; and breaches of failure limits recorded (``breached``)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace
from operator import attrgetter

from ..values.update_states import (
    COMPLETED,
    FAILED,
    NEW,
    NOT_STARTED,
    PENDING,
    RUNNING,
    SKIPPED,
    STOPPED,
)
from .failure_threshold import group_over_limit
from .run import (
    GateRow,
    GroupRow,
    MemberRow,
    RunState,
    StageRow,
)

DONE = (COMPLETED, SKIPPED)
_ENDED = (COMPLETED, SKIPPED, FAILED)
_state = attrgetter("state")


@dataclass(frozen=True, kw_only=True, slots=True)
class Tally:
    """How many ``members`` a group has, and how many of them in each state but NotStarted; ``in_flight`` are
    Running."""

    members: int
    in_flight: int
    failed: int
    skipped: int
    completed: int
    pending: int
    stopped: int

    @property
    def ended(self) -> bool:
        """Whether all are Completed, Skipped or Failed; true of a group without members."""
        return self.failed + self.skipped + self.completed == self.members


def tally(members: t.Sequence[MemberRow]) -> Tally:
    """The ``Tally`` of a group's members."""
    count = list(map(_state, members)).count
    return Tally(
        members=len(members),
        in_flight=count(RUNNING),
        failed=count(FAILED),
        skipped=count(SKIPPED),
        completed=count(COMPLETED),
        pending=count(PENDING),
        stopped=count(STOPPED),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupFacts:
    """What the state of a group follows from. ``count`` are its members; ``user_skipped``: itself or with its stage;
    ``breached``, ``stage_breached`` as of ``failure_threshold``; ``stop``: the run was told to. Of its gates one before
    or after it is Pending (``..._pending``), or one after it NotStarted (``after_unopened``)."""

    count: Tally
    user_skipped: bool
    breached: bool
    stage_breached: bool
    stop: bool
    reached: bool
    stage_reached: bool
    before_pending: bool
    after_pending: bool
    after_unopened: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class StageFacts:
    """What the state of a stage follows from. ``groups`` are derived states, ``breached_groups`` says of each whether
    its own limit is breached; ``new``: the run was never started. ``in_flight`` and ``failed`` count members. The rest
    is as of a group; the wait after it is Running (``wait_running``) or NotStarted (``wait_unopened``)."""

    new: bool
    stop: bool
    groups: tuple[str, ...]
    breached_groups: tuple[bool, ...]
    in_flight: int
    failed: int
    user_skipped: bool
    breached: bool
    reached: bool
    before_pending: bool
    after_pending: bool
    after_unopened: bool
    wait_running: bool
    wait_unopened: bool

    @property
    def latched(self) -> bool:
        """Whether its own limit of failures is breached, or that of one of its groups."""
        return self.breached or any(self.breached_groups)

    @property
    def groups_done(self) -> bool:
        """Whether each group is Completed or Skipped; true without groups."""
        return all(state in DONE for state in self.groups)

    @property
    def groups_ended(self) -> bool:
        """Whether each group is Completed, Skipped or Failed; true without groups."""
        return all(state in _ENDED for state in self.groups)

    @property
    def drained(self) -> bool:
        """Whether a group is breached and each other one is breached, Completed or Skipped: nothing new may start
        then."""
        sides = zip(self.groups, self.breached_groups, strict=True)
        return any(self.breached_groups) and all(breached or state in DONE for state, breached in sides)


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFacts:
    """What the state of a run follows from. ``stages`` are derived states, in order; ``new``: never started, ``stop``:
    told to stop; ``in_flight`` counts members; ``latched``: a limit of failures is breached in a stage or group."""

    new: bool
    stop: bool
    stages: tuple[str, ...]
    in_flight: int
    latched: bool

    @property
    def current(self) -> str:
        """State of the first stage that is neither Completed nor Skipped, empty if there is none."""
        return next((state for state in self.stages if state not in DONE), "")


def group_facts(group: GroupRow, stage: StageRow, count: Tally, *, stage_breached: bool, stop: bool) -> GroupFacts:
    """What the table of states of groups asks about. ``count`` is of its members; the stage is over its limit of
    failures (``stage_breached``), the run was told to stop (``stop``)."""
    return GroupFacts(
        count=count,
        user_skipped=group.user_skipped or stage.user_skipped,
        breached=group_over_limit(group, stage, count.failed),
        stage_breached=stage_breached,
        stop=stop,
        reached=group.reached,
        stage_reached=stage.reached,
        before_pending=_any_in_state(group.before_gates, PENDING),
        after_pending=_any_in_state(group.after_gates, PENDING),
        after_unopened=_any_in_state(group.after_gates, NOT_STARTED),
    )


def stage_facts(
    stage: StageRow, groups: t.Sequence[GroupFacts], states: tuple[str, ...], breached: bool, run: RunState
) -> StageFacts:
    """What the table of states of stages asks about. ``groups`` and ``states`` are those of its groups, in order;
    ``breached``: the stage is over its own limit of failures."""
    wait = stage.wait
    return StageFacts(
        new=run.phase == NEW,
        stop=run.stop_requested,
        groups=states,
        breached_groups=tuple(each.breached for each in groups),
        in_flight=sum(each.count.in_flight for each in groups),
        failed=sum(each.count.failed for each in groups),
        user_skipped=stage.user_skipped,
        breached=breached,
        reached=stage.reached,
        before_pending=_any_in_state(stage.before_gates, PENDING),
        after_pending=_any_in_state(stage.after_gates, PENDING),
        after_unopened=_any_in_state(stage.after_gates, NOT_STARTED),
        wait_running=wait is not None and wait.state == RUNNING,
        wait_unopened=wait is not None and wait.state == NOT_STARTED,
    )


def run_facts(run: RunState, stages: t.Sequence[StageFacts], states: tuple[str, ...]) -> RunFacts:
    """What the table of states of runs asks about; ``stages`` and ``states`` are those of its stages, in order."""
    return RunFacts(
        new=run.phase == NEW,
        stop=run.stop_requested,
        stages=states,
        in_flight=sum(each.in_flight for each in stages),
        latched=any(each.latched for each in stages),
    )


def with_breaches(stage: StageRow, facts: StageFacts) -> StageRow:
    """The stage with the breaches of its own limit and its groups' recorded that its ``facts`` tell, so that a later
    skip of the failed member lifts none; the same one if they are recorded already."""
    if any(breach != group.breached for group, breach in zip(stage.groups, facts.breached_groups, strict=True)):
        groups = (
            group if group.breached == breach else replace(group, breached=breach)
            for group, breach in zip(stage.groups, facts.breached_groups, strict=True)
        )
        stage = replace(stage, groups=tuple(groups))
    return stage if facts.breached == stage.breached else replace(stage, breached=facts.breached)


def _any_in_state(gates: tuple[GateRow, ...], state: str) -> bool:
    """Whether a gate is in that state."""
    return bool(gates) and any(gate.state == state for gate in gates)
