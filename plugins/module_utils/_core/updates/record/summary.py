# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Lines for people about an update run, its stages and groups: how far it is (``3/7 completed``), why it failed, what
it waits for, who completed, approved or refused a gate; a message in one line, the version of a member before and
after."""

from __future__ import annotations

import re
import typing as t

from ...foreign import in_line
from ...values.instants import write_time
from ...values.listed import listed
from ...values.update_states import COMPLETED, FAILED, PENDING, RUNNING, SKIPPED, STOPPED, STOPPING
from ..facts import DONE
from ..run import (
    GateRow,
    GroupRow,
    MemberRow,
    RunState,
    StageRow,
    WaitRow,
)

UNVERIFIED = "unverified"
TAKEN_UP = "taken up when the run is carried on"
_NAMED = 3
HALTED = "more members failed than allowed"
# Not the counts of a recap, as in ``failed=1``.
_TELLING = re.compile(r"\b(error|fatal|failed)\b(?!=)", re.IGNORECASE)


def in_one_line(message: str, name: str = "") -> str:
    """One line for people of a message that ends with the output of an upgrade: its first, and, if more follow, behind
    ``: `` the last of these that tells of an error, or the very last if none does. A ``name: `` that it begins with is
    left out. Empty for an empty message."""
    message = message.removeprefix(f"{name}: ") if name else message
    first, *tail = [line.strip() for line in message.splitlines() if line.strip()] or [""]
    telling = [line for line in tail if _TELLING.search(line)] or tail
    return f"{first}: {telling[-1]}" if telling else first


def versions_in_words(member: MemberRow) -> str:
    """The member's version before and after its upgrade and the images of its nodes then, such as ``1.35.4 -> 1.36.3,
    images Ubuntu-12``, with its state unless it is Completed; one version where it stayed, ``?`` where one of the two
    is not known. Empty where nothing is known."""
    before, after = member.version_before, member.version_after
    if not (before or after or member.node_images):
        return ""
    versions = before if before == after else f"{before or '?'} -> {after or '?'}"
    images = f"images {', '.join(member.node_images)}" if member.node_images else ""
    return ", ".join(filter(None, (versions, images, "" if member.state == COMPLETED else member.state)))


def named_failures(names: t.Sequence[str]) -> str:
    """How many failed and who, as ``2 failed: a, b``, with the first three names; empty for none."""
    return f"{len(names)} failed: {listed(names, _NAMED)}" if names else ""


def completed_by(by: str, verified: bool, makers: t.Collection[str] = ()) -> str:
    """Who completed a gate, in words: ``the clock`` where ``by`` is empty, else the name, with a remark unless the hub
    vouched for it (``verified``) or it is UNVERIFIED itself, and one if it is of the ``makers``, who made or started
    the run."""
    if not by:
        return "the clock"
    words = by if verified or by == UNVERIFIED else f"{by}, {UNVERIFIED}"
    return f"{words}, who made or started the run" if by in makers else words


def taken_up_later(by: str, verified: bool, makers: t.Collection[str] = ()) -> str:
    """That somebody (as of ``completed_by``) approved a gate which whoever conducts the run has not passed yet, in
    words."""
    return f"approved by {completed_by(by, verified, makers)}; {TAKEN_UP}"


def of_group(group: GroupRow, state: str) -> str:
    """Why a group is Failed, or what one that is Pending waits for; empty in other states."""
    if state == FAILED:
        return _failures(group.members)
    if state == PENDING:
        return _gates((*group.before_gates, *group.after_gates)) or _pending(group.members)
    return ""


def of_stage(stage: StageRow, state: str, groups: t.Sequence[str]) -> str:
    """Why a stage is Failed, or what it waits for; ``groups`` are the states of all its groups. Its own gates and wait
    come first; one that is Pending speaks else for its first group that says something (``of_group``), one that is
    Running for none. Empty in other states."""
    if state == FAILED:
        return _failures([member for group in stage.groups for member in group.members])
    if state not in (PENDING, RUNNING):
        return ""
    own = _gates((*stage.before_gates, *stage.after_gates))
    wait = _wait(stage.wait) if all(each in DONE for each in groups) else ""
    if own or wait:
        return ", and ".join(text for text in (own, wait) if text)
    if state == RUNNING:
        return ""
    pairs = zip(stage.groups, groups, strict=True)
    texts = (of_group(group, each) for group, each in pairs)
    return next((text for text in texts if text), "")


def of_run(run: RunState, state: str, stages: t.Sequence[tuple[str, str]]) -> str:
    """Why a run is Failed, or what it waits for; ``stages`` are states and messages of its stages. The first that is
    not done speaks for a run that goes on; one that stops or has stopped tells of a refused gate alone."""
    if state == FAILED:
        return _failures(run.members)
    if state in (STOPPING, STOPPED):
        return refusal_of(run)
    if state not in (PENDING, RUNNING):
        return ""
    return next((message for each, message in stages if each not in DONE), "")


def refusal_of(run: RunState) -> str:
    """The first of ``RunState.refused_gates``, with who and why; empty if there is none."""
    named = ((in_line(gate.name or gate.id), gate.refused) for gate in run.refused_gates)
    return next((f"gate {name} was refused by {refused}" for name, refused in named), "")


def progress(state: RunState) -> str:
    """How far an update run is, such as ``3/7 completed (1 skipped, 0 failed)``; the second number counts all
    members."""
    states = [member.state for member in state.members]
    counts = {each: states.count(each) for each in (COMPLETED, SKIPPED, FAILED)}
    return f"{counts[COMPLETED]}/{len(states)} completed ({counts[SKIPPED]} skipped, {counts[FAILED]} failed)"


def _failures(members: t.Sequence[MemberRow]) -> str:
    """The first member that failed, why, and how many more; ``HALTED`` if none has."""
    failed = [member for member in members if member.state == FAILED]
    if not failed:
        return HALTED
    first = failed[0]
    more = f", and {len(failed) - 1} more failed" if len(failed) > 1 else ""
    return f"{first.name}: {in_one_line(first.message, first.name) or first.reason}{more}"


def _gates(gates: t.Sequence[GateRow]) -> str:
    """The gates that are open, each with what is known of it; empty without one."""
    waiting = [gate for gate in gates if gate.state == PENDING]
    if not waiting:
        return ""
    named = (in_line(gate.name) + _until(gate) for gate in waiting)
    return f"waits for gate{'s' * (len(waiting) > 1)} {', '.join(named)}"


def _until(gate: GateRow) -> str:
    """What is known of an open gate: who refused it, else who approved it, else when it opens by itself; empty for none
    of these."""
    if gate.refused:
        return f" (refused by {gate.refused})"
    if gate.by:
        return f" (approved by {completed_by(in_line(gate.by), gate.verified)})"
    return f" (opens {write_time(gate.due)})" if gate.due else ""


def _wait(wait: WaitRow | None) -> str:
    """Until when the wait lasts; empty unless it is Running."""
    if wait is None or wait.state != RUNNING or wait.ends is None:
        return ""
    return f"waits until {write_time(wait.ends)}"


def _pending(members: t.Sequence[MemberRow]) -> str:
    """The first member that waits, for what, and how many more; empty if none does."""
    pending = [member for member in members if member.state == PENDING]
    if not pending:
        return ""
    first = pending[0]
    more = f", and for {len(pending) - 1} more" if len(pending) > 1 else ""
    why = in_one_line(first.message, first.name) or first.reason
    return f"waits for {first.name}: {why}{more}"
