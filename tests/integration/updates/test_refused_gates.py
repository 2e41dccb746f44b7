# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A gate is refused by name and with a reason: the run stops there, says so, and goes on only after an approval."""

from __future__ import annotations

from datetime import timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from conducting import Plays
from update_fleet import API, OLD, UpdateFleet, sequence

BEHIND_A_GATE = sequence(
    {"name": "all", "groups": [{"name": "all"}], "beforeGates": [{"type": "Approval", "displayName": "change board"}]}
)
WORDS = "refused by kubernetes-admin: the canary loses requests"


def test_a_refused_gate_stops_the_run_until_it_is_approved(fleet: UpdateFleet, plays: Plays) -> None:
    fleet.file_members(a=OLD)
    fleet.write(BEHIND_A_GATE)
    drivers = {"command": fleet.file_driver()}
    assert fleet.conduct(fleet.run(BEHIND_A_GATE), drivers, max_idle=timedelta(0)).code == "awaiting-approval"

    given = fleet.variables(drivers=drivers, max_idle=0, run=fleet.run_name)
    refusal = {**given, "stage": "all", "state": "refused"}
    assert "a refusal says why" in plays("gitops.fleet.approve", **refusal).code(2).output
    refusal |= {"reason": "the canary loses requests"}
    assert plays("gitops.fleet.approve", **refusal).code(0).changed == 1
    assert plays("gitops.fleet.approve", **refusal).code(0).changed == 0
    (gate,) = fleet.gates()
    kept = gate["status"]["refusal"]
    assert (kept["by"], kept["verified"], gate["status"]["state"]) == ("kubernetes-admin", True, "Pending")

    stopped = plays("gitops.fleet.update", **given).code(2)
    assert '"code": "gate-refused"' in stopped.output and WORDS in stopped.output
    status = fleet.recorded().status
    assert status.status.state == "Stopped" and status.message == f"gate change board was {WORDS}"
    told = " ".join(plays("gitops.fleet.status", **given).code(0).output.split())
    assert f"change board; {WORDS}" in told, told
    again = plays("gitops.fleet.update", **given, restart=True).code(2)
    assert '"code": "gate-refused"' in again.output and fleet.recorded().status.status.state == "Stopped"
    assert fleet.file_upgrades() == []

    approval = {**given, "stage": "all", "reason": "mended"}
    assert plays("gitops.fleet.approve", **approval).code(0).changed == 1
    assert "gate-passed" in plays("gitops.fleet.approve", **refusal).code(2).output
    assert plays("gitops.fleet.update", **given, restart=True).code(0).fleet["outcome"] == "done"
    assert fleet.file_upgrades() == ["a"]


def test_an_approval_that_no_conductor_has_taken_yet_is_told(fleet: UpdateFleet, plays: Plays) -> None:
    """Whoever looks at the fleet is not sent to approve once more."""
    fleet.file_members(a=OLD)
    fleet.write(BEHIND_A_GATE)
    drivers = {"command": fleet.file_driver()}
    assert fleet.conduct(fleet.run(BEHIND_A_GATE), drivers, max_idle=timedelta(0)).code == "awaiting-approval"
    given = fleet.variables(drivers=drivers, run=fleet.run_name)
    assert "1 update run waits for an approval" in plays("gitops.fleet.status", **given).code(0).output
    assert plays("gitops.fleet.approve", **given, stage="all").code(0).changed == 1
    told = " ".join(plays("gitops.fleet.status", **given).code(0).output.split())
    assert "1 update run is approved and to be carried on" in told and "waits for an approval" not in told, told


def test_nobody_refuses_in_another_name_and_nobody_takes_it_back(fleet: UpdateFleet) -> None:
    fleet.file_members(a=OLD)
    drivers = {"command": fleet.file_driver()}
    assert fleet.conduct(fleet.run(BEHIND_A_GATE), drivers, max_idle=timedelta(0)).code == "awaiting-approval"
    (gate,) = fleet.gates()
    status = f"/apis/{API}/gates/{gate['metadata']['name']}/status"
    mine = {"by": "kubernetes-admin", "reason": "x", "digest": gate["spec"]["digest"]}
    for words, refused in (
        ("refusal.by is whoever refuses", {"refusal": {**mine, "by": "eve"}}),
        ("a refusal names the digest of its gate", {"refusal": {**mine, "digest": f"sha256:{0:064}"}}),
        ("leaves it so", {"refusal": mine, "state": "Skipped"}),
    ):
        with pytest.raises(ApiError, match=words):
            fleet.patch(status, {"status": refused})
    fleet.patch(status, {"status": {"refusal": mine}})
    for changed in ({"reason": "another"}, None):
        with pytest.raises(ApiError, match="a refusal is written once and not changed"):
            fleet.patch(status, {"status": {"refusal": changed}})
    assert fleet.conduct(drivers=drivers).code == "gate-refused"
