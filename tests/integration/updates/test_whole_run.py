# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An upgrade rolls through a fleet: canary, a gate, an approval, the rest; told by the members themselves."""

from __future__ import annotations

from conducting import Plays
from update_fleet import NEW, OLD, UpdateFleet, sequence

CANARY_THEN_PROD = sequence(
    {
        "name": "canary",
        "groups": [{"name": "canary"}],
        "afterGates": [{"type": "Approval", "displayName": "no errors for a day"}],
    },
    {"name": "prod", "groups": [{"name": "prod", "maxConcurrency": "2"}]},
)


def test_canary_gate_approval_and_the_rest(fleet: UpdateFleet, plays: Plays) -> None:
    canary, *prod = names = fleet.members("canary", "prod", "prod")
    fleet.write(CANARY_THEN_PROD)
    run = fleet.run_name

    begun = plays("gitops.fleet.update", **fleet.variables()).code(0)
    assert begun.fleet == {"outcome": "waiting", "code": "awaiting-approval", "resume_at": ""}
    assert [fleet.version(name) for name in names] == [NEW, OLD, OLD]
    (gate,) = fleet.gates()
    assert gate["status"]["state"] == "Pending" and gate["spec"]["digest"] == fleet.recorded().status.digest
    _says(begun.output, f"run {run}: ControlPlaneOnly to 1.36.3; 0 of 3 clusters done")
    _says(begun.output, f"  stage 1/2 canary, 0 of 1 done: {canary} Running ({OLD} -> 1.36.3)")
    _says(begun.output, f"  stage 1/2 canary, 1 of 1 done: {canary} Completed in ")
    _says(begun.output, "  gate no errors for a day after stage canary waits for approval: " + gate["metadata"]["name"])
    _says(begun.output, f"run {run} Pending: 1 of 3 clusters done (waiting)")

    waiting = plays("gitops.fleet.update", **fleet.variables()).code(0)
    assert waiting.fleet["outcome"] == "waiting" and waiting.changed == 0
    assert [fleet.version(name) for name in names] == [NEW, OLD, OLD]

    approval = {"run": run, "stage": "canary", "timing": "After", "reason": "all is well"}
    assert plays("gitops.fleet.approve", **fleet.variables(**approval)).code(0).changed == 1
    assert plays("gitops.fleet.approve", **fleet.variables(**approval)).code(0).changed == 0
    (gate,) = fleet.gates()
    kept = gate["status"]["approval"]
    assert (kept["by"], kept["verified"], kept["reason"]) == ("kubernetes-admin", True, "all is well")

    ended = plays("gitops.fleet.update", **fleet.variables()).code(0)
    assert ended.fleet == {"outcome": "done", "code": "", "resume_at": ""}
    assert [fleet.version(name) for name in names] == [NEW, NEW, NEW]
    _says(ended.output, "  gate no errors for a day after canary Completed by kubernetes-admin")
    for name in prod:
        _says(ended.output, f"of 2 done: {name} Running ({OLD} -> 1.36.3)")
    _says(ended.output, f"run {run} Completed: 3 of 3 clusters done")

    before = fleet.recorded(), fleet.folders()
    again = plays("gitops.fleet.update", **fleet.variables()).code(0)
    assert again.changed == 0 and again.fleet["outcome"] == "done"
    assert fleet.upgrades() == dict.fromkeys(names, 1)
    assert fleet.recorded().status.stages == before[0].status.stages and fleet.folders() == before[1]
    assert {(each.version_before, each.version_after) for each in fleet.rows()} == {(OLD, NEW)}
    assert fleet.leftovers() == []
    _tells_everything(fleet, names)


def _says(output: str, words: str) -> None:
    assert words in output, f"{words!r} not in\n{output}"


def _tells_everything(fleet: UpdateFleet, names: list[str]) -> None:
    """A line of JSON for every step, a line of the journal for what people want to find again."""
    events = fleet.events()
    assert {each["run"] for each in events} == {fleet.run_name}
    steps = {name: [each["state"] for each in events if each.get("member") == name] for name in names}
    assert steps == dict.fromkeys(names, ["Running", "Completed"])
    gates = [(each["state"], each.get("by", "")) for each in events if each["type"] == "gate"]
    assert gates == [("Pending", ""), ("Completed", "kubernetes-admin")]
    reasons = [each.reason for each in fleet.records.events("UpdateRun", fleet.run_name)]
    assert [reasons.count(each) for each in ("MemberRunning", "MemberCompleted", "GateOpened")] == [3, 3, 1]
    assert reasons.count("RunCompleted") == 1
