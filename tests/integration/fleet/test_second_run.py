# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What is so already is not written again, and who only looks writes nothing at all: told by the audit logs."""

from __future__ import annotations

import json
import subprocess
from datetime import timedelta

from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.recorded import all_placements
from ansible_collections.gitops.fleet.plugins.module_utils._local.binaries import get_binaries
from small_fleet import Fleet, changes, conditions

TWO = {"placementType": "PickN", "numberOfClusters": 2}


def test_a_first_apply_places_and_a_second_one_writes_nothing(fleet: Fleet) -> None:
    fleet.join("m1", "m2", "m3")
    fleet.place(TWO)
    first = fleet.apply()
    assert first.changed and not first.problems
    held = fleet.holders()
    assert len(held) == 2 and all(fleet.servers[name].get(fleet.namespaced()) for name in held)
    fleet.later = timedelta(minutes=5)
    with fleet.writing() as written:
        second = fleet.apply()
    assert not second.changed and not second.problems
    assert written == []
    assert second.plan.digest != "" and set(changes(second, fleet.name).values()) == {"kept"}


def test_check_mode_foretells_the_change_and_writes_nothing(fleet: Fleet) -> None:
    fleet.join("m1", "m2")
    fleet.place()
    with fleet.writing() as written:
        foretold = fleet.look()
    assert foretold.changed and written == [] and fleet.record() is None
    done = fleet.apply()
    assert done.plan.digest == foretold.plan.digest and changes(done, fleet.name) == changes(foretold, fleet.name)
    fleet.resources(fleet.configmap(color="red"))
    with fleet.writing() as written:
        assert fleet.look().changed
    assert written == []
    assert fleet.servers["m1"].data(fleet.namespaced("configmaps", "settings")) == {"color": "blue"}


def test_status_says_what_was_done_and_its_transition_times_stay(fleet: Fleet) -> None:
    fleet.join("m1", "m2")
    fleet.place()
    status = fleet.apply().statuses[fleet.name]
    wanted = ("Scheduled", "RolloutStarted", "Overridden", "WorkSynchronized", "Applied", "Available")
    assert conditions(status) == dict.fromkeys(wanted, "True")
    assert [each.cluster_name for each in status.placement_statuses] == ["m1", "m2"]
    recorded = fleet.record()
    assert recorded is not None and len(recorded["status"]["conditions"]) == len(wanted)
    assert {each["observedGeneration"] for each in recorded["status"]["conditions"]} == {1}
    told = fleet.reasons()
    assert len(told) == len(set(told)) and {"ApplyIntended", "PlacementApplied", "PlacementAvailable"} <= set(told)

    fleet.later = timedelta(minutes=5)
    fleet.apply()
    assert fleet.record() == recorded and fleet.reasons() == told

    fleet.resources(fleet.configmap(color="red"))
    fleet.apply()
    after = fleet.record()
    assert after is not None
    times = {each["type"]: each["lastTransitionTime"] for each in recorded["status"]["conditions"]}
    assert {each["type"]: each["lastTransitionTime"] for each in after["status"]["conditions"]} == times
    assert after["status"]["observedResourceIndex"] == "1"


def test_a_changed_object_alone_is_written(fleet: Fleet) -> None:
    fleet.join("m1")
    fleet.resources(fleet.configmap(), fleet.configmap("other", a="1"))
    fleet.place()
    fleet.apply()
    fleet.resources(fleet.configmap(), fleet.configmap("other", a="2"))
    with fleet.servers["m1"].writing() as written:
        fleet.apply()
    assert [each for each in written if "gitops-fleet" not in each] == [f"patch configmaps {fleet.namespace}/other"]


def test_kubectl_and_our_records_agree_field_by_field(hub_fleet: Fleet) -> None:
    """D4-95: the object as kubectl gets and describes it, and as placement_info returns it."""
    hub_fleet.join("m1", "m2")
    hub_fleet.place(TWO)
    hub_fleet.apply()
    assert hub_fleet.hub is not None
    kubectl = [str(get_binaries(["kubectl"], "1.36")["kubectl"].path), f"--kubeconfig={hub_fleet.hub.made.kubeconfig}"]
    named = ("clusterresourceplacements.v1beta1.placement.kubernetes-fleet.io", hub_fleet.name)
    got = subprocess.run([*kubectl, "get", *named, "-o", "json"], capture_output=True, check=True).stdout
    (ours,) = all_placements(hub_fleet.records, hub_fleet.name)
    theirs = json.loads(got)
    assert {key: theirs[key] for key in ("apiVersion", "kind", "spec", "status")} == {
        key: ours[key] for key in ("apiVersion", "kind", "spec", "status")
    }
    assert {**theirs["metadata"], "managedFields": None} == {**ours["metadata"], "managedFields": None}
    told = subprocess.run([*kubectl, "describe", *named], capture_output=True, check=True, text=True).stdout
    per_cluster = ours["status"]["placementStatuses"]
    assert len(per_cluster) == 2
    for each in [*ours["status"]["conditions"], *(row for one in per_cluster for row in one["conditions"])]:
        assert all(str(each[key]) in told for key in ("type", "status", "reason", "message")), each


def test_the_hub_shows_the_status_to_kubectl(hub_fleet: Fleet) -> None:
    """The status lies in the subresource, so a plain read of the object has it."""
    hub_fleet.join("m1")
    hub_fleet.place()
    hub_fleet.apply()
    assert hub_fleet.hub is not None
    path = f"/apis/placement.kubernetes-fleet.io/v1/clusterresourceplacements/{hub_fleet.name}"
    document = hub_fleet.hub.client.get(path)
    by_type = {each["type"]: each["status"] for each in document["status"]["conditions"]}
    assert by_type["ClusterResourcePlacementAvailable"] == "True"
    table = hub_fleet.hub.client.send("GET", path, accept="application/json;as=Table;g=meta.k8s.io;v=v1")
    assert b"columnDefinitions" in table.data and hub_fleet.name.encode() in table.data


def test_the_policy_snapshot_says_whom_the_policy_picks_and_for_how_many(fleet: Fleet) -> None:
    """D4-84: what KubeFleet's scheduler lists there; another number of clusters makes no new snapshot."""

    def decided() -> tuple[set[str], str, int]:
        (found,) = fleet.records.list("ClusterSchedulingPolicySnapshot")
        picked = {each["clusterName"] for each in found["status"]["targetClusters"] if each["selected"]}
        asked = found["metadata"]["annotations"]["kubernetes-fleet.io/number-of-clusters"]
        return picked, asked, found["status"]["observedCRPGeneration"]

    fleet.join("m1", "m2")
    fleet.place({"placementType": "PickN", "numberOfClusters": 1})
    fleet.apply()
    first = decided()
    assert len(first[0]) == 1 and first[1:] == ("1", 1)
    fleet.place({"placementType": "PickN", "numberOfClusters": 2})
    fleet.apply()
    assert decided() == ({"m1", "m2"}, "2", 2)
    with fleet.writing() as writes:
        assert not fleet.apply().changed
    assert writes == []
