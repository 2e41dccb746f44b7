# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Lists of instance types, and what nodes tell of theirs."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.catalogue import (
    Catalogue,
    observed_types,
    read_catalogue,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.disruption.nodes_made import (
    a_node,
    a_state,
    amounts,
)

OFFER = {"zone": "a", "capacityType": "spot", "price": 0.04}
TYPE: dict[str, t.Any] = {"name": "m", "allocatable": {"cpu": "2", "memory": "8Gi"}, "offerings": [OFFER]}


def test_a_list_is_read_with_or_without_its_head() -> None:
    for document in ([TYPE], {"instanceTypes": [TYPE]}):
        (found,) = read_catalogue(document, "types.json")
        assert found.price("a", "spot") == 0.04 and found.allocatable["cpu"] == 2 * 10**9


def test_a_type_may_tell_what_its_machine_has_beside_what_pods_may_ask_for() -> None:
    (found,) = read_catalogue([{**TYPE, "capacity": {"cpu": "2500m"}}], "types.json")
    assert (found.allocatable["cpu"], found.capacity) == (2 * 10**9, {"cpu": 2_500_000_000})


def test_all_that_is_wrong_with_a_list_is_told_at_once() -> None:
    bad = [
        TYPE,
        TYPE,
        {"name": "n"},
        {**TYPE, "name": "o", "offerings": [{**OFFER, "price": "cheap"}]},
        {**TYPE, "name": "q", "allocatable": {"cpu": "many"}},
        7,
        {key: each for key, each in TYPE.items() if key != "name"},
    ]
    with pytest.raises(FleetError) as error:
        read_catalogue(bad, "types.json")
    told = [str(each) for each in error.value.problems]
    assert {each.code for each in error.value.problems} == {"catalogue-invalid"}
    for text in (
        "nothing that pods could ask for",
        "can be had nowhere",
        "'cheap' is no price",
        "many",
        "twice",
        "no name",
    ):
        assert any(text in each for each in told), text
    assert any("instanceTypes[5]" in each for each in told)


@pytest.mark.parametrize("document", [None, {}, [], {"instanceTypes": {}}, "m", 3])
def test_what_is_no_list_is_refused_with_its_form(document: t.Any) -> None:
    with pytest.raises(FleetError) as error:
        read_catalogue(document, "types.json")
    assert error.value.code == "catalogue-invalid" and "instanceTypes" in error.value.problems[0].hint


def test_nodes_tell_the_least_that_any_of_a_type_has_and_the_labels_in_which_they_agree() -> None:
    """What pools and their classes put on nodes describes no type: another pool could not make it then."""
    arch = {"kubernetes.io/arch": "amd64", "karpenter.k8s.aws/instance-family": "m7", "team": "a"}
    nodes = [
        a_node("a", cpu=4, labels={**arch, "kubernetes.io/os": "linux"}),
        a_node("b", cpu=3.9, zone="b", capacity_type="spot", labels={**arch, "kubernetes.io/os": "windows"}),
    ]
    (found,) = observed_types(a_state(nodes))
    assert found.name == "m" and found.allocatable == found.capacity == amounts(3.9)
    assert found.labels == {"kubernetes.io/arch": "amd64", "karpenter.k8s.aws/instance-family": "m7"}
    assert {(each.zone, each.capacity_type, each.cost) for each in found.offerings} == {
        ("a", "on-demand", None), ("b", "spot", None),
    }  # fmt: skip


def test_prices_hold_for_on_demand_nodes_of_which_the_list_says_nothing() -> None:
    state = a_state([a_node("a"), a_node("b", capacity_type="spot")])
    made = Catalogue(prices={"m": 0.2}).put_into(state)
    assert [made.price(each) for each in made.nodes] == [0.2, None]
    listed = Catalogue(types=read_catalogue([TYPE], ""), prices={"m": 9.0}).put_into(state)
    assert listed.price(listed.nodes[1]) == 0.04


@pytest.mark.parametrize("price", [float("inf"), float("nan"), 10**400])
def test_a_price_that_nothing_can_be_reckoned_with_is_refused(price: float) -> None:
    kind = {"name": "m", "allocatable": {"cpu": "1"}, "offerings": [{"zone": "a", "price": price}]}
    with pytest.raises(FleetError) as error:
        read_catalogue([kind], "types.json")
    assert "is no price of an hour" in error.value.message
