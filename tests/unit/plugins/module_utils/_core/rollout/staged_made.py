# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Staged update runs for the tests of this folder: a world made of manifests, and a play that goes step by step."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import datetime, timedelta

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.member_cluster import MemberCluster
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.cluster_resource_placement import (
    ClusterResourcePlacement,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.scheduling_policy_snapshot import (
    ClusterSchedulingPolicySnapshot,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.staged.strategy import (
    ClusterStagedUpdateStrategy,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.staged.update_run import ClusterStagedUpdateRun
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.content import RolloutBinding
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.decide import (
    StagedDecision,
    StagedState,
    decide,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.world import ObservedState, carried_out
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import (
    Condition,
    ObjectMeta,
    find_condition,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.rollout.made import NOW, Manifest, held

LABEL = "kubernetes-fleet.io/"
APPROVAL, WAIT = {"type": "Approval"}, {"type": "TimedWait", "waitTime": "10m"}
ALL: Manifest = {}


def stage(name: str, selector: Manifest | None = None, **more: t.Any) -> Manifest:
    """``selector`` are the labels of its clusters; none at all without them."""
    chosen = {} if selector is None else {"labelSelector": {"matchLabels": selector}}
    return {"name": name} | chosen | more


def strategy(*stages: Manifest) -> ClusterStagedUpdateStrategy:
    return decode(ClusterStagedUpdateStrategy, {"metadata": {"name": "waves"}, "spec": {"stages": list(stages)}})


def run(state: str = "Run", **more: t.Any) -> ClusterStagedUpdateRun:
    spec = {"placementName": "web", "stagedRolloutStrategyName": "waves", "resourceSnapshotIndex": "1", "state": state}
    metadata = {"name": "run", "generation": 1} | more.pop("metadata", {})
    return decode(ClusterStagedUpdateRun, {"metadata": metadata, "spec": spec | more})


def cluster(name: str, **labels: str) -> MemberCluster:
    return decode(MemberCluster, {"metadata": {"name": name, "labels": labels}, "spec": {}})


def policy_snapshot(policy: Manifest | None = None, count: str = "", **more: t.Any) -> ClusterSchedulingPolicySnapshot:
    labels = {f"{LABEL}is-latest-snapshot": "true", f"{LABEL}policy-index": "0"} | more.pop("labels", {})
    annotations = {f"{LABEL}number-of-clusters": count} if count else {}
    scheduled = {"type": "Scheduled", "status": more.pop("scheduled", "True"), "observedGeneration": 1}
    metadata = {"name": "web-0", "generation": 1, "labels": labels, "annotations": annotations} | more
    return decode(
        ClusterSchedulingPolicySnapshot,
        {"metadata": metadata, "spec": {"policy": policy}, "status": {"conditions": [scheduled]}},
    )


def resources(index: int, latest: bool = False) -> ObjectMeta:
    return ObjectMeta(
        name=f"web-{index}-snapshot",
        labels={f"{LABEL}resource-index": str(index), f"{LABEL}is-latest-snapshot": str(latest).lower()},
        annotations={f"{LABEL}resource-hash": f"h{index}"},
    )


def external(**more: t.Any) -> ClusterResourcePlacement:
    document = {"metadata": {"name": "web"}, "spec": {"strategy": {"type": "External"} | more}}
    return decode(ClusterResourcePlacement, document)


def world(
    names: str = "abc", *stages: Manifest, gone: str = "", labels: t.Mapping[str, t.Mapping[str, str]] | None = None
) -> ObservedState:
    """Clusters hold the old content; those in ``gone`` lose the placement. One stage with all of them by default."""
    labels = labels or {}
    return ObservedState(
        placement=external(),
        strategy=strategy(*(stages or (stage("all", ALL, maxConcurrency="100%"),))),
        policy_snapshots=(policy_snapshot(),),
        resource_snapshots=(resources(0), resources(1, latest=True)),
        clusters=tuple(cluster(name, **labels.get(name, {})) for name in sorted({*names, *gone})),
        bindings=(*(held(name) for name in names), *(held(name, state="Unscheduled") for name in gone)),
    )


class Play:
    """Decides, carries out and stores, step by step. Time passes only when it is told to."""

    def __init__(self, world: ObservedState, run: ClusterStagedUpdateRun, upstream: bool = False) -> None:
        self.world, self.run, self.upstream, self.now = world, run, upstream, NOW

    def step(self) -> StagedDecision:
        out = decide(StagedState(run=self.run), replace(self.world, upstream=self.upstream), self.now)
        self.world = carried_out(out.state.run, self.world, out.acts, self.now)
        self.run = out.state.run
        return out

    def steps(self) -> StagedDecision:
        """Until it has to wait."""
        out = self.step()
        while out.wake_at is not None and out.wake_at <= self.now:
            out = self.step()
        return out

    def ask(self, state: str) -> Play:
        metadata = replace(self.run.metadata, generation=self.run.metadata.generation + 1)
        self.run = replace(self.run, metadata=metadata, spec=replace(self.run.spec, state=state))
        return self

    def after(self, **time: float) -> Play:
        self.now += timedelta(**time)
        return self

    def report(
        self, names: str, status: str = "True", reason: str = "AllWorkAreAvailable", kind: str = "Available"
    ) -> Play:
        """What the members say of what they were given."""
        bindings = [
            reported(each, kind, status, reason, self.now) if each.cluster in names else each
            for each in self.world.bindings
        ]
        self.world = replace(self.world, bindings=tuple(bindings))
        return self

    def vanish(self, names: str) -> Play:
        """Deletions that are over."""
        kept = [each for each in self.world.bindings if not (each.cluster in names and each.deleting)]
        self.world = replace(self.world, bindings=tuple(kept))
        return self

    def approve(self, name: str) -> Play:
        self.world = replace(
            self.world,
            approvals=tuple(
                replace(each, status=replace(each.status, conditions=(*each.status.conditions, _approved(self.now))))
                if each.name == name
                else each
                for each in self.world.approvals
            ),
        )
        return self

    def states(self) -> dict[str, str]:
        """Cluster -> waiting, started, done or failed."""
        return {each.cluster_name: _state(each.conditions) for stage in self._stages() for each in stage.clusters}

    def stage(self, index: int) -> str:
        """Reason of the stage's Progressing, empty if it was not reached."""
        found = find_condition(self._stages()[index].conditions, "Progressing")
        return found.reason.removeprefix("StageUpdating") if found else ""

    @property
    def progress(self) -> str:
        found = find_condition(self.run.status.conditions, "Progressing")
        return found.reason.removeprefix("UpdateRun") if found else ""

    @property
    def succeeded(self) -> str:
        found = find_condition(self.run.status.conditions, "Succeeded")
        return found.status if found else ""

    def _stages(self) -> list[t.Any]:
        deletion = self.run.status.deletion_stage_status
        return [*self.run.status.stages_status, *([deletion] if deletion else [])]


def reported(each: RolloutBinding, kind: str, status: str, reason: str, now: datetime) -> RolloutBinding:
    binding = each.binding
    said = Condition(
        type=kind,
        status=status,
        reason=reason,
        observed_generation=binding.metadata.generation,
        last_transition_time=now,
    )
    started = tuple(one for one in binding.status.conditions if one.type == "RolloutStarted")
    return replace(each, binding=replace(binding, status=replace(binding.status, conditions=(*started, said))))


def _approved(now: datetime) -> Condition:
    return Condition(type="Approved", status="True", observed_generation=1, last_transition_time=now)


def _state(conditions: tuple[Condition, ...]) -> str:
    succeeded = find_condition(conditions, "Succeeded")
    if succeeded:
        return "done" if succeeded.status == "True" else "failed"
    return "started" if find_condition(conditions, "Started") else "waiting"
