# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import random

from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.cycle import schedule
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.scheduling.made import (
    NODES,
    cluster,
    decide,
    fleet,
    pick_n,
    picked,
    placement,
    prefer,
    snapshot,
)

POLICY = pick_n(
    6,
    prefer(30, None, (NODES, "Descending")),
    prefer(-10, {"env": "dev"}),
    topologySpreadConstraints=[{"topologyKey": "region", "maxSkew": 2}],
)


def members(draw: random.Random):
    return [
        cluster(
            f"m{number:02}",
            str(draw.randrange(1, 20)),
            labels={"region": draw.choice("abc"), "env": draw.choice(["dev", "prod"])},
        )
        for number in range(20)
    ]


def test_the_same_inputs_give_the_same_result_whatever_their_order():
    clusters = members(random.Random(1))
    first = decide(POLICY, fleet(*clusters))
    random.Random(2).shuffle(clusters)
    second = decide(POLICY, fleet(*clusters))
    assert first.bindings == second.bindings
    assert first.decisions == second.decisions


def test_a_second_run_changes_nothing():
    for seed in range(20):
        index = fleet(*members(random.Random(seed)))
        first = decide(POLICY, index)
        second = decide(POLICY, index, *first.bindings)
        assert (second.changes, picked(second)) == ((), picked(first))
        assert second.bindings == first.bindings


def test_one_index_serves_many_placements():
    index = fleet(*members(random.Random(3)))
    alone = [decide(pick_n(number), fleet(*index.clusters)).bindings for number in range(1, 5)]
    shared = [decide(pick_n(number), index).bindings for number in range(1, 5)]
    assert shared == alone


def test_every_cluster_is_held_or_left_out_with_a_reason():
    for seed in range(20):
        outcome = decide(POLICY, fleet(*members(random.Random(seed))))
        left = {each.cluster for each in outcome.left_out}
        assert left | set(picked(outcome)) == set(outcome.asked.index.names)
        assert not left & set(picked(outcome))
        assert all(each.rule and each.reason for each in outcome.left_out)


def test_both_api_versions_decide_alike_D1_03():
    index = fleet(*members(random.Random(4)))
    versions = [f"placement.kubernetes-fleet.io/{each}" for each in ("v1", "v1beta1")]
    outcomes = [schedule(placement(POLICY, apiVersion=each), snapshot(), index, ()) for each in versions]
    assert outcomes[0].decisions == outcomes[1].decisions
    assert [outcome.bindings[0].api_version for outcome in outcomes] == versions


def test_an_empty_fleet():
    outcome = decide(POLICY, fleet())
    assert (outcome.count, outcome.fulfilled, outcome.left_out) == (0, False, ())
