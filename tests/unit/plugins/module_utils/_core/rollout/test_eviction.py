# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.disruption_budget import (
    ClusterResourcePlacementDisruptionBudget,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.eviction import (
    ClusterResourcePlacementEviction,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.eviction import judged_eviction
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.rollout.made import (
    DOWN,
    FAILED,
    MID_APPLY,
    NOW,
    READY,
    ago,
    binding,
    condition,
    pick_n,
    placement,
)
from hypothesis import given
from hypothesis import strategies as st


def attempt(*conditions, cluster="a", **spec):
    spec = {"placementName": "web", "clusterName": cluster} | spec
    document = {"metadata": {"name": "e", "generation": 1}, "spec": spec, "status": {"conditions": list(conditions)}}
    return decode(ClusterResourcePlacementEviction, document)


def budget(name="web", **spec):
    return decode(ClusterResourcePlacementDisruptionBudget, {"metadata": {"name": name}, "spec": spec})


def ready(names):
    return [binding(name, READY) for name in names]


def judge(policy, bindings, limit=None, eviction=None, upstream=False, **more):
    eviction = eviction or attempt()
    return judged_eviction(eviction, placement(policy, **more), bindings, limit, NOW, upstream=upstream)


def why(out):
    return out.executed.why if out.executed else out.valid.why


def test_without_a_budget_the_binding_goes():
    out = judge(pick_n(3), ready("abc"))
    assert (out.deleted.name, why(out)) == ("web-a", "no-budget")
    assert [(each.type, each.status) for each in out.eviction.status.conditions] == [
        ("Valid", "True"),
        ("Executed", "True"),
    ]


def test_a_budget_guards_the_placement_of_its_name_only():
    assert why(judge(pick_n(3), ready("abc"), budget(name="other", maxUnavailable=0))) == "no-budget"


@pytest.mark.parametrize(
    ("limit", "up", "allowed"),
    [
        ({"maxUnavailable": 1}, "abcd", True),
        ({"maxUnavailable": 1}, "abc", False),
        ({"maxUnavailable": "26%"}, "abc", True),
        ({"maxUnavailable": 0}, "abcd", False),
        ({"minAvailable": "51%"}, "abcd", True),
        ({"minAvailable": "51%"}, "abc", False),
        ({"minAvailable": 3}, "abcd", True),
        ({"minAvailable": 4}, "abcd", False),
        ({}, "abcd", False),
    ],
)
def test_budgets_with_four_of_four_wanted(limit, up, allowed):
    """Percentages round up; what is down counts as unavailable."""
    bindings = [*ready(up), *[binding(name) for name in "abcd" if name not in up]]
    out = judge(pick_n(4), bindings, budget(**limit))
    assert (out.executed.yes, why(out)) == (allowed, "budget")
    assert (out.executed.arithmetic.available, out.executed.arithmetic.total) == (len(up), 4)
    assert (out.deleted is not None) is allowed


def test_one_after_the_other_is_no_way_round_a_budget():
    """Nothing picks another cluster before the next apply; upstream's scheduler does at once."""
    limit, left = budget(maxUnavailable=1), ready("bcd")
    out = judge(pick_n(4), left, limit, eviction=attempt(cluster="b"))
    assert (out.executed.yes, out.executed.arithmetic.total) == (False, 4)
    assert out.executed.message == "3 of 4 bindings are available and 1 is missing, so that 0 may go"
    assert judge(pick_n(4), left, limit, eviction=attempt(cluster="b"), upstream=True).executed.yes
    assert judge(pick_n(4), left, budget(maxUnavailable=2), eviction=attempt(cluster="b")).executed.yes
    # More than are asked for, while a placement moves, are no fewer for that.
    assert judge(pick_n(2), left, limit, eviction=attempt(cluster="b")).executed.arithmetic.total == 3


def test_pick_all_needs_a_number_that_stays():
    for policy in (None, {"placementType": "PickAll"}):
        assert why(judge(policy, ready("abc"), budget(maxUnavailable=1))) == "misconfigured-budget"
        assert why(judge(policy, ready("abc"), budget(minAvailable="50%"))) == "misconfigured-budget"
        assert judge(policy, ready("abc"), budget(minAvailable=2)).deleted
        assert not judge(policy, ready("abc"), budget(minAvailable=3)).deleted


def test_what_cannot_be_evicted_is_invalid():
    fixed = {"placementType": "PickFixed", "clusterNames": ["a"]}
    assert why(judge(fixed, ready("a"))) == "pick-fixed"
    assert why(judge(pick_n(1), ready("b"))) == "no-binding"
    assert why(judge(pick_n(1), [*ready("a"), binding("a", name="web-a-2", deleting=True)])) == "multiple-bindings"
    assert why(judge(pick_n(1), ready("a"), eviction=attempt(placementName="other"))) == "placement-not-found"
    assert why(judged_eviction(attempt(), None, ready("a"), None, NOW)) == "placement-not-found"
    leaving = decode(type(placement()), {"metadata": {"name": "web", "deletionTimestamp": ago(1)}, "spec": {}})
    assert why(judged_eviction(attempt(), leaving, ready("a"), None, NOW)) == "placement-deleting"


def test_a_binding_that_is_going_already_is_done_without_a_look_at_the_budget():
    out = judge(pick_n(1), [binding("a", READY, deleting=True)], budget(maxUnavailable=0))
    assert (why(out), out.executed.yes, out.deleted) == ("already-deleting", True, None)


def test_only_what_was_placed_can_go():
    scheduled = binding("a", state="Scheduled")
    never = binding("a", state="Unscheduled", annotations={"kubernetes-fleet.io/previous-binding-state": "Scheduled"})
    placed = binding("a", state="Unscheduled")
    assert [why(judge(pick_n(1), [each])) for each in (scheduled, never, placed)] == [
        "nothing-placed",
        "nothing-placed",
        "no-budget",
    ]


def test_a_failed_placement_goes_in_spite_of_the_budget():
    out = judge(pick_n(1), [binding("a", FAILED)], budget(maxUnavailable=0))
    assert (why(out), out.deleted.name) == ("placement-failed", "web-a")
    assert "the placement has failed on the cluster" in out.executed.message


@pytest.mark.parametrize("report", [MID_APPLY, DOWN])
def test_a_placement_on_its_way_has_not_failed(report):
    bindings = [binding("a", report)]
    assert why(judge(pick_n(1), bindings, budget(maxUnavailable=0))) == "budget"
    assert why(judge(pick_n(1), bindings, budget(maxUnavailable=0), upstream=True)) == "placement-failed"


def test_reported_differences_bypass_the_budget_under_report_diff_only():
    told = condition("DiffReported", "False")
    assert why(judge(pick_n(1), [binding("a", told)], budget(maxUnavailable=0))) == "budget"
    assert why(judge(pick_n(1), [binding("a", told)], budget(maxUnavailable=0), upstream=True)) == "placement-failed"
    only = binding("a", told, strategy={"type": "ReportDiff"})
    out = judge(pick_n(1), [only], budget(maxUnavailable=0))
    assert why(out) == "placement-failed"
    assert out.executed.message == "differences are only reported on the cluster, so that nothing available is lost"
    assert out.executed.message in out.eviction.status.conditions[-1].message


def test_an_eviction_is_tried_once():
    refused = judge(pick_n(1), ready("a"), budget(maxUnavailable=0)).eviction
    assert judged_eviction(refused, placement(pick_n(1)), ready("a"), None, NOW).deleted is None
    older = attempt(condition("Executed", "False", observedGeneration=0))
    assert judge(pick_n(1), ready("a"), eviction=older).deleted is None
    invalid = attempt(condition("Valid", "False"))
    assert judge(pick_n(1), ready("a"), eviction=invalid).deleted is None
    assert judge(pick_n(1), ready("a"), eviction=attempt(condition("Valid", "False", observedGeneration=0))).deleted


def test_a_budget_that_is_no_number_is_named():
    with pytest.raises(FleetError, match="not a percentage") as error:
        judge(pick_n(1), ready("a"), budget(minAvailable="most"))
    assert error.value.where == "ClusterResourcePlacementDisruptionBudget/web spec.minAvailable"
    assert judge(pick_n(1), ready("a"), budget(minAvailable="most"), upstream=True).deleted


@given(up=st.lists(st.booleans(), min_size=2, max_size=8), data=st.data())
def test_evictions_one_after_another_never_break_the_budget(up, data):
    names = "abcdefgh"[: len(up)]
    least = data.draw(st.integers(0, len(names)))
    bindings = [binding(name, READY if each else DOWN) for name, each in zip(names, up, strict=True)]
    for name in data.draw(st.permutations(names)):
        order = data.draw(st.permutations(bindings))
        out = judge(pick_n(len(names)), order, budget(minAvailable=least), attempt(cluster=name))
        bindings = [each for each in bindings if each is not out.deleted]
    assert sum(is_up(each) for each in bindings) >= min(sum(up), least)


def is_up(each):
    return any(one.type == "Available" and one.status == "True" for one in each.status.conditions)


@given(st.integers(1, 8), st.integers(0, 8), st.permutations("abcdefgh"), st.sets(st.sampled_from("abcdefgh")))
def test_no_order_of_evictions_gets_round_a_budget(wanted, most, order, down):
    """However often it is tried, at least as many stay available as the budget says, or were there before."""
    names = "abcdefgh"[:wanted]
    left = {name: binding(name, DOWN) if name in down else binding(name, READY) for name in names}
    before = sum(1 for name in left if name not in down)
    for name in [*order, *order]:
        out = judge(pick_n(wanted), list(left.values()), budget(maxUnavailable=most), eviction=attempt(cluster=name))
        if out.deleted:
            del left[name]
    assert sum(1 for name in left if name not in down) >= min(before, wanted - most)


def test_one_that_was_begun_has_been_executed_once_its_binding_is_gone():
    begun = attempt(condition("Valid", "True"))
    out = judge(pick_n(1), ready("b"), eviction=begun)
    assert (why(out), out.executed.yes, out.deleted) == ("left-meanwhile", True, None)
    assert [(each.type, each.status) for each in out.eviction.status.conditions] == [
        ("Valid", "True"),
        ("Executed", "True"),
    ]
    assert why(judge(pick_n(1), ready("b"), eviction=begun, upstream=True)) == "no-binding"
