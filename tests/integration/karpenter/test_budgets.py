# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Budgets before Karpenter itself: what we say is allowed is what it reckons with, and a pool that we stopped is left
alone until we release it."""

from __future__ import annotations

import typing as t
from datetime import timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.budgets.budgets import UNLIMITED
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.budget_info import BudgetQuestion, budget_report
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.manual import ManualReport, ManualWish, manual
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.sources import node_manifests
from karpenter_cluster import (
    API,
    CLAIMS,
    DO_NOT_DISRUPT,
    NODES,
    REASONS,
    Karpenter,
    holds,
)
from small_fleet import Document, Fleet

HELD = "held"
# Nodes of each pool, and its budgets; ``LATER`` is a window that opens in some hours.
LATER = "later"
POOLS: dict[str, tuple[int, list[Document]]] = {
    "tenth": (3, [{"nodes": "10%"}]),
    "mixed": (
        4,
        [{"nodes": "75%"}, {"nodes": "1", "reasons": ["Drifted"]}, {"nodes": "0", "reasons": ["Underutilized"]}],
    ),
    "windows": (
        2,
        [
            {"nodes": "0", "schedule": "* * * * *", "duration": "1m", "reasons": ["Empty"]},
            {"nodes": "0", "schedule": LATER, "duration": "10m"},
            {"nodes": "51%"},
        ],
    ),
    "broken": (
        1,
        [
            {"nodes": "3"},
            {"nodes": "1", "schedule": "TZ=Europe/Vienna 0 9 * * *", "duration": "8h", "reasons": ["Empty"]},
        ],
    ),
    "free": (1, []),
    "bare": (0, [{"nodes": "2"}, {"nodes": "50%", "reasons": ["Drifted"]}]),
}


def by_hand(fleet: Fleet, state: str, **wish: t.Any) -> ManualReport:
    return manual(fleet.session(), ManualWish(member="k1", state=state, **wish), True)


@pytest.fixture
def pools(karpenter: Karpenter, karpenter_fleet: Fleet) -> t.Iterator[dict[str, Document]]:
    """The NodeClaims of ``held``, which we stopped and which has an empty node and three drifted ones; there are also
    the pools of the table, whose nodes nobody may touch, and one NodeClaim of ``mixed`` that goes for ever. Karpenter
    has looked at all of it."""
    opens = karpenter_fleet.now + timedelta(hours=6)
    try:
        for name, (count, budgets) in POOLS.items():
            told = [
                {**each, "schedule": f"0 {opens.hour} * * *"} if each.get("schedule") == LATER else each
                for each in budgets
            ]
            karpenter.pool(name, told, {DO_NOT_DISRUPT: "true"})
            karpenter.run(name, name, count)
        karpenter.pool(HELD, [{"nodes": "100%"}])
        karpenter.run(HELD, HELD, 3)
        karpenter.hold("mixed")
        karpenter.settled(**{name: count for name, (count, _budgets) in POOLS.items()}, **{HELD: 3})
        before = karpenter.claims(HELD)
        assert by_hand(karpenter_fleet, "stopped", pool=HELD).changed
        _waste(karpenter, karpenter_fleet)
        karpenter.passes()
        yield before
    finally:
        karpenter.end_of(*POOLS, HELD)


def _waste(karpenter: Karpenter, fleet: Fleet) -> None:
    """An empty node in the stopped pool, drift of all of it, and a node of another pool that cannot be emptied."""
    karpenter.scale(HELD, 2)
    part = {"template": {"metadata": {"labels": {"edition": "second"}}}}
    edit = {"apiVersion": API, "kind": "NodePool", "metadata": {"name": HELD}, "spec": part}
    told = by_hand(fleet, "patched", patches=(edit,), consent=True)
    leaving = next(iter(karpenter.claims("mixed").values()))["metadata"]["name"]
    karpenter.client.delete(f"{CLAIMS}/{leaving}")

    def drifted() -> set[str]:
        return {each["status"]["nodeName"] for each in karpenter.claims(HELD).values() if holds(each, "Drifted")}

    # The nodes that we said would drift by the patch are the ones that Karpenter finds to have drifted.
    karpenter.until(lambda: drifted() == set(told.nodes) and len(drifted()) == 3, "the nodes did not drift as we said")
    karpenter.until(lambda: len(karpenter.pods(HELD)) == 2, "a pod too many stayed")
    karpenter.until(
        lambda: all(holds(each, "Consolidatable") for each in karpenter.claims(HELD).values()),
        "they were not consolidatable",
    )


def test_our_answers_are_karpenters_and_a_stopped_pool_is_left_alone(
    karpenter: Karpenter, karpenter_fleet: Fleet, pools: dict[str, Document]
) -> None:
    """D0-59, D0-60, D0-64, D0-77, D0-78 before the pool's own metrics; D0-97: the pool that we stopped."""
    answers = budget_report(karpenter_fleet.session(), BudgetQuestion(given=node_manifests((), ()))).answers
    ours = {(each.pool.name, each.reason): each for each in answers if each.pool.name in {*POOLS, HELD}}
    limits = karpenter.metrics("karpenter_nodepools_allowed_disruptions")
    busy = karpenter.metrics("karpenter_nodepools_nodes_consuming_budgets")
    assert set(ours) == {(name, reason) for name in (*POOLS, HELD) for reason in REASONS}
    told = {key: (each.allowance.answer.limit, len(each.allowance.census.disrupting)) for key, each in ours.items()}
    assert told == {key: (limits[key], busy[key]) for key in ours}
    # The table is worth something: limits of all sorts are in it, and one node is on its way.
    assert {limit for limit, _busy in told.values()} >= {0, 1, 2, UNLIMITED}
    assert [key[0] for key, (_limit, count) in told.items() if count] == ["mixed"] * 3
    for key, each in ours.items():
        assert each.allowed == (None if limits[key] == UNLIMITED else max(limits[key] - busy[key], 0)), key
    # There was something to do in the pool that is stopped, for every reason, and nothing was done.
    karpenter.until(lambda: _all_eligible(karpenter), "Karpenter saw nothing to do")
    left = karpenter.claims(HELD)
    assert set(left) == set(pools)
    assert not any("deletionTimestamp" in each["metadata"] for each in left.values())
    nodes = karpenter.listed(NODES, f"karpenter.sh/nodepool={HELD}")
    assert not any(each["spec"].get("taints") or each["spec"].get("unschedulable") for each in nodes)
    # Released it is worked on again: the empty node goes, the others are replaced.
    assert by_hand(karpenter_fleet, "released", pool=HELD).changed
    karpenter.until(lambda: not set(karpenter.claims(HELD)) & set(pools), "the released pool was not worked on")
    karpenter.settled(**{HELD: 2})


def _all_eligible(karpenter: Karpenter) -> bool:
    found = karpenter.metrics("karpenter_voluntary_disruption_eligible_nodes")
    return found["empty",] >= 1 and found["drifted",] >= 3 and found["underutilized",] >= 2
