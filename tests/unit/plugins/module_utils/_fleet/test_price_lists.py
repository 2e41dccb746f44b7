# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The price lists that come with the collection, and lists of one's own beside them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.prices import NO_PRICES
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.files import (
    PRICES_FOLDER,
    SHIPPED_PRICES,
    prices_file,
    prices_files,
)

NAMES = {"aws": r"[a-z0-9]+\.[a-z0-9]+", "azure": r"Standard_[A-Za-z0-9_]+", "gce": r"[a-z0-9]+-[a-z]+(-[0-9]+)?"}


@pytest.mark.parametrize("name", SHIPPED_PRICES)
def test_lists_of_the_large_clouds_say_where_and_when_d4_54(name: str) -> None:
    found = prices_file(name)
    assert re.fullmatch(r"20[0-9]{2}-[0-9]{2}-[0-9]{2}", found.origin.version)
    assert "not checked against the provider" in found.origin.source and len(found.prices) >= 10
    assert all(re.fullmatch(NAMES[name], each) for each in found.prices)
    assert all(0 < price < 5 for price in found.prices.values())


def test_every_list_that_is_there_has_a_name() -> None:
    assert sorted(each.stem for each in PRICES_FOLDER.glob("*.json")) == sorted(SHIPPED_PRICES)


def test_sizes_of_one_family_cost_in_proportion() -> None:
    prices = prices_files(SHIPPED_PRICES).prices
    for small, large, times in (
        ("m5.large", "m5.4xlarge", 8),
        ("Standard_D2s_v5", "Standard_D16s_v5", 8),
        ("e2-standard-2", "e2-standard-8", 4),
    ):
        assert prices[large] == pytest.approx(times * prices[small])


def test_a_list_of_ones_own_replaces_and_completes_and_all_sources_are_told(tmp_path: Path) -> None:
    own = tmp_path / "own.json"
    prices = {"m5.large": 0.05, "p5.48xlarge": 90}
    own.write_text(json.dumps({"source": "our contract", "version": "7", "prices": prices}), encoding="utf-8")
    found = prices_files(["aws", str(own)])
    assert (found.prices["m5.large"], found.prices["p5.48xlarge"]) == (0.05, 90.0)
    assert found.prices["m5.xlarge"] == prices_file("aws").prices["m5.xlarge"]
    assert "our contract" in found.origin.source and "us-east-1" in found.origin.source
    assert found.origin.version.endswith(", 7")
    assert prices_files([str(own), "aws"]).prices["m5.large"] == prices_file("aws").prices["m5.large"]


def test_no_list_and_a_list_that_is_not_there() -> None:
    assert prices_files([]) is NO_PRICES
    with pytest.raises(FleetError) as refused:
        prices_files(["aws", "/nowhere/prices.json"])
    assert refused.value.code == "prices-missing"
