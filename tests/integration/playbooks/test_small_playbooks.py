# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbooks beside plan, apply and update, as users type them: hub, explain, status, stop, skip, end, leave."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import typing as t
from pathlib import Path

import yaml
from playing import HERE, ROOT, Fleet, Player, given

MANIFESTS = HERE / "manifests"
FILES = {"placements": str(MANIFESTS / "placements"), "resources": str(MANIFESTS / "resources")}


def test_the_definitions_are_installed_by_a_playbook(play: Player, fleet: Fleet):
    would = play("gitops.fleet.hub", "--check", kubeconfig=fleet.admin, context="east").clean()
    assert "definitions of gitops.fleet (v1alpha1)" in " ".join(would.output.split())
    refused = play("gitops.fleet.hub", "--check", kubeconfig=fleet.admin, contxt="east")
    assert refused.code == 2 and "did you mean context?" in refused.output


def test_records_on_a_hub_are_made_and_named_as_their_page_says(play: Player, fleet: Fleet):
    page = (ROOT / "docs" / "records.md").read_text(encoding="utf-8").partition("## Records on a hub")[2]
    (commands,) = re.findall(r"```sh\n(.*?)```", page.partition("\n## ")[0], re.DOTALL)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-euc", re.sub(r"(context[=:] ?)hub", r"\1east", commands)],
        cwd=play.folder,
        env={**play.environment(), "PATH": path, "KUBECONFIG": fleet.admin},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0 and "no cluster is recorded" in " ".join(done.stdout.split()), done.stdout


def test_a_placement_is_explained_looked_at_and_ended(play: Player, fleet: Fleet):
    values = given(play.folder, fleet, fleet.admin)
    play("member_cluster", **values).clean()
    records = {"records": values["records"]}
    told = play("gitops.fleet.explain", **records, placements=FILES["placements"], clusters=["east"]).clean()
    assert "east is not picked: its facts are not known." in told.output
    assert "no placement is recorded" in play("gitops.fleet.status", **records).clean().output
    try:
        play("gitops.fleet.apply", **records, **FILES).clean()
        status = play("gitops.fleet.status", **records, placement="shop").clean()
        assert "PLACEMENT" in status.output and "Available" in status.output and "  west" in status.output
        told = play("gitops.fleet.explain", **records, placement="shop", clusters="west").clean()
        afresh = "west keeps the placement, though it would not be picked afresh: its facts are not known."
        assert afresh in " ".join(told.output.split())
        assert "to read facts: ansible-playbook gitops.fleet.facts; then add -e facts=facts.json" in told.output
        facts = str(play.folder / "facts.json")
        play("gitops.fleet.facts", **records, dest=facts).clean()
        told = play("gitops.fleet.explain", **records, placement="shop", clusters="west", facts=facts).clean()
        assert "west keeps the placement, which it holds under this policy already." in told.output
    finally:
        ends = {"names": "shop", "max_removals": "100%", "allow_empty": True, "prune_kinds": ["Namespace"]}
        assert play("gitops.fleet.end", **records, **ends).clean().changed == 1
    assert "no placement is recorded" in play("gitops.fleet.status", **records).clean().output


def shop_in_rings(play: Player, fleet: Fleet) -> tuple[dict[str, t.Any], Path, Path]:
    """Both clusters joined with their rings, the namespace and its placement, and the documented manifests of a staged
    run in it: the records, and the folders of both."""
    records = {"records": given(play.folder, fleet, fleet.admin)["records"]}
    for cluster, ring in (("east", "canary"), ("west", "prod")):
        asked = {"kubeconfig": fleet.admin, "pattern": cluster, "labels": {"ring": ring}}
        play("gitops.fleet.join", **records, **asked).clean()
    wide, shop = play.folder / "wide", play.folder / "shop"
    written(wide, {**NAMESPACE, **metadata("shop")}, namespace_alone("shop"))
    page = (ROOT / "docs" / "rollout.md").read_text(encoding="utf-8")
    (block,) = [each for each in yaml_blocks(page) if "\nkind: ResourcePlacement\n" in each]
    written(shop, *yaml.safe_load_all(block), {**CONFIG_MAP, **metadata("settings", "shop"), "data": {"color": "blue"}})
    return records, wide, shop


def test_an_approval_in_a_file_of_records_proves_no_name(play: Player, fleet: Fleet):
    """Nobody vouches for names there: where they have to be verified, an approval does not count, nor is there one
    later that would, for the run keeps its terms."""
    records, wide, shop = shop_in_rings(play, fleet)
    run = {"runs": str(shop), "run": "shop/web-1", "resources": str(shop), "max_idle": 0}
    try:
        play("gitops.fleet.apply", **records, placements=str(wide), resources=str(wide)).clean()
        play("gitops.fleet.apply", **records, placements=str(shop), resources=str(shop)).clean()
        play("gitops.fleet.staged_update", **records, **run, verified_approvals=True).clean()
        for terms in ({"verified_approvals": True}, {}):
            approved = play("gitops.fleet.approve", **records, run="shop/web-1", stage="prod", reason="fine").clean()
            assert "this approval does not count by the terms that the run keeps" in " ".join(approved.output.split())
            told = play("gitops.fleet.staged_update", **records, **run, **terms).clean()
            assert "shop/web-1-before-prod counts for nothing: nothing proves that it is of" in told.output
    finally:
        lifted = {"max_removals": "100%", "allow_empty": True, "prune_kinds": ["Namespace"]}
        for name in ("shop/web", "namespace-shop"):
            play("gitops.fleet.end", **records, names=[name], **lifted)


def test_facts_are_read_by_several_processes_of_a_play(play: Player, fleet: Fleet):
    """They are forked from the process that ansible-playbook has forked for the task."""
    values = given(play.folder, fleet, fleet.admin)
    play("member_cluster", **values).clean()
    facts = play.folder / "facts.json"
    play("gitops.fleet.facts", records=values["records"], dest=str(facts), workers=3, pods=True).clean()
    found = json.loads(facts.read_text(encoding="utf-8"))
    assert sorted(found["nodes"]) == ["east", "west"] and found["failed"] == {}
    refused = play("gitops.fleet.facts", records=values["records"], workers=0)
    assert refused.code == 2 and "workers: 0 is less than 1" in refused.output


def test_another_fleet_is_supposed_from_records_and_from_facts_alone(play: Player, fleet: Fleet):
    """D4-100, D4-101: what would move if a cluster went, or another one came."""
    values = given(play.folder, fleet, fleet.admin)
    play("member_cluster", **values).clean()
    records, facts = {"records": values["records"]}, str(play.folder / "facts.json")
    try:
        play("gitops.fleet.apply", **records, **FILES).clean()
        play("gitops.fleet.facts", **records, dest=facts).clean()
        told = play("gitops.fleet.what_if", **records, placement="shop", gone="west").clean()
        assert told.changed == 0 and "shop would leave west; 1 keeps it." in told.output
        assert "loses the placement: it has left the fleet." in told.output
        assert "moves with it: Namespace shop, " in told.output
        # Nothing but the file: no record, and no server.
        alone = {"records": {"type": "sqlite", "path": str(play.folder / "none.db")}, "facts": facts}
        supposed = {"new": [{"name": "north", "like": "west"}], "change": {"east": {"taints": [{"key": "service"}]}}}
        told = play("gitops.fleet.what_if", **alone, **supposed).clean()
        assert "shop would come to north; 2 keep it, 1 of them only until" in told.output
        assert "its taint service:NoSchedule is not tolerated." in " ".join(told.output.split())
        told = play("gitops.fleet.explain", **alone, clusters="west").clean()
        assert "west keeps the placement" in told.output
        refused = play("gitops.fleet.what_if", **alone, gone="wets")
        assert refused.code == 2 and "did you mean west?" in refused.output
        refused = play("gitops.fleet.what_if", **alone, number_of_clusters=1)
        assert refused.code == 2 and "only PickN" in refused.output
    finally:
        ends = {"names": "shop", "max_removals": "100%", "allow_empty": True, "prune_kinds": ["Namespace"]}
        play("gitops.fleet.end", **records, **ends)


def test_a_placement_is_rolled_back_and_its_snapshots_are_listed(play: Player, fleet: Fleet):
    """D4-61: by a playbook, first in check mode; an approved plan is what is carried out."""
    values = given(play.folder, fleet, fleet.admin)
    play("member_cluster", **values).clean()
    records = {"records": values["records"]}
    try:
        for color in ("blue", "red"):
            colors = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "colors", "namespace": "shop"}}
            namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
            objects = [namespace, {**colors, "data": {"it": color}}]
            (play.folder / "objects.yml").write_text("\n---\n".join(map(json.dumps, objects)))
            files = {**FILES, "resources": str(play.folder / "objects.yml")}
            play("gitops.fleet.apply", **records, **files).clean()
        plan = str(play.folder / "plan.json")
        foretold = play("gitops.fleet.rollback", "--check", **records, placement="shop", write_plan=plan).clean()
        assert foretold.changed == 1 and "to snapshot 0" in foretold.output and '"red" -> "blue"' in foretold.output
        assert play("gitops.fleet.rollback", **records, placement="shop", approved_plan=plan).clean().changed == 1
        assert play("gitops.fleet.rollback", **records, placement="shop").clean().changed == 0
        listed = play("gitops.fleet.status", **records, placement="shop", snapshots=True).clean()
        assert "2 (latest)" in listed.output and "1 (latest)" not in listed.output
        told = play("gitops.fleet.apply", "--check", **records, **files).clean()
        assert "was rolled back to snapshot 0; this rolls it forward again" in " ".join(told.output.split())
        refused = play("gitops.fleet.rollback", **records, placement="shop", to=9)
        assert refused.code == 2 and "snapshot 9 is not kept; there are 0, 1, 2" in refused.output
    finally:
        ends = {"names": "shop", "max_removals": "100%", "allow_empty": True, "prune_kinds": ["Namespace"]}
        play("gitops.fleet.end", **records, **ends)


def test_a_cluster_is_evacuated_and_readmitted(play: Player, fleet: Fleet):
    """F1: first in check mode and as a plan; it is listed as long as it holds, and asked twice changes nothing."""
    values = given(play.folder, fleet, fleet.admin)
    play("member_cluster", **values).clean()
    west = {"name": "west", "context": "west", "labels": {"env": "west"}, "group": "rest"}
    play("gitops.fleet.join", records=values["records"], kubeconfig=values["kubeconfig"], members=[west]).clean()
    records = {"records": values["records"]}
    files = {**records, **FILES, "prune_kinds": ["Namespace"]}
    try:
        play("gitops.fleet.apply", **files).clean()
        play("gitops.fleet.facts", **records, dest=str(play.folder / "facts.json")).clean()
        planned = play("gitops.fleet.plan", **files, facts=str(play.folder / "facts.json"), evacuate="env=west").clean()
        assert "evacuated, until they are readmitted: west" in planned.output
        assert play("gitops.fleet.evacuate", "--check", **files, evacuate="env=west").clean().changed == 1
        assert play("gitops.fleet.evacuate", **files, evacuate="env=west").clean().changed == 1
        assert play("gitops.fleet.evacuate", **files, evacuate="env=west").clean().changed == 0
        assert play("gitops.fleet.apply", **files).clean().changed == 0
        told = play("gitops.fleet.explain", **records, placement="shop", clusters="west").clean()
        assert "it is evacuated, until it is readmitted" in " ".join(told.output.split())
        refused = play("gitops.fleet.evacuate", **files, evacuate="env=wets")
        assert refused.code == 2 and "no cluster of the fleet has 'env=wets'" in refused.output
        assert play("gitops.fleet.evacuate", **files, readmit="west").clean().changed == 1
    finally:
        ends = {"names": "shop", "max_removals": "100%", "allow_empty": True, "prune_kinds": ["Namespace"]}
        play("gitops.fleet.end", **records, **ends)


def test_a_placement_is_taken_off_a_cluster(play: Player, fleet: Fleet):
    values = given(play.folder, fleet, fleet.admin)
    play("member_cluster", **values).clean()
    records = {"records": values["records"]}
    asked = {**records, "placement": "shop", "clusters": "west", "prune_kinds": ["Namespace"]}
    try:
        play("gitops.fleet.apply", **records, **FILES).clean()
        play("gitops.fleet.facts", **records).clean()
        foretold = play("gitops.fleet.evict", "--check", **asked).clean()
        assert foretold.changed == 1 and "shop from west: would be executed: no disruption budget" in foretold.output
        assert "west: prune ConfigMap shop/settings" in foretold.output
        done = play("gitops.fleet.evict", **asked).clean()
        assert done.changed == 1 and "the next apply would pick west again; a taint on it" in done.output
        refused = play("gitops.fleet.evict", **asked)
        assert refused.code == 2 and "the placement does not hold the cluster [eviction-no-binding]" in refused.output
        shown = play("gitops.fleet.status", **records, placement="shop").clean()
        assert "  east" in shown.output and "  west" not in shown.output
    finally:
        ends = {"names": "shop", "max_removals": "100%", "allow_empty": True, "prune_kinds": ["Namespace"]}
        play("gitops.fleet.end", **records, **ends)


def test_a_run_is_looked_at_a_part_of_it_left_out_and_stopped(play: Player, driven: dict[str, t.Any]):
    records = {"records": driven["records"]}
    play("update_run", **driven).clean()
    told = play("gitops.fleet.status", **records, run="web-136").clean()
    assert "gate before" in told.output
    skipped = play("gitops.fleet.skip", **records, run="web-136", targets="Member:west").clean()
    assert skipped.changed == 1 and "skipped by" in skipped.output
    stopped = play("gitops.fleet.stop", **records, run="web-136").clean()
    assert stopped.changed == 1 and "Stopp" in stopped.output
    assert play("gitops.fleet.leave", "--check", **records, members=["east", "west"]).clean().changed == 1
    assert play("gitops.fleet.leave", **records, members="west").clean().changed == 1


def test_a_local_fleet_of_any_size_comes_and_goes(play: Player, fleet: Fleet):
    """The members are those that were made; none outlives the fleet. What others made in the same folder is named, and
    stays until it is named back."""
    values = {"local_root": str(play.folder / "local"), "ports": fleet.ports}
    try:
        made = play("gitops.fleet.local_up", **values, members=3, nodes=1).clean()
        assert made.changed == 1 and (play.folder / "local" / "member-3").is_dir()
        named = play("gitops.fleet.local_up", "--check", "--diff", **values, names="member-1,dev-eu", nodes=1).clean()
        assert named.changed == 1 and "dev-eu" in named.output, named.output
        (play.folder / "local" / "member-4").mkdir()
        would = play("gitops.fleet.local_down", "--check", **values).clean()
        assert would.changed == 1 and "would be removed: hub, member-1, member-2, member-3" in would.output
        refused = play("gitops.fleet.local_up", **values | {"local_root": str(others(play.folder / "others"))})
        assert refused.code == 2 and "cluster-of-others" in refused.output
    finally:
        down = play("gitops.fleet.local_down", **values)
    assert down.clean().changed == 1 and "left as they are, for others made them: member-4" in down.output
    assert "to take them away too: ansible-playbook gitops.fleet.local_down -e clusters=member-4" in down.output
    assert folders(play.folder / "local") == ["member-4"]
    assert play("gitops.fleet.local_down", **values).clean().changed == 0
    assert play("gitops.fleet.local_down", **values, clusters="member-4").clean().changed == 1
    assert folders(play.folder / "local") == []


def others(root: Path) -> Path:
    """A folder with a hub that others made."""
    (root / "hub" / "pki").mkdir(parents=True)
    return root


def folders(root: Path) -> list[str]:
    return sorted(each.name for each in root.iterdir() if not each.name.startswith(".") and each.is_dir())


def test_a_staged_run_of_a_namespace_goes_by_its_name(play: Player, fleet: Fleet):
    """The documented manifests, by the documented commands: told in check mode, waiting, approved, done; a second time
    nothing is left to do, nor in check mode."""
    records, wide, shop = shop_in_rings(play, fleet)
    files = {"placements": str(shop), "resources": str(shop)}
    run = {"runs": str(shop), "run": "shop/web-1", "resources": str(shop)}
    try:
        play("gitops.fleet.apply", **records, placements=str(wide), resources=str(wide)).clean()
        play("gitops.fleet.apply", **records, **files).clean()
        told = play("gitops.fleet.staged_update", "--check", **records, **run).clean()
        assert told.changed == 1 and "digest" in told.output
        waiting = play("gitops.fleet.staged_update", **records, **run, max_idle=5).clean()
        words = " ".join(waiting.output.split())
        assert "stage prod waits for an approval" in words
        other = play("gitops.fleet.approve", **records, run="web-1", stage="prod")
        assert other.code == 2 and "no-such-run" in other.output, "a cluster-scoped run of that name is another one"
        approved = play("gitops.fleet.approve", **records, run="shop/web-1", stage="prod", reason="fine").clean()
        assert approved.changed == 1 and "before prod of shop/web-1 is Completed" in approved.output
        done = play("gitops.fleet.staged_update", **records, **run).clean()
        assert done.changed == 1 and "Succeeded" in done.output and "approved by" in done.output
        for flags in ((), ("--check",)):
            assert play("gitops.fleet.staged_update", *flags, **records, run="shop/web-1").clean().changed == 0
    finally:
        lifted = {"max_removals": "100%", "allow_empty": True, "prune_kinds": ["Namespace"]}
        for name in ("shop/web", "namespace-shop"):
            play("gitops.fleet.end", **records, names=[name], **lifted)


NAMESPACE = {"apiVersion": "v1", "kind": "Namespace"}
CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap"}


def metadata(name: str, namespace: str = "") -> dict[str, t.Any]:
    return {"metadata": {"name": name, **({"namespace": namespace} if namespace else {})}}


def namespace_alone(name: str) -> dict[str, t.Any]:
    """A placement of the namespace without what is in it."""
    selector = {"group": "", "version": "v1", "kind": "Namespace", "name": name, "selectionScope": "NamespaceOnly"}
    api = "placement.kubernetes-fleet.io/v1beta1"
    kind = {"apiVersion": api, "kind": "ClusterResourcePlacement"}
    return {**kind, **metadata(f"namespace-{name}"), "spec": {"resourceSelectors": [selector]}}


def written(folder: Path, *documents: t.Any) -> None:
    folder.mkdir()
    (folder / "all.yml").write_text("\n---\n".join(map(json.dumps, documents)), encoding="utf-8")


def yaml_blocks(page: str) -> list[str]:
    return re.findall(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
