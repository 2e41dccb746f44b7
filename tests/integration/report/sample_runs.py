# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records of a staged update run that waits for its approval, and of a rotation in its third wave."""

from __future__ import annotations

from datetime import datetime, timedelta

from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.rotation.state import (
    NodeProgress,
    RotationState,
    Wave,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.node_rotation import RotationSettings
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.approving import signature
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import encode
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.instants import write_time
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.approvals import RUN_DIGEST
from sample_fleet import NOW, Document, Sample

STAGED, ROTATED = "payments-2-8", "openssl-patch"
PLACEMENT_API, DIGEST = "placement.kubernetes-fleet.io/v1", f"sha256:{'c' * 64}"


def staged_run(sample: Sample, foreign: str = "") -> None:
    """Its canaries are done and have been waited for, the pilots were approved; who comes next waits for a yes."""
    names = sorted(each["metadata"]["name"] for each in sample.records.list("MemberCluster"))
    rings = {stage: [name for name in names if name.startswith(stage)] for stage in ("canary", "pilot", "prod")}
    begun = NOW - timedelta(hours=9)
    pilots = begun + timedelta(hours=4)
    stages = [
        {
            **stage("canary", rings["canary"], begun, each=25),
            "afterStageTaskStatus": [
                {"type": "TimedWait", "conditions": [said("WaitTimeElapsed", pilots - timedelta(minutes=30))]}
            ],
        },
        {**stage("pilot", rings["pilot"], pilots, each=35), "beforeStageTaskStatus": [approval("pilot", pilots)]},
        {
            "stageName": "prod",
            "clusters": [{"clusterName": name} for name in rings["prod"]],
            "beforeStageTaskStatus": [approval("prod", None)],
            "conditions": [said("Progressing", NOW, "StageUpdatingWaiting", holds=False, message=foreign)],
        },
    ]
    wait = {"type": "TimedWait", "waitTime": "2h"}
    strategy = [
        {"name": name, "maxConcurrency": 2, "labelSelector": {"matchLabels": {"stage": name}}} for name in rings
    ]
    strategy[0]["afterStageTasks"] = [wait]
    waiting = f"the before-stage tasks of stage prod are not done {foreign}".strip()
    status = {
        "resourceSnapshotIndexUsed": "7",
        "stagedUpdateStrategySnapshot": {"stages": strategy},
        "stagesStatus": stages,
        "conditions": [
            said("Initialized", begun),
            said("Progressing", NOW - timedelta(hours=1), "UpdateRunWaiting", holds=False, message=waiting),
        ],
    }
    spec = {"placementName": "payments", "stagedRolloutStrategyName": "rings", "state": "Run"}
    kept(sample, "ClusterStagedUpdateRun", STAGED, spec, status)
    signed = said("Approved", pilots, message=signature("ana@example.com", DIGEST, foreign))
    asked = {"parentStageRollout": STAGED, "targetStage": "pilot"}
    kept(sample, "ClusterApprovalRequest", f"{STAGED}-before-pilot", asked, {"conditions": [signed]})


def kept(sample: Sample, kind: str, name: str, spec: Document, status: Document) -> None:
    document = {
        "apiVersion": PLACEMENT_API,
        "kind": kind,
        "metadata": {"name": name, "annotations": {RUN_DIGEST: DIGEST}},
        "spec": spec,
    }
    sample.records.replace({**sample.records.create(document), "status": status})


def stage(name: str, clusters: list[str], begun: datetime, each: int) -> Document:
    """Two clusters at once, each as many minutes as is said."""
    rows = []
    for place, cluster in enumerate(clusters):
        start = begun + timedelta(minutes=each * (place // 2))
        done = said("Succeeded", start + timedelta(minutes=each - 4), "ClusterUpdatingSucceeded")
        rows.append({"clusterName": cluster, "conditions": [said("Started", start), done]})
    end = begun + timedelta(minutes=each * (len(clusters) + 1) // 2)
    return {
        "stageName": name,
        "clusters": rows,
        "startTime": write_time(begun),
        "endTime": write_time(end),
        "conditions": [said("Succeeded", end, "StageUpdatingSucceeded")],
    }


def approval(stage: str, at: datetime | None) -> Document:
    conditions = [said("ApprovalRequestCreated", (at or NOW) - timedelta(hours=1))]
    conditions += [said("ApprovalRequestApproved", at)] if at else []
    return {"type": "Approval", "approvalRequestName": f"{STAGED}-before-{stage}", "conditions": conditions}


def said(kind: str, at: datetime, reason: str = "Read", *, holds: bool = True, message: str = "") -> Document:
    return {
        "type": kind,
        "status": str(holds),
        "reason": reason,
        "message": message,
        "lastTransitionTime": write_time(at),
    }


def rotation(sample: Sample, foreign: str = "") -> None:
    """Two waves went well but for one node; the third is under way, one node is blocked, the others have not begun."""
    begun = NOW - timedelta(hours=3)
    nodes = [node(1, 1, begun, 22), *(node(number, 2, begun + timedelta(minutes=40), 31) for number in (2, 3))]
    nodes[2] = node(3, 2, begun + timedelta(minutes=40), 60, phase="GivenUp", text=f"budget web {foreign}".strip())
    third = NOW - timedelta(minutes=20)
    nodes += [node(4, 3, third, 15), node(5, 3, third, 0, "Draining"), node(6, 3, third, 0, "Returning")]
    blocked = {"blocked_since": NOW - timedelta(minutes=12)}
    nodes += [
        NodeProgress(name=f"prod-eastus-3/node-{number}", **(blocked if number == 7 else {})) for number in range(7, 13)
    ]
    state = RotationState(
        settings=RotationSettings(soak=600),
        nodes=tuple(nodes),
        wave=Wave(number=3, size=4, begun=3),
        started_at=begun,
    )
    status = {"phase": "Running", "rotated": 3, "left": 8, "failed": 1, "message": foreign, "state": encode(state)}
    document = {
        "apiVersion": "gitops.fleet/v1alpha1",
        "kind": "NodeRotation",
        "metadata": {"name": ROTATED},
        "spec": {"due": {"versionOtherThan": "v1.36.1"}},
    }
    sample.records.replace({**sample.records.create(document), "status": status})


def node(number: int, wave: int, begun: datetime, minutes: int, phase: str = "Rotated", text: str = "") -> NodeProgress:
    name = f"prod-eastus-3/node-{number}"
    return NodeProgress(
        name=name,
        phase=phase,
        wave=wave,
        attempts=1,
        begun_at=begun,
        since=begun + timedelta(minutes=minutes),
        replacement=f"{name}-b" if phase == "Rotated" else "",
        text=text,
    )
