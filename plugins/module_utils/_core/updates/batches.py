# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The members of a stage of an update run in batches within its limits (``maxConcurrency`` of stage and groups), for
plain plays with ``serial``."""

from __future__ import annotations

from .run import StageRow


def batches(stage: StageRow) -> tuple[tuple[str, ...], ...]:
    """Names of the members that go at once, batch after batch.

    A batch has at most ``max_concurrency`` members of each group and of the stage, of which the first groups take
    theirs first; a limit of 0 counts as 1. States of members, gates, waits, windows and limits of failures are not
    looked at.
    """
    waiting = [[member.name for member in group.members] for group in stage.groups]
    out = []
    while any(waiting):
        batch: list[str] = []
        for group, names in zip(stage.groups, waiting, strict=True):
            room = min(max(1, group.max_concurrency), max(1, stage.max_concurrency) - len(batch))
            batch += names[:room]
            del names[:room]
        out.append(tuple(batch))
    return tuple(out)
