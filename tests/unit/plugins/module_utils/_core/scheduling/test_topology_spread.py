# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.topology_spread import (
    DomainCensus,
    TopologySpread,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.scheduling.made import (
    binding,
    cluster,
    decide,
    fleet,
    pick_n,
    picked,
    prefer,
)


def spread(key="region", max_skew=1, unsatisfiable="DoNotSchedule"):
    return {"topologyKey": key, "maxSkew": max_skew, "whenUnsatisfiable": unsatisfiable}


def regions(**members: str):
    """Clusters by region, ``east="ab"`` being the clusters a and b."""
    return [cluster(name, labels={"region": region}) for region, names in members.items() for name in names]


@pytest.mark.parametrize(
    ("counts", "count", "effect"),
    [
        ((1, 1, 1), 1, (1, False)),
        ((1, 3, 3), 1, (-1, False)),
        ((1, 4, 4), 1, (-1, True)),
        ((1, 1, 2), 1, (0, False)),
        ((1, 1, 2), 2, (1, True)),
        ((1, 2, 3), 2, (0, True)),
        ((5,), 5, (1, False)),
    ],
)
def test_what_one_more_cluster_does_to_the_skew_D4_35(counts, count, effect):
    census = DomainCensus.of({str(number): each for number, each in enumerate(counts)})
    assert census.effect(count, 1) == effect


@pytest.mark.parametrize("key", ["region", "ring"])
def test_the_third_cluster_of_a_domain_is_refused_D4_32_D4_34(key):
    domains = {"a": "1", "b": "1", "c": "1", "d": "2"}
    index = fleet(*(cluster(name, labels={key: value}) for name, value in domains.items()))
    outcome = decide(pick_n(4, topologySpreadConstraints=[spread(key)]), index)
    assert len(picked(outcome)) == 3
    (refused,) = outcome.left_out
    assert refused.rule == "TopologySpreadConstraints"
    assert refused.refusal.details["count"] == 2
    assert "maxSkew 1" in refused.reason


def test_schedule_anyway_only_lowers_the_rank_D4_33():
    index = fleet(*regions(east="abc", west="z"))
    outcome = decide(pick_n(4, topologySpreadConstraints=[spread(unsatisfiable="ScheduleAnyway")]), index)
    assert picked(outcome) == ["a", "b", "c", "z"]
    assert min(each.spec.cluster_decision.cluster_score.priority_score for each in outcome.bindings) == -1000


def test_spread_outranks_affinity_D4_36():
    index = fleet(*regions(east="a", west="w"), cluster("b", labels={"region": "east", "good": "yes"}))
    policy = pick_n(2, prefer(100, {"good": "yes"}), topologySpreadConstraints=[spread(max_skew=5)])
    assert picked(decide(policy, index)) == ["b", "w"]


def test_clusters_without_the_key_never_violate_D4_35():
    index = fleet(*regions(east="a", west="b"), "keyless")
    outcome = decide(pick_n(1, topologySpreadConstraints=[spread()]), index)
    assert picked(outcome) == ["keyless"]


@pytest.mark.parametrize(("wanted", "fulfilled"), [(4, True), (5, False)])
def test_regions_hard_and_update_days_soft_D4_30(wanted, fulfilled):
    places = {"a": "east/mon", "b": "east/mon", "c": "east/tue", "d": "east/tue", "e": "west/tue"}
    index = fleet(
        *(
            cluster(name, labels=dict(zip(("region", "updateDay"), place.split("/"), strict=True)))
            for name, place in places.items()
        )
    )
    constraints = [spread(max_skew=2), spread("updateDay", 2, "ScheduleAnyway")]
    outcome = decide(pick_n(wanted, topologySpreadConstraints=constraints), index)
    assert (picked(outcome), outcome.fulfilled) == (["a", "b", "d", "e"], fulfilled)


def test_without_constraints_nothing_is_refused():
    spread_over = TopologySpread.of(fleet("a", "b"), (), 0)
    assert [spread_over.refusal(position) for position in (0, 1)] == [None, None]
    assert spread_over.scores == (0,)


def test_a_skew_that_no_pick_can_mend_is_told():
    index = fleet(*regions(east="abcd", west="w"))
    outcome = decide(
        pick_n(4, topologySpreadConstraints=[spread()]), index, *(binding(name) for name in ("a", "b", "c"))
    )
    assert picked(outcome) == ["a", "b", "c"]
    assert [finding.code for finding in outcome.findings] == ["skew-beyond-repair"]
