# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What happens to a run while it is conducted: people stop it and skip members of it, its time is up."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.update_run import (
    skip_targets,
    stop_run,
    targets_of,
)
from conducting import Plays
from update_fleet import HELD, OLD, UpdateFleet, sequence, until


def test_a_run_is_stopped_while_it_is_conducted_and_goes_on_without_who_was_skipped(
    fleet: UpdateFleet, plays: Plays
) -> None:
    fleet.file_members(a=OLD, b=OLD, c=OLD)
    fleet.write(sequence(("all",)))
    variables = fleet.variables(drivers={"command": fleet.file_driver(begin=HELD)})
    conducting = plays.start("gitops.fleet.update", **variables)
    until(lambda: fleet.file_upgrades() == ["a"])
    assert stop_run(fleet.session(), fleet.run_name, write=True).changed
    fleet.let_go()
    conducting.code(0)
    assert (conducting.fleet["outcome"], conducting.fleet["code"]) == ("waiting", "stopped")
    assert fleet.states() == {"a": "Completed", "b": "NotStarted", "c": "NotStarted"}
    assert fleet.recorded().status.status.state == "Stopped"

    assert skip_targets(fleet.session(), fleet.run_name, targets_of(["Member:b"], True), write=True).changed
    again = plays("gitops.fleet.update", **variables).code(0)
    assert again.fleet["code"] == "stopped" and fleet.file_upgrades() == ["a"], "conducting alone starts nothing"
    assert plays("gitops.fleet.update", **variables, restart=True).code(0).fleet["outcome"] == "done"
    assert fleet.states() == {"a": "Completed", "b": "Skipped", "c": "Completed"}
    assert fleet.file_upgrades() == ["a", "c"]


def test_when_its_time_is_up_nothing_new_begins_and_what_is_in_flight_goes_on(fleet: UpdateFleet) -> None:
    fleet.file_members(a=OLD, b=OLD)
    drivers = {"command": fleet.file_driver(begin=HELD)}
    limit = timedelta(minutes=10)

    def clock() -> datetime:
        """Its time is up as soon as the first upgrade has begun, however long that takes."""
        return _now() + (limit if fleet.file_upgrades() else timedelta())

    came = fleet.conduct(fleet.run(sequence(("all",))), drivers, clock, time_limit=limit)
    assert (came.outcome, came.code) == ("waiting", "time-limit")
    assert fleet.states() == {"a": "Running", "b": "NotStarted"} and fleet.leftovers()
    fleet.let_go()
    assert fleet.conduct(drivers=drivers).outcome == "done"
    assert fleet.file_upgrades() == ["a", "b"] and {each.attempt for each in fleet.rows()} == {1}


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)
