# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""F5, F15: a conductor is killed when an upgrade runs and only its intent is recorded; the next one comes otherwise.

Whoever would not see the operation looks at the member and waits. Nobody begins it again.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor.executor import Pace
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers import host
from update_fleet import HELD, NEW, OLD, UpdateFleet, sequence, until

SCRIPT = Path(__file__).with_name("killed_conductor.py")
SOON = Pace(interval=0.1, settle=20, lost_after=2)


def killed(fleet: UpdateFleet, drivers: t.Any, point: str, **environ: str) -> None:
    told = {
        "point": point,
        "options": fleet.options,
        "name": fleet.run_name,
        "run": fleet.run(sequence(("all",))),
        "drivers": drivers,
        "operations": "" if "HOME" in environ else str(fleet.operations),
    }
    command = [sys.executable, str(SCRIPT), json.dumps(told)]
    done = subprocess.run(command, env={**os.environ, **environ}, timeout=120, check=False)
    assert done.returncode == -signal.SIGKILL
    assert fleet.states() == {"a": "Running", "b": "NotStarted"}
    assert fleet.row("a").reference.startswith(host.machine()) and ":" not in fleet.row("a").reference[8:]
    fleet.expire_leases()


def _elsewhere(fleet: UpdateFleet) -> dict[str, t.Any]:
    return {"operations": str(fleet.folder / "other-operations")}


def _all_deleted(fleet: UpdateFleet) -> dict[str, t.Any]:
    shutil.rmtree(fleet.operations)
    return {}


def _one_deleted(fleet: UpdateFleet) -> dict[str, t.Any]:
    for each in fleet.folders():
        shutil.rmtree(each)
    return {}


def _moved(fleet: UpdateFleet) -> dict[str, t.Any]:
    """A volume that is mounted elsewhere: the number is the same, the place is another."""
    shutil.copytree(fleet.operations, fleet.folder / "copy")
    for each in (fleet.folder / "copy").glob("[!.]*"):
        shutil.rmtree(each)
    shutil.rmtree(fleet.folder / "copy" / ".begun")
    return {"operations": str(fleet.folder / "copy")}


COMING: dict[str, t.Callable[[UpdateFleet], dict[str, t.Any]]] = {
    "another folder of operations": _elsewhere,
    "the folder was deleted": _all_deleted,
    "the folder of the operation was deleted": _one_deleted,
    "a copy of the folder": _moved,
}


@pytest.mark.parametrize("coming", COMING)
def test_who_cannot_see_it_waits_for_the_member(fleet: UpdateFleet, coming: str) -> None:
    fleet.file_members(a=OLD, b=OLD)
    drivers = {"command": fleet.file_driver(begin=HELD)}
    killed(fleet, drivers, "begun")
    until(lambda: fleet.file_upgrades() == ["a"])
    with fleet.let_go_once(lambda: _watched(fleet)):
        pace = Pace(interval=0.1, settle=120, lost_after=300)
        came = fleet.conduct(drivers=drivers, pace=pace, **COMING[coming](fleet))
    assert came.outcome == "done"
    assert fleet.file_upgrades() == ["a", "b"], "each was begun once"
    row = fleet.row("a")
    assert (row.status.state, row.attempt, row.version_after) == ("Completed", 1, NEW)
    assert _watched(fleet), fleet.said


def _watched(fleet: UpdateFleet) -> bool:
    return any("watching a itself" in line for line in fleet.said)


def test_another_user_with_another_home_waits_too(
    fleet: UpdateFleet, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As two containers on one host have it, or a job runner that gives each job a home."""
    fleet.file_members(a=OLD, b=OLD)
    drivers = {"command": fleet.file_driver(begin=HELD)}
    homes = [{"HOME": str(tmp_path / name), "USER": name, "XDG_STATE_HOME": ""} for name in ("first", "second")]
    killed(fleet, drivers, "begun", **homes[0])
    until(lambda: fleet.file_upgrades() == ["a"])
    for name, value in homes[1].items():
        monkeypatch.setenv(name, value)
    with fleet.let_go_once(lambda: _watched(fleet)):
        pace = Pace(interval=0.1, settle=120, lost_after=300)
        came = fleet.conduct(drivers=drivers, operations="", pace=pace)
    assert came.outcome == "done" and fleet.file_upgrades() == ["a", "b"]
    folders = [sorted(each.name for each in tmp_path.glob(f"{name}/.local/state/gitops-fleet/operations/[!.]*"))
               for name in ("first", "second")]  # fmt: skip
    assert folders == [[fleet.row("a").operation_id], [fleet.row("b").operation_id]]


def test_after_a_restart_of_the_machine_nobody_begins_it(fleet: UpdateFleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder is there, and what it says may be older than what happened."""
    fleet.file_members(a=OLD, b=OLD)
    drivers = {"command": fleet.file_driver()}
    killed(fleet, drivers, "intent")
    before = host.machine()
    boot = before.split("/")[1]
    monkeypatch.setattr(host, "machine", lambda: before.replace(boot, "00000000-0000-4000-8000-000000000000"))
    came = fleet.conduct(drivers=drivers, pace=SOON)
    assert came.code == "run-failed" and fleet.file_upgrades() == []
    assert fleet.row("a").reason == "OperationLost" and fleet.states()["b"] == "NotStarted"


def test_whoever_would_see_it_begins_what_was_only_meant(fleet: UpdateFleet) -> None:
    """The same machine and folder: there it is known that nothing was begun."""
    fleet.file_members(a=OLD, b=OLD)
    drivers = {"command": fleet.file_driver()}
    killed(fleet, drivers, "intent")
    assert fleet.file_upgrades() == []
    assert fleet.conduct(drivers=drivers, pace=SOON).outcome == "done"
    assert fleet.file_upgrades() == ["a", "b"] and {each.attempt for each in fleet.rows()} == {1}


def test_who_does_not_know_whether_it_was_begun_gives_up_in_time(fleet: UpdateFleet) -> None:
    """A person who has looked at the member starts the run again, and that is another attempt."""
    fleet.file_members(a=OLD, b=OLD)
    drivers = {"command": fleet.file_driver()}
    killed(fleet, drivers, "intent")
    came = fleet.conduct(drivers=drivers, pace=SOON, **_elsewhere(fleet))
    assert came.code == "run-failed" and fleet.file_upgrades() == []
    assert fleet.row("a").reason == "OperationLost"
    assert str(fleet.operations) in fleet.row("a").message, "where to look"
