# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""How far it is, from lines that verbs say; and the time that is left."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import (
    GroupRow,
    MemberRow,
    RunState,
    StageRow,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.update_states import COMPLETED
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.progress import counted
from ansible_collections.gitops.fleet.plugins.module_utils._report.far_along import (
    FarAlong,
    SubjectPace,
    drawn_bar,
    far_along,
    log_line,
)

LINES = {
    "  stage 2/3 prod, 9 of 20 done: east-1 Running (1.35.4 -> 1.36.3)": FarAlong("stage 2/3 prod", 9, 20),
    "run web: Full to 1.36.3; 3 of 7 clusters done, 1 in flight": FarAlong("run web", 3, 7, "clusters"),
    "run web Completed: 7 of 7 clusters done": FarAlong("run web", 7, 7, "clusters"),
    "  stage 1/1 prod, 1 of 9 done, 2 failed, 3 skipped: a Running (1 -> 2)": FarAlong("stage 1/1 prod", 6, 9),
    "run web: Full to 1.36.3; 1 of 9 clusters done, 1 in flight, 2 failed, 3 skipped": FarAlong(
        "run web", 6, 9, "clusters"
    ),
    "shop: 2 of 3 clusters done, 2 of 3 available": FarAlong("shop", 2, 3, "clusters"),
    "team/shop: 2 of 3 clusters done": FarAlong("team/shop", 2, 3, "clusters"),
    "shop: 0 of 1 cluster done, 0 of 1 available": FarAlong("shop", 0, 1, "cluster"),
    "shop: 250 of 1,000 clusters done": FarAlong("shop", 250, 1000, "clusters"),
    "run web: Full to 1.36.3; 1,003 of 1,200 clusters done, 12 failed": FarAlong("run web", 1015, 1200, "clusters"),
    "run web Completed: 1 of 1 cluster done": FarAlong("run web", 1, 1, "cluster"),
    "building kube-apiserver 1.36.3: 12 of 1400 packages are compiled": FarAlong(
        "building kube-apiserver 1.36.3", 12, 1400, "packages"
    ),
    "downloading kubectl: 42 % of 58 MB, about 7 s left": FarAlong("downloading kubectl", 42, 100, "%", 7.0),
}


@pytest.mark.parametrize("line", LINES)
def test_a_line_tells_how_far_it_is(line: str) -> None:
    assert far_along(line) == LINES[line]


@pytest.mark.parametrize("count", [1, 7, 1_000, 12_000])
def test_runs_of_any_size_are_told_how_far_they_are(count: int) -> None:
    """In the very words of a run: those of one cluster, and of a thousand, are others than those of seven."""
    members = tuple(MemberRow(name=f"m{each}", state=COMPLETED) for each in range(count))
    group = GroupRow(name="all", members=members, max_concurrency=1, max_allowed_failures=0)
    stage = StageRow(name="all", groups=(group,), max_concurrency=1, max_allowed_failures=0)
    line = f"run web: Full to 1.36.3; {counted(RunState(name='web', uid='', stages=(stage,)))}"
    far = far_along(line)
    assert far is not None and (far.done, far.whole) == (count, count)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "TASK [x] ***",
        "  stage prod Completed",
        "east: 1 of 2 done",
        "  >  stage 1/2 x, 1 of 2 done: y",
        "shop: 5 objects",
    ],
)
def test_other_lines_tell_nothing(line: str) -> None:
    assert far_along(line) is None


def test_what_steers_a_terminal_is_not_in_a_name() -> None:
    far = far_along("  stage 1/2 \x1b[31mred\x1b[0m, 1 of 2 done: x")
    assert far is not None and "\x1b" not in drawn_bar(far, None, 200) and "\x1b" not in log_line(far, None)
    far = far_along(f"  stage 1/2 {'x' * 500}, 1 of 2 done: y")
    assert far is not None and len(drawn_bar(far, None, 79)) == 79


def test_the_time_left_follows_from_the_pace() -> None:
    pace = SubjectPace()
    assert pace.left(FarAlong("run web", 2, 10), 100.0) is None
    assert pace.left(FarAlong("run web", 2, 10), 130.0) is None
    assert pace.left(FarAlong("run web", 4, 10), 160.0) == 180.0
    assert pace.left(FarAlong("run web", 10, 10), 200.0) is None
    assert pace.left(FarAlong("downloading kubectl", 42, 100, "%", 7.0), 0.0) == 7.0


def test_a_bar_and_a_line() -> None:
    far = FarAlong("stage 2/3 prod", 9, 20)
    assert drawn_bar(far, 180.0, 80) == "[#########...........] 45 % stage 2/3 prod, 9 of 20, about 3 min left"
    assert log_line(far, None) == "progress: 45 % stage 2/3 prod, 9 of 20"
    assert log_line(FarAlong("run web", 0, 7, "clusters"), 8000.0) == (
        "progress: 0 % run web, 0 of 7 clusters, about 2 h 13 min left"
    )
    assert drawn_bar(FarAlong("run none", 0, 0), None, 80).startswith("[####################] 100 %")
    assert drawn_bar(FarAlong("x", 42, 100, "%"), 0.2, 80) == "[########............] 42 % x, about 1 s left"


@pytest.mark.parametrize(
    "line",
    [
        "run r: x; {} of 1 clusters done",
        "run r: x; 1 of {} clusters done",
        "web: {} of 3 clusters done",
        "  stage 1/2 canary, {} of 3 done: x",
        "building x: {} of 3 packages are compiled",
        "downloading x: 5 % of 1 MB, about {} s left",
    ],
)
@pytest.mark.parametrize("digits", [400, 5_000])
def test_a_number_that_no_fleet_has_tells_nothing(line: str, digits: int) -> None:
    """An error would end the thread that prints, and the play would wait for it without an end."""
    assert far_along(line.format("9" * digits)) is None
