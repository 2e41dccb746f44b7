# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook tick on a real hub and real members: what is due is done once, whoever else ticks at the same time."""

from __future__ import annotations

import json

from conducting import Plays
from few_rights import READER, SCHEDULER, User
from update_fleet import API, HELD, NEW, OLD, Document, UpdateFleet, until

VERSIONS = {"catalogue": "own", "versions": ["1.34.8", "1.35.4", "1.36.3"]}


def profile(name: str, **spec: str) -> Document:
    return {"apiVersion": API, "kind": "AutoUpgradeProfile", "metadata": {"name": name}, "spec": spec}


def write(fleet: UpdateFleet, *profiles: Document) -> None:
    for each in profiles:
        (fleet.folder / "updates" / f"{each['metadata']['name']}.json").write_text(json.dumps(each))


def runs(fleet: UpdateFleet) -> dict[str, str]:
    found = fleet.client.get(f"/apis/{API}/updateruns")["items"]
    return {each["spec"]["autoUpgradeProfileId"]: each["metadata"]["name"] for each in found}


def test_two_ticks_at_once_upgrade_each_member_once(fleet: UpdateFleet, plays: Plays) -> None:
    """D3-83: one run for the release, started and carried on to its end by the playbook alone, with the
    rights that ``fleet_rbac_info`` prints for it; nothing is due then."""
    names = fleet.members("all", "all")
    plays("gitops.fleet.catalogue", records=fleet.options, **VERSIONS).code(0)
    write(fleet, profile("rapid", channel="Rapid"))
    user = User(fleet, "scheduler", SCHEDULER)
    facts = str(fleet.folder / "facts.json")
    plays("gitops.fleet.facts", records=fleet.options, dest=facts).code(0)
    given = fleet.variables(max_idle=30, records=user.options, read_members=False)
    both = [plays.start("gitops.fleet.tick", **given) for _number in range(2)]
    for each in both:
        each.ended().code(0)
    assert list(runs(fleet)) == ["rapid"] and len(fleet.client.get(f"/apis/{API}/updateruns")["items"]) == 1
    last = plays("gitops.fleet.tick", **given).code(0)
    assert last.fleet["outcome"] == "done", last.output
    assert [fleet.version(name) for name in names] == [NEW, NEW] and fleet.upgrades() == dict.fromkeys(names, 1)
    reader = User(fleet, "reader", READER)
    for playbook in ("forecast", "releases"):
        assert plays(f"gitops.fleet.{playbook}", records=reader.options).code(0).changed == 0
    again = plays("gitops.fleet.tick", **fleet.variables()).code(0)
    assert again.changed == 0 and "no member that can be moved is behind" in " ".join(again.output.split())
    stored = fleet.client.get(f"/apis/{API}/autoupgradeprofiles/rapid")
    assert stored["status"]["lastTriggerUpgradeVersions"] == ["1.36.3"]


def test_two_profiles_never_work_on_one_member(fleet: UpdateFleet, plays: Plays) -> None:
    """D3-92. The first run holds the member in the middle of its upgrade; the second is made, says so, and waits."""
    fleet.file_members(a=OLD)
    member = fleet.client.get(f"/apis/{API}/fleetmembers/a")
    status = {"version": OLD, "lastRead": "2026-01-01T00:00:00Z"}
    fleet.client.put(f"/apis/{API}/fleetmembers/a/status", {**member, "status": status})
    plays("gitops.fleet.catalogue", records=fleet.options, **VERSIONS).code(0)
    drivers = {"command": fleet.file_driver(begin=HELD)}
    given = fleet.variables(drivers=drivers, read_members=False, interval=1)

    write(fleet, profile("rapid", channel="Rapid"))
    first = plays.start("gitops.fleet.tick", **given)
    until(lambda: fleet.file_upgrades() == ["a"])
    write(fleet, profile("kept", channel="TargetKubernetesVersion", targetKubernetesVersion="1.36"))
    second = plays("gitops.fleet.tick", **given).code(0)
    told = " ".join(second.output.split())
    assert f"run {runs(fleet)['rapid']} (Running) has a, too; there one of both runs waits for the other" in told
    assert second.fleet["outcome"] == "waiting", second.output
    fleet.run_name = runs(fleet)["kept"]
    assert fleet.states() == {"a": "Pending"} and fleet.row("a").reason == "OperationInProgress"
    assert runs(fleet)["rapid"] in fleet.row("a").message
    assert fleet.file_upgrades() == ["a"]
    fleet.let_go()
    first.ended().code(0)
    plays("gitops.fleet.tick", **given).code(0)
    assert fleet.states() == {"a": "Skipped"} and fleet.file_upgrades() == ["a"]
    fleet.run_name = runs(fleet)["rapid"]
    assert fleet.states() == {"a": "Completed"}
