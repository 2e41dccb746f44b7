# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The example of docs/placement.md: the two cheapest clusters of a region that have enough cores free."""

from __future__ import annotations

from pathlib import Path

import yaml
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.member_cluster import MemberCluster
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.scheduling.made import (
    cluster,
    decide,
    fleet,
    picked,
)

EXAMPLE = Path(__file__).resolve().parents[6] / "examples" / "picking" / "cheapest.yml"
COST = "kubernetes.azure.com/per-cpu-core-cost"


def priced(name: str, region: str, cost: str, free: str) -> MemberCluster:
    usage = {"capacity": {"cpu": "64"}, "allocatable": {"cpu": "64"}, "available": {"cpu": free}}
    return cluster(name, labels={"region": region}, properties={COST: cost}, resourceUsage=usage)


def test_the_two_cheapest_of_the_region_with_enough_cores_are_picked():
    policy = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))["spec"]["policy"]
    found = fleet(
        priced("eu-full", "eu", "0.010", "39"),
        priced("us-cheap", "us", "0.010", "60"),
        priced("eu-one", "eu", "0.025", "40"),
        priced("eu-two", "eu", "0.040", "48"),
        priced("eu-dear", "eu", "0.100", "64"),
    )
    assert picked(decide(policy, found)) == ["eu-one", "eu-two"]
