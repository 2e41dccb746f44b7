# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""States of groups, stages and the run, as they follow from what is stored."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from .states import NOT_STARTED


@dataclass(frozen=True, kw_only=True)
class GroupStatus:
    """``message`` is the summary error of a Failed group, else what it waits for, else empty.

    ``started`` is the first dispatch below the node, ``completed`` the instant at which it became terminal.
    """

    state: str = NOT_STARTED
    failure_count: int = 0
    message: str = ""
    started: datetime | None = None
    completed: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class StageStatus:
    """As of a group; ``groups`` in the order of the rows."""

    state: str = NOT_STARTED
    failure_count: int = 0
    message: str = ""
    started: datetime | None = None
    completed: datetime | None = None
    groups: tuple[GroupStatus, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RunStatus:
    """``outcome`` is empty until the run is Completed, Skipped or Failed."""

    state: str = NOT_STARTED
    failure_count: int = 0
    outcome: str = ""
    message: str = ""
    stages: tuple[StageStatus, ...] = ()
