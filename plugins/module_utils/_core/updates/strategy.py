# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""An update strategy laid over the members of a fleet: whom an update run takes by its ``spec.members``, who is in
which group (``overlapping-groups``, ``uncovered-members``, ``empty-group``), with limits and percentages as numbers
(``concurrency-cut``, ``group-limit-stricter``), and the ids of gates.

Rules are those of Azure Fleet Manager's update strategies: groups take members by their group name or by labels, a
stage's selector filters before, a stage without groups has one of all that are left.
"""

from __future__ import annotations

import typing as t
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..errors import FleetError, Problem
from ..objects.updates.forms import INHERIT
from ..objects.updates.strategy import (
    MAX_CONCURRENCY,
    GateConfiguration,
    MemberSelector,
    UpdateGroup,
    UpdateRunStrategy,
    UpdateStage,
)
from ..schema.rules import Found
from ..values.int_or_percent import scaled
from ..values.listed import listed, number_of
from ..values.selector import Matcher, compile_selector
from ..values.selector_text import parse_selector
from ..values.update_states import AFTER, BEFORE
from .run import (
    GateRow,
    GroupRow,
    MemberRow,
    Schedule,
    StageRow,
    WaitRow,
)

NAMESPACE = uuid.uuid5(uuid.NAMESPACE_DNS, "gates.gitops.fleet")
DEFAULT = "default"
NAMED = 10


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A member of the fleet, as far as strategies look at it: its update group (empty: none) and its labels (None: they
    are not known, and no selector takes it, whatever that asks for)."""

    name: str
    group: str = ""
    labels: Mapping[str, str] | None = field(default_factory=dict, hash=False)


@dataclass(frozen=True, kw_only=True)
class Resolved:
    """The rows of a new run. ``uncovered`` are members that no group takes: they are not updated. ``warnings`` have the
    codes ``uncovered-members``, ``empty-group``, ``concurrency-cut`` and ``group-limit-stricter``."""

    stages: tuple[StageRow, ...]
    uncovered: tuple[str, ...] = ()
    warnings: tuple[Found, ...] = ()


@dataclass(frozen=True)
class _Taken:
    """The members of one group."""

    stage: UpdateStage
    group: UpdateGroup
    path: str
    members: tuple[Candidate, ...]
    implicit: bool = False


def candidates_of_run(candidates: t.Sequence[Candidate], members: t.Collection[str]) -> tuple[Candidate, ...]:
    """The candidates, in their order, that a run may take by its ``spec.members``: the named ones, or all if it names
    none. Names that no candidate has are passed over."""
    return tuple(each for each in candidates if not members or each.name in members)


def resolve(strategy: UpdateRunStrategy | None, candidates: t.Sequence[Candidate], uid: str) -> Resolved:
    """The rows of a new run, as the strategy groups its members, which keep the order of ``candidates``, with limits as
    numbers: percentages of slots round down, of failures up; slots are 1 at least (a group without members, which
    stays, has 0) and ``MAX_CONCURRENCY`` at most. Strategy None: all of them, one after another, in one stage and group
    ``default``, and no failure is allowed.

    ``uid`` of the run makes the ids of its gates. FleetError with all problems at once: ``overlapping-groups`` (a
    member that two groups take), ``invalid-label-selector``, ``invalid-count-or-percentage``.
    """
    if strategy is None:
        return _one_by_one(candidates)
    problems: list[Problem] = []
    taken = [_take(stage, index, strategy, candidates, problems) for index, stage in enumerate(strategy.stages)]
    problems += _overlaps([one for groups in taken for one in groups])
    warnings: list[Found] = []
    stages = tuple(
        _stage(stage, f"strategy.stages[{index}]", groups, uid, problems, warnings)
        for index, (stage, groups) in enumerate(zip(strategy.stages, taken, strict=True))
    )
    if problems:
        raise FleetError.of(problems)
    covered = {one.name for groups in taken for group in groups for one in group.members}
    uncovered = tuple(one.name for one in candidates if one.name not in covered)
    if uncovered:
        warnings.append(Found("uncovered-members", "strategy", f"in no group, not updated: {listed(uncovered, NAMED)}"))
    return Resolved(stages=stages, uncovered=uncovered, warnings=tuple(warnings))


def _one_by_one(candidates: t.Sequence[Candidate]) -> Resolved:
    """One stage with one group of all of them, one slot, and no failure allowed."""
    members = tuple(MemberRow(name=one.name) for one in candidates)
    group = GroupRow(name=DEFAULT, members=members, max_concurrency=min(1, len(members)), max_allowed_failures=0)
    return Resolved(stages=(StageRow(name=DEFAULT, groups=(group,), max_concurrency=1, max_allowed_failures=0),))


def _take(
    stage: UpdateStage,
    index: int,
    strategy: UpdateRunStrategy,
    candidates: t.Sequence[Candidate],
    problems: list[Problem],
) -> tuple[_Taken, ...]:
    """The groups of a stage with their members, in order; one that implies its group has all that its selector, if any,
    matches. A selector that cannot be read matches nobody, and is added to ``problems``."""
    path = f"strategy.stages[{index}]"
    chosen = tuple(candidates)
    if stage.member_selector is not None:
        chosen = _matching(stage.member_selector, f"{path}.memberSelector.byLabel", chosen, problems)
    if not stage.groups:
        return (_Taken(stage, UpdateGroup(name=_free_name(stage, strategy)), path, chosen, implicit=True),)
    found = []
    for at, group in enumerate(stage.groups):
        where = f"{path}.groups[{at}]"
        if group.member_selector is not None:
            members = _matching(group.member_selector, f"{where}.memberSelector.byLabel", chosen, problems)
        else:
            members = tuple(one for one in chosen if one.group == group.name)
        found.append(_Taken(stage, group, where, members))
    return tuple(found)


def _free_name(stage: UpdateStage, strategy: UpdateRunStrategy) -> str:
    """The name of an implicit group: that of its stage, with ``-all`` behind it as long as another group or stage has
    it."""
    taken = {group.name for each in strategy.stages for group in each.groups}
    taken |= {each.name for each in strategy.stages if each is not stage}
    name = stage.name
    while name in taken:
        name = f"{name}-all"
    return name


def _matching(
    selector: MemberSelector, path: str, among: tuple[Candidate, ...], problems: list[Problem]
) -> tuple[Candidate, ...]:
    """Those whose labels are known and match the selector, in order; none, with a problem ``invalid-label-selector``,
    if it cannot be read."""
    try:
        matches: Matcher = compile_selector(parse_selector(selector.by_label))
    except ValueError as error:
        problems.append(Problem("invalid-label-selector", str(error), path))
        return ()
    return tuple(one for one in among if one.labels is not None and matches(one.labels))


def _overlaps(taken: t.Sequence[_Taken]) -> list[Problem]:
    """A problem ``overlapping-groups`` for each member that several groups take."""
    places: dict[str, list[str]] = {}
    for one in taken:
        for member in one.members:
            places.setdefault(member.name, []).append(f"group {one.group.name} of stage {one.stage.name}")
    hint = "a member belongs to at most one group of a run"
    return [
        Problem("overlapping-groups", f"member {member} is in {' and in '.join(found)}", "strategy.stages", hint)
        for member, found in places.items()
        if len(found) > 1
    ]


def _stage(
    stage: UpdateStage,
    path: str,
    taken: tuple[_Taken, ...],
    uid: str,
    problems: list[Problem],
    warnings: list[Found],
) -> StageRow:
    """The row of a stage: limits as numbers of its members, at most ``MAX_CONCURRENCY`` slots, and so many where it
    does not say; adds to ``problems`` and ``warnings``."""
    size = sum(len(one.members) for one in taken)
    limits = _Limits(path, size, problems)
    slots = min(limits.concurrency(stage.max_concurrency or str(MAX_CONCURRENCY)), MAX_CONCURRENCY)
    failures = limits.failures(stage.max_allowed_failures)
    wait = stage.after_stage_wait_in_seconds
    return StageRow(
        name=stage.name,
        groups=tuple(_group(one, slots, failures, uid, problems, warnings) for one in taken),
        max_concurrency=slots,
        max_allowed_failures=failures,
        wait=WaitRow(seconds=wait) if wait else None,
        before_gates=_gates(stage.before_gates, (uid, stage.name, "", BEFORE)),
        after_gates=_gates(stage.after_gates, (uid, stage.name, "", AFTER)),
    )


def _group(
    one: _Taken, slots: int, failures: int, uid: str, problems: list[Problem], warnings: list[Found]
) -> GroupRow:
    """The row of a group, its slots within those of its stage (``slots``) and its members, its failures those of its
    stage (``failures``) where it inherits them; a selector stage's implicit group has the stage's values. Adds to
    ``problems`` and ``warnings``."""
    group, size = one.group, len(one.members)
    limits = _Limits(one.path, size, problems)
    wanted = slots if one.implicit else limits.concurrency(group.max_concurrency or "1")
    inherits = one.implicit or group.max_allowed_failures == INHERIT
    allowed = failures if inherits else limits.failures(group.max_allowed_failures)
    warnings += _warned(one, wanted, slots, allowed, failures)
    return GroupRow(
        name=group.name,
        members=tuple(MemberRow(name=member.name) for member in one.members),
        max_concurrency=min(wanted, slots, size),
        max_allowed_failures=allowed,
        before_gates=_gates(group.before_gates, (uid, one.stage.name, group.name, BEFORE)),
        after_gates=_gates(group.after_gates, (uid, one.stage.name, group.name, AFTER)),
    )


def _warned(one: _Taken, wanted: int, slots: int, allowed: int, failures: int) -> t.Iterator[Found]:
    """What only the members show (``empty-group``, and cuts by percentages or sizes); plain numbers of group and stage
    were compared when the strategy was read."""
    group, size = one.group, len(one.members)
    if not size:
        yield Found("empty-group", one.path, f"group {group.name} has no members; it is skipped")
        return
    if one.implicit:
        return
    percent = "%" in group.max_concurrency + one.stage.max_concurrency
    if wanted > min(slots, size) and (wanted <= slots or percent):
        counts = f"{number_of(slots, 'slot')} of the stage, {number_of(size, 'member')} of the group"
        message = f"{wanted} is cut to {min(slots, size)}: {counts}"
        yield Found("concurrency-cut", f"{one.path}.maxConcurrency", message)
    percent = "%" in group.max_allowed_failures + one.stage.max_allowed_failures
    if allowed < failures and percent and group.max_allowed_failures.rstrip("%") not in ("", "0"):
        most = number_of(allowed, "failure")
        message = f"the group halts after more than {most}, {failures} of its stage are not reached in it"
        yield Found("group-limit-stricter", f"{one.path}.maxAllowedFailures", message)


@dataclass(frozen=True)
class _Limits:
    """Counts and percentages of ``size`` members: slots are rounded down but never to none, failures up."""

    path: str
    size: int
    problems: list[Problem]

    def concurrency(self, text: str) -> int:
        """Slots, 1 at least; as of ``_number`` otherwise."""
        return max(1, self._number(text, "maxConcurrency", round_up=False))

    def failures(self, text: str) -> int:
        """Failures that are allowed, 0 for no text; as of ``_number`` otherwise."""
        return self._number(text or "0", "maxAllowedFailures", round_up=True)

    def _number(self, text: str, name: str, round_up: bool) -> int:
        """The number that the text says, or its percentage of ``size``; 0 for another text, with a problem
        ``invalid-count-or-percentage`` at ``name``."""
        try:
            return scaled(text, self.size, round_up) if text.endswith("%") else int(text)
        except ValueError:
            message = f"{text!r} is neither a number nor a percentage"
            self.problems.append(Problem("invalid-count-or-percentage", message, f"{self.path}.{name}"))
            return 0


def gate_id(uid: str, stage: str, group: str, timing: str, index: int) -> str:
    """The id of a gate in the run of that uid: a GUID, the same each time. ``group`` is empty for a stage's own gate,
    ``timing`` is Before or After, ``index`` counts from 0 in that place."""
    return str(uuid.uuid5(NAMESPACE, f"{uid}/{stage}/{group}/{timing}/{index}"))


def _gates(configured: tuple[GateConfiguration, ...], place: tuple[str, str, str, str]) -> tuple[GateRow, ...]:
    """The rows of gates that were not opened, in order, with the ids that their ``place`` (uid, stage, group, timing)
    gives them."""
    return tuple(
        GateRow(
            name=gate.display_name or gate.type,
            id=gate_id(*place, index),
            schedule=_schedule(gate),
        )
        for index, gate in enumerate(configured)
    )


def _schedule(gate: GateConfiguration) -> Schedule | None:
    """When the clock opens the gate; None for one of a person."""
    given = gate.scheduled_start_configuration
    if given is None:
        return None
    return Schedule(day=given.start_day, time=given.start_time, utc_offset=given.utc_offset)
