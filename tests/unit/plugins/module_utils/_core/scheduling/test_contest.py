# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Why a holder has won and another cluster lost, as explanations of every decision ask for."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.binding import (
    ClusterDecision,
    ClusterScore,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.contest import (
    AFFINITY,
    DECIDED,
    HELD,
    NAME,
    NOW,
    RECORDED,
    SPREAD,
    Contests,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.cycle import schedule
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.reasons import ClusterBlocker
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.scheduling.made import (
    CPU,
    binding,
    cluster,
    fleet,
    pick_n,
    placement,
    prefer,
    snapshot,
)

CHEAP = pick_n(1, prefer(20, None, (CPU, "Descending")))
ANIMALS = {"bravelion": "100", "smartfish": "20", "jumpingcat": "10"}


def contests(policy, index, *bindings, recorded=(), among=()):
    return Contests(schedule(placement(policy), snapshot(), index, bindings), recorded, among)


def animals():
    return fleet(*(cluster(name, cpu=value) for name, value in ANIMALS.items()))


def test_one_that_is_picked_now_won_by_its_terms():
    won = contests(CHEAP, animals()).contest_of("bravelion")
    assert won is not None
    assert (won.known, won.rival, won.rule) == (DECIDED, "smartfish", AFFINITY)
    text = " ".join(won.lines)
    assert "it has affinity 20; smartfish is the best that was not picked" in text
    assert "bravelion has 100 and gets 20, smartfish has 20 and gets 2" in text
    assert won.as_dict()["rivalScore"] == {"spread": 0, "affinity": 2}


def test_of_equal_scores_the_rule_is_told():
    won = contests(pick_n(1), fleet(cluster("a"), cluster("b"))).contest_of("b")
    assert won is not None and (won.rival, won.rule) == ("a", NAME)
    assert "the name that sorts last" in " ".join(won.lines)


def zoned(*names):
    """Clusters in the zones that their first letters name."""
    return fleet(*(cluster(name, labels={"zone": name[0]}) for name in names))


def spread_over(number, **more):
    return pick_n(number, topologySpreadConstraints=[{"topologyKey": "zone", "maxSkew": 1, **more}])


def test_one_that_was_picked_before_others_is_compared_by_what_was_decided_then():
    """The first pick adds to the skew of an empty fleet whatever it is; the second one evens it out."""
    picks = contests(spread_over(2), zoned("a1", "a2", "b1", "b2"))
    first, second = picks.contest_of("b2"), picks.contest_of("a2")
    assert (first.score.priority_score, first.rival, first.rival_score.priority_score) == (-1, "b1", -1)
    assert (second.score.priority_score, second.rival, second.rival_score.priority_score) == (1, "a1", 1)
    assert first.rule == second.rule == NAME
    assert "b1 is the best that was not picked, with spread -1 and affinity 0" in first.lines[0]


def test_whoever_spread_forbids_by_now_was_a_rival_before_and_the_other_way_round():
    picks = contests(spread_over(2), zoned("a1", "b1", "b2"))
    assert (picks.contest_of("b2").rival, picks.contest_of("b2").rule) == ("b1", NAME)
    assert picks.contest_of("a1").rival == "", "one more in the other zone would be too many"
    lenient = contests(spread_over(2, whenUnsatisfiable="ScheduleAnyway"), zoned("a1", "b1", "b2"))
    assert (lenient.contest_of("a1").rival, lenient.contest_of("a1").rule) == ("b1", SPREAD)


def test_a_holder_that_would_lose_today_is_compared_with_the_last_pick():
    """The first one had a lower score, but when it was picked all had."""
    won = contests(spread_over(2), zoned("a1", "a2", "b1", "b2"), binding("a1"), binding("b1")).contest_of("a1")
    assert (won.known, won.rule, won.rival) == (NOW, "", "a2")
    assert "a2 would be picked before it, with spread 1" in won.lines[0]


def test_a_holder_is_told_by_what_was_recorded_with_the_decision():
    held = binding("smartfish", score=(0, 7))
    lost = ClusterDecision(
        cluster_name="jumpingcat", selected=False, cluster_score=ClusterScore(affinity_score=7), reason="too many"
    )
    kept = ClusterDecision(cluster_name="smartfish", selected=True, cluster_score=ClusterScore(affinity_score=7))
    won = contests(CHEAP, animals(), held, recorded=(kept, lost)).contest_of("smartfish")
    assert won is not None and (won.known, won.rival, won.rule) == (RECORDED, "jumpingcat", NAME)
    assert "as it was recorded with the decision" in " ".join(won.lines)
    assert "by which it has affinity 2" in " ".join(won.lines), "today's terms are told apart"


def test_that_nobody_was_left_over_is_told_of_the_decision_and_not_of_today():
    """The other cluster was evacuated then, say. That it passes today is told beside it, of the other one."""
    kept = ClusterDecision(cluster_name="smartfish", selected=True, cluster_score=ClusterScore(affinity_score=7))
    refused = ClusterDecision(cluster_name="jumpingcat", selected=False, reason="it was evacuated")
    won = contests(CHEAP, animals(), binding("smartfish", score=(0, 7)), recorded=(kept, refused)).contest_of(
        "smartfish"
    )
    assert won is not None and won.rival == ""
    assert won.lines[0].endswith("and no cluster that passed was left over when that was decided.")


def test_one_that_would_lose_today_is_told_by_whom():
    won = contests(CHEAP, animals(), binding("smartfish")).contest_of("smartfish")
    assert won is not None and (won.known, won.rival, won.rule) == (NOW, "bravelion", "")
    assert "bravelion would be picked before it" in won.lines[0]


def test_where_nobody_else_passes_there_is_no_rival():
    won = contests(pick_n(1), fleet(cluster("a"))).contest_of("a")
    assert won is not None and won.rival == "" and won.as_dict()["rivalScore"] is None
    assert "no cluster that passes is left over" in won.lines[0]


def test_one_that_keeps_it_unread_is_told_by_the_record_without_terms():
    kept = ClusterDecision(cluster_name="smartfish", selected=True, cluster_score=ClusterScore(affinity_score=7))
    lost = ClusterDecision(cluster_name="jumpingcat", selected=False, cluster_score=ClusterScore(affinity_score=3))
    outcome = schedule(placement(CHEAP), snapshot(), animals(), ())
    silent = replace(outcome, unread={"smartfish": ClusterBlocker("ClusterEligibility", "heartbeat-missing")})
    won = Contests(silent, (kept, lost)).contest_of("smartfish")
    assert won is not None and (won.known, won.rival, won.terms) == (RECORDED, "jumpingcat", ())
    assert Contests(silent).contest_of("smartfish") is None


@pytest.mark.parametrize("name", ["jumpingcat", "nobody"])
def test_whoever_does_not_hold_it_has_won_nothing(name):
    assert contests(CHEAP, animals()).contest_of(name) is None


def test_one_that_is_not_picked_lost_to_the_last_that_is_by_their_terms():
    lost = contests(CHEAP, animals()).lost("jumpingcat")
    assert (lost.known, lost.rival, lost.rule) == (DECIDED, "bravelion", AFFINITY)
    text = " ".join(lost.lines)
    assert "it has affinity 0; bravelion is picked with affinity 20: as it is decided now. the higher affinity" in text
    assert "jumpingcat has 10 and gets 0, bravelion has 100 and gets 20" in text
    assert lost.as_dict()["rivalScore"] == {"spread": 0, "affinity": 20}


def test_of_equal_scores_one_that_is_not_picked_is_told_that_names_decide():
    lost = contests(pick_n(1), fleet("a", "b")).lost("a")
    assert (lost.rival, lost.rule) == ("b", NAME)
    assert "the name that sorts last is taken" in lost.lines[1]


def test_one_that_is_not_needed_is_compared_by_the_facts_of_now():
    """Nothing was scored, as enough clusters hold it, and nothing is recorded of this one."""
    lost = contests(CHEAP, animals(), binding("bravelion")).lost("smartfish")
    assert (lost.known, lost.rival, lost.rule) == (NOW, "bravelion", AFFINITY)
    assert "smartfish has 20 and gets 2, bravelion has 100 and gets 20" in " ".join(lost.lines)
    assert "no score of it is recorded" in lost.lines[0]


def test_one_that_would_win_today_is_told_that_the_holder_keeps_it():
    lost = contests(CHEAP, animals(), binding("smartfish")).lost("bravelion")
    assert (lost.known, lost.rival, lost.rule) == (NOW, "smartfish", "")
    assert lost.lines[1].startswith("smartfish keeps the placement until its policy is edited")
    same = contests(pick_n(1), fleet("a", "b"), binding("a")).lost("b")
    assert (same.rival, same.rule) == ("a", HELD)


def test_one_that_was_not_picked_is_told_by_what_was_recorded():
    held = (binding("bravelion", score=(0, 20)), binding("smartfish", score=(0, 9)))
    gone = ClusterDecision(
        cluster_name="jumpingcat", selected=False, cluster_score=ClusterScore(affinity_score=7), reason="too many"
    )
    policy = pick_n(2, prefer(20, None, (CPU, "Descending")))
    lost = contests(policy, animals(), *held, recorded=(gone,)).lost("jumpingcat")
    assert (lost.known, lost.rival, lost.rule) == (RECORDED, "smartfish", AFFINITY)
    assert "smartfish holds the placement with affinity 9: as it was recorded" in lost.lines[0]
    named = contests(policy, animals(), *held, recorded=(gone,), among=("jumpingcat", "bravelion")).lost("jumpingcat")
    assert named.rival == "bravelion", "the one that is asked about with it"


def test_one_that_a_lower_number_takes_it_from_is_told_by_the_scores_that_count_then():
    held = (binding("bravelion", score=(0, 3)), binding("smartfish", score=(0, 9)))
    lost = contests(CHEAP, animals(), *held).lost("bravelion")
    assert (lost.known, lost.rival, lost.rule, lost.score.affinity_score) == (RECORDED, "smartfish", AFFINITY, 3)


def test_under_spread_both_scores_are_of_the_decision_in_which_the_other_was_picked():
    picks = contests(spread_over(2), zoned("a1", "a2", "b1", "b2"), among=("b2",))
    lost = picks.lost("a1")
    assert (lost.rival, lost.score.priority_score, lost.rival_score.priority_score, lost.rule) == ("b2", -1, -1, NAME)
    last = contests(spread_over(2), zoned("a1", "a2", "b1", "b2")).lost("a1")
    assert (last.rival, last.score.priority_score, last.rival_score.priority_score, last.rule) == ("a2", 1, 1, NAME)
    assert picks.lost("b1") is None, "spread refuses it"


@pytest.mark.parametrize("name", ["bravelion", "nobody", "tainted"])
def test_whoever_holds_it_or_is_refused_has_lost_to_nobody(name):
    index = fleet(
        *(cluster(name, cpu=value) for name, value in ANIMALS.items()),
        cluster("tainted", taints=[{"key": "x", "effect": "NoSchedule"}]),
    )
    assert contests(CHEAP, index).lost(name) is None
    assert contests({"placementType": "PickFixed", "clusterNames": ["bravelion"]}, index).lost("smartfish") is None
