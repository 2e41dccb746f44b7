# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import random

from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling import bitset
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.cluster_eligibility import eligible
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.selector import (
    LabelSelector,
    LabelSelectorRequirement,
    matches,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.scheduling.made import cluster, fleet


def test_positions_follow_names_as_text():
    assert fleet("m2", "m10", "m1").names == ("m1", "m10", "m2")


def test_selection_agrees_with_matching_each_cluster_D4_26():
    draw = random.Random(5)
    labels = [
        {key: draw.choice("xyz") for key in ("region", "env", "ring") if draw.random() < 0.7} for _cluster in range(80)
    ]
    index = fleet(*(cluster(f"m{number:02}", labels=each) for number, each in enumerate(labels)))
    for _round in range(300):
        wanted = {key: draw.choice("xyz") for key in ("region", "env") if draw.random() < 0.3}
        expressions = tuple(
            LabelSelectorRequirement(
                draw.choice(["region", "ring", "none"]),
                draw.choice(["In", "NotIn", "Exists", "DoesNotExist"]),
                tuple(draw.sample("xyz", 2)),
            )
            for _requirement in range(draw.randrange(3))
        )
        selector = LabelSelector(wanted, expressions)
        expected = [position for position, each in enumerate(labels) if matches(selector, each)]
        assert bitset.positions(index.selected(selector)) == expected, selector


def test_no_selector_and_an_empty_one_match_all_D1_28():
    index = fleet("a", "b")
    assert index.selected(None) == index.selected(LabelSelector()) == index.everyone == 0b11


def test_an_empty_fleet_can_be_asked():
    index = fleet()
    assert (index.everyone, eligible(index), index.label("region").present) == (0, 0, 0)
    assert index.topology(("region",)).domains == ()


def test_topology_groups_clusters_that_share_all_domains():
    index = fleet(
        cluster("a", labels={"region": "east", "ring": "1"}),
        cluster("b", labels={"region": "east"}),
        cluster("c", labels={"region": "east", "ring": "1"}),
        cluster("d", labels={"ring": ""}),
    )
    topology = index.topology(("region", "ring"))
    assert topology.group_of == (0, 1, 0, 2)
    assert topology.domains == (("east", "east", None), ("1", None, ""))
