# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What leaves a member is exactly what we put there, and nothing before a brake was asked."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.brakes import BrakeLimits
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.look import ApplyOptions
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.placement import Report
from small_fleet import OURS, PARENTS, Fleet, Server, changes

LIFTED = BrakeLimits(max_removals="100%")


def refused(fleet: Fleet, code: str, **asked: object) -> FleetError:
    """The apply is refused with this code, and no server saw a write."""
    with fleet.writing() as written, pytest.raises(FleetError) as caught:
        fleet.apply(**asked)
    assert caught.value.code == code, caught.value
    assert written == []
    return caught.value


def foreign(fleet: Fleet, name: str) -> str:
    """A ConfigMap in the placement's namespace that is not ours."""
    fleet.servers[name].client.post(fleet.namespaced("configmaps"), fleet.configmap("foreign"))
    return fleet.namespaced("configmaps", "foreign")


def steps(report: Report, fleet: Fleet, cluster: str) -> dict[str, str]:
    return {str(each.id): each.action for each in report.outcomes_of(fleet.name)[cluster].steps}


def test_an_object_gone_from_the_files_is_pruned_and_a_foreign_one_stays(fleet: Fleet) -> None:
    fleet.join("m1")
    fleet.resources(fleet.configmap(), fleet.configmap("old"))
    fleet.place()
    fleet.apply()
    stranger = foreign(fleet, "m1")
    fleet.resources(fleet.configmap())
    looked = fleet.look()
    assert [each.name for each in looked.plan.plans[0].clusters[0].prune] == ["old"]
    with fleet.servers["m1"].writing(but=("leases",)) as written:
        fleet.apply()
    assert [each for each in written if each.startswith("delete")] == [f"delete configmaps {fleet.namespace}/old"]
    assert fleet.servers["m1"].get(fleet.namespaced("configmaps", "old")) is None
    assert fleet.servers["m1"].get(stranger) and fleet.holders() == ["m1"]
    assert not fleet.apply().changed


def test_an_object_that_somebody_else_made_anew_is_not_pruned(fleet: Fleet) -> None:
    """It has the name of ours, but not our label: it is another object."""
    fleet.join("m1")
    fleet.resources(fleet.configmap(), fleet.configmap("old"))
    fleet.place()
    fleet.apply()
    fleet.servers["m1"].client.delete(fleet.namespaced("configmaps", "old"))
    fleet.servers["m1"].client.post(fleet.namespaced("configmaps"), fleet.configmap("old", color="theirs"))
    fleet.resources(fleet.configmap())
    fleet.apply()
    assert fleet.servers["m1"].data(fleet.namespaced("configmaps", "old")) == {"color": "theirs"}


def test_a_lost_member_keeps_the_namespace_without_our_label(fleet: Fleet) -> None:
    fleet.join("m1", "m2")
    fleet.place({"placementType": "PickFixed", "clusterNames": ["m1", "m2"]})
    fleet.apply()
    stranger = foreign(fleet, "m2")
    fleet.place({"placementType": "PickFixed", "clusterNames": ["m1"]})
    report = fleet.apply()
    assert steps(report, fleet, "m2") == {
        f"ConfigMap {fleet.namespace}/settings": "prune",
        f"Namespace {fleet.namespace}": "release",
        "Namespace gitops-fleet": "prune",
    }
    assert fleet.holders() == ["m1"] and fleet.servers["m2"].get(stranger)
    namespace = fleet.servers["m2"].get(fleet.namespaced())
    assert namespace and not namespace["metadata"].get("deletionTimestamp")
    assert not fleet.is_ours("m2", fleet.namespaced())


def test_the_namespace_goes_too_if_its_kind_is_named(fleet: Fleet) -> None:
    fleet.join("m1")
    fleet.place()
    fleet.apply()
    fleet.end(limits=LIFTED, ways=ApplyOptions(prune_kinds=("Namespace",), patience=0))
    namespace = fleet.servers["m1"].get(fleet.namespaced())
    assert namespace is None or namespace["metadata"].get("deletionTimestamp")


def test_absent_removes_all_that_was_placed_and_every_trace_of_it(fleet: Fleet) -> None:
    fleet.join("m1", "m2")
    fleet.resources(fleet.configmap(), fleet.configmap("other"))
    fleet.place()
    fleet.apply()
    strangers = [foreign(fleet, name) for name in ("m1", "m2")]
    assert refused(fleet, "brake-max-removals", absent=True, names=(fleet.name,))
    report = fleet.end(limits=LIFTED)
    assert report.changed and not report.problems
    for name, stranger in zip(("m1", "m2"), strangers, strict=True):
        server = fleet.servers[name]
        assert server.get(stranger)
        assert [server.get(fleet.namespaced("configmaps", each)) for each in ("settings", "other")] == [None, None]
        assert server.get(f"{PARENTS}/{fleet.name}") is None
        ours = server.get(OURS)
        assert ours is None or ours["metadata"].get("deletionTimestamp")
    assert fleet.record() is None
    for kind in ("ClusterResourceBinding", "ClusterResourceSnapshot", "ClusterSchedulingPolicySnapshot"):
        assert fleet.records.list(kind) == ()
    with fleet.writing() as written:
        assert not fleet.end().changed
    assert written == []


def test_our_namespace_stays_for_another_placement(fleet: Fleet) -> None:
    fleet.join("m1")
    fleet.place()
    other = f"{fleet.name}-b"
    fleet.apply()
    fleet.resources({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}}, namespace=False)
    document = fleet.placement(name=other)
    document["spec"]["resourceSelectors"][0]["name"] = other
    fleet.apply(definition=document)
    fleet.end(limits=LIFTED)
    server = fleet.servers["m1"]
    assert server.get(f"{PARENTS}/{other}") and server.get(f"{PARENTS}/{fleet.name}") is None
    assert not (server.get(OURS) or {})["metadata"].get("deletionTimestamp")


def test_a_member_that_serves_as_the_hub_keeps_its_records(hub_fleet: Fleet) -> None:
    """Key and leases lie in the namespace that we make on members: it does not go with the last placement."""
    assert hub_fleet.hub is not None
    both = Fleet(hub_fleet.number, hub_fleet.folder / "own", hub_fleet.options, hub_fleet.hub, {"hub": hub_fleet.hub})
    both.resources(both.configmap())
    both.join("hub")
    both.place()
    both.apply()
    assert both.holders() == ["hub"]
    both.end(limits=LIFTED)
    assert both.holders() == []
    assert not (hub_fleet.hub.get(OURS) or {"metadata": {"deletionTimestamp": "gone"}})["metadata"].get(
        "deletionTimestamp"
    )


def test_abandon_leaves_the_objects_without_our_label(file_fleet: Fleet) -> None:
    file_fleet.join("m1")
    document = file_fleet.placement()
    document["spec"]["strategy"] = {"type": "RollingUpdate", "deleteStrategy": {"propagationPolicy": "Abandon"}}
    file_fleet.apply(definition=document)
    file_fleet.end(limits=LIFTED)
    settings = file_fleet.namespaced("configmaps", "settings")
    assert file_fleet.servers["m1"].get(settings) and not file_fleet.is_ours("m1", settings)
    assert file_fleet.servers["m1"].get(f"{PARENTS}/{file_fleet.name}") is None


def test_a_placement_deleted_on_the_hub_ends_with_the_next_apply(hub_fleet: Fleet) -> None:
    """``kubectl delete``: the finalizer holds the object until its clusters are clean."""
    hub_fleet.join("m1")
    hub_fleet.place()
    hub_fleet.apply()
    hub_fleet.records.delete("ClusterResourcePlacement", hub_fleet.name)
    waiting = hub_fleet.record()
    assert waiting and waiting["metadata"]["deletionTimestamp"]
    report = hub_fleet.apply(src=(), limits=LIFTED)
    assert changes(report, hub_fleet.name) == {"m1": "lost"}
    assert hub_fleet.holders() == [] and hub_fleet.record() is None


def test_placement_and_resources_may_both_lie_on_the_hub(hub_fleet: Fleet) -> None:
    assert hub_fleet.hub is not None
    hub = hub_fleet.hub
    hub_fleet.join("m1")
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": hub_fleet.namespace}}
    hub.client.post("/api/v1/namespaces", namespace)
    hub.client.post(hub_fleet.namespaced("configmaps"), hub_fleet.configmap(color="hub"))
    hub.client.post("/apis/placement.kubernetes-fleet.io/v1beta1/clusterresourceplacements", hub_fleet.placement())
    hub_fleet.apply(src=(), resources=None)
    settings = hub_fleet.namespaced("configmaps", "settings")
    assert hub_fleet.servers["m1"].data(settings) == {"color": "hub"}
    with hub_fleet.writing() as written:
        assert not hub_fleet.apply(src=(), resources=None).changed
    assert written == []
    hub.client.delete(hub_fleet.namespaced())
    hub.client.delete(hub_fleet.namespaced("configmaps", "settings"))
    hub.finish_namespaces()


def test_a_file_gone_from_the_source_ends_its_placement_under_the_brakes(fleet: Fleet) -> None:
    fleet.join("m1", "m2")
    fleet.place()
    fleet.apply()
    fleet.unplace()
    looked = fleet.look()
    assert changes(looked, fleet.name) == {"m1": "lost", "m2": "lost"}
    assert {each.cause for each in looked.plan.plans[0].clusters} == {"source-gone"}
    refused(fleet, "brake-max-removals")
    refused(fleet, "brake-allow-empty", limits=LIFTED)
    fleet.apply(limits=replace(LIFTED, allow_empty=True))
    assert fleet.holders() == [] and fleet.record() is None


def test_a_placement_of_another_source_is_left_alone(fleet: Fleet) -> None:
    fleet.join("m1")
    fleet.apply(definition=fleet.placement())
    other = fleet.folder / "elsewhere"
    other.mkdir()
    (other / "none.yml").write_text("", encoding="utf-8")
    assert not fleet.apply(src=(str(other),)).plan.plans
    assert fleet.holders() == ["m1"]


def test_no_cluster_where_there_was_one_needs_to_be_said(fleet: Fleet) -> None:
    fleet.join("m1")
    fleet.place({"placementType": "PickFixed", "clusterNames": ["m1"]})
    fleet.apply()
    fleet.place({"placementType": "PickFixed", "clusterNames": ["m9"]})
    error = refused(fleet, "brake-allow-empty")
    assert "allow_empty: true" in error.problems[0].hint
    fleet.apply(limits=BrakeLimits(allow_empty=True))
    assert fleet.holders() == []


def test_old_facts_are_no_ground_to_act_on(fleet: Fleet) -> None:
    fleet.join("m1")
    fleet.place()
    facts = fleet.facts()
    fleet.later = timedelta(minutes=11)
    error = refused(fleet, "brake-max-facts-age", facts=facts)
    assert "10 min" in str(error)
    fleet.apply(facts=facts, max_facts_age=timedelta(minutes=30))
    assert fleet.holders() == ["m1"]


def test_an_older_revision_is_refused(fleet: Fleet) -> None:
    repository = Repository(fleet.folder)
    fleet.join("m1")
    fleet.place()
    first = repository.commit("blue")
    fleet.apply(environ=repository.environ)
    fleet.resources(fleet.configmap(color="red"))
    second = repository.commit("red")
    fleet.apply(environ=repository.environ)
    assert (fleet.record() or {})["metadata"]["annotations"]["gitops.fleet/revision"] == second
    repository.git("checkout", "-q", first)
    error = refused(fleet, "brake-allow-older", environ=repository.environ)
    assert first[:12] in str(error) and second[:12] in str(error)
    fleet.apply(environ=repository.environ, limits=BrakeLimits(allow_older=True))
    assert fleet.servers["m1"].data(fleet.namespaced("configmaps", "settings")) == {"color": "blue"}


class Repository:
    """A Git repository around the files of a fleet."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environ = {"PATH": "/usr/bin:/bin:/usr/local/bin", "HOME": str(folder)}
        self.git("init", "-q")
        self.git("config", "user.name", "nobody")
        self.git("config", "user.email", "nobody@example.org")

    def git(self, *arguments: str) -> str:
        command = ["git", "-C", str(self.folder), *arguments]
        done = subprocess.run(command, env=self.environ, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, message: str) -> str:
        self.git("add", "placements", "resources")
        self.git("commit", "-q", "-m", message)
        return self.git("rev-parse", "HEAD")


def test_a_deleted_namespace_of_ours_is_made_again(file_fleet: Fleet) -> None:
    """The parent is lost, the objects carry the label still: they are taken over, not refused as another's."""
    file_fleet.join("m1")
    file_fleet.place()
    file_fleet.apply()
    server: Server = file_fleet.servers["m1"]
    server.client.delete(f"{PARENTS}/{file_fleet.name}")
    server.client.delete(OURS)
    server.finish_namespaces()
    again = file_fleet.apply()
    assert not again.problems and server.get(f"{PARENTS}/{file_fleet.name}")
    assert not file_fleet.apply().changed
