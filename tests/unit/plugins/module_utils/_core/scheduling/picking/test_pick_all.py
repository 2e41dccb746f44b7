# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.scheduling.made import (
    binding,
    changes,
    cluster,
    decide,
    fleet,
    picked,
    require,
    term,
)

PROD = {"env": "prod"}


def test_all_that_meet_the_required_terms_D4_20_D4_22():
    index = fleet(cluster("a", labels=PROD), "b")
    assert picked(decide(None, index)) == ["a", "b"]
    assert picked(decide(require(), index)) == ["a", "b"]
    assert picked(decide(require(term(PROD)), index)) == ["a"]


def test_nothing_found_is_fulfilled():
    outcome = decide(require(term(PROD)), fleet("a"))
    assert (outcome.count, outcome.fulfilled, outcome.condition_reason) == (0, True, "SchedulingPolicyFulfilled")


def test_a_holder_that_no_longer_meets_them_stays_D1_24():
    outcome = decide(require(term(PROD)), fleet("a"), binding("a"))
    assert (picked(outcome), outcome.changes) == (["a"], ())
    assert outcome.holders_refused_today["a"].code == "no-term-matches"


def test_an_edited_policy_asks_again_D4_97():
    index = fleet(cluster("a", labels=PROD), "b")
    outcome = decide(require(term(PROD)), index, binding("a", policy="web-0"), binding("b", policy="web-0"))
    assert changes(outcome) == {"a": "rebased", "b": "unscheduled"}


def test_a_cluster_that_becomes_eligible_is_added_D4_100():
    outcome = decide(None, fleet("a", "b"), binding("a"))
    assert changes(outcome) == {"b": "created"}


def test_decisions_are_limited_and_the_count_is_not():
    many = fleet(*(f"m{number:04}" for number in range(1005)))
    outcome = decide(None, many)
    assert (len(outcome.decisions), outcome.count) == (1000, 1005)


def test_twenty_others_are_listed_and_holders_take_no_place_but_upstream():
    index = fleet(*(f"m{number:02}" for number in range(30)))
    held = [binding(f"m{number:02}") for number in range(5)]
    policy = require(term(PROD))
    assert len(decide(policy, index, *held).decisions) == 25
    assert len(decide(policy, index, *held, upstream=True).decisions) == 20
    assert len(decide(policy, index, *held).left_out) == 25
