# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""When it is worth to look again at a member that waits: D3-50, D3-62."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import MemberBlocker, MemberRow, MemberView
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.timing.obstacles import wakes_at
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.update_states import PENDING
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.made import laid

NOW = datetime(2026, 11, 28, 8, tzinfo=UTC)
MONDAY, SATURDAY = NOW + timedelta(days=2), NOW + timedelta(days=7)
FREEZE = MemberBlocker(reason="Frozen", message="a freeze", until=MONDAY)
OPEN_SATURDAY = (SATURDAY, SATURDAY + timedelta(hours=6))
ROW, RUN = MemberRow(name="m", state=PENDING), laid("s{g:m}")


def wakes(*obstacles: MemberBlocker, windows: tuple[tuple[datetime, datetime], ...] | None) -> list[datetime]:
    return wakes_at(ROW, MemberView(name="m", obstacles=obstacles, windows=windows), RUN, NOW)


def test_a_freeze_that_ends_while_the_window_is_shut_is_waited_for_until_that_opens() -> None:
    """Whoever came back at the end of the freeze would find nothing to do."""
    assert wakes(FREEZE, windows=(OPEN_SATURDAY,)) == [SATURDAY]


def test_a_window_that_shuts_before_the_freeze_ends_is_no_way_in() -> None:
    today = (NOW - timedelta(hours=1), NOW + timedelta(hours=3))
    assert wakes(FREEZE, windows=(today, OPEN_SATURDAY)) == [SATURDAY]
    within = (MONDAY - timedelta(hours=1), MONDAY + timedelta(hours=3))
    assert wakes(FREEZE, windows=(today, within)) == [MONDAY]


def test_without_windows_the_end_of_the_last_obstacle_counts() -> None:
    later = MemberBlocker(reason="Frozen", message="another", until=SATURDAY)
    assert wakes(FREEZE, later, windows=None) == [SATURDAY]


def test_where_time_alone_does_not_let_it_start_each_change_counts() -> None:
    """Somebody else has to end what has no end of its own; and no window is known to open."""
    other = MemberBlocker(reason="OperationInProgress", message="another run")
    assert sorted(wakes(FREEZE, other, windows=(OPEN_SATURDAY,))) == [MONDAY, SATURDAY]
    assert wakes(FREEZE, windows=()) == [MONDAY]
    assert wakes(windows=()) == []


def test_one_that_waits_for_a_slot_is_looked_at_when_its_window_shuts() -> None:
    today = (NOW - timedelta(hours=1), NOW + timedelta(hours=3))
    assert wakes(windows=(today, OPEN_SATURDAY)) == [today[1]]
