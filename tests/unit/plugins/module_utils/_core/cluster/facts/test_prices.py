# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Price lists, and what is said beside a cost."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.prices import (
    PriceList,
    PriceSource,
    costs_of,
    read_prices,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.member_cluster import MemberCluster
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.random_json import any_json, gone_wrong
from hypothesis import given
from hypothesis import strategies as st

HEAD = {"source": "list of the house", "version": "2026-11", "currency": "USD", "period": "hour"}
LIST = {**HEAD, "prices": {"small": 0.1, "big": 2}}


def member(**costs: str) -> MemberCluster:
    properties = {f"kubernetes.azure.com/per-{name.replace('_', '-')}-cost": {"value": costs[name]} for name in costs}
    return decode(MemberCluster, {"metadata": {"name": "a"}, "status": {"properties": properties}})


def test_a_list_says_where_it_comes_from_d4_54() -> None:
    found = read_prices(LIST)
    assert found.prices == {"small": 0.1, "big": 2.0}
    assert found.origin == PriceSource(source="list of the house", version="2026-11")
    assert read_prices(LIST["prices"]) == PriceList(prices={"small": 0.1, "big": 2.0})


def test_a_cost_is_told_with_unit_currency_period_and_source_d4_52_d4_54() -> None:
    found = costs_of(member(cpu_core="0.080", gb_memory="0.060"), read_prices(LIST).origin)
    assert [each.as_dict() for each in found] == [
        {"property": "kubernetes.azure.com/per-cpu-core-cost", "value": "0.080", "unit": "core", **HEAD},
        {"property": "kubernetes.azure.com/per-gb-memory-cost", "value": "0.060", "unit": "GiB", **HEAD},
    ]
    assert costs_of(member()) == ()
    assert costs_of(member(cpu_core="1"))[0].as_dict()["source"] == ""


@pytest.mark.parametrize(
    ("document", "told"),
    [
        (5, ["no prices"]),
        (["small"], ["no prices"]),
        ({}, ["there is no price in this list"]),
        ({**LIST, "prices": {}, "valid": "always"}, ["there is no price in this list", "no field 'valid'"]),
        ({"small": "0.1"}, ["small: '0.1'"]),
        ({"small": True, "big": -1, "huge": float("nan")}, ["small", "big", "huge"]),
        ({"small": 10**400}, ["small"]),
        ({**LIST, "currency": "EUR", "period": "month", "version": 3}, ["in 'EUR'", "in 'month'", "version: text"]),
        ({**LIST, "valid": "always"}, ["no field 'valid'"]),
    ],
)
def test_what_is_no_price_list_is_refused_with_all_that_is_wrong(document: t.Any, told: list[str]) -> None:
    with pytest.raises(FleetError) as refused:
        read_prices(document, "prices.json")
    problems = sorted(each.message for each in refused.value.problems)
    assert len(problems) == len(told) and all(any(part in each for each in problems) for part in told)
    assert {(each.code, each.where) for each in refused.value.problems} == {("prices-invalid", "prices.json")}


def nested(depth: int) -> list[t.Any]:
    value: list[t.Any] = []
    for _level in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("value", [nested(100_000), 10**5000], ids=["deep", "long"])
def test_what_python_cannot_write_is_refused_too(value: t.Any) -> None:
    for document in ({"small": value}, *({**LIST, key: value} for key in ("source", "version", "currency", "period"))):
        with pytest.raises(FleetError) as refused:
            read_prices(document, "prices.json")
        assert refused.value.code == "prices-invalid" and "(too large to be shown)" in refused.value.message


@given(document=st.one_of(any_json(), gone_wrong(LIST)))
def test_any_document_is_read_or_refused(document: t.Any) -> None:
    try:
        assert all(each >= 0 for each in read_prices(document).prices.values())
    except FleetError as error:
        assert error.code == "prices-invalid"
