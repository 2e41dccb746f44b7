# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The tables of manifests against a real API server with our CRDs: it and we must say the same.

Dry runs with strict field validation, as ``kubectl apply --server-side --dry-run=server`` does them.
"""

from __future__ import annotations

import copy
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.kinds import KIND_OF, KINDS
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.reading import read
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import encode
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.rules import REPAIR, RULE_OF, SCHEMA
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from ansible_collections.gitops.fleet.tests.data.bad_maintenance_manifests import BAD_MAINTENANCE
from ansible_collections.gitops.fleet.tests.data.bad_manifests import BAD as BAD_PLACEMENTS
from ansible_collections.gitops.fleet.tests.data.bad_rollout_manifests import BAD_ROLLOUTS
from ansible_collections.gitops.fleet.tests.data.bad_staged_manifests import BAD_STAGED
from ansible_collections.gitops.fleet.tests.data.bad_update_manifests import BAD_STATUS, BAD_UPDATES
from ansible_collections.gitops.fleet.tests.data.good_maintenance_manifests import (
    GOOD_MAINTENANCE,
    MAINTENANCE_CHANGES,
    REPAIRED_MAINTENANCE,
)
from ansible_collections.gitops.fleet.tests.data.good_manifests import GOOD as GOOD_PLACEMENTS
from ansible_collections.gitops.fleet.tests.data.good_manifests import REPAIRED as REPAIRED_PLACEMENTS
from ansible_collections.gitops.fleet.tests.data.good_manifests import UPDATES as PLACEMENT_CHANGES
from ansible_collections.gitops.fleet.tests.data.good_rollout_manifests import (
    GOOD_ROLLOUTS,
    REPAIRED_ROLLOUTS,
    ROLLOUT_CHANGES,
)
from ansible_collections.gitops.fleet.tests.data.good_update_manifests import CHANGES, GOOD_UPDATES, REPAIRED_UPDATES
from ansible_collections.gitops.fleet.tests.data.maintenance_parts import profile
from ansible_collections.gitops.fleet.tests.data.manifest_parts import Manifest, Row, Update, cluster, crp, member
from ansible_collections.gitops.fleet.tests.data.member_manifests import BAD_MEMBERS, GOOD_MEMBERS
from ansible_collections.gitops.fleet.tests.data.rollout_parts import (
    WAIT,
    approval_request,
    eviction,
    staged,
    staged_run,
    twin,
)
from ansible_collections.gitops.fleet.tests.data.update_parts import (
    DIGEST,
    MONDAY,
    gate,
    stage,
    update_run,
    update_strategy,
)

BAD = (*BAD_PLACEMENTS, *BAD_MEMBERS, *BAD_ROLLOUTS, *BAD_STAGED, *BAD_UPDATES, *BAD_MAINTENANCE)
GOOD = (*GOOD_PLACEMENTS, *GOOD_MEMBERS, *GOOD_ROLLOUTS, *GOOD_UPDATES, *GOOD_MAINTENANCE)
REPAIRED = (*REPAIRED_PLACEMENTS, *REPAIRED_ROLLOUTS, *REPAIRED_UPDATES, *REPAIRED_MAINTENANCE)
UPDATES = (*PLACEMENT_CHANGES, *ROLLOUT_CHANGES, *CHANGES, *MAINTENANCE_CHANGES)
DRY = {"dryRun": "All", "fieldValidation": "Strict"}
KEPT = ("name", "namespace", "labels", "annotations")


def path_of(manifest: Manifest) -> str:
    """Where an object of this kind is made; without a namespace of its own in the one that kubectl would take."""
    kind = KIND_OF.get(manifest["kind"])
    place = f"/namespaces/{manifest['metadata'].get('namespace', 'default')}" if kind and kind.namespaced else ""
    return f"/apis/{manifest['apiVersion']}{place}/{kind.plural if kind else manifest['kind'].lower() + 's'}"


def classes(row: Row | Update) -> set[str]:
    return {RULE_OF[each.split(" ", 1)[0]].rule_class for each in row.expected}


def refused(client: KubeClient, method: str, path: str, manifest: Manifest) -> str:
    """The server's words; no refusal fails the test."""
    with pytest.raises(ApiError) as error:
        client.request(method, path, manifest, DRY)
    assert error.value.status in (400, 404, 422), error.value
    return error.value.message


def content(manifest: Manifest) -> dict[str, t.Any]:
    """What a person wrote, without what the server keeps for itself."""
    metadata = {key: each for key, each in manifest["metadata"].items() if key in KEPT}
    return {**{key: manifest.get(key) for key in ("apiVersion", "kind", "spec", "data")}, "metadata": metadata}


@pytest.mark.parametrize("row", GOOD, ids=lambda row: row.name)
def test_good_manifests_are_stored_as_we_write_them(client: KubeClient, row: Row) -> None:
    stored = client.post(path_of(row.manifest), row.manifest, DRY)
    assert content(stored) == content(encode(read(row.manifest).object))


@pytest.mark.parametrize("row", REPAIRED, ids=lambda row: row.name)
def test_printed_forms_are_refused_and_our_repair_is_taken(client: KubeClient, row: Row) -> None:
    assert REPAIR in classes(row)
    refused(client, "POST", path_of(row.manifest), row.manifest)
    ours = encode(read(row.manifest).object)
    assert content(client.post(path_of(ours), ours, DRY)) == content(ours)


@pytest.mark.parametrize("row", [row for row in BAD if SCHEMA in classes(row)], ids=lambda row: row.name)
def test_what_breaks_the_schema_is_refused_by_the_server_too(client: KubeClient, row: Row) -> None:
    refused(client, "POST", path_of(row.manifest), row.manifest)


@pytest.mark.parametrize("row", [row for row in BAD if SCHEMA not in classes(row)], ids=lambda row: row.name)
def test_what_only_we_refuse_the_server_takes(client: KubeClient, row: Row) -> None:
    client.post(path_of(row.manifest), row.manifest, DRY)


@pytest.mark.parametrize("update", UPDATES, ids=lambda row: row.name)
def test_updates(client: KubeClient, update: Update) -> None:
    path = path_of(update.before)
    stored = client.post(path, update.before, {"fieldValidation": "Strict"})
    name = stored["metadata"]["name"]
    try:
        if "status" in update.before:
            before = {**stored, "status": update.before["status"]}
            stored = client.put(f"{path}/{name}/status", before, {"fieldValidation": "Strict"})
        after = copy.deepcopy(update.after)
        after["metadata"]["resourceVersion"] = stored["metadata"]["resourceVersion"]
        if SCHEMA in classes(update):
            refused(client, "PUT", f"{path}/{name}", after)
        else:
            client.put(f"{path}/{name}", after, DRY)
    finally:
        client.delete(f"{path}/{name}")


@pytest.mark.parametrize("row", BAD_STATUS, ids=lambda row: row.name)
def test_d3_45_what_no_status_can_be_is_refused_by_the_server_too(client: KubeClient, row: Row) -> None:
    path, name = path_of(row.manifest), row.manifest["metadata"]["name"]
    stored = client.post(path, {**row.manifest, "status": None}, {"fieldValidation": "Strict"})
    try:
        refused(client, "PUT", f"{path}/{name}/status", {**stored, "status": row.manifest["status"]})
    finally:
        client.delete(f"{path}/{name}")


def test_a_gate_that_is_done_stays_so(client: KubeClient) -> None:
    """Whoever may write its status may complete it, and not open it again."""
    path = f"{path_of(gate())}/{gate()['metadata']['name']}"
    stored = client.post(path_of(gate()), gate(), {"fieldValidation": "Strict"})
    try:
        done = client.put(f"{path}/status", {**stored, "status": {"state": "Completed"}}, {"fieldValidation": "Strict"})
        assert "stays as it is" in refused(client, "PUT", f"{path}/status", {**done, "status": {"state": "Pending"}})
    finally:
        client.delete(path)


def test_the_server_gives_our_reasons(client: KubeClient) -> None:
    manifest = crp({"placementType": "PickN"})
    assert "PickN needs numberOfClusters" in refused(client, "POST", path_of(manifest), manifest)


NOON = "2024-05-01T12:00:00Z"
STATUS: dict[str, t.Any] = {
    "observedResourceIndex": "0",
    "conditions": [
        {"type": f"ClusterResourcePlacement{kind}", "status": "True", "reason": "a", "observedGeneration": 1}
        for kind in ("Scheduled", "WorkSynchronized", "Available")
    ],
}


FAILED = {"startTime": NOON, "completedTime": NOON, "state": "Failed", "error": {"code": "UpgradeFailed"}}
WAITING = {
    "displayName": "ticket",
    "status": {"startTime": NOON, "state": "Pending"},
    "id": "3f0a8c52-6a4e-5b0d-9c1e-0123456789ab",
    "type": "ScheduledStart",
    "schedule": MONDAY,
    "due": NOON,
}
SEGMENT: dict[str, t.Any] = {
    "maxConcurrency": 2,
    "maxAllowedFailures": 0,
    "failureCount": 1,
    "status": FAILED,
    "message": "m1: no answer",
    "userSkipped": False,
    "breached": True,
    "reached": True,
    "beforeGates": [WAITING],
    "afterGates": [{"status": {"state": "NotStarted"}, "id": WAITING["id"], "type": "Approval"}],
}
MEMBER: dict[str, t.Any] = {
    "name": "m1",
    "operationId": "release-7-0b9c1d2e.m1.1",
    "message": "no answer",
    "status": FAILED,
    "attempt": 1,
    "reference": "/var/lib/m1",
    "versionBefore": "v1.33.1",
    "versionAfter": "v1.33.1",
    "reason": "UpgradeFailed",
    "skippedBy": "user",
    "skippedVia": "Group",
    "pendingSince": "2024-05-01T12:00:00.5Z",
}
RUN_STATUS: dict[str, t.Any] = {
    "status": FAILED,
    "stages": [
        {
            **SEGMENT,
            "name": "first",
            "nextGroup": 1,
            "groups": [{**SEGMENT, "name": "canary", "members": [MEMBER]}],
            "afterStageWaitStatus": {"status": {"state": "Running"}, "waitDurationInSeconds": 60, "ends": NOON},
        }
    ],
    "failureCount": 1,
    "outcome": "CompletedWithFailures",
    "message": "m1: no answer",
    "progress": "0/1 completed (0 skipped, 1 failed)",
    "phase": "active",
    "stopRequested": False,
    "strategy": update_strategy(stage())["spec"]["strategy"],
    "targetVersion": "1.34.2",
    "digest": DIGEST,
    "epoch": 3,
    "uncoveredMembers": ["m2"],
    "observedGeneration": 1,
}


def condition(kind: str, status: str = "True") -> dict[str, t.Any]:
    return {
        "type": kind,
        "status": status,
        "reason": "a",
        "message": "b",
        "observedGeneration": 1,
        "lastTransitionTime": NOON,
    }


STAGE_STATUS: dict[str, t.Any] = {
    "stageName": "canary",
    "clusters": [
        {
            "clusterName": "eu-1",
            "resourceOverrideSnapshots": [{"name": "web-0", "namespace": "shop"}],
            "clusterResourceOverrideSnapshots": ["roles-0"],
            "conditions": [condition("Started")],
        }
    ],
    "beforeStageTaskStatus": [{"type": "Approval", "approvalRequestName": "web-7-before-canary"}],
    "afterStageTaskStatus": [{"type": "TimedWait", "conditions": [condition("WaitTimeElapsed")]}],
    "startTime": NOON,
    "endTime": NOON,
    "conditions": [condition("Progressing", "False"), condition("Succeeded")],
}
STAGED_STATUS: dict[str, t.Any] = {
    "policySnapshotIndexUsed": "2",
    "policyObservedClusterCount": 1,
    "resourceSnapshotIndexUsed": "3",
    "appliedStrategy": {
        "type": "ClientSideApply",
        "comparisonOption": "PartialComparison",
        "whenToApply": "Always",
        "whenToTakeOver": "Always",
        "allowCoOwnership": False,
    },
    "stagedUpdateStrategySnapshot": {"stages": [staged(maxConcurrency=1, afterStageTasks=[WAIT])]},
    "stagesStatus": [STAGE_STATUS],
    "deletionStageStatus": {"stageName": "kubernetes-fleet.io/deleteStage", "clusters": []},
    "conditions": [condition("Initialized"), condition("Progressing"), condition("Succeeded", "Unknown")],
}


@pytest.mark.parametrize(
    ("manifest", "status"),
    [
        (crp(), STATUS),
        (
            cluster(),
            {
                "properties": {
                    "kubernetes-fleet.io/node-count": {"value": "3", "observationTime": "2024-05-01T12:00:00Z"}
                },
                "resourceUsage": {"available": {"cpu": "7", "memory": "9Gi"}, "allocatable": {"cpu": "8"}},
                "namespaces": {"shop": ""},
                "agentStatus": [
                    {
                        "type": "MemberAgent",
                        "conditions": [{"type": kind, "status": "True"} for kind in ("Joined", "Healthy")],
                        "lastReceivedHeartbeat": NOON,
                    }
                ],
            },
        ),
        (
            member({"inCluster": True}),
            {"version": "v1.36.3", "nodePools": [{"name": "a", "count": 0}], "lastRead": "2024-05-01T12:00:00.5Z"},
        ),
        (update_run(), RUN_STATUS),
        (
            gate(target={"updateRunProperties": {"name": "r", "stage": "s", "group": "g", "timing": "After"}}),
            {"state": "Completed", "approval": {"by": "ana", "verified": True, "at": NOON, "digest": DIGEST}},
        ),
        (eviction(), {"conditions": [condition("Valid"), condition("Executed", "False")]}),
        (twin(approval_request()), {"conditions": [condition("Approved")]}),
        (staged_run("Run", resourceSnapshotIndex="3"), STAGED_STATUS),
        (
            profile("TargetKubernetesVersion", targetKubernetesVersion="1.34"),
            {
                "lastTriggeredAt": NOON,
                "lastTriggerStatus": "Failed",
                "lastTriggerError": {"code": "NoSuchRelease"},
                "lastTriggerUpgradeVersions": ["1.34.2"],
                "lastTriggerMessage": "one run",
            },
        ),
    ],
    ids=lambda given: given.get("kind", "status"),
)
def test_d4_84_status_is_a_subresource_and_comes_back(
    client: KubeClient, manifest: Manifest, status: dict[str, t.Any]
) -> None:
    path = f"{path_of(manifest)}/{manifest['metadata']['name']}"
    stored = client.post(path_of(manifest), {**manifest, "status": status}, {"fieldValidation": "Strict"})
    try:
        assert stored.get("status") == encode(read(manifest).object).get("status"), (
            "defaults, and nothing of what was sent"
        )
        written = encode(read({**manifest, "status": status}).object)
        written["metadata"]["resourceVersion"] = stored["metadata"]["resourceVersion"]
        assert client.put(f"{path}/status", written, {"fieldValidation": "Strict"})["status"] == written["status"]
        assert None not in cells(client, path).values(), "a column is empty"
    finally:
        client.delete(path)


def cells(client: KubeClient, path: str) -> dict[str, t.Any]:
    """The columns that ``kubectl get`` shows for the object, those of ``-o wide`` left out."""
    table = client.request("GET", path, accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    optional = ("Group", "Location", "Reachable")
    named = zip(table["columnDefinitions"], table["rows"][0]["cells"], strict=True)
    shown = {column["name"]: cell for column, cell in named if column["priority"] == 0}
    return {name: cell for name, cell in shown.items() if name not in optional}


def test_d1_03_one_object_under_both_versions(client: KubeClient) -> None:
    manifest = crp(version="v1")
    client.post(path_of(manifest), manifest, {"fieldValidation": "Strict"})
    try:
        seen = [client.get(f"{path_of(crp(version=version))}/crp") for version in ("v1", "v1beta1")]
        assert seen[0]["spec"] == seen[1]["spec"]
        assert seen[1]["apiVersion"].endswith("v1beta1")
    finally:
        client.delete(f"{path_of(manifest)}/crp")


def test_d4_01_short_names_are_served(client: KubeClient) -> None:
    served = client.get("/apis/placement.kubernetes-fleet.io/v1")["resources"]
    assert {each["name"]: tuple(each.get("shortNames", ())) for each in served if "/" not in each["name"]} == {
        kind.plural: kind.short_names for kind in KINDS if kind.group == "placement.kubernetes-fleet.io"
    }
    assert {each["kind"] for each in served if each["namespaced"]} == {each.kind for each in KINDS if each.namespaced}
