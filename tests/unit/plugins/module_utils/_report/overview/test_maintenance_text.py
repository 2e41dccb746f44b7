# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What is said of windows and freezes that are recorded: short, the worst first, bounded."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime, timedelta

from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.maintenance_changes import (
    COMES,
    MaintenanceChange,
    PartChange,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.openings import (
    CLOSED,
    IS_OPEN,
    NODES,
    UNKNOWN,
    UPGRADE,
    ClusterOpenings,
    OpenSpan,
    Permission,
)
from ansible_collections.gitops.fleet.plugins.module_utils._report.overview.maintenance_text import maintenance_text
from ansible_collections.gitops.fleet.plugins.module_utils._report.widths import columns_of

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)  # a Monday
FREEZE = PartChange(
    mark=COMES, what="freeze sales", words="days 2026-11-23 to 2026-11-30, clock UTC, reason sales week"
)
CHANGE = MaintenanceChange(name="sales", mark=COMES, parts=(FREEZE,))


def opening(name: str, day: int | None, state: str = CLOSED, why: str = "") -> ClusterOpenings:
    """One whose next opening is on so many days after Monday; None for none."""
    start = NOW + timedelta(days=day or 0)
    spans = () if day is None else (OpenSpan(start, start + timedelta(hours=4)),)
    one = Permission(state=state, why=(why,), next=spans[0] if spans else None, openings=spans, clock=UTC)
    return ClusterOpenings(name=name, permissions={UPGRADE: one, NODES: one})


def said(before: t.Sequence[ClusterOpenings], after: t.Sequence[ClusterOpenings], *same: str) -> list[str]:
    lines = maintenance_text((CHANGE,), same, before, after)
    assert max(map(columns_of, lines)) <= 80
    return lines


def test_parts_and_openings_that_move() -> None:
    assert said([opening("a", 5), opening("b", 5)], [opening("a", 12), opening("b", 5)], "nights") == [
        "+ FleetMaintenance sales",
        "    + freeze sales: days 2026-11-23 to 2026-11-30, clock UTC, reason sales week",
        "no change of FleetMaintenance nights",
        "openings that move, for upgrades and disruption of nodes:",
        "CLUSTER  BEFORE (UTC)                THEN (UTC)",
        "a        opens Sat 2026-11-28 12:00  opens Sat 2026-12-05 12:00",
    ]


def test_the_worst_comes_first() -> None:
    names = ("sooner", "later", "latest", "never", "lost", "open")
    before = [opening(name, 5) for name in names]
    gone = "there is no FleetMaintenance sales"
    after = [opening("sooner", 2), opening("later", 6), opening("latest", 9), opening("never", None),
             opening("lost", None, UNKNOWN, gone), opening("open", 0, IS_OPEN)]  # fmt: skip
    lines = said(before, after)
    rows = [line.split()[0] for line in lines if line.split()[0] in names]
    assert rows == ["lost", "never", "latest", "later", "sooner", "open"]
    assert lines[-1] == f"    nothing begins there: {gone}"


def test_ten_rows_and_how_many_more() -> None:
    names = [f"c-{number:02}" for number in range(25)]
    lines = said([opening(name, 1) for name in names], [opening(name, 2 + at) for at, name in enumerate(names)])
    assert [line.split()[0] for line in lines[4:14]] == names[:14:-1]
    assert lines[14:] == ["15 more clusters change in other ways"]


def test_a_thousand_with_one_answer_are_a_row() -> None:
    names = [f"c-{number:03}" for number in range(1000)]
    lines = said([opening(name, 1) for name in names], [opening(name, 2) for name in names])
    assert lines[-1] == "    and 999 more with the same answer: c-001, c-002, c-003 and 996 more" and len(lines) == 6


def test_what_moves_nothing_says_so_and_what_is_the_same_moves_nothing() -> None:
    assert said([opening("a", 1)], [opening("a", 1)])[-1] == "it moves no opening of the next 30 days"
    assert maintenance_text((), ("sales",), (), ()) == ["no change of FleetMaintenance sales"]
    assert maintenance_text((), ("sales",), (), (), written=False) == ["no change of FleetMaintenance sales"]


def test_what_is_only_told_says_that_it_is_not_recorded() -> None:
    first, *others = maintenance_text((CHANGE,), (), (), (), written=False)
    assert first == "nothing is recorded, this is only what would change:"
    assert others == maintenance_text((CHANGE,), (), (), ())


def test_many_parts_end() -> None:
    change = MaintenanceChange(name="sales", mark=COMES, parts=(FREEZE,) * 100)
    assert maintenance_text((change,), (), (), ())[-1] == "    60 more of its windows, freezes and budgets"
