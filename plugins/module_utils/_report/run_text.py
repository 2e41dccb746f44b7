# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""An update run as a tree of text, or as a sentence if it is Completed or Skipped: how far it is, what each member
became; as rows, everything that it waits for (``waits_for``); since when nobody seems to conduct it, and which run made
good what it left."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from datetime import datetime, timedelta

from .._core.objects.updates.run_status import (
    MemberUpdateStatus,
    UpdateGroupStatus,
    UpdateRunGateStatus,
    UpdateStageStatus,
    UpdateStatus,
    WaitStatus,
)
from .._core.objects.updates.update_run import UpdateRun
from .._core.updates.approvals import named_makers
from .._core.updates.facts import DONE
from .._core.updates.record.summary import completed_by, in_one_line, named_failures, taken_up_later
from .._core.updates.skipping import ON_REQUEST
from .._core.values.duration import span_words
from .._core.values.instants import SECONDS, write_time
from .._core.values.listed import listed
from .._core.values.update_states import (
    COMPLETED,
    FAILED,
    NOT_STARTED,
    PENDING,
    REQUESTED_BY_USER,
    RUNNING,
    SKIPPED,
    STOPPING,
    SUCCEEDED,
)
from .commands.named_gates import named_gates
from .text import folded, table

SHOWN = 40
NAMED = 5
HEAD = 2  # lines above the tree
_COUNTED = {RUNNING: "in flight", SKIPPED: "skipped", PENDING: "pending"}
_FIRST = {FAILED: 0, RUNNING: 1, PENDING: 2}
Row = tuple[str, str, str]
WOULD_BEGIN = "would begin"


@dataclass(frozen=True, kw_only=True)
class Told:
    """What rows are told with: who made or started the run, what is noted of several members with their names, and the
    ids of gates that have to be named by these."""

    makers: tuple[str, ...]
    shared: t.Mapping[str, t.Sequence[str]]
    by_id: t.Collection[str]


def brief_text(run: UpdateRun) -> list[str]:
    """As ``run_text``, but of a run that is Completed or Skipped only a sentence: goal, state, how many members are
    done, when it ended (UTC); in lines that fit the terminal."""
    status = run.status.status
    if status.state not in DONE:
        return run_text(run)
    ended = f", {write_time(status.completed_time)}" if status.completed_time else ""
    state = status.state if run.status.outcome == SUCCEEDED else _state(run)
    return folded(f"run {run.name}: {goal(run)}: {state}, {_tally(run.status.members)}{ended}")


def unconducted_text(run: UpdateRun, conducted_until: datetime | None, made_good_by: str) -> list[str]:
    """That nobody seems to conduct a Running or Stopping run since ``conducted_until`` (None: that is not so), and that
    the run ``made_good_by`` (empty: none) has made good what this one left; in lines that fit the terminal."""
    lines = []
    if conducted_until and run.status.status.state in (RUNNING, STOPPING):
        lines += folded(f"nobody seems to conduct run {run.name} since {write_time(conducted_until, SECONDS)}")
    if made_good_by:
        lines += folded(f"what run {run.name} left, run {made_good_by} has made good")
    return lines


def goal(run: UpdateRun) -> str:
    """The type of upgrade and the version, or ``newer node images`` where there is none."""
    return f"{run.spec.managed_cluster_update.upgrade.type} to {run.status.target_version or 'newer node images'}"


def _state(run: UpdateRun) -> str:
    """The run's state, with its outcome in brackets if it has one."""
    return run.status.status.state + (f" ({run.status.outcome})" if run.status.outcome else "")


def run_text(run: UpdateRun, begun: bool = True) -> list[str]:
    """The run as lines: goal and digest, then the tree as a table. If it is not ``begun``, what is Running only would
    begin. The message of a failed run, stage or group is left out where members below it have failed, whose rows say
    why. What is noted of several members that are done alike stands once, below the tree; then members that no stage
    covers. Of large groups members that failed, run or wait are shown before others, and the rest is counted."""
    status = run.status
    members = status.members
    lines = [f"run {run.name}: {goal(run)}, {run.spec.strategy_name or 'own sequence'}", f"digest {status.digest}"]
    rows: list[Row] = [(run.name, _state(run), _joined(_tally(members), _why(status.status, members, status.message)))]
    told = Told(
        makers=named_makers(run),
        shared=_shared(members),
        by_id={each.gate.gate_id for each in named_gates(run) if not each.alone},
    )
    for stage in status.stages:
        rows += _stage(stage, told)
    rows += [("note", "", f"{listed(names, NAMED)}: {message}") for message, names in told.shared.items()]
    if status.uncovered_members:
        rows.append(("not covered", "", ", ".join(status.uncovered_members)))
    if not begun:
        rows = [(what, WOULD_BEGIN if state == RUNNING else state, why) for what, state, why in rows]
    return lines + table(("WHAT", "STATE", "HOW FAR, AND WHY"), rows, "")


def would_text(deed: str, changed: bool) -> list[str]:
    """That a ``deed``, such as ``stop run r``, is only looked at, and whether it would change anything (``changed``);
    in lines that fit the terminal."""
    return folded(f"nothing is recorded; this would {deed}:" if changed else f"it would change nothing to {deed}:")


def waits_for(run: UpdateRun) -> list[dict[str, str]]:
    """Everything that holds the run now, as rows for results, by stage: open gates, a counting wait, Pending members.
    ``type`` is ``gate``, ``wait`` or ``member``, ``where`` its place (``before canary``, a stage, a member); a gate has
    its ``id`` and ``name``, a member the ``reason``. ``message`` says more; of a wait it is empty, and a gate has it
    only if it was refused or approved already. ``until`` (RFC 3339, UTC) is there where the clock ends it."""
    found = []
    for stage in run.status.stages:
        owned = [(stage.name, stage.before_gates, stage.after_gates)]
        owned += [(f"{stage.name}/{group.name}", group.before_gates, group.after_gates) for group in stage.groups]
        for place, before, after in owned:
            for timing, gates in (("Before", before), ("After", after)):
                found += [_gate_waits(gate, timing, place) for gate in gates if gate.status.state == PENDING]
        wait = stage.after_stage_wait_status
        if wait and wait.status.state == RUNNING and wait.ends:
            found.append({"type": "wait", "where": stage.name, "until": write_time(wait.ends), "message": ""})
        for group in stage.groups:
            found += [
                {"type": "member", "where": member.name, "reason": member.reason, "message": member.message}
                for member in group.members
                if member.status.state == PENDING
            ]
    return found


def _gate_waits(gate: UpdateRunGateStatus, timing: str, place: str) -> dict[str, str]:
    """The row of one open gate, as of ``waits_for``; ``timing`` is Before or After, ``place`` is ``stage`` or
    ``stage/group``."""
    words = {"type": "gate", "where": f"{timing.lower()} {place}", "id": gate.gate_id, "name": gate.display_name}
    if gate.refused:
        return words | {"message": f"refused by {gate.refused}"}
    if gate.by:
        return words | {"message": taken_up_later(gate.by, gate.verified)}
    return words | ({"until": write_time(gate.due)} if gate.due else {})


def _stage(stage: UpdateStageStatus, told: Told) -> list[Row]:
    """The rows of one stage: itself, gates before it, groups, gates after it, its wait if it has one."""
    members = [member for group in stage.groups for member in group.members]
    rows: list[Row] = [
        (f"  {stage.name}", stage.status.state, _joined(_tally(members), _why(stage.status, members, stage.message)))
    ]
    rows += [_gate(gate, "before", "    ", told) for gate in stage.before_gates]
    for group in stage.groups:
        rows += _group(group, told)
    rows += [_gate(gate, "after", "    ", told) for gate in stage.after_gates]
    if stage.after_stage_wait_status:
        rows.append(_wait(stage.after_stage_wait_status))
    return rows


def _group(group: UpdateGroupStatus, told: Told) -> list[Row]:
    """The rows of one group: itself with its limits, gates before it, members as of ``run_text``, gates after it."""
    limits = f"{group.max_concurrency} at once" + (
        f", {group.max_allowed_failures} may fail" if group.max_allowed_failures else ""
    )
    message = _why(group.status, group.members, group.message)
    rows: list[Row] = [(f"    {group.name}", group.status.state, _joined(_tally(group.members), limits, message))]
    rows += [_gate(gate, "before", "      ", told) for gate in group.before_gates]
    shown = sorted(group.members, key=_rank)[:SHOWN] if len(group.members) > SHOWN else group.members
    rows += [(f"      {each.name}", each.status.state, _member(each, each.message in told.shared)) for each in shown]
    if len(group.members) > len(shown):
        rows.append((f"      {len(group.members) - len(shown)} more", "", "all of them in the result"))
    return rows + [_gate(gate, "after", "      ", told) for gate in group.after_gates]


def _rank(member: MemberUpdateStatus) -> int:
    """The place in a list that is cut: failed, running, pending members first, then all others alike."""
    return _FIRST.get(member.status.state, len(_FIRST))


def _versions(member: MemberUpdateStatus) -> str:
    """``old -> new``; the old version alone where no new one is known, or it is the same; nothing where it is the same
    and nodes got images."""
    before, after = member.version_before, member.version_after
    if before == after:
        return "" if member.node_images else before
    return f"{before} -> {after}" if after else before


def _shared(members: t.Sequence[MemberUpdateStatus]) -> dict[str, list[str]]:
    """Each message that several Completed members have, with their names."""
    found: dict[str, list[str]] = {}
    for each in members:
        if each.status.state == COMPLETED and each.message:
            found.setdefault(each.message, []).append(each.name)
    return {message: names for message, names in found.items() if len(names) > 1}


def _member(member: MemberUpdateStatus, shared: bool = False) -> str:
    """What is said of one member. Completed: versions, images, how long it took, a further attempt, and its message
    unless it is ``shared``. Others: who skipped it, the reason, a further attempt, and its message in one line; of one
    that people skipped on request no reason."""
    again = f"attempt {member.attempt}" if member.attempt > 1 else ""
    if member.status.state == COMPLETED:
        images = ", ".join(member.node_images)
        return _joined(_versions(member), images, _took(member.status), again, "" if shared else member.message)
    who = f"skipped by {member.skipped_by}" if member.status.state == SKIPPED and member.skipped_by else ""
    reason, message = member.reason, member.message
    if who and reason == REQUESTED_BY_USER:
        reason, message = "", message.removeprefix(ON_REQUEST).removeprefix(": ")
    return _joined(who, reason, again, in_one_line(message, member.name))


def _gate(gate: UpdateRunGateStatus, timing: str, indent: str, told: Told) -> Row:
    """The row of one gate, ``before`` or ``after``: who completed it; of an open one who approved it already, else who
    refused it, and when the clock opens it (UTC), or that it is to be approved, by its id where nothing else tells
    which one is meant. A refused one does not open by the clock."""
    state = gate.status.state
    words = [gate.display_name]
    if state == COMPLETED:
        words.append(f"completed by {completed_by(gate.by, gate.verified, told.makers)}")
    elif state == PENDING and gate.by:
        words.append(taken_up_later(gate.by, gate.verified, told.makers))
    elif state == PENDING:
        words += [f"refused by {gate.refused}"] if gate.refused else []
        which = f"approve {gate.gate_id}" if gate.gate_id in told.by_id else "to be approved"
        words.append(f"opens at {write_time(gate.due)}" if gate.due and not gate.refused else which)
    return f"{indent}gate {timing}", state, _joined(*words)


def _wait(wait: WaitStatus) -> Row:
    """The row of a wait: how long it is, until when (UTC) while it counts, and why it was not served."""
    words = span_words(timedelta(seconds=wait.wait_duration_in_seconds))
    until = f"until {write_time(wait.ends)}" if wait.status.state == RUNNING and wait.ends else ""
    return "    wait", wait.status.state, _joined(words, until, wait.reason)


def _tally(members: t.Sequence[MemberUpdateStatus]) -> str:
    """``3/7 done (1 skipped, 1 failed: a)``: only Completed members are done; of those that failed the first three are
    named."""
    states = [each.status.state for each in members]
    counts = {state: states.count(state) for state in (RUNNING, SKIPPED, PENDING)}
    words = {state: f"{counts[state]} {word}" if counts[state] else "" for state, word in _COUNTED.items()}
    failed = named_failures(_failed(members))
    other = ", ".join(filter(None, (words[RUNNING], words[SKIPPED], failed, words[PENDING])))
    return f"{states.count(COMPLETED)}/{len(states)} done" + (f" ({other})" if other else "")


def _failed(members: t.Sequence[MemberUpdateStatus]) -> list[str]:
    """The names of the members that are Failed."""
    return [each.name for each in members if each.status.state == FAILED]


def _why(status: UpdateStatus, members: t.Sequence[MemberUpdateStatus], message: str) -> str:
    """The message of a run, stage or group; nothing for a Failed one if a member below it has failed, for that one's
    row says why."""
    return "" if status.state == FAILED and _failed(members) else message


def _took(status: UpdateStatus) -> str:
    """How long it took, such as ``12 min 5 s``; empty for one that has not begun or not ended."""
    if not status.start_time or not status.completed_time or status.state == NOT_STARTED:
        return ""
    return span_words(status.completed_time - status.start_time)


def _joined(*words: str) -> str:
    """Those words that are not empty, parted by ``; ``."""
    return "; ".join(word for word in words if word)
