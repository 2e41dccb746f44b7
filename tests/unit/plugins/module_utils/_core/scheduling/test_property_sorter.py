# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.policy import PropertySorter
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.property_sorter import (
    fraction,
    rounded,
    scores,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.scheduling.made import (
    CPU,
    NODES,
    cluster,
    fleet,
)

ASCENDING = PropertySorter(name=NODES, sort_order="Ascending")
DESCENDING = PropertySorter(name=NODES, sort_order="Descending")


def column(**values):
    return fleet(*(cluster(name, value) for name, value in values.items())).column(NODES)


@pytest.mark.parametrize(
    ("value", "whole"),
    [(2.5, 3), (-2.5, -3), (2.4999999, 2), (0.5, 1), (-0.5, -1), (0.49999999999999994, 0), (3.0, 3), (0.0, 0)],
)
def test_half_goes_away_from_zero_D1_37(value, whole):
    assert rounded(value) == whole


@pytest.mark.parametrize(
    ("sorter", "weight", "score"), [(DESCENDING, 7, 3), (ASCENDING, 8, 5), (ASCENDING, 7, 4), (DESCENDING, 8, 3)]
)
def test_four_between_two_and_seven_D1_37(sorter, weight, score):
    assert scores(column(a="2", b="4", c="7"), sorter, weight)[1] == score


def test_the_cpu_table_D1_33_D1_35():
    values = {"bravelion": "100", "smartfish": "20", "jumpingcat": "10"}
    index = fleet(*(cluster(name, cpu=value) for name, value in values.items()))
    found = index.column(CPU)
    shares = {name: round(100 * fraction(found, index.positions[name], "Descending"), 2) for name in values}
    assert shares == {"bravelion": 100.0, "smartfish": 11.11, "jumpingcat": 0.0}
    weighed = scores(found, PropertySorter(name=CPU, sort_order="Descending"), 20)
    assert [weighed[index.positions[name]] for name in values] == [20, 2, 0]


def test_the_cost_table_D1_34_D1_36():
    cost = "kubernetes.azure.com/per-cpu-core-cost"
    values = {"bravelion": "1", "smartfish": "0.2", "jumpingcat": "0.1"}
    index = fleet(*(cluster(name, properties={cost: value}) for name, value in values.items()))
    found = index.column(cost)
    shares = {name: round(100 * fraction(found, index.positions[name], "Ascending"), 2) for name in values}
    assert shares == {"bravelion": 0.0, "smartfish": 88.89, "jumpingcat": 100.0}
    weighed = scores(found, PropertySorter(name=cost, sort_order="Ascending"), 20)
    assert [weighed[index.positions[name]] for name in values] == [0, 18, 20]


def test_the_two_orders_prefer_the_two_ends_D1_32():
    found = column(a="1", b="3", c="8")
    for sorter, order in ((DESCENDING, "cba"), (ASCENDING, "abc")):
        ranked = sorted(zip(scores(found, sorter, 100), "abc", strict=True), reverse=True)
        assert "".join(name for _score, name in ranked) == order


def test_a_negative_weight_mirrors_D1_44():
    found = column(a="1", b="3", c="8")
    assert scores(found, DESCENDING, -20) == tuple(-each for each in scores(found, DESCENDING, 20))


@pytest.mark.parametrize("values", [{"a": "5", "b": "5", "c": "5000m"}, {"a": "5"}, {"a": None}])
def test_nothing_to_compare_gives_nothing_D1_39(values):
    assert set(scores(column(**values), DESCENDING, 20)) == {0}


def test_a_missing_value_scores_nothing_and_moves_no_extreme_D1_40():
    assert scores(column(a="10", b="20", c=None), ASCENDING, 10) == (10, 0, 0)


def test_spelling_never_leads_beyond_the_weight():
    found = column(a="300m", b="0.3", c="0.1")
    assert scores(found, DESCENDING, 50) == (50, 50, 0)


def test_numbers_beyond_all_bounds_are_far_away_and_nothing_else():
    """A member may report anything."""
    assert scores(column(a="1e400", b="5", c="-1e400"), DESCENDING, 50) == (50, 25, 0)
    assert scores(column(a="1e308", b="-1e308", c="0e400"), ASCENDING, 50) == (0, 50, 25)
