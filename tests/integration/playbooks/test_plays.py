# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every verb by a playbook: run, run again without a change, and in check mode with an account that may only read."""

from __future__ import annotations

import json
import re
import typing as t
from pathlib import Path

from playing import CANARY, PLAYS, ROOT, Fleet, Player, given

VERBS = sorted(file.stem for file in (ROOT / "plugins" / "modules").glob("*.py"))


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file that a verb could have written."""
    files = [file for file in folder.rglob("*") if file.is_file() and ".ansible" not in file.parts]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def test_every_verb_has_a_playbook_here_that_a_test_runs():
    assert [file.stem for file in sorted(PLAYS.glob("*.yml"))] == VERBS
    text = "".join(file.read_text(encoding="utf-8") for file in Path(__file__).parent.glob("test_*.py"))
    assert [verb for verb in VERBS if f'play("{verb}"' not in text] == []


def test_local_cluster(play: Player, fleet: Fleet):
    values = given(play.folder, fleet, fleet.admin)
    assert play("local_cluster", "--check", **values).clean().changed == 1
    assert not (play.folder / "clusters").exists()
    try:
        assert play("local_cluster", "--diff", **values).clean().changed == 1
        assert play("local_cluster", **values).clean().changed == 0
        assert play("local_cluster", "--check", **values).clean().changed == 0
        assert play("local_cluster", "--check", **values, state="absent").clean().changed == 1
    finally:
        assert play("local_cluster", **values, state="absent").clean().changed == 1
    assert play("local_cluster", **values, state="absent").clean().changed == 0


def test_hub(play: Player, fleet: Fleet):
    values = given(play.folder, fleet, fleet.admin)
    reading = values | {"kubeconfig": fleet.reader}
    assert play("hub", "--check", **reading).clean().changed == 1
    assert play("hub", "--diff", **values).clean().changed == 1
    assert play("hub", **values).clean().changed == 0
    assert play("hub", "--check", **reading).clean().changed == 0
    assert fleet.writes_of("planner") == []


def test_member_cluster(play: Player, fleet: Fleet):
    values = given(play.folder, fleet, fleet.reader)
    foretold = play("member_cluster", "--check", "--diff", **values).clean()
    assert foretold.changed == 1 and "meant by the pattern, 2 in all: east, west" in foretold.output
    assert snapshot(play.folder) == {}
    assert play("member_cluster", **values).clean().changed == 1
    assert play("member_cluster", **values).clean().changed == 0
    assert play("member_cluster", "--check", **values).clean().changed == 0
    assert fleet.writes_of("planner") == []


def test_fleet_facts(play: Player, joined: dict[str, t.Any], fleet: Fleet):
    before = snapshot(play.folder)
    assert play("fleet_facts", "--check", **joined).clean().changed == 0
    assert snapshot(play.folder) == before
    read = play("fleet_facts", **joined).clean()
    assert read.changed == 0 and "written to" in read.output
    facts = json.loads((play.folder / "facts.json").read_text())
    assert [each["metadata"]["name"] for each in facts["members"]] == ["east", "west"]
    assert play("fleet_facts", **joined).clean().changed == 0
    assert fleet.writes_of("planner") == []


def test_fleet_info(play: Player, joined: dict[str, t.Any]):
    before = snapshot(play.folder)
    for flags in ((), (), ("--check",)):
        assert play("fleet_info", *flags, **joined).clean().changed == 0
    assert snapshot(play.folder) == before


def test_verbs_read_a_copy_of_the_records_and_write_none(play: Player, driven: dict[str, t.Any], fleet: Fleet):
    """What a job without a login to the hub sees is what the records say; nothing is recorded from there."""
    play("update_run", **driven).clean()
    copy, there = str(play.folder / "fleet.db"), {"records": driven["records"]}
    of_copy = {"records": {**driven["records"], "path": copy}}
    before = snapshot(play.folder)
    told = play("gitops.fleet.status", "--check", **there, write_copy=copy).clean().output
    assert "written to" not in told and snapshot(play.folder) == before
    told = play("gitops.fleet.status", **there, write_copy=copy).clean().output
    assert f"written to {copy}: a copy of the records" in " ".join(told.split())
    before = snapshot(play.folder)
    for playbook in ("status", "forecast", "when", "history"):
        read = play(f"gitops.fleet.{playbook}", **of_copy)
        assert (
            read.code == 0 and f"the records {copy} are a copy of {play.folder / 'records.db'}, made at" in read.output
        )
        themselves = play(f"gitops.fleet.{playbook}", **there).clean()
        assert without_ages(read.output, copy) == without_ages(themselves.output, str(play.folder / "records.db"))
    foretold = play("update_run", "--check", **driven | of_copy)
    assert foretold.code == 0 and "web-136" in foretold.output
    for verb in ("gate", "update_run", "member_cluster"):
        refused = play(verb, **driven | of_copy)
        assert refused.code == 2 and "records-copy" in refused.output and "Traceback" not in refused.output
    assert snapshot(play.folder) == before and fleet.writes_of("planner") == []


def without_ages(output: str, place: str) -> list[str]:
    """What a playbook printed, without spans and instants, its records and warnings."""
    found = re.sub(r"\d+ (s|min)\b|\d\d:\d\d(:\d\dZ)?", "...", output.replace(place, "RECORDS"))
    return [word for line in found.splitlines() if not line.startswith("[WARNING]") for word in line.split()]


def test_fleet_history_info(play: Player, joined: dict[str, t.Any], fleet: Fleet):
    """In check mode no file is written; asking leaves no trace in the history, and asks no member."""
    before = snapshot(play.folder)
    assert play("fleet_history_info", "--check", **joined).clean().changed == 0
    assert snapshot(play.folder) == before
    for _time in range(2):
        assert play("fleet_history_info", **joined).clean().changed == 0
    after = snapshot(play.folder)
    assert {name for name in after if after[name] != before.get(name)} == {"history.csv"}
    assert after["history.csv"].startswith(b"at,ended,by,action,kind,object")
    told = play("gitops.fleet.history", records=joined["records"], member="west").clean().output
    assert "Joined" in told and "MemberCluster/west" in told and "MemberCluster/east" not in told
    refused = play("gitops.fleet.history", records=joined["records"], since="lately", before="1d")
    assert refused.code == 2 and "bad-option" in refused.output
    assert fleet.writes_of("planner") == []


def test_fleet_report(play: Player, joined: dict[str, t.Any], fleet: Fleet):
    """In check mode nothing is written. A report of records and files asks no member, and changes nothing."""
    before = snapshot(play.folder)
    assert play("fleet_report", "--check", **joined).clean().changed == 0
    assert snapshot(play.folder) == before
    for _time in range(2):
        done = play("fleet_report", **joined).clean()
        assert done.changed == 0 and "report.html" in "".join(done.output.split())
    written = {name: content for name, content in snapshot(play.folder).items() if name not in before}
    assert sorted(written) == ["report/report.html", "report/report.json", "report/report.md"]
    report = json.loads(written["report/report.json"])
    assert [each["name"] for each in report["clusters"]] == ["east", "west"]
    (shop,) = (each for each in report["placements"] if each["name"] == "shop")
    assert shop["objects"] > 0 and shop["digest"]
    assert not any(CANARY.encode() in content for content in written.values())
    assert b"shop" in written["report/report.md"] and fleet.writes_of("planner") == []
    earlier = str(play.folder / "report" / "report.json")
    again = play("gitops.fleet.report", records=joined["records"], dest=str(play.folder / "later"), since=earlier)
    assert again.clean().changed == 0
    later = json.loads((play.folder / "later" / "report.json").read_text())
    assert (
        later["since"] == report["madeAt"]
        and {"what": "placement", "name": "shop", "text": "is gone"} in later["changes"]
    )
    refused = play("gitops.fleet.report", records=joined["records"], since=str(play.folder / "none.json"))
    assert refused.code == 2 and "report-missing" in refused.output


def test_placement(play: Player, joined: dict[str, t.Any], fleet: Fleet):
    try:
        assert play("placement", "--check", "--diff", **joined).clean().changed == 1
        assert fleet.writes_of("planner") == []
        joined = joined | {"kubeconfig": fleet.admin}
        play("member_cluster", **joined).clean()
        assert play("placement", "--diff", "-vvv", **joined).clean().changed == 1
        assert play("placement", "--diff", "-vvv", **joined).clean().changed == 0
        play("member_cluster", **joined | {"kubeconfig": fleet.reader}).clean()
        assert play("placement", "--check", "--diff", "-vvv", **joined).clean().changed == 0
        assert fleet.writes_of("planner") == []
        holding = [name for name, content in snapshot(play.folder).items() if CANARY.encode() in content]
        assert holding == []
    finally:
        end(play, fleet)


def test_placement_eviction(play: Player, joined: dict[str, t.Any], fleet: Fleet):
    admin = joined | {"kubeconfig": fleet.admin}
    try:
        play("member_cluster", **admin).clean()
        play("placement", **admin).clean()
        play("member_cluster", **joined).clean()
        before = snapshot(play.folder)
        foretold = play("placement_eviction", "--check", **joined).clean()
        assert foretold.changed == 1 and "shop from east: would be executed" in foretold.output
        assert snapshot(play.folder) == before and fleet.writes_of("planner") == []
        play("member_cluster", **admin).clean()
        carried_out = play("placement_eviction", **admin)
        told = " ".join(carried_out.output.split())
        assert carried_out.code == 2 and "shop from west: refused: 1 of 1 binding is available, so that 0" in told
        assert "shop from east: executed: 2 of 2 bindings are available, so that 1 may go" in told
        again = play("placement_eviction", **admin, over=True).clean()
        assert again.changed == 0 and "it was executed already" in " ".join(again.output.split())
    finally:
        end(play, fleet)


def test_staged_update_run(play: Player, fleet: Fleet):
    """The files in examples/staged as they are: told in check mode, waiting for an approval, approved, done; then
    nothing is left to do."""
    values = given(play.folder, fleet, fleet.admin) | {"examples": str(ROOT / "examples" / "staged")}
    records = {"records": values["records"]}
    for cluster, ring in (("east", "canary"), ("west", "prod")):
        asked = {"kubeconfig": fleet.admin, "pattern": cluster, "labels": {"ring": ring}}
        play("gitops.fleet.join", **records, **asked).clean()
    files = {"placements": values["examples"], "resources": values["examples"]}
    try:
        applied = play("gitops.fleet.apply", **records, **files).clean()
        assert applied.changed == 1 and "changed by a staged update run alone" in " ".join(applied.output.split())
        before = snapshot(play.folder)
        assert play("staged_update_run", "--check", **values).clean().changed == 1
        assert snapshot(play.folder) == before
        waiting = play("staged_update_run", **values, expected="waiting").clean()
        assert waiting.changed == 1 and "stage prod waits for an approval" in " ".join(waiting.output.split())
        listed = " ".join(play("gitops.fleet.status", **records).clean().output.split())
        assert "run till-1 Waiting 1/2 stages, 1/2 clusters" in listed
        play("gitops.fleet.approve", **records, run="till-1", stage="prod").clean()
        runs = {"runs": values["examples"], "resources": values["examples"]}
        done = play("gitops.fleet.staged_update", **records, **runs).clean()
        assert done.changed == 1 and "Succeeded" in done.output
        assert play("staged_update_run", **values, expected="done").clean().changed == 0
        assert play("staged_update_run", "--check", **values).clean().changed == 0
        assert play("gitops.fleet.staged_update", **records, run="till-1").clean().changed == 0, "the name is enough"
        assert play("gitops.fleet.apply", **records, **files).clean().changed <= 1
        assert play("gitops.fleet.apply", **records, **files).clean().changed == 0
    finally:
        play("gitops.fleet.end", **records, names=["till"], max_removals="100%", prune_kinds=["Namespace"])


def test_node_disruption_budget_info(play: Player, joined: dict[str, t.Any], fleet: Fleet):
    before = snapshot(play.folder)
    played = play("node_disruption_budget_info", "--check", **joined).clean()
    assert played.changed == 0 and snapshot(play.folder) == before
    assert "NodeRotation blue, 0 nodes count" in played.output
    assert play("node_disruption_budget_info", **joined).clean().changed == 0
    offline = {"records": joined["records"], "snapshot": str(play.folder / "nodes.json")}
    asked = {"rotations": str(PLAYS.parent / "manifests" / "nodes"), "week": True, "time_zone": "Europe/Vienna"}
    assert "lowest limit of each half hour" in play("gitops.fleet.budgets", **offline, **asked).clean().output
    assert fleet.writes_of("planner") == []


def test_node_disruption(play: Player, joined: dict[str, t.Any], fleet: Fleet):
    """A member without such nodes; what is done to nodes is tested in the folder ``nodes``."""
    assert play("node_disruption", "--check", **joined).clean().changed == 0
    assert play("node_disruption", **joined).clean().changed == 0
    wrong = play("node_disruption", **joined, count=3)
    assert wrong.code == 2 and "count-not-confirmed" in wrong.output
    asked = {"records": joined["records"], "member": "east", "state": "stopped", "pool": "nobodys"}
    assert "no-such-pool" in play("gitops.fleet.disrupt", **asked).output
    assert fleet.writes_of("planner") == []


def test_node_disruption_info(play: Player, joined: dict[str, t.Any], fleet: Fleet):
    for flags in ((), (), ("--check",)):
        assert play("node_disruption_info", *flags, **joined).clean().changed == 0
    assert "no member has a node" in play("gitops.fleet.nodes", records=joined["records"]).clean().output
    files = PLAYS.parent / "manifests" / "snapshots"
    offline = {"snapshot": str(files / "nodes.json"), "plan": True, "catalogue": str(files / "types.json")}
    told = play("gitops.fleet.nodes", records=joined["records"], **offline).clean().output
    assert "the next pass of Karpenter: Emptiness 1 empty node, saves 0.2" in told
    assert fleet.writes_of("planner") == []


def test_a_plan_tells_which_nodes_it_replaces(play: Player, joined: dict[str, t.Any], fleet: Fleet):
    """By a file of the nodes of ``east``, as the playbook budgets writes it; no member is asked."""
    nodes = str(PLAYS.parent / "manifests" / "snapshots" / "nodes.json")
    (pool,) = json.loads(Path(nodes).read_text())["members"][0]["objects"]["NodePool"]
    pool |= {"apiVersion": "karpenter.sh/v1", "kind": "NodePool"}
    pool["spec"]["template"].setdefault("metadata", {})["labels"] = {"team": "a"}
    selector = {"group": "karpenter.sh", "version": "v1", "kind": "NodePool", "name": "web"}
    placement = {
        "apiVersion": "placement.kubernetes-fleet.io/v1beta1",
        "kind": "ClusterResourcePlacement",
        "metadata": {"name": "pools"},
        "spec": {"resourceSelectors": [selector], "policy": {"placementType": "PickFixed", "clusterNames": ["east"]}},
    }
    for name, document in (("placements", placement), ("resources", pool)):
        (play.folder / name).mkdir()
        (play.folder / name / "pool.json").write_text(json.dumps(document))
    files = {"placements": str(play.folder / "placements"), "resources": str(play.folder / "resources")}
    play("gitops.fleet.facts", records=joined["records"], dest="facts.json").clean()
    asked = {"records": joined["records"], **files, "nodes_file": nodes, "write_markdown": "plan.md"}
    told = play("gitops.fleet.plan", **asked).clean().output
    sentence = "2 nodes on 1 cluster will be replaced or end: east (2)"
    assert sentence in " ".join(told.split()), told
    assert "note: pools NodePool/web: 2 nodes on 1 cluster will be" in (play.folder / "plan.md").read_text()
    stopped = play("gitops.fleet.plan", **asked, max_replaced_nodes="1", fail_on=["stopped"])
    text = " ".join(stopped.output.split())
    assert stopped.code == 2 and "2 of 2 nodes are or may be replaced; max_replaced_nodes 1 permits 1" in text, text
    assert "stopped by max&#95;replaced&#95;nodes: pools: 2 of 2 nodes" in (play.folder / "plan.md").read_text()
    refused = play("gitops.fleet.apply", **files, records=joined["records"], nodes_file=nodes, max_replaced_nodes="1")
    assert refused.code == 2 and "brake-max-replaced-nodes" in refused.output
    assert "if it is meant: max_replaced_nodes: 2" in " ".join(refused.output.split())
    lost = play("gitops.fleet.plan", **{**asked, "nodes_file": "nowhere.json"})
    assert lost.code == 2 and "nodes-missing" in lost.output and "gitops.fleet.budgets" in lost.output
    assert fleet.writes_of("planner") == []


def test_node_rotation(play: Player, joined: dict[str, t.Any], fleet: Fleet):
    """Members without such nodes; rotations of nodes are tested in the folder ``nodes``."""
    assert play("node_rotation", "--check", **joined).clean().changed == 0
    assert play("node_rotation", **joined).clean().changed == 0
    assert play("node_rotation", **joined).clean().changed == 0
    assert play("node_rotation", **joined, state="absent").clean().changed == 0
    assert fleet.writes_of("planner") == []


def test_placement_info(play: Player, joined: dict[str, t.Any]):
    play("fleet_facts", **joined).clean()
    before = snapshot(play.folder)
    for flags in ((), (), ("--check",)):
        assert play("placement_info", *flags, **joined).clean().changed == 0
    assert snapshot(play.folder) == before


def test_fleet_recover(play: Player, joined: dict[str, t.Any], fleet: Fleet):
    admin = joined | {"kubeconfig": fleet.admin}
    try:
        play("member_cluster", **admin).clean()
        play("placement", **admin).clean()
        (play.folder / "records.db").unlink()
        play("member_cluster", **joined).clean()
        assert play("fleet_recover", "--check", **joined).clean().changed == 1
        assert fleet.writes_of("planner") == []
        play("member_cluster", **admin).clean()
        assert play("fleet_recover", **admin).clean().changed == 1
        assert play("fleet_recover", **admin).clean().changed == 0
    finally:
        end(play, fleet)


def test_lint(play: Player):
    samples = str(ROOT / "tests" / "data" / "lint" / "deployment_boolean.yml")
    for flags in ((), (), ("--check",)):
        assert play("lint", *flags, samples=samples, environ={"CI": "true"}).clean().changed == 0
    log = json.loads((play.folder / "findings.sarif").read_text())
    assert [each["ruleId"] for each in log["runs"][0]["results"]] == ["wrong-type"]
    assert json.loads((play.folder / "findings.json").read_text())["counts"]["error"] == 1


def test_fleet_rbac_info(play: Player):
    play("fleet_rbac_info").clean()
    assert play("fleet_rbac_info").clean().changed == 0
    assert play("fleet_rbac_info", "--check").clean().changed == 0


def versions(play: Player) -> set[str]:
    return {(play.folder / f"version-{name}").read_text().strip() for name in ("east", "west")}


def test_update_run(play: Player, driven: dict[str, t.Any], fleet: Fleet):
    before = snapshot(play.folder)
    assert play("update_run", "--check", "--diff", **driven).clean().changed == 1
    assert snapshot(play.folder) == before
    assert play("update_run", **driven).clean().changed == 1
    assert play("update_run", **driven).clean().changed == 0
    assert versions(play) == {"v1.35.4"}
    play("gate", **driven).clean()
    assert play("update_run", "--check", **driven).clean().changed == 1
    assert versions(play) == {"v1.35.4"}
    done = play("update_run", "-vvv", "--diff", **driven).clean()
    assert done.changed == 1 and versions(play) == {"v1.36.3"}
    asked = {"records": driven["records"], "object": "UpdateRun/web-136", "what": "RunConducted"}
    told = " ".join(play("gitops.fleet.history", **asked).clean().output.split())
    assert all(f"{name}: v1.35.4 -> v1.36.3" in told for name in ("east", "west")), told
    assert "run web-136 Completed: 2 of 2 clusters done" in done.output
    before = snapshot(play.folder / "operations")
    assert play("update_run", **driven).clean().changed == 0
    assert play("update_run", "--check", **driven).clean().changed == 0
    assert snapshot(play.folder / "operations") == before
    assert fleet.writes_of("planner") == []


def test_update_run_info(play: Player, driven: dict[str, t.Any]):
    play("update_run", **driven).clean()
    before = snapshot(play.folder)
    for flags in ((), (), ("--check",)):
        told = play("update_run_info", *flags, **driven).clean()
        assert told.changed == 0 and "gate before" in told.output
    assert snapshot(play.folder) == before


def test_gate(play: Player, driven: dict[str, t.Any]):
    play("update_run", **driven).clean()
    before = snapshot(play.folder)
    assert play("gate", "--check", **driven).clean().changed == 1
    assert snapshot(play.folder) == before
    assert play("gate", **driven).clean().changed == 1
    assert play("gate", **driven).clean().changed == 0
    assert play("gate", "--check", **driven).clean().changed == 0
    asked = {"records": driven["records"], "object": "UpdateRun/web-136", "what": "GateApproved"}
    told = " ".join(play("gitops.fleet.history", **asked).clean().output.split())
    assert told.count("GateApproved") == 1 and "reason: the change board has met" in told


def end(play: Player, fleet: Fleet) -> None:
    """Take the placement away, so that the clusters are as they were for the next test."""
    values = given(play.folder, fleet, fleet.admin)
    play("member_cluster", **values).clean()
    play(PLAYS.parent / "end.yml", **values).clean()


def test_maintenance(play: Player, fleet: Fleet, joined: dict[str, t.Any]):
    """A freeze is recorded, moved and deleted without any run; of each there is evidence, and none without a change."""
    freeze = {"name": "sales", "start": "2020-01-01", "end": "2099-12-31", "reason": "sales week"}
    spec = {"freezes": [freeze]}
    written = {"apiVersion": "gitops.fleet/v1alpha1", "kind": "FleetMaintenance", "metadata": {"name": "sales"}}
    file = play.folder / "sales.json"
    file.write_text(json.dumps({**written, "spec": spec}))
    values = joined | {"freezes": str(file)}
    before = snapshot(play.folder)
    foretold = play("maintenance", "--check", **values).clean()
    assert foretold.changed == 1 and "+ freeze sales: days 2020-01-01 to 2099-12-31" in foretold.output
    assert snapshot(play.folder) == before
    assert play("maintenance", "--diff", **values).clean().changed == 1
    assert play("maintenance", **values).clean().changed == 0
    assert play("maintenance", "--check", **values).clean().changed == 0
    file.write_text(json.dumps({**written, "spec": {"freezes": [{**freeze, "start": "2098-12-31", "end": "soon"}]}}))
    refused = play("maintenance", **values)
    assert refused.code == 2 and "wrong-form" in refused.output
    gone = values | {"state": "absent", "names": ["sales"]}
    assert play("maintenance", "--check", **gone).clean().changed == 1
    assert play("maintenance", **gone).clean().changed == 1
    assert play("maintenance", **gone).clean().changed == 0
    asked = {"records": joined["records"], "object": "FleetMaintenance/sales"}
    told = play("gitops.fleet.history", **asked).clean().output
    assert told.count("MaintenanceRecorded") == 1 and told.count("MaintenanceDeleted") == 1


def test_release_catalog(play: Player, fleet: Fleet):
    """A list and a feed become one catalogue; versions that were told once stay."""
    values = given(play.folder, fleet, fleet.reader)
    feed = play.folder / "feed.json"
    days = {"1.34.8": "2025-01-01", "1.36.3": "2026-01-01", "1.37.0": "2199-01-01"}
    feed.write_text(json.dumps([{"latest": each, "latestReleaseDate": day} for each, day in days.items()]))
    values |= {"feed": str(feed)}
    before = snapshot(play.folder)
    assert play("release_catalog", "--check", **values).clean().changed == 1
    assert snapshot(play.folder) == before
    assert play("release_catalog", "--diff", **values).clean().changed == 1
    assert play("release_catalog", **values).clean().changed == 0
    assert play("release_catalog", "--check", **values).clean().changed == 0
    for flags in ((), ("--check",)):
        assert play("release_catalog_info", *flags, **values).clean().changed == 0
    feed.write_text("no versions")
    refused = play("release_catalog", **values)
    assert refused.code == 2 and "bad-feed" in refused.output
    assert play("release_catalog_info", **values).clean().changed == 0


def test_auto_upgrade_profile(play: Player, joined: dict[str, t.Any], fleet: Fleet):
    """Told in check mode, with whom no window keeps (D3-95), generated once, started by the evaluation; nobody is
    touched."""
    assert play("fleet_facts", **joined).clean().changed == 0
    assert play("auto_upgrade_profile", "--check", **joined).clean().changed == 1
    told = play("auto_upgrade_profile", "--check", **joined, state="evaluated").clean()
    assert "without a maintenance window" in " ".join(told.output.split())
    assert play("auto_upgrade_profile", "--diff", **joined).clean().changed == 1
    assert play("auto_upgrade_profile", **joined).clean().changed == 0
    evaluated = play("gitops.fleet.tick", "--check", records=joined["records"], read_members=False).clean()
    assert "rapid-1-36-4" in evaluated.output
    assert fleet.writes_of("planner") == []
