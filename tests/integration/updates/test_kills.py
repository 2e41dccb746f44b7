# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SIGKILL on real clusters: the conductor at three points, the upgrade itself; nothing is repeated, nothing is lost."""

from __future__ import annotations

import contextlib
import signal
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from conducting import Plays, gone
from update_fleet import NEW, UpdateFleet, sequence, until

CONDUCT = str(Path(__file__).with_name("conduct.yml"))


def in_flight(fleet: UpdateFleet) -> list[str]:
    with contextlib.suppress(FleetError):
        return [name for name, state in fleet.states().items() if state == "Running"]
    return []


POINTS: dict[str, t.Callable[[UpdateFleet], t.Any]] = {
    "the intent is stored": in_flight,
    "the newer API server starts": UpdateFleet.upgrades,
    "the upgrade has ended and is not recorded": lambda fleet: [
        each for each in fleet.folders() if (each / "result.json").exists()
    ],
}


@pytest.mark.parametrize("point", POINTS)
def test_the_conductor_is_killed_and_the_next_one_goes_on(fleet: UpdateFleet, plays: Plays, point: str) -> None:
    (name,) = fleet.members("all")
    fleet.write(sequence(("all",)))
    first = plays.start(CONDUCT, **fleet.variables())
    until(lambda: POINTS[point](fleet))
    first.kill(signal.SIGKILL, first.worker, first.pid)
    first.ended()
    assert fleet.row(name).status.state == "Running"
    operation = fleet.row(name).operation_id

    second = plays(CONDUCT, **fleet.variables()).code(0)
    assert second.fleet["outcome"] == "done"
    row = fleet.row(name)
    assert (row.status.state, row.attempt, row.operation_id) == ("Completed", 1, operation)
    assert fleet.version(name) == NEW and fleet.upgrades() == {name: 1}
    assert [each.name for each in fleet.folders()] == [operation]
    assert fleet.leftovers() == []


def test_upgrades_that_are_killed_have_failed_and_are_tried_once_more(fleet: UpdateFleet, plays: Plays) -> None:
    """SIGTERM to one, SIGKILL to the other, in their midst; the conductor records both, and a restart mends them."""
    names = fleet.members("all", "all")
    fleet.write(sequence(("all",), at_once=2))
    first = plays.start(CONDUCT, **fleet.variables())
    until(lambda: len(fleet.upgrades()) == 2)
    for name, number in zip(names, (signal.SIGTERM, signal.SIGKILL), strict=True):
        pid = until(lambda name=name: fleet.row(name).reference.split(":")[2:])[0]
        first.kill(number, int(pid))
        assert gone(int(pid), 30)
    first.code(2)
    assert first.fleet["code"] == "run-failed"
    assert fleet.states() == dict.fromkeys(names, "Failed")
    assert "SIGTERM" in fleet.row(names[0]).message and "killed" in fleet.row(names[1]).message
    assert fleet.leftovers() == []

    again = plays("gitops.fleet.update", **fleet.variables(restart=True)).code(0)
    assert again.fleet["outcome"] == "done"
    # Skipped is one whose newer API server was there already when its upgrade was killed.
    assert set(fleet.states().values()) <= {"Completed", "Skipped"}
    assert [fleet.version(name) for name in names] == [NEW, NEW]
    assert fleet.upgrades() == dict.fromkeys(names, 1)
