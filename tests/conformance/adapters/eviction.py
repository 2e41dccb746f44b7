# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Recorded kind ``eviction``: one eviction under a placement disruption budget."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements import binding, disruption_budget
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements import (
    cluster_resource_placement as crp,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements import eviction as crpe
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout import eviction
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode, encode
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.fields import camel
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.instants import parse_time

# Conditions of an earlier attempt have upstream's words; these tell them apart.
SPOKEN = {
    "being removed from": "alreadyDeleting",
    "has not propagated": "nothingPlaced",
    "placement has failed": "placementFailed",
    "no ClusterResourcePlacementDisruptionBudget": "noBudget",
    "misconfigured": "misconfiguredBudget",
    "availablePlacements": "budget",
    "is valid": "valid",
    "Failed to find ClusterResourcePlacement": "placementNotFound",
    "deleting ClusterResourcePlacement": "placementDeleting",
    "PickFixed": "pickFixed",
    "Failed to find scheduler decision": "noBinding",
    "more than one scheduler decision": "multipleBindings",
}


def answer(input: dict[str, t.Any]) -> dict[str, t.Any]:
    out = eviction.judged_eviction(
        decode(crpe.ClusterResourcePlacementEviction, input["eviction"]),
        input["placement"] and decode(crp.ClusterResourcePlacement, input["placement"]),
        [decode(binding.ClusterResourceBinding, each) for each in input["bindings"]],
        input["disruptionBudget"]
        and decode(disruption_budget.ClusterResourcePlacementDisruptionBudget, input["disruptionBudget"]),
        parse_time(input["now"]),
        upstream=True,
    )
    verdicts = {crpe.VALID: out.valid, crpe.EXECUTED: out.executed}
    rows = [_row(encode(each), verdicts[each.type]) for each in out.eviction.status.conditions]
    deleted = [out.deleted.name] if out.deleted else []
    rows.sort(key=lambda row: row["type"])
    return {"error": None, "requeue": False, "conditions": rows, "deletedBindings": deleted}


def _row(condition: dict[str, t.Any], verdict: eviction.EvictionVerdict | None) -> dict[str, t.Any]:
    row = {key: condition.get(key, 0) for key in ("type", "status", "reason", "observedGeneration")}
    said = condition.get("message", "")
    if verdict is None:
        row["why"] = next((why for words, why in SPOKEN.items() if words in said), "")
        return row | {key: int(number) for key, number in re.findall(r"(available|total)Placements: (\d+)", said)}
    numbers = verdict.arithmetic and {"available": verdict.arithmetic.available, "total": verdict.arithmetic.total}
    return row | {"why": camel(verdict.why.replace("-", "_"))} | (numbers or {})
