# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Rules of update strategies over several fields, wherever a strategy, a member selector or a schedule stands:
``duplicate-stage``, ``stage-selects-nothing``, ``group-in-two-stages``, ``concurrency-above-ceiling``,
``scheduled-after``, ``schedule-missing``, ``concurrency-above-stage``, ``group-limit-looser`` (Azure Fleet's)."""

from __future__ import annotations

import typing as t
from collections.abc import Sequence

from ...schema.finding import Finding
from ...schema.rules import Found
from ...values.listed import number_of
from ...values.selector_text import parse_selector
from .forms import INHERIT, LIMIT_LENGTH
from .strategy import (
    MAX_CONCURRENCY,
    SCHEDULED_START,
    GateConfiguration,
    MemberSelector,
    UpdateGroup,
    UpdateRunStrategy,
    UpdateStage,
    UpdateStrategy,
)

STRATEGY = "spec.strategy"


def check_update_strategy(obj: UpdateStrategy) -> t.Iterator[Found]:
    """What is wrong with the stages and groups of an UpdateStrategy over several fields, as of ``check_sequence``."""
    yield from check_sequence(obj.spec.strategy, STRATEGY)


def warn_update_strategy(obj: UpdateStrategy) -> t.Iterator[Finding]:
    """What in the stages and groups of an UpdateStrategy has no effect, as of ``warn_sequence``."""
    yield from warn_sequence(obj.spec.strategy, STRATEGY)


def check_sequence(strategy: UpdateRunStrategy, path: str) -> t.Iterator[Found]:
    """What is wrong in the stages of an update strategy over several fields, and in its selectors, stage by stage:
    ``duplicate-stage``, ``stage-selects-nothing``, ``concurrency-above-ceiling`` (a number above 50; percentages pass),
    ``invalid-label-selector``, ``scheduled-after``, ``schedule-missing``, ``schedule-not-wanted``, ``duplicate-group``,
    ``group-in-two-stages``. ``path`` is that of the strategy, empty at the top of a document."""
    names: dict[str, int] = {}
    groups: dict[str, int] = {}
    for index, stage in enumerate(strategy.stages):
        place = _stage_path(path, index)
        if stage.name and names.setdefault(stage.name, index) != index:
            message = f"stage {names[stage.name]} is called {stage.name!r} too"
            yield Found("duplicate-stage", f"{place}.name", message)
        if not stage.groups and not stage.member_selector:
            hint = "name groups, or say with memberSelector which members"
            message = "this stage has neither groups nor a memberSelector"
            yield Found("stage-selects-nothing", f"{place}.groups", message, hint)
        yield from _check_ceiling(stage, place)
        yield from _check_segment(stage, place)
        yield from _check_groups(stage, index, place, groups)


def warn_sequence(strategy: UpdateRunStrategy, path: str) -> t.Iterator[Finding]:
    """What in the stages and groups of an update strategy has no effect: limits that a group, or the stage in one of
    its groups, never reaches (``concurrency-above-stage``, ``group-limit-stricter``, ``group-limit-looser``), also
    where one of the two has its default; a wait that no stage follows (``wait-not-served``). ``path`` as of
    ``check_sequence``."""
    for index, stage in enumerate(strategy.stages):
        place = _stage_path(path, index)
        for at, group in enumerate(stage.groups):
            yield from _warn_limits(stage, group, f"{place}.groups[{at}]")
        seconds = stage.after_stage_wait_in_seconds
        if seconds and index == len(strategy.stages) - 1:
            reason = "no stage follows, so this wait is not served"
            yield _warning("wait-not-served", f"{place}.afterStageWaitInSeconds", seconds, reason)


def check_schedule(kind: str, schedule: object | None, path: str) -> t.Iterator[Found]:
    """The problem, at ``path``, of a gate of type ``kind`` that is ScheduledStart and has no schedule
    (``schedule-missing``), or is another and has one (``schedule-not-wanted``)."""
    if kind == SCHEDULED_START and schedule is None:
        hint = "give startDay, startTime and utcOffset"
        yield Found("schedule-missing", path, "ScheduledStart does not say when", hint)
    if kind and kind != SCHEDULED_START and schedule is not None:
        yield Found("schedule-not-wanted", path, f"a gate of type {kind} has no schedule", "leave it out")


def _check_groups(stage: UpdateStage, index: int, place: str, seen: dict[str, int]) -> t.Iterator[Found]:
    """What is wrong with the groups of the stage at ``index``: ``duplicate-group``, ``group-in-two-stages``, and each
    group's selector and gates. ``seen`` has the index of the stage in which a group's name stood first, and is added
    to."""
    here: set[str] = set()
    for at, group in enumerate(stage.groups):
        path = f"{place}.groups[{at}]"
        if group.name in here:
            yield Found("duplicate-group", f"{path}.name", f"another group of this stage is called {group.name!r}")
        elif group.name and seen.setdefault(group.name, index) != index:
            message = f"stage {seen[group.name]} has a group {group.name!r} too, and a member is updated once"
            yield Found("group-in-two-stages", f"{path}.name", message, "name it in one stage only")
        if group.name:
            here.add(group.name)
        yield from _check_segment(group, path)


def _check_segment(segment: UpdateStage | UpdateGroup, place: str) -> t.Iterator[Found]:
    """What is wrong with the member selector (``invalid-label-selector``) and the gates of a stage or group, those
    before it first."""
    yield from check_member_selector(segment.member_selector, f"{place}.memberSelector.byLabel")
    yield from _check_gates(segment.before_gates, f"{place}.beforeGates", before=True)
    yield from _check_gates(segment.after_gates, f"{place}.afterGates", before=False)


def check_member_selector(selector: MemberSelector | None, path: str) -> t.Iterator[Found]:
    """The problem ``invalid-label-selector``, at ``path``, of a member selector that ``parse_selector`` refuses, an
    empty one too; none for None."""
    if selector is None:
        return
    try:
        parse_selector(selector.by_label)
    except ValueError as error:
        hint = "write it as for kubectl -l, such as region in (eu,us),tier!=gold"
        yield Found("invalid-label-selector", path, str(error), hint)


def _check_gates(gates: Sequence[GateConfiguration], path: str, before: bool) -> t.Iterator[Found]:
    """What is wrong with gates ``before`` or after a stage or group: ``scheduled-after``, and their schedules as of
    ``check_schedule``."""
    for index, gate in enumerate(gates):
        place = f"{path}[{index}]"
        if gate.type == SCHEDULED_START and not before:
            hint = "put it in beforeGates of the next stage, or take an Approval"
            yield Found("scheduled-after", f"{place}.type", "ScheduledStart stands in beforeGates only", hint)
        yield from check_schedule(gate.type, gate.scheduled_start_configuration, f"{place}.scheduledStartConfiguration")


def _check_ceiling(stage: UpdateStage, place: str) -> t.Iterator[Found]:
    """``concurrency-above-ceiling`` for a number above 50; percentages pass."""
    number = _number(stage.max_concurrency)
    if number is not None and number > MAX_CONCURRENCY:
        message = f"{number} members at once; a stage updates at most {MAX_CONCURRENCY}"
        yield Found("concurrency-above-ceiling", f"{place}.maxConcurrency", message)


def _warn_limits(stage: UpdateStage, group: UpdateGroup, place: str) -> t.Iterator[Finding]:
    """The findings ``concurrency-above-stage``, and ``group-limit-stricter`` or ``group-limit-looser``, of one group.
    Limits that are left out count as their defaults (of the stage 50 at once, and 0 failures), but a group's
    ``maxConcurrency`` as none; percentages mostly cannot be compared."""
    wanted, allowed = _number(group.max_concurrency), _number(stage.max_concurrency or str(MAX_CONCURRENCY))
    if wanted is not None and allowed is not None and wanted > allowed:
        reason = f"the stage updates at most {number_of(allowed, 'member')} at once, so {wanted} are never reached"
        yield _warning("concurrency-above-stage", f"{place}.maxConcurrency", group.max_concurrency, reason)
    ours, theirs = group.max_allowed_failures or "0", stage.max_allowed_failures or "0"
    if _stricter(ours, theirs):
        reason = (
            f"the group halts after more than {ours} failures, so the {theirs} of its stage are not reached in it; "
            f"{INHERIT} takes the stage's"
        )
        yield _warning("group-limit-stricter", f"{place}.maxAllowedFailures", group.max_allowed_failures, reason)
    elif group.max_allowed_failures != INHERIT and _stricter(theirs, ours):
        reason = (
            f"the stage halts after more than {theirs} failures in all of its groups, so the {ours} of the group are "
            f"never reached; give the stage as many, or write {INHERIT}"
        )
        yield _warning("group-limit-looser", f"{place}.maxAllowedFailures", group.max_allowed_failures, reason)


def _stricter(limit: str, other: str) -> bool:
    """Whether ``limit`` is the smaller one for any number of members: a smaller number, or 0 against anything else.
    Otherwise a percentage or ``inherit`` makes it False."""
    if limit.rstrip("%") == "0":
        return other.rstrip("%") != "0"
    ours, theirs = _number(limit), _number(other)
    return ours is not None and theirs is not None and ours < theirs


def _number(text: str) -> int | None:
    """The number that a limit says; None for percentages, and for what the form of the field refuses."""
    return int(text) if len(text) <= LIMIT_LENGTH and text.isascii() and text.isdecimal() else None


def _warning(code: str, path: str, value: t.Any, reason: str) -> Finding:
    """The finding of a warning: ``value`` stands at ``path``, and stays."""
    return Finding(code, path, path, value, value, reason)


def _stage_path(path: str, index: int) -> str:
    """The path of the stage at ``index`` of the strategy at ``path``, which is empty at the top of a document."""
    return f"{path}.stages[{index}]" if path else f"stages[{index}]"
