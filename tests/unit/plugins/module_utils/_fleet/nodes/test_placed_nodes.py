# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Plans of placements tell which nodes they replace, by a file of what members had."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.nodes_snapshot import NodesSnapshot
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import ObjectId
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.rollout_strategy import (
    ApplyStrategy,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.changes import (
    CHANGED,
    ClusterChanges,
    FieldChange,
    ObjectChange,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.document import PlacementPlan, Rendered
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.placed_nodes import with_nodes_told
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.checks import stopping_brakes
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.plan import FleetPlan
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.disruption.sources_made import (
    member,
    pool,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan.made import (
    CONFIG,
    NOW,
    facts,
    pick_all,
    pick_fixed,
    placed,
    plan,
    rendered,
    wanted,
)

POOL = ObjectId("karpenter.sh", "v1", "NodePool", "", "p")
NODES = NodesSnapshot(captured_at=NOW, members=(member("a", 2), member("b", 1)))
FLEET = facts("a", "b")


def sent(labels: t.Mapping[str, str]) -> Rendered:
    return Rendered(id=POOL, hash=f"{labels}", manifest=pool(labels))


def told(made: PlacementPlan) -> list[str]:
    whole = FleetPlan(plans=(made,), recorded={}, facts=FLEET)
    found = with_nodes_told(whole, NODES)
    assert found.digest == whole.digest, "Karpenter replaces nodes, and no approval covers that"
    return [each.message for each in found.findings]


def test_a_pool_is_judged_as_each_cluster_gets_it() -> None:
    made = plan(wanted(pick_all(), (rendered(CONFIG), sent({"team": "a", "tier": "1"}))), FLEET)
    assert told(made) == []
    other = replace(made, rendered={"b": (sent({"team": "b"}),)})
    assert told(other)[0].startswith("1 node on 1 cluster will be replaced or end: b (1) (NodePoolDrifted: ")


def test_fields_that_are_given_up_count_on_the_clusters_where_they_are() -> None:
    made = plan(wanted(pick_all(), (sent({"team": "a"}),)), FLEET)
    gone = FieldChange(".spec.template.metadata.labels.tier", "1", None, "goes")
    change = ObjectChange(id=POOL, action=CHANGED, fields=(gone,))
    found = told(replace(made, changes=(ClusterChanges(clusters=("a",), objects=(change,)),)))
    assert found[0].startswith("2 nodes on 1 cluster will be replaced or end: a (2)")


def test_a_pool_that_leaves_a_cluster_takes_its_nodes_with_it() -> None:
    known = placed(pick_all(), FLEET, (sent({"team": "a"}),))
    (text,) = told(plan(wanted(pick_fixed("a"), (sent({"team": "a"}),)), FLEET, known))
    assert text == "1 node on 1 cluster will be replaced or end: b (1) (its NodePool p is deleted)"


def test_a_placement_that_only_reports_replaces_nothing() -> None:
    made = plan(wanted(pick_all(), (sent({"team": "b"}),)), FLEET)
    assert told(made)
    strategy = replace(made.placement.spec.strategy, apply_strategy=ApplyStrategy(type="ReportDiff"))
    spec = replace(made.placement.spec, strategy=strategy)
    assert told(replace(made, placement=replace(made.placement, spec=spec))) == []


def stopped(made: PlacementPlan, limit: int | str, nodes: NodesSnapshot = NODES) -> list[str]:
    """Why an apply of the plan is refused under ``max_replaced_nodes``."""
    whole = FleetPlan(plans=(made,), recorded={}, facts=FLEET)
    found = with_nodes_told(whole, nodes, limit)
    assert found.digest == whole.digest
    return [f"{each.code} {each.message}: {each.hint}" for each in stopping_brakes(found)]


def test_a_limit_of_nodes_stops_what_replaces_more() -> None:
    made = plan(wanted(pick_all(), (sent({"team": "b"}),)), FLEET)
    assert stopped(made, 2) == [
        "brake-max-replaced-nodes 3 of 3 nodes are or may be replaced; max_replaced_nodes 2 permits 2:"
        " if it is meant: max_replaced_nodes: 3"
    ]
    assert stopped(made, "67%") and not stopped(made, "100%") and not stopped(made, 3)
    assert not stopped(plan(wanted(pick_all(), (sent({"team": "a", "tier": "1"}),)), FLEET), 0)


def test_a_node_counts_once_however_many_objects_replace_it() -> None:
    made = plan(wanted(pick_all(), (sent({"team": "b"}),)), FLEET)
    twice = replace(made, rendered={"a": (sent({"team": "b"}), sent({"team": "c"}))})
    assert "3 of 3 nodes" in stopped(twice, 0)[0]


def test_a_cluster_whose_nodes_nobody_knows_stops_it_whatever_the_limit() -> None:
    made = plan(wanted(pick_all(), (sent({"team": "b"}),)), FLEET)
    (why,) = stopped(made, "100%", replace(NODES, members=(member("a", 2),)))
    assert "2 of 2 nodes are or may be replaced, and those of 1 cluster are not known" in why
    assert why.endswith("if it is meant: leave max_replaced_nodes out")
