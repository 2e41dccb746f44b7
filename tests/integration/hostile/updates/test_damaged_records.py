# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs, strategies, gates and windows that somebody damaged: named, without a traceback, and no other run stops.

On a hub the definitions keep most of that out; in a file, and on a hub whose definitions are others, anything can lie.
"""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from conducting import Conducting, Plays
from update_fleet import API, OLD, Document, UpdateFleet, sequence

CLUSTER = "cluster.kubernetes-fleet.io/v1beta1"
WRONG: tuple[t.Any, ...] = ("text", 7, [], {"a": {"b": []}}, [[[]]], None)
DEEP = 300


@pytest.fixture
def file(fleet: UpdateFleet, tmp_path: Path) -> t.Iterator[SqliteRecords]:
    """Records in a file with a member and a run of its own; what a test adds lies beside it."""
    path = tmp_path / "records.db"
    fleet.options = {"type": "sqlite", "path": str(path)}
    (fleet.folder / "files" / "a").write_text(OLD)
    records = SqliteRecords(path, lambda: datetime.now(UTC))
    connection = {"kubeconfig": str(fleet.hub.kubeconfig)}
    spec = {"connection": connection, "group": "all", "driver": "command"}
    records.create({"apiVersion": API, "kind": "FleetMember", "metadata": {"name": "a"}, "spec": spec})
    identity = {"identity": {"kind": "User", "name": "fleet"}}
    records.create({"apiVersion": CLUSTER, "kind": "MemberCluster", "metadata": {"name": "a"}, "spec": identity})
    yield records
    records.close()


def put(records: SqliteRecords, kind: str, name: str, **parts: t.Any) -> None:
    records.create({"apiVersion": API, "kind": kind, "metadata": {"name": name}, **parts})


def deep() -> t.Any:
    out: t.Any = {}
    for _level in range(DEEP):
        out = {"stages": [out]}
    return out


def conducted(fleet: UpdateFleet, plays: Plays, **more: t.Any) -> Conducting:
    fleet.write(sequence(("all",)))
    drivers = {"command": fleet.file_driver()}
    return plays("gitops.fleet.update", **fleet.variables(drivers=drivers, records=fleet.options, **more))


def test_damaged_runs_stop_no_other_run(fleet: UpdateFleet, plays: Plays, file: SqliteRecords) -> None:
    spec = fleet.run()["spec"]
    for number, each in enumerate(WRONG):
        put(file, "UpdateRun", f"spec-{number}", spec=each)
        put(file, "UpdateRun", f"status-{number}", spec=spec, status={"stages": each, "phase": "active"})
    put(file, "UpdateRun", "deep", spec=spec, status=deep())
    put(file, "UpdateRun", "huge", spec=spec, status={"phase": "active", "stages": [{"name": "s" * 5_000_000}]})
    put(file, "UpdateRun", "empty")
    done = conducted(fleet, plays).code(0)
    assert done.fleet["outcome"] == "done" and fleet.file_upgrades() == ["a"]
    info = plays(str(Path(__file__).with_name("info.yml")), records=fleet.options).code(0)
    for name in ("spec-0", "status-0", "deep", "huge", "empty"):
        assert f"UpdateRun/{name}: " in info.output, info.output[-2000:]
    assert f"run {fleet.run_name}: " in info.output


@pytest.mark.parametrize("name", ["spec-0", "status-1", "deep"])
def test_a_damaged_run_that_is_asked_for_is_refused_by_name(
    fleet: UpdateFleet, plays: Plays, file: SqliteRecords, name: str
) -> None:
    spec = fleet.run()["spec"]
    put(file, "UpdateRun", "spec-0", spec="text")
    put(file, "UpdateRun", "status-1", spec=spec, status={"stages": "text", "phase": "active"})
    put(file, "UpdateRun", "deep", spec=spec, status=deep())
    variables = fleet.variables(run=name, records=fleet.options, drivers={"command": fleet.file_driver()})
    del variables["updates"]
    for playbook in ("gitops.fleet.update", "gitops.fleet.approve"):
        refused = plays(playbook, **variables).code(2)
        assert f"UpdateRun/{name}" in refused.output and "record-damaged" in refused.output


@pytest.mark.parametrize("kind", ["UpdateStrategy", "FleetMaintenance", "ReleaseCatalog"])
def test_what_a_run_goes_by_is_named_where_it_is_damaged(
    fleet: UpdateFleet, plays: Plays, file: SqliteRecords, kind: str
) -> None:
    """A strategy only where it is used. A window or a catalogue that cannot be read may hold anybody: it stops runs."""
    put(file, kind, "broken", spec={"strategy": {"stages": "x"}, "windows": 7, "freezes": "x", "locations": {}})
    done = conducted(fleet, plays)
    if kind == "UpdateStrategy":
        assert done.code(0).fleet["outcome"] == "done"
        (fleet.folder / "updates" / "run.json").unlink()
        fleet.run_name += "-2"
        fleet.write(None, updateStrategyId="broken")
        done = plays("gitops.fleet.update", **fleet.variables(records=fleet.options, drivers=_drivers(fleet)))
    done.code(2)
    assert f"{kind}/broken" in done.output and "record-damaged" in done.output


def _drivers(fleet: UpdateFleet) -> Document:
    return {"command": fleet.file_driver()}


@pytest.mark.parametrize("spec", ["text", {"gateType": 7}, {"target": []}])
def test_a_damaged_gate_opens_again(fleet: UpdateFleet, plays: Plays, file: SqliteRecords, spec: t.Any) -> None:
    gate = {"type": "Approval", "displayName": "change board"}
    fleet.write(sequence({"name": "all", "groups": [{"name": "all"}], "beforeGates": [gate]}))
    variables = fleet.variables(records=fleet.options, drivers=_drivers(fleet))
    assert plays("gitops.fleet.update", **variables).code(0).fleet["code"] == "awaiting-approval"
    (opened,) = file.list("Gate")
    file.delete("Gate", opened["metadata"]["name"])
    put(file, "Gate", opened["metadata"]["name"], spec=spec, status={"state": "Completed", "approval": {"by": "eve"}})
    again = plays("gitops.fleet.update", **variables).code(0)
    assert again.fleet["code"] == "awaiting-approval" and "its Gate cannot be read" in again.output
    assert fleet.file_upgrades() == [] and file.list("Gate")[0]["spec"] == opened["spec"]
