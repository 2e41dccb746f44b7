# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Recorded kind ``rollout``: one decision of a rolling update."""

from __future__ import annotations

import typing as t

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements import binding
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements import (
    cluster_resource_placement as crp,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout import content
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.rolling import decide as rolling
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode, encode
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.fields import camel
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import find_condition
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.instants import parse_time

LATEST = "kubernetes-fleet.io/is-latest-snapshot"
AGAIN = (rolling.PUSHED, rolling.ROLLING)


def answer(input: dict[str, t.Any]) -> dict[str, t.Any]:
    now = parse_time(input["now"])
    latest = [each["metadata"]["name"] for each in input["resourceSnapshots"] if _latest(each["metadata"])]
    wanted = content.WantedContent(resource_snapshot=latest[0] if latest else "", overrides={})
    placement = decode(crp.ClusterResourcePlacement, input["placement"])
    state = rolling.RolloutState(bindings=tuple(held(each) for each in input["bindings"]))
    out = rolling.decide(state, rolling.RolloutSeen(placement=placement, wanted=wanted, upstream=True), now)
    report, numbers = out.state.report, out.state.report.calculation
    seconds = int((out.wake_at - now).total_seconds()) if out.wake_at else 0
    actions = {each.binding: camel(each.action.replace("-", "_")) for each in out.acts}
    return {
        "error": report.error and {"kind": "UnexpectedBehavior"},
        "requeue": report.outcome in AGAIN,
        "requeueAfterSeconds": seconds,
        "calculation": numbers and {camel(key): value for key, value in numbers.as_dict().items()},
        "bindings": [row(each, actions.get(each.name, "none")) for each in out.state.bindings],
    }


def held(raw: dict[str, t.Any]) -> content.RolloutBinding:
    return content.RolloutBinding(binding=decode(binding.ClusterResourceBinding, raw))


def row(each: content.RolloutBinding, action: str) -> dict[str, t.Any]:
    spec, started = each.binding.spec, find_condition(each.binding.status.conditions, "RolloutStarted")
    out = {"name": each.name, "targetCluster": each.cluster, "state": each.state, "action": action}
    out |= {"resourceSnapshotName": spec.resource_snapshot_name, "deleting": each.deleting}
    out |= {"clusterResourceOverrideSnapshots": list(spec.cluster_resource_override_snapshots)}
    out |= {"resourceOverrideSnapshots": [encode(one) for one in spec.resource_override_snapshots]}
    return out | {"rolloutStarted": started and {"status": started.status, "reason": started.reason}}


def _latest(metadata: dict[str, t.Any]) -> bool:
    return metadata.get("labels", {}).get(LATEST) == "true"
