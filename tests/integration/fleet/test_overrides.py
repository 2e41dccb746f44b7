# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Overrides on real members: each gets the objects as it is to have them, and nothing is written where one is wrong."""

from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.prices import NO_PRICES
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.document import PlacementPlan
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.files import facts_file
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.capture import capture
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.placement import Report, run
from ansible_collections.gitops.fleet.plugins.module_utils._store.open_records import open_records
from small_fleet import Document, Fleet

API = "placement.kubernetes-fleet.io/v1beta1"
EVERYWHERE: Document = {"clusterSelectorTerms": []}


def where(**labels: str) -> Document:
    return {"clusterSelectorTerms": [{"labelSelector": {"matchLabels": labels}}]}


def patch(path: str, value: t.Any = None, op: str = "add") -> Document:
    return {"op": op, "path": path, **({} if op == "remove" else {"value": value})}


def rule(*patches: Document, on: Document | None = None) -> Document:
    """A rule of patches; without any the objects are left out."""
    what = {"jsonPatchOverrides": list(patches)} if patches else {"overrideType": "Delete"}
    return {"clusterSelector": EVERYWHERE if on is None else on, **what}


def of_namespace(fleet: Fleet, *rules: Document) -> Document:
    """A ClusterResourceOverride of everything in the namespace, and of itself."""
    selectors = [{"group": "", "version": "v1", "kind": "Namespace", "name": fleet.namespace}]
    spec = {"clusterResourceSelectors": selectors, "policy": {"overrideRules": list(rules)}}
    return {"apiVersion": API, "kind": "ClusterResourceOverride", "metadata": {"name": fleet.name}, "spec": spec}


def of_settings(fleet: Fleet, *rules: Document, kind: str = "ConfigMap", name: str = "settings") -> Document:
    selectors = [{"group": "", "version": "v1", "kind": kind, "name": name}]
    spec = {"resourceSelectors": selectors, "policy": {"overrideRules": list(rules)}}
    metadata = {"name": name, "namespace": fleet.namespace}
    return {"apiVersion": API, "kind": "ResourceOverride", "metadata": metadata, "spec": spec}


def overriding(fleet: Fleet, *overrides: Document) -> None:
    """They stand beside the placement."""
    text = "\n---\n".join(json.dumps(each) for each in overrides)
    (fleet.folder / "placements" / "overrides.yml").write_text(text, encoding="utf-8")


def two(fleet: Fleet) -> None:
    fleet.join("m1", labels={"env": "prod"})
    fleet.join("m2", labels={"env": "dev"})
    fleet.place()


def data(fleet: Fleet, member: str, name: str = "settings") -> Document | None:
    return fleet.servers[member].data(fleet.namespaced("configmaps", name))


def causes(report: Report) -> dict[str, str]:
    return {each.cluster: each.cause for each in report.plan.plans[0].clusters}


def bound(fleet: Fleet) -> dict[str, Document]:
    found = (each["spec"] for each in fleet.records.list("ClusterResourceBinding"))
    return {each["targetCluster"]: each for each in found}


def pruned(plan: PlacementPlan) -> dict[str, list[str]]:
    return {each.cluster: [str(one) for one in (*each.prune, *each.leftover)] for each in plan.clusters}


def test_each_cluster_gets_its_own_and_a_second_run_changes_nothing(fleet: Fleet) -> None:
    """Rules by labels, variables, and the namespaced override before the other one."""
    two(fleet)
    overriding(
        fleet,
        of_namespace(fleet, rule(patch("/metadata/labels", {"team": "a"})), rule(patch("/metadata/labels/env", "x"))),
        of_settings(
            fleet,
            rule(patch("/data/on", "${MEMBER-CLUSTER-NAME} of ${MEMBER-CLUSTER-LABEL-KEY-env}")),
            rule(patch("/data/color", "red", "replace"), patch("/metadata/labels/env", "prod"), on=where(env="prod")),
        ),
    )
    report = fleet.apply()
    assert not report.problems
    assert data(fleet, "m1") == {"color": "red", "on": "m1 of prod"}
    assert data(fleet, "m2") == {"color": "blue", "on": "m2 of dev"}
    path = fleet.namespaced("configmaps", "settings")
    labels = {name: (fleet.servers[name].get(path) or {})["metadata"]["labels"] for name in ("m1", "m2")}
    assert [(each["team"], each["env"]) for each in labels.values()] == [("a", "prod"), ("a", "x")]
    with fleet.writing() as written:
        assert not fleet.apply().changed
    assert written == []
    names = {name: each["resourceOverrideSnapshots"][0]["name"] for name, each in bound(fleet).items()}
    assert names["m1"] != names["m2"] and all(each.startswith("settings-") for each in names.values())
    assert len({each["clusterResourceOverrideSnapshots"][0] for each in bound(fleet).values()}) == 1
    status = (fleet.record() or {})["status"]
    rows = {each["clusterName"]: each for each in status["placementStatuses"]}
    for name, spec in bound(fleet).items():
        assert rows[name]["applicableClusterResourceOverrides"] == spec["clusterResourceOverrideSnapshots"]
        assert rows[name]["applicableResourceOverrides"] == spec["resourceOverrideSnapshots"]
    told = {each["type"].removeprefix("ClusterResourcePlacement"): each for each in status["conditions"]}
    assert (told["Overridden"]["status"], told["Overridden"]["reason"]) == ("True", "OverriddenSucceeded")


def test_a_changed_override_changes_the_clusters_on_which_it_does_something_else(file_fleet: Fleet) -> None:
    fleet = file_fleet
    two(fleet)
    everywhere = rule(patch("/data/a", "1"))
    overriding(fleet, of_settings(fleet, everywhere, rule(patch("/data/b", "1"), on=where(env="prod"))))
    fleet.apply()
    overriding(fleet, of_settings(fleet, everywhere, rule(patch("/data/b", "2"), on=where(env="prod"))))
    report = fleet.apply()
    assert causes(report) == {"m1": "content-changed", "m2": "unchanged"}
    assert data(fleet, "m1") == {"color": "blue", "a": "1", "b": "2"}
    assert data(fleet, "m2") == {"color": "blue", "a": "1"}
    (fleet.folder / "placements" / "overrides.yml").unlink()
    fleet.resources(fleet.configmap(), of_settings(fleet, everywhere))
    assert causes(fleet.apply()) == {"m1": "content-changed", "m2": "unchanged"}
    assert data(fleet, "m1") == {"color": "blue", "a": "1"}
    fleet.resources(fleet.configmap())
    assert set(causes(fleet.apply()).values()) == {"content-changed"}
    assert data(fleet, "m2") == {"color": "blue"}
    assert all("resourceOverrideSnapshots" not in each for each in bound(fleet).values())


def test_another_label_of_a_cluster_is_another_content(file_fleet: Fleet) -> None:
    """The list of overrides is the same, as upstream compares it; what they do is not."""
    fleet = file_fleet
    two(fleet)
    overriding(
        fleet,
        of_settings(
            fleet,
            rule(patch("/data/env", "${MEMBER-CLUSTER-LABEL-KEY-env}")),
            rule(patch("/data/careful", "yes"), on=where(env="prod")),
        ),
    )
    fleet.apply()
    fleet.join("m2", labels={"env": "prod"})
    report = fleet.apply()
    assert causes(report) == {"m1": "unchanged", "m2": "content-changed"}
    assert data(fleet, "m2") == {"color": "blue", "env": "prod", "careful": "yes"}


def test_what_is_left_out_on_a_cluster_is_deleted_there_and_comes_back(fleet: Fleet) -> None:
    """It is named in the plan where it goes, once: a later change does not name it again."""
    two(fleet)
    more = [fleet.configmap(name) for name in ("a", "b", "c")]
    fleet.resources(fleet.configmap(), *more)
    fleet.apply()
    overriding(fleet, of_settings(fleet, rule(on=where(env="dev"))))
    going = {"m1": [], "m2": [f"ConfigMap {fleet.namespace}/settings"]}
    assert pruned(fleet.look().plan.plans[0]) == going
    fleet.apply()
    assert data(fleet, "m1") == {"color": "blue"} and data(fleet, "m2") is None
    with fleet.writing() as written:
        assert not fleet.apply().changed
    assert written == []
    fleet.resources(fleet.configmap(color="red"), *more)
    assert pruned(fleet.look().plan.plans[0]) == {"m1": [], "m2": []}
    fleet.apply()
    assert data(fleet, "m1") == {"color": "red"} and data(fleet, "m2") is None
    (fleet.folder / "placements" / "overrides.yml").unlink()
    assert not fleet.apply().problems
    assert data(fleet, "m2") == {"color": "red"}


def test_more_than_is_permitted_is_not_deleted_by_an_override(file_fleet: Fleet) -> None:
    """The brake on objects counts what overrides take away (F7)."""
    fleet = file_fleet
    two(fleet)
    fleet.resources(fleet.configmap(), fleet.configmap("a"), fleet.configmap("b"))
    fleet.apply()
    overriding(fleet, of_namespace(fleet, rule(on=where(env="dev"))))
    with fleet.writing() as written, pytest.raises(FleetError) as refused:
        fleet.apply()
    assert refused.value.code == "brake-max-object-removals" and written == []


def test_what_is_in_an_envelope_is_overridden_too(file_fleet: Fleet) -> None:
    fleet = file_fleet
    two(fleet)
    metadata = {"name": "inside", "namespace": fleet.namespace}
    envelope = {
        "apiVersion": API,
        "kind": "ResourceEnvelope",
        "metadata": metadata,
        "data": {"a": fleet.configmap("a")},
    }
    fleet.resources(fleet.configmap(), envelope)
    overriding(fleet, of_settings(fleet, rule(patch("/data/color", "red"), on=where(env="prod")), name="a"))
    report = fleet.apply()
    assert not report.problems
    assert data(fleet, "m1", "a") == {"color": "red"} and data(fleet, "m2", "a") == {"color": "blue"}
    with fleet.writing() as written:
        assert not fleet.apply().changed
    assert written == []


def test_what_cannot_be_done_is_refused_for_all_clusters_before_anything_is_written(file_fleet: Fleet) -> None:
    """Each with cluster, object and the place in the override (F21)."""
    fleet = file_fleet
    two(fleet)
    overriding(
        fleet,
        of_namespace(
            fleet, rule(patch("/metadata/labels", {"at": "${MEMBER-CLUSTER-LABEL-KEY-city}"}), on=where(env="dev"))
        ),
        of_settings(fleet, rule(patch("/data/none", op="remove"))),
    )
    with fleet.writing() as written, pytest.raises(FleetError) as refused:
        fleet.apply()
    assert written == []
    settings, first = f"ConfigMap {fleet.namespace}/settings", "spec.policy.overrideRules[0].jsonPatchOverrides[0]"
    wide, own = f"ClusterResourceOverride/{fleet.name} {first}.value", f"ResourceOverride/{fleet.namespace}/settings"
    lacking = "cluster m2 has no label city, for"
    assert {(each.where, each.message) for each in refused.value.problems} == {
        (f"{own} {first}.path", f"remove /data/none is not possible, as nothing is there in {settings} for m1"),
        (wide, f"{lacking} Namespace {fleet.namespace} there"),
        (wide, f"{lacking} {settings} there"),
    }
    assert {each.code for each in refused.value.problems} == {"override-failed", "override-label-missing"}


def test_two_overrides_of_one_object_are_refused(file_fleet: Fleet) -> None:
    fleet = file_fleet
    two(fleet)
    other = of_settings(fleet, rule(patch("/data/a", "2")))
    other["metadata"]["name"] = "again"
    overriding(fleet, of_settings(fleet, rule(patch("/data/a", "1"))), other)
    with fleet.writing() as written, pytest.raises(FleetError) as refused:
        fleet.apply()
    assert refused.value.code == "overridden-twice" and written == []
    assert "put the rules into one override" in str(refused.value)


def test_a_plan_from_facts_alone_has_the_digest_of_the_apply(file_fleet: Fleet) -> None:
    fleet = file_fleet
    two(fleet)
    overriding(fleet, of_settings(fleet, rule(patch("/data/on", "${MEMBER-CLUSTER-NAME}"))))
    facts = fleet.facts()
    plan = fleet.look(facts=facts, look=False).plan
    assert plan.plans[0].renderings and plan.digest == fleet.look().plan.digest
    fleet.apply(facts=facts, approved=plan.digest)
    assert data(fleet, "m1") == {"color": "blue", "on": "m1"}
    overriding(fleet, of_settings(fleet, rule(patch("/data/on", "there"))))
    with pytest.raises(FleetError) as refused:
        fleet.apply(facts=facts, approved=plan.digest)
    assert refused.value.code == "digest-mismatch"


def test_a_plan_without_records_knows_what_overrides_have_done(file_fleet: Fleet) -> None:
    """From a facts file alone: what is there already is no change, and what is left out is not deleted again."""
    fleet = file_fleet
    two(fleet)
    fleet.resources(fleet.configmap(), fleet.configmap("a"))
    overriding(
        fleet,
        of_settings(fleet, rule(patch("/data/on", "${MEMBER-CLUSTER-NAME}"))),
        of_settings(fleet, rule(on=where(env="dev")), name="a"),
    )
    fleet.apply()
    found = capture(fleet.session(), pods=False, prices=NO_PRICES, threads=4, timeout=5.0, record=True)
    path = fleet.folder / "facts.json"
    path.write_text(found.text, encoding="utf-8")
    facts = facts_file(str(path), fleet.now)
    records = open_records({"type": "sqlite", "path": str(fleet.folder / "nothing.db")}, {}, lambda: fleet.now)
    try:
        report = run(fleet.session(records, hub=None), fleet.asked(facts=facts, look=False))
        assert set(causes(report).values()) == {"unchanged"}
        assert report.plan.digest == fleet.look(facts=facts, look=False).plan.digest
        fleet.resources(fleet.configmap(color="red"), fleet.configmap("a"))
        report = run(fleet.session(records, hub=None), fleet.asked(facts=facts, look=False))
        assert pruned(report.plan.plans[0]) == {"m1": [], "m2": []}
    finally:
        records.close()


def test_any_cluster_shows_what_it_gets_before_anything_is_written(file_fleet: Fleet) -> None:
    """What is shown for a cluster is what that member has afterwards."""
    fleet = file_fleet
    two(fleet)
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login", "namespace": fleet.namespace}}
    fleet.resources(fleet.configmap(), {**secret, "stringData": {"word": "open-sesame"}})
    overriding(fleet, of_settings(fleet, rule(patch("/data/on", "${MEMBER-CLUSTER-NAME}"))))
    for name in ("m1", "m2"):
        (shown,) = fleet.look(facts=fleet.facts(), look=False, render=name).rendered
        rows = {each["object"]: each for each in shown["objects"]}
        assert rows[f"ConfigMap {fleet.namespace}/settings"]["manifest"]["data"] == {"color": "blue", "on": name}
        assert "open-sesame" not in str(shown) and "b3Blbi1zZXNhbWU" not in str(shown)
    with fleet.writing() as written, pytest.raises(FleetError) as refused:
        fleet.apply(render="m7")
    assert refused.value.code == "unknown-cluster" and "m1, m2" in refused.value.message and written == []
    report = fleet.apply(render="m2")
    assert report.rendered[0]["cluster"] == "m2" and data(fleet, "m2") == {"color": "blue", "on": "m2"}


@pytest.fixture
def on_hub(hub_fleet: Fleet) -> t.Iterator[Fleet]:
    """A fleet with an override on its hub."""
    fleet, hub = hub_fleet, hub_fleet.hub
    assert hub is not None
    two(fleet)
    hub.client.post("/api/v1/namespaces", {"metadata": {"name": fleet.namespace}})
    override = of_settings(fleet, rule(patch("/data/color", "green", "replace"), on=where(env="dev")))
    path = f"/apis/{API}/namespaces/{fleet.namespace}/resourceoverrides"
    hub.client.post(path, override)
    yield fleet
    hub.client.request("DELETE", path)
    hub.client.delete(fleet.namespaced())
    hub.finish_namespaces()


def test_what_lies_on_the_hub_is_carried_out(on_hub: Fleet) -> None:
    fleet, hub = on_hub, on_hub.hub
    assert hub is not None
    report = fleet.apply()
    assert not report.problems and "not-carried-out" not in {each.code for each in report.plan.findings}
    assert data(fleet, "m1") == {"color": "blue"} and data(fleet, "m2") == {"color": "green"}
    overriding(fleet, of_settings(fleet, rule(patch("/data/color", "red"), on=where(env="dev"))))
    report = fleet.apply()
    assert "override-in-file" in {each.code for each in report.plan.findings}
    assert data(fleet, "m2") == {"color": "red"}
    (fleet.folder / "placements" / "overrides.yml").unlink()
    hub.client.request("DELETE", f"/apis/{API}/namespaces/{fleet.namespace}/resourceoverrides")
    assert causes(fleet.apply()) == {"m1": "unchanged", "m2": "content-changed"}
    assert data(fleet, "m2") == {"color": "blue"}


def test_one_that_cannot_be_read_stops_the_placements_that_it_may_concern(on_hub: Fleet) -> None:
    """The servers take a path that no patch may have; nothing is placed as if it were not there (F21)."""
    fleet, hub = on_hub, on_hub.hub
    assert hub is not None
    wrong = of_settings(fleet, rule(patch("/kind", "Secret")), name="other")
    path = f"/apis/{API}/namespaces/{fleet.namespace}/resourceoverrides"
    hub.client.post(path, wrong)
    with fleet.writing() as written, pytest.raises(FleetError) as refused:
        fleet.apply()
    assert refused.value.code == "forbidden-patch-path" and written == []
    assert "ResourceOverride" in refused.value.where and "other" in refused.value.where
    elsewhere = fleet.another()
    elsewhere.hub = hub
    elsewhere.join("m1")
    elsewhere.place()
    assert not elsewhere.apply().problems
