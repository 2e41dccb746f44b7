# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""ResourcePlacements on real members: objects of one namespace, by the way that ClusterResourcePlacements go."""

from __future__ import annotations

import json
import re
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.prices import NO_PRICES
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.brakes import BrakeLimits
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.applyset import parent_name
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.files import facts_file
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.capture import capture
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.leave import LeaveRequest, leave
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.evictions.carry_out import (
    EvictionRequest,
    run_evictions,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.explaining import Question, explanations
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.history.kept import snapshot_rows
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.history.roll_back import RollBack
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.recovery.recovering import recover_records
from ansible_collections.gitops.fleet.plugins.module_utils._store.open_records import open_records
from small_fleet import (
    PARENTS,
    Document,
    Fleet,
    changes,
    codes,
)

PAGE = Path(__file__).resolve().parents[3] / "docs" / "placement.md"
CONFIG_MAPS: Document = {"group": "", "version": "v1", "kind": "ConfigMap"}
EVERYTHING = BrakeLimits(max_removals="100%", max_object_removals="100%")
KINDS = ("ResourcePlacement", "ResourceBinding", "SchedulingPolicySnapshot", "ResourceSnapshot")


def placed(fleet: Fleet, namespace: str, *selectors: Document, file: str = "", **spec: object) -> str:
    """Writes a ResourcePlacement called as the fleet's placement, and gives its name among all."""
    document = {
        "apiVersion": "placement.kubernetes-fleet.io/v1beta1",
        "kind": "ResourcePlacement",
        "metadata": {"name": fleet.name, "namespace": namespace},
        "spec": {"resourceSelectors": list(selectors) or [CONFIG_MAPS], **spec},
    }
    path = fleet.folder / "placements" / f"{file or namespace}.yml"
    path.write_text(json.dumps(document), encoding="utf-8")
    return f"{namespace}/{fleet.name}"


def with_namespace(fleet: Fleet, *names: str, namespace: str = "") -> None:
    """The namespace is there on these members, and on the hub where the records are."""
    document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace or fleet.namespace}}
    servers = [fleet.servers[name] for name in names] + ([fleet.hub] if fleet.hub else [])
    for server in servers:
        server.client.post("/api/v1/namespaces", document)


def settings(fleet: Fleet, member: str, namespace: str = "") -> Document | None:
    return fleet.servers[member].data(f"/api/v1/namespaces/{namespace or fleet.namespace}/configmaps/settings")


def test_objects_of_the_namespace_reach_the_members_and_leave_them(fleet: Fleet) -> None:
    """D4-05: records lie in its namespace, a second run changes nothing, its end leaves nothing but the namespace."""
    fleet.join("m1", "m2")
    with_namespace(fleet, "m1", "m2")
    name = placed(fleet, fleet.namespace)
    planned = fleet.look()
    assert changes(planned, name) == {"m1": "gained", "m2": "gained"} and planned.changed
    report = fleet.apply()
    assert not codes(report) and report.changed
    assert [settings(fleet, each) for each in ("m1", "m2")] == [{"color": "blue"}] * 2
    for kind in KINDS:
        found = fleet.records.list(kind, namespace=fleet.namespace)
        assert found and all(each["metadata"]["namespace"] == fleet.namespace for each in found), kind
    assert report.statuses[name].conditions[-1].type == "ResourcePlacementAvailable"
    assert "PlacementRolloutCompleted" in [each.reason for each in fleet.records.events("ResourcePlacement", name)]
    with fleet.writing(but=("leases",)) as written:
        again = fleet.apply()
    assert not again.changed and not written
    parent = f"{PARENTS}/{parent_name(name)}"
    assert fleet.servers["m1"].get(parent) is not None
    ended = fleet.apply(absent=True, names=(name,), limits=EVERYTHING)
    assert not codes(ended)
    assert [settings(fleet, each) for each in ("m1", "m2")] == [None, None]
    assert fleet.servers["m1"].get(parent) is None
    assert fleet.servers["m1"].get(fleet.namespaced()) is not None
    assert not any(fleet.records.list(kind) for kind in KINDS)


def test_placements_of_one_name_in_two_namespaces_and_in_none_go_their_own_ways(fleet: Fleet) -> None:
    """F6: neither leases, records, parents on the members nor tables mix them up."""
    other = f"pub{fleet.number}"
    fleet.join("m1")
    with_namespace(fleet, "m1", namespace=other)
    with_namespace(fleet, "m1")
    inside = {"name": "settings", "namespace": other}
    theirs = {**fleet.configmap(), "metadata": inside, "data": {"color": "red"}}
    wide = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"wide{fleet.number}"}}
    fleet.resources(fleet.configmap(), theirs, wide)
    names = [placed(fleet, fleet.namespace), placed(fleet, other)]
    document = fleet.placement()
    document["spec"]["resourceSelectors"][0]["name"] = f"wide{fleet.number}"
    (fleet.folder / "placements" / "wide.yml").write_text(json.dumps(document), encoding="utf-8")
    report = fleet.apply()
    assert not codes(report) and sorted(report.statuses) == sorted([*names, fleet.name])
    assert settings(fleet, "m1") == {"color": "blue"} and settings(fleet, "m1", other) == {"color": "red"}
    parents = {parent_name(each) for each in (*names, fleet.name)}
    assert all(fleet.servers["m1"].get(f"{PARENTS}/{each}") for each in parents) and len(parents) == 3
    assert not fleet.apply().changed
    assert not codes(fleet.apply(absent=True, names=(names[1],), limits=EVERYTHING))
    assert settings(fleet, "m1", other) is None and settings(fleet, "m1") == {"color": "blue"}
    assert fleet.records.get("ResourcePlacement", names[0]) and fleet.record()
    assert fleet.servers["m1"].get(f"/api/v1/namespaces/wide{fleet.number}")


def test_only_clusters_with_the_namespace_are_picked(file_fleet: Fleet) -> None:
    """As KubeFleet's NamespaceAffinity has it; one that has lost it keeps the placement, and is told."""
    fleet = file_fleet
    fleet.join("m1", "m2")
    with_namespace(fleet, "m1")
    name = placed(fleet, fleet.namespace)
    report = fleet.apply()
    assert changes(report, name) == {"m1": "gained"} and not codes(report)
    (left,) = report.plan.plans[0].left_out
    assert (left.cluster, left.rule) == ("m2", "NamespaceAffinity") and fleet.namespace in left.reason
    with_namespace(fleet, "m2")
    assert changes(fleet.apply(), name) == {"m1": "kept", "m2": "gained"}
    assert settings(fleet, "m2") == {"color": "blue"}


def refused(fleet: Fleet, **asked: object) -> set[str]:
    with pytest.raises(FleetError) as caught:
        fleet.look(**asked)
    return {each.code for each in caught.value.problems}


def test_what_is_not_in_its_namespace_is_refused(file_fleet: Fleet) -> None:
    """D4-05: kinds without a namespace are no business of it; objects of another one are not selected."""
    fleet = file_fleet
    fleet.join("m1")
    with_namespace(fleet, "m1")
    placed(fleet, fleet.namespace, {"group": "", "version": "v1", "kind": "Namespace", "name": fleet.namespace})
    assert refused(fleet) == {"wrong-scope"}
    placed(fleet, fleet.namespace)
    elsewhere = {**fleet.configmap(), "metadata": {"name": "settings", "namespace": "elsewhere"}}
    fleet.resources(elsewhere)
    report = fleet.look()
    assert [each.code for each in report.plan.plans[0].findings] == ["selects-nothing"]
    assert not report.plan.plans[0].objects


def test_it_is_rolled_back_explained_overridden_and_left(file_fleet: Fleet) -> None:
    """By the same verbs; a ResourceOverride of scope Namespaced acts on it and on no other."""
    fleet = file_fleet
    fleet.join("m1", "m2")
    with_namespace(fleet, "m1", "m2")
    name = placed(fleet, fleet.namespace)
    selector = {"group": "", "version": "v1", "kind": "ConfigMap", "name": "settings"}
    patch = {"op": "add", "path": "/data/at", "value": "${MEMBER-CLUSTER-NAME}"}
    rule = {"clusterSelector": {"clusterSelectorTerms": []}, "jsonPatchOverrides": [patch]}
    override = {
        "apiVersion": "placement.kubernetes-fleet.io/v1beta1",
        "kind": "ResourceOverride",
        "metadata": {"name": "at", "namespace": fleet.namespace},
        "spec": {
            "placement": {"name": fleet.name, "scope": "Namespaced"},
            "resourceSelectors": [selector],
            "policy": {"overrideRules": [rule]},
        },
    }
    (fleet.folder / "placements" / "override.yml").write_text(json.dumps(override), encoding="utf-8")
    assert not codes(fleet.apply())
    assert settings(fleet, "m2") == {"color": "blue", "at": "m2"}
    fleet.resources(fleet.configmap(color="green"))
    assert not codes(fleet.apply())
    explained = explanations(fleet.session(), Question(name=name, clusters=("m1",)))
    assert [(each["placement"], each["picked"]) for each in explained] == [(name, True)]
    assert [each.placement for each in snapshot_rows(fleet.session(), [name])] == [name, name]
    back = {"src": (str(fleet.folder / "placements"),), "resources": None}
    report = fleet.apply(roll_back=RollBack(), names=(name,), **back)
    assert not codes(report) and settings(fleet, "m1") == {"color": "blue", "at": "m1"}
    with pytest.raises(FleetError) as caught:
        run_evictions(fleet.session(), EvictionRequest(placement=name, clusters=("m1",)))
    assert caught.value.code == "not-evictable"
    gone = leave(fleet.session(), LeaveRequest(names=("m2",), remove=True, max_removals="100%"), write=True)
    assert gone.left == ("m2",) and settings(fleet, "m2") is None
    assert [each["spec"]["targetCluster"] for each in fleet.records.list("ResourceBinding")] == ["m1"]


def test_it_is_planned_from_facts_alone_and_rebuilt_from_the_members(file_fleet: Fleet, tmp_path: Path) -> None:
    """F3, F14: the snapshot carries what it holds; lost records come back from the members under the same name."""
    fleet = file_fleet
    fleet.join("m1")
    with_namespace(fleet, "m1")
    name = placed(fleet, fleet.namespace)
    assert not codes(fleet.apply())
    captured = capture(fleet.session(), pods=False, prices=NO_PRICES, threads=2, timeout=5.0, record=True)
    facts = tmp_path / "facts.json"
    facts.write_text(captured.text, encoding="utf-8")
    fleet.resources(fleet.configmap(color="green"))
    empty = open_records({"type": "sqlite", "path": str(tmp_path / "none.db")}, {}, lambda: fleet.now)
    fleet.opened.append(empty)
    alone = fleet.run(records=empty, facts=facts_file(str(facts), fleet.now), look=False)
    assert changes(alone, name) == {"m1": "kept"} and alone.plan.digest == fleet.look().plan.digest
    for each in fleet.opened:
        each.close()
    (fleet.folder / "records.db").rename(tmp_path / "lost.db")
    fleet.records = fleet.open()
    fleet.join("m1")
    found = recover_records(fleet.session(), fleet.asked(write=True))
    assert found.recovered == {name: ("m1",)} and not found.unknown
    assert fleet.records.get("ResourcePlacement", name)
    report = fleet.apply()
    assert not codes(report) and settings(fleet, "m1") == {"color": "green"}


def test_its_rollout_keeps_to_its_budgets(file_fleet: Fleet) -> None:
    """D4-78: the same steering as of a ClusterResourcePlacement: one cluster at a time, until that is available."""
    fleet = file_fleet
    fleet.join("m1", "m2")
    with_namespace(fleet, "m1", "m2")
    deployments: Document = {"group": "apps", "version": "v1", "kind": "Deployment"}
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}
    name = placed(fleet, fleet.namespace, deployments, strategy=rolling)
    fleet.resources(fleet.deployment("web:1"))
    fleet.apply()
    fleet.available("m1", "m2")
    fleet.apply()
    fleet.available("m1", "m2")
    fleet.resources(fleet.deployment("web:2"))
    report = fleet.apply()
    assert [fleet.image(each) for each in ("m1", "m2")] == ["web:2", "web:1"] and name in report.waits
    fleet.available("m1")
    fleet.apply()
    assert [fleet.image(each) for each in ("m1", "m2")] == ["web:2", "web:2"]


def test_a_placement_on_the_hub_selects_on_the_hub_in_its_namespace(hub_fleet: Fleet) -> None:
    """D4-05, D4-84: what people put on the hub with kubectl; its status can be read there."""
    fleet = hub_fleet
    fleet.join("m1")
    with_namespace(fleet, "m1")
    name = placed(fleet, fleet.namespace, {**CONFIG_MAPS, "name": "settings"})
    assert fleet.hub
    fleet.hub.client.post(fleet.namespaced("configmaps"), fleet.configmap(color="hub"))
    document = json.loads((fleet.folder / "placements" / f"{fleet.namespace}.yml").read_text(encoding="utf-8"))
    path = f"/apis/placement.kubernetes-fleet.io/v1/namespaces/{fleet.namespace}/resourceplacements"
    fleet.hub.client.post(path, {**document, "apiVersion": "placement.kubernetes-fleet.io/v1"})
    report = fleet.apply(src=(), resources=None, names=(name,))
    assert not codes(report) and settings(fleet, "m1") == {"color": "hub"}
    shown = fleet.hub.client.get(f"{path}/{fleet.name}")["status"]["conditions"]
    assert {each["type"]: each["status"] for each in shown}["ResourcePlacementAvailable"] == "True"
    fleet.hub.client.delete(f"{path}/{fleet.name}")
    assert not codes(fleet.apply(src=(), resources=None, names=(name,), limits=EVERYTHING))
    assert settings(fleet, "m1") is None and fleet.hub.get(f"{path}/{fleet.name}") is None


def test_a_namespace_that_the_hub_lacks_is_named(hub_fleet: Fleet) -> None:
    fleet = hub_fleet
    fleet.join("m1")
    fleet.servers["m1"].client.post(
        "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": fleet.namespace}}
    )
    placed(fleet, fleet.namespace)
    with pytest.raises(FleetError) as caught:
        fleet.apply()
    assert caught.value.code == "no-such-namespace" and fleet.namespace in caught.value.message
    assert settings(fleet, "m1") is None


def documented(fleet: Fleet, kind: str) -> list[Document]:
    """The manifests of the block that begins with this kind on the page on placements, in the fleet's own namespace."""
    page = PAGE.read_text(encoding="utf-8").replace("shop", fleet.namespace)
    blocks = re.findall(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (found,) = [list(yaml.safe_load_all(each)) for each in blocks if f"\nkind: {kind}\n" in each.partition("---")[0]]
    return t.cast(list[Document], found)


def test_the_documented_manifests_do_what_the_page_says(file_fleet: Fleet) -> None:
    """D4-05: two clusters, one after the other, each with its own name in the settings."""
    fleet = file_fleet
    fleet.join("m1", "m2", "m3")
    with_namespace(fleet, "m1", "m2", "m3")
    placement, override = documented(fleet, "ResourcePlacement")
    for number, each in enumerate((placement, override)):
        (fleet.folder / "placements" / f"{number}.yml").write_text(json.dumps(each), encoding="utf-8")
    fleet.resources(fleet.configmap(), fleet.deployment("web:1"), fleet.configmap("other"))
    report = fleet.apply()
    picked = [name for name, change in changes(report, f"{fleet.namespace}/web").items() if change == "gained"]
    assert len(picked) == 2 and not codes(report)
    assert [settings(fleet, each) for each in picked] == [{"color": "blue", "cluster": each} for each in picked]
    assert all(fleet.image(each) == "web:1" for each in picked)
    assert fleet.servers[picked[0]].data(fleet.namespaced("configmaps", "other")) is None
