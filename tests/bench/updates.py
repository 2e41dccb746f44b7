# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Update runs: one decision, and what is derived of a run.

Members are bare rows: nothing is read from a cluster. A tenth each has a window that is open, one that is closed, and
an obstacle, so that the first decision tries far more members than it starts.
"""

from __future__ import annotations

import statistics
import time
import typing as t
from datetime import UTC, datetime, timedelta

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.strategy import (
    UpdateGroup,
    UpdateRunStrategy,
    UpdateStage,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.commands import start, with_attempt_end
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.decide import decide
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import (
    MemberBlocker,
    MemberView,
    RunState,
    UpdateSeen,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.status import derive
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.strategy import Candidate, resolve
from ansible_collections.gitops.fleet.plugins.module_utils._core.values import update_states as states
from ansible_collections.gitops.fleet.plugins.module_utils._core.windows.spans import Span

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
SIZES = (10, 100, 1_000, 10_000)
UID = "7d0c8c1e-54a4-4b5a-9a55-1f8c6f0f9a10"
Row = tuple[str, float, str, str]


def candidates(size: int) -> list[Candidate]:
    return [Candidate(name=f"member-{number:05d}", group=f"group-{number % 10}") for number in range(size)]


def strategy() -> UpdateRunStrategy:
    """One stage of ten groups, five members of each at once."""
    groups = tuple(UpdateGroup(name=f"group-{number}", max_concurrency="5") for number in range(10))
    return UpdateRunStrategy(stages=(UpdateStage(name="all", groups=groups),))


def started(size: int) -> tuple[RunState, dict[str, MemberView]]:
    members = candidates(size)
    run = RunState(name="run", uid=UID, stages=resolve(strategy(), members, UID).stages)
    return start(run, NOW), {one.name: _view(one.name, number) for number, one in enumerate(members)}


def _view(name: str, number: int) -> MemberView:
    """Windows are one a day for a month."""
    kind = (number + number // 10) % 10
    windows: tuple[Span, ...] | None = None
    if kind < 2:
        first = NOW - timedelta(days=7, hours=1 if kind else 12)
        days = (first + timedelta(days=day) for day in range(30))
        windows = tuple((opens, opens + timedelta(hours=4)) for opens in days)
    missing = (
        (MemberBlocker(reason=states.VERSION_NOT_AVAILABLE, message="1.36.3 is not available"),) if kind == 2 else ()
    )
    return MemberView(name=name, windows=windows, obstacles=missing)


def bench_decide_1000() -> list[Row]:
    return [_decided(1_000)]


def bench_decide() -> list[Row]:
    return [_decided(size) for size in SIZES if size != 1_000]


def bench_redecide() -> list[Row]:
    """After one member ended."""
    return [_redecided(size) for size in SIZES]


def bench_derive() -> list[Row]:
    return [_derived(size) for size in SIZES]


def bench_resolve_strategy() -> list[Row]:
    return [_resolved(size) for size in SIZES]


def _decided(size: int) -> Row:
    run, views = started(size)
    taken = _median(lambda: decide(run, UpdateSeen(members=views), NOW))
    return f"decide_{size}", taken * 1_000, "ms", f"first decision over {size:,} members in 10 groups of one stage"


def _redecided(size: int) -> Row:
    run, views = started(size)
    run = decide(run, UpdateSeen(members=views), NOW).state
    first = next(row for group in run.stages[0].groups for row in group.members if row.state == states.RUNNING)
    ended = with_attempt_end(run, first.operation, states.COMPLETED, NOW)
    taken = _median(lambda: decide(ended, UpdateSeen(members=views), NOW))
    return f"redecide_{size}", taken * 1_000, "ms", f"the decision after one of {size:,} members ended"


def _derived(size: int) -> Row:
    run, views = started(size)
    run = decide(run, UpdateSeen(members=views), NOW).state
    return f"derive_{size}", _median(lambda: derive(run)) * 1_000, "ms", f"states of a run of {size:,} members"


def _resolved(size: int) -> Row:
    members = candidates(size)
    taken = _median(lambda: resolve(strategy(), members, UID))
    return f"resolve_strategy_{size}", taken * 1_000, "ms", f"{size:,} members, 10 groups by name"


def _median(work: t.Callable[[], object]) -> float:
    """Seconds of the median of 20 runs, after one that fills the caches."""
    work()
    runs = []
    for _time in range(20):
        begun = time.perf_counter()
        work()
        runs.append(time.perf_counter() - begun)
    return statistics.median(runs)
