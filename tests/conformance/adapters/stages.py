# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Recorded kind ``stages``: how a staged update run begins, and its first step."""

from __future__ import annotations

import typing as t

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters import member_cluster
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements import (
    cluster_resource_placement as crp,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements import (
    scheduling_policy_snapshot as csps,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.staged import strategy as csus
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.staged import update_run as staged_update_run
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged import decide as staged
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged import world as staged_world
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema import meta
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode, encode
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.fields import camel
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.instants import parse_time
from ansible_collections.gitops.fleet.tests.conformance.adapters.rollout import held, row

SHOWN, NAMELESS = ("type", "status", "reason", "observedGeneration"), {"approvalRequestName": ""}
USED = ("policy_snapshot_index_used", "resource_snapshot_index_used", "policy_observed_cluster_count")


def answer(input: dict[str, t.Any]) -> dict[str, t.Any]:
    strategy, placement, now = input["updateStrategy"], input["placement"], parse_time(input["now"])
    world = staged_world.ObservedState(
        placement=placement and decode(crp.ClusterResourcePlacement, placement),
        strategy=strategy and decode(csus.ClusterStagedUpdateStrategy, strategy),
        policy_snapshots=tuple(decode(csps.ClusterSchedulingPolicySnapshot, each) for each in input["policySnapshots"]),
        resource_snapshots=tuple(decode(meta.ObjectMeta, each["metadata"]) for each in input["resourceSnapshots"]),
        clusters=tuple(decode(member_cluster.MemberCluster, each) for each in input["clusters"]),
        bindings=tuple(held(each) for each in input["bindings"]),
        upstream=True,
    )
    run = decode(staged_update_run.ClusterStagedUpdateRun, input["updateRun"])
    out = staged.decide(staged.StagedState(run=run), world, now)
    run, failure = out.state.run, out.state.failure
    after = staged_world.carried_out(run, world, out.acts, now)
    again, status = None if out.waits else out.wake_at, {"stagesStatus": []} | encode(run.status)
    told = {each.binding: "markStarted" for each in out.acts if isinstance(each, staged_world.MarkStarted)}
    bound = {each.binding for each in out.acts if isinstance(each, staged_world.BindCluster)}
    told |= {each.name: "update" if each.state == "Bound" else "bind" for each in world.bindings if each.name in bound}
    return {camel(name): getattr(run.status, name) for name in USED} | {
        "error": {"kind": "Other"} if out.waits else None,
        "requeue": again is not None,
        "requeueAfterSeconds": int((again - now).total_seconds()) if again else 0,
        "failure": failure and {"code": camel(failure.code.replace("-", "_"))} | failure.counts,
        "conditions": _conditions(status),
        "stagesStatus": [_stage(each) for each in status["stagesStatus"]],
        "deletionStageStatus": _stage(status["deletionStageStatus"]) if "deletionStageStatus" in status else None,
        "bindings": [row(each, told.get(each.name, "none")) for each in after.bindings],
        "approvalRequests": sorted(each.name for each in after.approvals),
    }


def _stage(stage: dict[str, t.Any]) -> dict[str, t.Any]:
    lists = {"beforeStageTaskStatus": NAMELESS, "afterStageTaskStatus": NAMELESS, "clusters": {}}.items()
    out = {key: [base | one | {"conditions": _conditions(one)} for one in stage.get(key, [])] for key, base in lists}
    times = {"started": "startTime" in stage, "ended": "endTime" in stage}
    return out | times | {"stageName": stage["stageName"], "conditions": _conditions(stage)}


def _conditions(of: dict[str, t.Any]) -> list[dict[str, t.Any]]:
    return sorted(({key: each[key] for key in SHOWN} for each in of.get("conditions", [])), key=lambda one: one["type"])
