# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import operator
import random

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling import bitset
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.properties import (
    path_of,
    property_name_problem,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.quantity import parse_quantity
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.scheduling.made import (
    CPU,
    NODES,
    cluster,
    fleet,
)

PREFIX = "resources.kubernetes-fleet.io/"


@pytest.mark.parametrize("capacity", ["total", "allocatable", "available"])
def test_three_capacities_are_known_D1_09(capacity):
    assert not property_name_problem(f"{PREFIX}{capacity}-cpu", upstream=True)


@pytest.mark.parametrize("name", ["used-cpu", "cpu", "total-", ""])
def test_other_resource_names_are_refused_D1_09(name):
    assert property_name_problem(PREFIX + name)


def test_resources_split_at_the_first_dash_only_D1_10():
    assert not property_name_problem(f"{PREFIX}available-ephemeral-storage")
    assert property_name_problem(f"{PREFIX}available-ephemeral-storage", upstream=True)
    assert path_of(f"{PREFIX}available-ephemeral-storage") == "status.resourceUsage.available[ephemeral-storage]"
    storage = {"available": {"ephemeral-storage": "10Gi"}}
    index = fleet(cluster("a", resourceUsage=storage), cluster("b"))
    assert index.column(f"{PREFIX}available-ephemeral-storage").texts == ("10Gi", None)


def test_free_cpu_and_allocatable_memory_are_looked_up_D1_11():
    usage = {"available": {"cpu": "3500m", "memory": "1Gi"}, "allocatable": {"cpu": "4", "memory": "8Gi"}}
    index = fleet(cluster("a", resourceUsage=usage))
    assert index.column(f"{PREFIX}available-cpu").texts == ("3500m",)
    assert index.column(f"{PREFIX}allocatable-memory").texts == ("8Gi",)


def test_usage_is_read_in_canonical_form_and_properties_as_spelled():
    index = fleet(cluster("a", nodes="0.30", cpu="1.50"))
    assert index.column(CPU).texts == ("1500m",)
    assert index.column(NODES).texts == ("0.30",)


def test_the_older_node_count_is_the_same_fact_D1_26():
    older = "kubernetes.azure.com/node-count"
    index = fleet(cluster("a", nodes="3"), cluster("b", properties={older: "4"}))
    assert index.column(NODES).texts == index.column(older).texts == ("3", "4")
    assert index.column(NODES, upstream=True).texts == ("3", None)


COMPARE = {
    "Gt": operator.gt, "Ge": operator.ge, "Lt": operator.lt, "Le": operator.le, "Eq": operator.eq, "Ne": operator.ne,
}  # fmt: skip


def test_thresholds_agree_with_comparing_one_by_one_D1_12_to_D1_17():
    draw = random.Random(3)
    texts = [
        draw.choice(["1", "1000m", "2", "2500m", "1Gi", "1024Mi", "nonsense", None, "7"]) for _cluster in range(300)
    ]
    index = fleet(*(cluster(f"m{number:03}", nodes=text) for number, text in enumerate(texts)))
    column = index.column(NODES)
    for name, holds in COMPARE.items():
        for wanted in ("1", "2", "2.5", "1Gi", "0", "9Gi"):
            value = parse_quantity(wanted)
            expected = [
                position
                for position, text in enumerate(texts)
                if text not in (None, "nonsense") and holds(parse_quantity(text), value)
            ]
            assert bitset.positions(column.meeting(name, value.nanos)) == expected, (name, wanted)


def test_extremes_are_the_first_clusters_by_name_with_the_value_D1_38():
    index = fleet(cluster("d", "9"), cluster("c", "9000m"), cluster("b", "1"), cluster("a"), cluster("e", "x"))
    column = index.column(NODES)
    assert (index.names[column.lowest], index.names[column.highest]) == ("b", "c")
    assert bitset.positions(column.malformed) == [index.positions["e"]]


def test_a_property_that_nobody_has():
    column = fleet("a", "b").column(NODES)
    assert (column.reported, column.lowest, column.highest, column.spread_out) == (0, -1, -1, False)
    assert column.meeting("Ne", 5) == 0
