# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Small placements and bindings for the tests of this folder, written as manifests."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime, timedelta

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.binding import (
    ClusterResourceBinding,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.cluster_resource_placement import (
    ClusterResourcePlacement,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.content import (
    Overrides,
    RolloutBinding,
    WantedContent,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.rolling.decide import (
    RolloutDecision,
    RolloutSeen,
    RolloutState,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.rolling.decide import decide as decide_rollout
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.instants import write_time

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
OLD, NEW = "web-0-snapshot", "web-1-snapshot"
Manifest = dict[str, t.Any]


def ago(seconds: float) -> str:
    return write_time(NOW - timedelta(seconds=seconds))


def condition(kind: str, status: str = "True", reason: str = "", seconds: float = 600, **more: t.Any) -> Manifest:
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "observedGeneration": 1,
        "lastTransitionTime": ago(seconds),
    } | more


READY = condition("Available", reason="AllWorkAreAvailable")
FAILED = condition("Applied", "False", "NotAllWorkHaveBeenApplied")
MID_APPLY = condition("Applied", "False", "ApplyInProgress")
DOWN = condition("Available", "False", "NotAllWorkAreAvailable")


def untrackable(seconds: float, reason: str = "NotAllWorkAreAvailabilityTrackable") -> Manifest:
    return condition("Available", reason=reason, seconds=seconds)


def binding(cluster: str, *conditions: Manifest, state: str = "Bound", **more: t.Any) -> ClusterResourceBinding:
    """Named after its cluster; bound to the old content unless it is Scheduled."""
    content = more.pop("content", "" if state == "Scheduled" else OLD)
    metadata = {"name": more.pop("name", f"web-{cluster}"), "generation": 1}
    metadata |= {"annotations": {"kubernetes-fleet.io/previous-binding-state": "Bound"}}
    metadata |= {"deletionTimestamp": ago(20)} if more.pop("deleting", False) else {}
    spec = {"state": state, "targetCluster": cluster, "schedulingPolicySnapshotName": "web-0"}
    spec |= {"clusterResourceOverrideSnapshots": list(more.pop("overrides", ()))}
    spec |= {"resourceSnapshotName": content, "applyStrategy": more.pop("strategy", {})}
    return decode(
        ClusterResourceBinding,
        {"metadata": metadata | more, "spec": spec, "status": {"conditions": list(conditions)}},
    )


def held(cluster: str, *conditions: Manifest, **more: t.Any) -> RolloutBinding:
    return RolloutBinding(binding=binding(cluster, *conditions, **more))


def placement(policy: Manifest | None = None, **rolling: t.Any) -> ClusterResourcePlacement:
    """``rolling`` are fields of the rolling update; ``strategy`` replaces it."""
    strategy = rolling.pop("strategy", {"type": "RollingUpdate", "rollingUpdate": rolling})
    metadata = {"name": "web", "generation": 1} | rolling.pop("metadata", {})
    return decode(ClusterResourcePlacement, {"metadata": metadata, "spec": {"policy": policy, "strategy": strategy}})


def pick_n(number: int) -> Manifest:
    return {"placementType": "PickN", "numberOfClusters": number}


def decide(policy: Manifest | None, *bindings: RolloutBinding, content: str = NEW, **more: t.Any) -> RolloutDecision:
    """One look at ``NOW``; ``rolling`` are the budgets, ``overrides`` those wanted by cluster."""
    rolling = more.pop("rolling", {})
    overrides = {name: Overrides(cluster=names) for name, names in more.pop("overrides", {}).items()}
    wanted = WantedContent(resource_snapshot=content, overrides=overrides)
    now = more.pop("now", NOW)
    seen = RolloutSeen(placement=placement(policy, **rolling), wanted=wanted, **more)
    return decide_rollout(RolloutState(bindings=bindings), seen, now)


def actions(decision: RolloutDecision) -> dict[str, str]:
    return {each.cluster: each.action for each in decision.acts}


def reasons(decision: RolloutDecision) -> dict[str, str]:
    return {each.cluster: each.reason for each in decision.state.report.waits}
