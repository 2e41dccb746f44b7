# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The status of an update run kept below the size that an API server takes (``StatusTrimmed``): which details of
members are left out first."""

from __future__ import annotations

import typing as t
from collections.abc import Callable
from dataclasses import replace

from ...objects.updates.run_status import (
    MemberUpdateStatus,
    UpdateGroupStatus,
    UpdateRunStatus,
    UpdateStageStatus,
)
from ...schema.codec import encode
from ...schema.meta import Condition
from ...schema.record_size import LIMIT, REASON, TRIMMED, size_of_json
from ..facts import DONE

_SHORT = 80

# The member without some detail; the very same if it has none of it.
Shorten = Callable[[MemberUpdateStatus], MemberUpdateStatus]


def trimmed(status: UpdateRunStatus, limit: int = LIMIT) -> tuple[UpdateRunStatus, dict[str, t.Any]]:
    """The status in at most ``limit`` bytes of JSON, as far as leaving out details of members can make it so, and that
    status encoded; nothing is raised where it cannot.

    First errors of members go, which repeat a message, then long messages are cut, then messages of stages that are
    done go, then all, as far as needed. What a resume needs (states, attempts, operations, references, times) and
    versions stay. A status that was too large has the condition StatusTrimmed; one that fits is given back as it is.
    """
    encoded = encode(status)
    if size_of_json(encoded) <= limit:
        return status, encoded
    out = replace(status, conditions=_conditions(status))
    for ended_only, shorten in ((False, _without_error), (False, _cut), (True, _silent), (False, _silent)):
        out = replace(out, stages=tuple(_stage(each, shorten, ended_only) for each in out.stages))
        encoded = encode(out)
        if size_of_json(encoded) <= limit:
            break
    return out, encoded


def _conditions(status: UpdateRunStatus) -> tuple[Condition, ...]:
    """The conditions with StatusTrimmed."""
    message = "details of members were left out to keep the status small; states and operations are complete"
    told = Condition(type=TRIMMED, status="True", reason=REASON, message=message)
    return (*(each for each in status.conditions if each.type != TRIMMED), told)


def _stage(stage: UpdateStageStatus, shorten: Shorten, ended_only: bool) -> UpdateStageStatus:
    """The stage with the details of its members shortened; the same if it is not done and that is for such alone
    (``ended_only``)."""
    if ended_only and stage.status.state not in DONE:
        return stage
    return replace(stage, groups=tuple(_group(each, shorten) for each in stage.groups))


def _group(group: UpdateGroupStatus, shorten: Shorten) -> UpdateGroupStatus:
    """The group with each member shortened."""
    return replace(group, members=tuple(shorten(each) for each in group.members))


def _without_error(member: MemberUpdateStatus) -> MemberUpdateStatus:
    """Without the error, which repeats reason and message."""
    return replace(member, status=replace(member.status, error=None)) if member.status.error else member


def _cut(member: MemberUpdateStatus) -> MemberUpdateStatus:
    """With its message cut behind 80 characters, if it has more than 83."""
    return replace(member, message=member.message[:_SHORT] + "...") if len(member.message) > _SHORT + 3 else member


def _silent(member: MemberUpdateStatus) -> MemberUpdateStatus:
    """Without its message."""
    return replace(member, message="") if member.message else member
