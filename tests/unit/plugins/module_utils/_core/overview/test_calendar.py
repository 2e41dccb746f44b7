# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.node_pool import Budget
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.calendar import (
    ASSUMED_NODES,
    YEAR,
    budget_sentence,
    pool_calendar,
    with_freezes,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.timing.maintenance import NamedFreeze

START = datetime(2026, 3, 2, 9, tzinfo=UTC)  # a Monday


def pool(*budgets: dict[str, Any]) -> dict[str, Any]:
    template = {"spec": {"nodeClassRef": {"group": "g", "kind": "K", "name": "n"}, "requirements": []}}
    spec = {"template": template, "disruption": {"consolidateAfter": "30s", "budgets": list(budgets)}}
    return {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "p"}, "spec": spec}


def test_a_year_of_limits_with_the_budget_that_closes_the_pool():
    hours = {"nodes": "0", "schedule": "0 7 * * mon-fri", "duration": "11h"}
    found = pool_calendar(pool({"nodes": "10%"}, hours), "p.yml:1", START, 20, ["c-1"])
    (same,) = found.reasons
    assert same.reasons == ("Empty", "Drifted", "Underutilized") and found.until == START + YEAR
    first, second, third = same.changes[:3]
    assert (first.at, first.limit, first.budgets) == (START, 0, (1,))
    assert (second.at, second.limit, second.budgets) == (START + timedelta(hours=9), 2, ())
    assert third.at == START + timedelta(hours=22)
    assert found.as_dict()["reasons"][0]["changes"][:2] == [[0, 0, [1]], [540, 2]]


def test_who_closes_a_pool_is_told_of_each_part_of_a_day_that_budgets_share():
    """One half each: at noon the pool stays closed, and by the other one. While it is open there is nobody to tell."""
    halves = [{"nodes": "0", "schedule": f"0 {hour} * * *", "duration": "12h"} for hour in (0, 12)]
    (same,) = pool_calendar(pool(*halves), "p.yml:1", START, 20).reasons
    assert [(each.at.hour, each.limit, each.budgets) for each in same.changes[:3]] == [
        (9, 0, (0,)),
        (12, 0, (1,)),
        (0, 0, (0,)),
    ]
    open_halves = [{**each, "nodes": "2"} for each in halves]
    (same,) = pool_calendar(pool(*open_halves), "p.yml:1", START, 20).reasons
    assert [(each.limit, each.budgets) for each in same.changes] == [(2, ())]


def test_reasons_with_other_limits_stand_apart():
    found = pool_calendar(pool({"nodes": "5"}, {"nodes": "0", "reasons": ["Drifted"]}), "p.yml:1", START, 20)
    assert [each.reasons for each in found.reasons] == [("Empty", "Underutilized"), ("Drifted",)]


def test_without_a_cluster_that_has_the_pool_its_size_is_assumed():
    found = pool_calendar(pool({"nodes": "10%"}), "p.yml:1", START, None)
    assert found.nodes == ASSUMED_NODES and found.reasons[0].changes[0].limit == 10 and found.clusters == ()


def test_a_pool_that_never_opens_is_told():
    found = pool_calendar(pool({"nodes": "0"}), "p.yml:1", START, 20)
    assert [(each.limit, each.budgets) for each in found.reasons[0].changes] == [(0, (0,))]
    assert "budget-never-permits" in {each.code for each in found.findings}


def test_freezes_of_its_clusters_stand_beside_the_budgets():
    """One row for all clusters that share one; past ones and those of other clusters are left out."""
    days = (START + timedelta(days=10), START + timedelta(days=12))
    here = NamedFreeze("freeze sales of FleetMaintenance x", days)
    past = NamedFreeze("freeze past", (START - timedelta(days=9), START))
    freezes = {"c-1": (past, here), "c-2": (here,), "c-3": (NamedFreeze("freeze other", days),)}
    found = with_freezes(pool_calendar(pool({"nodes": "10%"}), "p.yml:1", START, 20, ["c-1", "c-2"]), freezes)
    assert found.as_dict()["freezes"] == [
        {"what": "freeze sales of FleetMaintenance x", "start": "2026-03-12T09:00:00Z",
         "end": "2026-03-14T09:00:00Z", "clusters": ["c-1", "c-2"]}
    ]  # fmt: skip
    nowhere = with_freezes(pool_calendar(pool({"nodes": "10%"}), "p.yml:1", START, None), freezes)
    assert [each.clusters for each in nowhere.freezes] == [("c-3",), ("c-1", "c-2")]


def test_what_cannot_be_read_says_why():
    for broken in ({"spec": {"disruption": {"budgets": 3}}}, {"kind": "NodePool", "metadata": None, "spec": []}):
        found = pool_calendar(broken, "p.yml:1", START, 20)
        assert found.problems and found.reasons == () and found.as_dict()["reasons"] == []


def test_whatever_stands_in_place_of_metadata_there_is_a_calendar():
    for odd in ([1], "x", 5, None):
        found = pool_calendar({**pool({"nodes": "1"}), "metadata": odd}, "p.yml:1", START, 20)
        assert found.name == "" and found.reasons
        broken = pool_calendar({**pool(), "metadata": odd, "spec": []}, "p.yml:1", START, 20)
        assert broken.name == "" and broken.problems


def test_budgets_in_words():
    assert budget_sentence(Budget(nodes="10%")) == "at most 10% of its nodes"
    told = budget_sentence(Budget(nodes="0", schedule="0 9 * * 1-5", duration="8h", reasons=("Drifted",)))
    assert told == 'at most 0 nodes for Drifted, from "0 9 * * 1-5" (UTC) on for 8h'
