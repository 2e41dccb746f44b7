# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""``maxAllowedFailures`` of a group and of a stage (Azure Fleet Manager's update strategies): which failures count, and
whether more have failed."""

from __future__ import annotations

import typing as t

from .run import GroupRow, StageRow


def group_over_limit(group: GroupRow, stage: StageRow, failed: int) -> bool:
    """Whether the group's latch is set, or more of it ``failed`` than it allows; in a group or stage that the user
    skipped failures do not count."""
    return group.breached or (failed > group.max_allowed_failures and not (group.user_skipped or stage.user_skipped))


def stage_over_limit(stage: StageRow, failed: t.Iterable[int]) -> bool:
    """Whether the stage's latch is set, or more of it failed than it allows. ``failed`` are the failures of each of its
    groups, in order; in a group or stage that the user skipped they do not count. ValueError if they are counted and
    are not as many as groups."""
    if stage.breached or stage.user_skipped:
        return stage.breached
    counted = (number for group, number in zip(stage.groups, failed, strict=True) if not group.user_skipped)
    return sum(counted) > stage.max_allowed_failures
