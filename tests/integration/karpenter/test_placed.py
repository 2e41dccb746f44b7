# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a plan of placements says of nodes before Karpenter does it: which go by a NodePool that changes."""

from __future__ import annotations

import json
import typing as t
from functools import partial

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.budget_info import BudgetQuestion, budget_report
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.placed_nodes import with_nodes_told
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.reading import ReadingWish, nodes_file
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.plan import FleetPlan
from karpenter_cluster import POOLS, Karpenter, holds, pool_manifest
from small_fleet import Document, Fleet

POOL = "placed"


def pool(**labels: str) -> Document:
    """Karpenter may disrupt none of its nodes: those that drift stay, and can be counted."""
    disruption = {"consolidateAfter": "Never", "consolidationPolicy": "WhenEmpty", "budgets": [{"nodes": "0"}]}
    return pool_manifest(POOL, disruption, **labels)


def placed(fleet: Fleet) -> None:
    document = fleet.placement(rolling={"unavailablePeriodSeconds": 1})
    selector = {"group": "karpenter.sh", "version": "v1", "kind": "NodePool", "name": POOL}
    document["spec"]["resourceSelectors"] = [selector]
    (fleet.folder / "placements" / "pools.yml").write_text(json.dumps(document), encoding="utf-8")


def judged(fleet: Fleet, limit: int | None = None) -> t.Callable[[FleetPlan], FleetPlan]:
    """Plans with what becomes of nodes, by those that the members have now."""
    path = fleet.folder / "nodes.json"
    question = BudgetQuestion(reading=ReadingWish(pods=False, keep=True))
    path.write_text(budget_report(fleet.session(), question).file, encoding="utf-8")
    return partial(with_nodes_told, nodes=nodes_file(str(path), fleet.now), limit=limit)


def foreseen(fleet: Fleet) -> list[str]:
    """What the next apply's plan says of nodes."""
    found = fleet.look(judged=judged(fleet)).plan.findings
    return [str(each) for each in found if each.code.startswith("nodes-")]


def drifted(karpenter: Karpenter) -> int:
    return sum(holds(each, "Drifted") for each in karpenter.claims(POOL).values())


def test_a_plan_counts_the_nodes_that_karpenter_then_finds_drifted(
    karpenter: Karpenter, karpenter_fleet: Fleet
) -> None:
    """A label that is new, and one that is sent no more: both are told, and both are so."""
    fleet = karpenter_fleet
    placed(fleet)
    fleet.resources(pool(team="a"), namespace=False)
    try:
        assert fleet.apply().changed
        karpenter.run("placed", POOL, 3)
        karpenter.settled(placed=3)
        assert foreseen(fleet) == []

        changes: tuple[tuple[Document, str], ...] = ((pool(team="b"), "labels.team"), (pool(), "labels.team"))
        for document, path in changes:
            fleet.resources(document, namespace=False)
            (text,) = foreseen(fleet)
            assert "3 nodes on 1 cluster will be replaced or end: k1 (3)" in text and path in text, text
        with pytest.raises(FleetError) as refused:
            fleet.apply(judged=judged(fleet, limit=2))
        assert refused.value.code == "brake-max-replaced-nodes"
        assert drifted(karpenter) == 0, "nothing is written by a plan, nor where the brake stops it"
        permitted = judged(fleet, limit=3)
        karpenter.until(lambda: not fleet.apply(judged=permitted).waits, "the pool was not changed")
        karpenter.until(lambda: drifted(karpenter) == 3, "Karpenter did not find its nodes drifted")
        stored = t.cast(Document, karpenter.get(f"{POOLS}/{POOL}"))
        assert stored["spec"]["template"]["metadata"]["labels"] == {"pool": POOL}
    finally:
        karpenter.end_of(POOL)
