# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run leaves alone: newer members, distant ones, those that do not answer; and what people do by kubectl."""

from __future__ import annotations

import json

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._local import cluster
from conducting import Plays
from update_fleet import API, NEW, OLD, UpdateFleet, sequence

AT_ONCE = {"stages": [{"name": "all", "groups": [{"name": "all", "maxConcurrency": "3"}]}]}
BEHIND_A_GATE = sequence(
    {"name": "all", "groups": [{"name": "all"}], "beforeGates": [{"type": "Approval", "displayName": "change board"}]}
)


def test_a_member_ahead_of_the_target_is_never_taken_back(fleet: UpdateFleet) -> None:
    fleet.file_members(ahead="v1.37.0", at=NEW, behind="v1.36.1")
    came = fleet.conduct(fleet.run(AT_ONCE), {"command": fleet.file_driver()})
    assert came.outcome == "done"
    assert fleet.states() == {"ahead": "Skipped", "at": "Skipped", "behind": "Completed"}
    assert fleet.row("ahead").message == "already ahead: v1.37.0 is newer than 1.36.3"
    assert {fleet.row(name).reason for name in ("ahead", "at")} == {"AlreadyAtTarget"}
    assert fleet.file_upgrades() == ["behind"]
    assert any("ahead Skipped: already ahead" in line for line in fleet.said), fleet.said


def test_a_member_two_minors_behind_refuses_the_start_with_the_path(fleet: UpdateFleet) -> None:
    fleet.file_members(near=OLD, far="v1.34.1", farther="v1.33.9")
    with pytest.raises(FleetError) as refused:
        fleet.conduct(fleet.run(AT_ONCE), {"command": fleet.file_driver()})
    assert [(each.code, each.where) for each in refused.value.problems] == [
        ("minor-skipped", "far"),
        ("minor-skipped", "farther"),
    ]
    assert "v1.34.1 -> v1.35 -> 1.36.3" in str(refused.value)
    assert "v1.33.9 -> v1.34 -> v1.35 -> 1.36.3" in str(refused.value)
    assert set(fleet.states().values()) == {"NotStarted"} and fleet.file_upgrades() == []


def test_a_gate_that_kubectl_completes_is_recorded_as_unverified(fleet: UpdateFleet) -> None:
    """On a hub without our policies, where anybody can be named."""
    fleet.file_members(a=OLD)
    drivers = {"command": fleet.file_driver()}
    with fleet.without_policies():
        assert fleet.conduct(fleet.run(BEHIND_A_GATE), drivers).code == "awaiting-approval"
        (gate,) = fleet.gates()
        status = f"/apis/{API}/gates/{gate['metadata']['name']}/status"
        fleet.patch(status, {"status": {"state": "Completed", "approval": {"by": "eve", "digest": f"sha256:{0:064}"}}})
        assert fleet.conduct(drivers=drivers).code == "awaiting-approval", "that was approved for something else"
        fleet.patch(status, {"status": {"state": "Completed", "approval": None}})
        assert fleet.conduct(drivers=drivers).outcome == "done"
    (passed,) = fleet.recorded().status.stages[0].before_gates
    assert (passed.status.state, passed.by) == ("Completed", "unverified")
    assert any("change board before all Completed by unverified" in line for line in fleet.said), fleet.said


def test_a_run_that_kubectl_created_is_conducted_by_its_name(fleet: UpdateFleet, plays: Plays) -> None:
    fleet.file_members(a=OLD, b=OLD)
    fleet.client.post(f"/apis/{API}/updateruns", fleet.run(AT_ONCE))
    variables = fleet.variables(run=fleet.run_name, drivers={"command": fleet.file_driver()})
    del variables["updates"]
    done = plays("gitops.fleet.update", **variables).code(0)
    assert done.fleet["outcome"] == "done" and done.changed == 1
    shown = fleet.client.get(f"/apis/{API}/updateruns/{fleet.run_name}")["status"]
    assert shown["status"]["state"] == "Completed" and shown["outcome"] == "Succeeded"
    assert sorted(fleet.file_upgrades()) == ["a", "b"]
    assert plays("gitops.fleet.update", **variables).code(0).changed == 0


def test_a_member_that_does_not_answer_is_waited_for_and_then_skipped(fleet: UpdateFleet, plays: Plays) -> None:
    (away,) = fleet.members("all")
    fleet.file_members(near=OLD)
    cluster.stopped(away, fleet.clusters.root)
    fleet.write(AT_ONCE, unreachableTimeoutSeconds=4)
    done = plays("gitops.fleet.update", **fleet.variables(drivers=fleet.drivers(command=fleet.file_driver()))).code(2)
    assert f"{away} Pending: " in done.output and "refused" in done.output
    assert f"{away} Skipped: unreachable for 4 seconds" in done.output
    assert '"outcome": "partial"' in done.output and '"code": "not-all-members"' in done.output
    row = fleet.row(away)
    assert (row.status.state, row.reason, row.skipped_by) == ("Skipped", "Unreachable", "system")
    assert fleet.recorded().status.outcome == "CompletedWithSkips"
    assert fleet.file_upgrades() == ["near"] and fleet.upgrades() == {}


def test_nothing_starts_in_a_freeze_and_all_goes_on_when_it_is_lifted(fleet: UpdateFleet, plays: Plays) -> None:
    """Windows and freezes lie beside the run, and are put on the hub with it. Check mode judges by them, whatever is
    recorded."""
    fleet.file_members(a=OLD, b=OLD)
    fleet.write(AT_ONCE)
    frozen = {"name": "sales", "start": "2020-01-01", "end": "2099-12-31", "reason": "the busy season"}
    maintenance = {"apiVersion": API, "kind": "FleetMaintenance", "metadata": {"name": "calm"}}
    file = fleet.folder / "updates" / "maintenance.json"
    file.write_text(json.dumps({**maintenance, "spec": {"freezes": [frozen]}}))
    variables = fleet.variables(drivers={"command": fleet.file_driver()}, max_idle=0)
    foreseen = plays("gitops.fleet.update", "--check", **variables).code(0)
    assert "a, b: no maintenance window is known to open; freeze sales ends at 2100-01-01" in " ".join(
        foreseen.output.split()
    ), foreseen.output
    waits = plays("gitops.fleet.update", **variables).code(0)
    assert waits.fleet["outcome"] == "waiting" and waits.fleet["resume_at"].startswith("2100-01-01")
    assert "a Pending: " in waits.output and "the busy season" in waits.output
    assert {row.reason for row in fleet.rows()} == {"WindowClosed"} and fleet.file_upgrades() == []
    file.write_text(json.dumps({**maintenance, "spec": {"freezes": []}}))
    foreseen = plays("gitops.fleet.update", "--check", **variables).code(0)
    assert "nothing of windows, freezes and releases holds a, b now" in " ".join(foreseen.output.split()), (
        foreseen.output
    )
    assert plays("gitops.fleet.update", **variables).code(0).fleet["outcome"] == "done"
    assert sorted(fleet.file_upgrades()) == ["a", "b"]
