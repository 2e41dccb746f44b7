# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Members, groups, stages and waits of an update run that a user wants left out (the ``skip`` action of Azure Fleet
Manager's runs, ``unknown-target``), kept when the run is laid out anew; the hint to carry a run on first."""

from __future__ import annotations

import shlex
import typing as t
from dataclasses import dataclass, replace
from datetime import datetime

from ..errors import FleetError, Problem
from ..values.listed import listed
from ..values.update_states import (
    AFTER_STAGE_WAIT,
    FAILED,
    GROUP,
    MEMBER,
    NOT_STARTED,
    PENDING,
    REQUESTED_BY_USER,
    RUNNING,
    SKIPPED,
    STAGE,
    STOPPED,
    STOPPING,
    TARGET_TYPES,
    USER,
)
from .facts import DONE, with_breaches
from .gates import GateContext, skipped_wait, with_skipped_gates
from .run import (
    GroupRow,
    MemberRow,
    RunState,
    StageRow,
    with_members_changed,
)
from .status import derive

SKIPPABLE = (NOT_STARTED, RUNNING, PENDING, STOPPED, FAILED)
_IDLE = (NOT_STARTED, PENDING, STOPPED)
States = t.Mapping[tuple[str, str], str]
Wanted = t.Collection[tuple[str, str]]
ON_REQUEST = "skipped on request"


@dataclass(frozen=True)
class SkipTarget:
    """What is to be skipped: ``type`` is Member, Group, Stage or AfterStageWait; the name of a wait is that of its
    stage. Neither is judged here."""

    type: str
    name: str

    def __str__(self) -> str:
        """``Member:web``."""
        return f"{self.type}:{self.name}"


def skip(run: RunState, targets: t.Sequence[SkipTarget], now: datetime, reason: str = "") -> RunState:
    """The run with all targets Skipped by the user, but for what is Completed or Skipped already; gates and waits of
    what is skipped are Skipped at ``now``, open and running ones too. The ``reason`` stands in the messages of members,
    behind ``skipped on request``.

    A group or stage lets members in flight finish, and leaves failed ones; a failed member that is named can be skipped
    once the run is Stopped or Failed, and that alone starts nothing. FleetError, and then nothing is skipped:
    ``conflict-state`` for a run that is Completed, Skipped or Stopping; else with all problems: ``unknown-target``, and
    ``conflict-state`` for a member in flight, or that failed in a run that goes on.
    """
    status = derive(run)
    if status.state not in SKIPPABLE:
        hint = carry_on_hint(run.name) if status.state == STOPPING else ""
        message = f"nothing can be skipped in a run in state {status.state}"
        raise FleetError("conflict-state", message, _where(run), hint)
    states: dict[tuple[str, str], str] = {}
    for stage, one in zip(run.stages, status.stages, strict=True):
        states[STAGE, stage.name] = one.state
        if stage.wait is not None:
            states[AFTER_STAGE_WAIT, stage.name] = stage.wait.state
        for group, each in zip(stage.groups, one.groups, strict=True):
            states[GROUP, group.name] = each.state
            states |= {(MEMBER, row.name): row.state for row in group.members}
    problems = [problem for target in targets if (problem := _problem(run, target, states, status.state))]
    if problems:
        raise FleetError.of(problems)
    wanted = {(each.type, each.name) for each in targets if states[each.type, each.name] not in DONE}
    desk = GateContext(run, now)
    words = f"{ON_REQUEST}: {reason}" if reason else ON_REQUEST
    stages = (_stage(with_breaches(stage, desk.look(stage).facts), wanted, words, now) for stage in run.stages)
    return replace(run, stages=tuple(with_skipped_gates(stage, desk) for stage in stages))


def with_user_skips(run: RunState, now: datetime) -> RunState:
    """The run in which members of groups and stages that the user has skipped are Skipped if they are NotStarted,
    Pending or Stopped; the same run without such a group or stage."""
    wanted = {(STAGE, stage.name) for stage in run.stages if stage.user_skipped}
    wanted |= {(GROUP, group.name) for stage in run.stages for group in stage.groups if group.user_skipped}
    return replace(run, stages=tuple(_stage(stage, wanted, ON_REQUEST, now) for stage in run.stages)) if wanted else run


def with_skips_of(run: RunState, before: RunState, now: datetime) -> RunState:
    """The run, which is laid out anew and was never started, with what the user had skipped of it as it was ``before``:
    stages, groups and waits of the same names, and members that were named, or whose group or stage is in it no more;
    members that were skipped then with the words and the instant of then. The same run where nothing was skipped."""
    there = {(STAGE, stage.name) for stage in run.stages}
    there |= {(GROUP, group.name) for stage in run.stages for group in stage.groups}
    wanted: set[tuple[str, str]] = set()
    told: dict[str, MemberRow] = {}
    for stage in before.stages:
        wanted |= {(STAGE, stage.name)} if stage.user_skipped else set()
        if stage.wait is not None and stage.wait.reason == REQUESTED_BY_USER:
            wanted.add((AFTER_STAGE_WAIT, stage.name))
        for group in stage.groups:
            wanted |= {(GROUP, group.name)} if group.user_skipped else set()
            above = {STAGE: (STAGE, stage.name), GROUP: (GROUP, group.name)}
            mine = [row for row in group.members if row.state == SKIPPED and row.skipped_by == USER]
            told |= {row.name: row for row in mine}
            wanted |= {(MEMBER, row.name) for row in mine if above.get(row.skipped_via) not in there}
    if not wanted:
        return run
    desk = GateContext(run, now)
    stages = (_as_told(_stage(stage, wanted, ON_REQUEST, now), told) for stage in run.stages)
    return replace(run, stages=tuple(with_skipped_gates(stage, desk) for stage in stages))


def _as_told(stage: StageRow, told: t.Mapping[str, MemberRow]) -> StageRow:
    """The stage; members that are Skipped with words and instant of the row in ``told``, by name, if there is one."""

    def row_as_told(row: MemberRow) -> MemberRow:
        """The member, as of ``_as_told``."""
        then = told.get(row.name) if row.state == SKIPPED else None
        return replace(row, message=then.message, completed=then.completed) if then else row

    return with_members_changed(stage, row_as_told)


def _problem(run: RunState, target: SkipTarget, states: States, state: str) -> Problem | None:
    """Why the target cannot be skipped in a run in that state, None if it can; ``states`` are those of all targets that
    there are."""
    found = states.get((target.type, target.name))
    if found is None:
        names = sorted(name for kind, name in states if kind == target.type)
        told = f"there are: {listed(names) or 'none'}"
        if target.type not in TARGET_TYPES:
            told = f"types are {', '.join(TARGET_TYPES)}"
        return Problem("unknown-target", f"the run has no {target}", _where(run), told)
    if target.type != MEMBER:
        return None
    if found == RUNNING:
        hint = "its upgrade is in flight; skip its group or stage, and it is the last one there"
        return Problem("conflict-state", f"{target} is {found}", _where(run), hint)
    if found == FAILED and state not in (STOPPED, FAILED):
        hint = "a failed member can be skipped when the run is Stopped or Failed"
        return Problem("conflict-state", f"{target} is {found} while the run is {state}", _where(run), hint)
    return None


def _stage(stage: StageRow, wanted: Wanted, words: str, now: datetime) -> StageRow:
    """The stage with what is ``wanted`` of it skipped; ``words`` are what members say."""
    whole = (STAGE, stage.name) in wanted
    groups = tuple(_group(group, STAGE if whole else "", wanted, words, now) for group in stage.groups)
    wait = stage.wait
    if wait and (AFTER_STAGE_WAIT, stage.name) in wanted:
        wait = skipped_wait(wait, REQUESTED_BY_USER, now)
    return replace(stage, groups=groups, wait=wait, user_skipped=stage.user_skipped or whole)


def _group(group: GroupRow, via: str, wanted: Wanted, words: str, now: datetime) -> GroupRow:
    """The group with what is ``wanted`` of it skipped; ``via`` is Stage if its stage is, else empty."""
    whole = (GROUP, group.name) in wanted
    above = via or (GROUP if whole else "")
    members = tuple(_member(row, above, (MEMBER, row.name) in wanted, words, now) for row in group.members)
    return replace(group, members=members, user_skipped=group.user_skipped or whole)


def _member(row: MemberRow, above: str, itself: bool, words: str, now: datetime) -> MemberRow:
    """The member, Skipped by the user if it is named ``itself``, or its group or stage is (``above``) and it has not
    begun. Of what has ended only a failed member that is named itself changes."""
    if not (itself or (above and row.state in _IDLE)):
        return row
    return replace(
        row,
        state=SKIPPED,
        skipped_by=USER,
        skipped_via=MEMBER if itself else above,
        reason=REQUESTED_BY_USER,
        message=words,
        completed=now,
        pending_since=None,
    )


def carry_on_hint(run: str) -> str:
    """The way out of a state in which nothing new begins and upgrades are in flight, as a hint with the command to
    type."""
    command = f"ansible-playbook gitops.fleet.update -e {shlex.quote(f'run={run}')}"
    return f"what is in flight ends first, while the run is carried on: {command}"


def _where(run: RunState) -> str:
    """The run as the place of an error: ``UpdateRun/<name>``."""
    return f"UpdateRun/{run.name}"
