# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

from datetime import timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.binding import (
    ClusterResourceBinding,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.content import (
    Content,
    Overrides,
    RolloutBinding,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.rolling.after import bound
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.rolling.decide import (
    CLEANING_UP,
    DONE,
    IGNORED,
    NO_CONTENT,
    PUSHED,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode, encode
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import NamespacedName
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.rollout.made import (
    DOWN,
    FAILED,
    MID_APPLY,
    NEW,
    NOW,
    OLD,
    READY,
    actions,
    condition,
    decide,
    held,
    pick_n,
    reasons,
    untrackable,
)

STARTED = condition("RolloutStarted", reason="RolloutStarted")


def ready(names: str, **more):
    return [held(name, READY, **more) for name in names]


def scheduled(names: str, **more):
    return [held(name, state="Scheduled", **more) for name in names]


def leaving(names: str, *conditions, **more):
    return [held(name, *conditions, state="Unscheduled", **more) for name in names]


def test_changed_content_reaches_the_first_cluster_by_name_D4_102():
    out = decide(pick_n(4), *ready("dcba"))
    assert actions(out) == {"a": "update", "b": "hold", "c": "hold", "d": "hold"}
    assert [each.content.resource_snapshot for each in out.state.bindings] == [NEW, OLD, OLD, OLD]


def test_eight_clusters_go_two_at_a_time_D4_81():
    out = decide(pick_n(8), *ready("abcdefgh"))
    assert [each.cluster for each in out.acts if each.action == "update"] == ["a", "b"]
    assert out.state.report.calculation.as_dict()["max_unavailable"] == 2


def test_a_cluster_under_way_holds_the_others_back():
    out = decide(pick_n(4), held("a", MID_APPLY, content=NEW), *ready("bcd"))
    assert "update" not in actions(out).values()
    assert reasons(out) == {"a": "not-ready"} | dict.fromkeys("bcd", "max-unavailable")
    assert {each.blockers for each in out.state.report.waits if each.reason == "max-unavailable"} == {("a",)}


def test_four_untrackable_clusters_go_one_after_another_sixty_seconds_apart_D4_80():
    now, bindings, begun = NOW, [held(name, untrackable(600)) for name in "abcd"], []
    for _round in range(20):
        out = decide(pick_n(4), *bindings, now=now)
        started = {each.binding for each in out.acts if each.action == "update"}
        begun += [(now - NOW).total_seconds()] * len(started)
        bindings = [applied(each, now) if each.name in started else each for each in out.state.bindings]
        if not started and out.wake_at is None:
            break
        now = out.wake_at or now
    assert begun == [0, 60, 120, 180]


def applied(each, now):
    """What the member reports at once: all is applied, and whether it works cannot be known."""
    seconds = (NOW - now).total_seconds()
    reported = untrackable(seconds) | {"observedGeneration": each.binding.metadata.generation}
    metadata = {"name": each.name, "generation": each.binding.metadata.generation}
    return held(each.cluster, reported, content=NEW, **metadata)


def test_nothing_changes_where_all_hold_it():
    out = decide(pick_n(2), *[held(name, READY, STARTED, content=NEW) for name in "ab"])
    assert (out.state.report.outcome, out.acts, out.state.report.waits, out.wake_at) == (DONE, (), (), None)


def test_a_missing_rollout_started_is_repaired():
    out = decide(pick_n(1), held("a", READY, content=NEW))
    assert (out.state.report.outcome, actions(out)) == (DONE, {"a": "mark-started"})


def test_a_held_cluster_is_told_once():
    waits = condition("RolloutStarted", "False", "RolloutNotStartedYet")
    out = decide(pick_n(2), held("a", READY), held("b", READY, waits))
    assert actions(out) == {"a": "update"}
    assert actions(decide(pick_n(2), held("a", READY), held("b", READY, waits), upstream=True))["b"] == "hold"


def test_other_overrides_are_changed_content():
    out = decide(pick_n(1), held("a", READY, content=NEW), overrides={"a": ("tune-1",)})
    assert actions(out) == {"a": "update"}
    assert out.state.bindings[0].binding.spec.cluster_resource_override_snapshots == ("tune-1",)
    assert decide(pick_n(1), *out.state.bindings, overrides={"a": ("tune-1",)}).state.report.outcome == DONE


def test_the_record_of_a_binding_says_which_overrides_of_both_kinds_its_cluster_holds():
    wanted = Overrides(cluster=("tune-1", "zone-0"), namespaced=(NamespacedName(name="web-2", namespace="shop"),))
    content = Content(resource_snapshot=NEW, overrides=wanted)
    before = held("a", READY, overrides=("tune-0",))
    after = bound(before, content, None, NOW)
    assert after.binding.metadata.generation == before.binding.metadata.generation + 1
    recorded = encode(after.binding)
    assert recorded["spec"]["clusterResourceOverrideSnapshots"] == ["tune-1", "zone-0"]
    assert recorded["spec"]["resourceOverrideSnapshots"] == [{"name": "web-2", "namespace": "shop"}]
    assert RolloutBinding(binding=decode(ClusterResourceBinding, recorded)).content == content


def test_failed_clusters_get_the_mended_content_all_at_once():
    out = decide(pick_n(4), *[held(name, FAILED) for name in "abcd"])
    assert set(actions(out).values()) == {"update"}


def test_clusters_that_are_down_get_the_mended_content_although_the_budget_is_spent():
    out = decide(pick_n(2), held("a", DOWN), held("b", DOWN), rolling={"maxUnavailable": 1})
    assert set(actions(out).values()) == {"update"}


def test_a_cluster_in_the_middle_of_an_apply_has_not_failed():
    bindings = [held(name, MID_APPLY) for name in "abcd"]
    assert set(actions(decide(pick_n(4), *bindings)).values()) == {"hold"}
    assert set(actions(decide(pick_n(4), *bindings, upstream=True)).values()) == {"update"}


def test_clusters_that_are_coming_up_count_against_the_surge():
    bindings = [*[held(name, DOWN, content=NEW) for name in "abcd"], *scheduled("ef")]
    assert [each.cluster for each in decide(pick_n(4), *bindings).acts if each.action == "bind"] == ["e"]
    assert decide(pick_n(4), *bindings).state.report.calculation.can_be_ready == 4
    assert decide(pick_n(4), *bindings, upstream=True).state.report.calculation.can_be_ready == 0


def test_a_first_placement_is_not_throttled():
    out = decide(pick_n(3), *scheduled("abc"), rolling={"maxSurge": 0})
    assert set(actions(out).values()) == {"bind"}


def test_new_clusters_keep_to_the_surge():
    bindings = [*ready("abcd", content=NEW), *scheduled("efgh")]
    out = decide(pick_n(6), *bindings, rolling={"maxSurge": 1})
    assert [each.cluster for each in out.acts if each.action == "bind"] == ["e", "f", "g"]
    assert reasons(out)["h"] == "max-surge"


def test_removals_spend_the_budget_before_updates():
    out = decide(pick_n(4), *ready("abcd"), *leaving("e", READY), rolling={"maxUnavailable": 0})
    assert actions(out) == {"e": "remove"} | dict.fromkeys("abcd", "hold")


def test_with_nobody_to_spare_nothing_goes():
    out = decide(pick_n(2), *ready("ab"), rolling={"maxUnavailable": 0})
    assert set(actions(out).values()) == {"hold"}
    assert "0 of 2" in out.state.report.waits[0].message


@pytest.mark.parametrize("state", [[DOWN], [FAILED], []])
def test_scaling_to_zero_removes_clusters_that_are_not_ready(state):
    bindings = leaving("abc", *state)
    assert set(actions(decide(pick_n(0), *bindings)).values()) == {"remove"}
    assert actions(decide(pick_n(0), *bindings, upstream=True)) == {}


def test_removing_what_is_down_spends_no_budget():
    out = decide(pick_n(3), *ready("ab"), held("c", MID_APPLY), *leaving("d", DOWN), rolling={"maxUnavailable": 1})
    assert actions(out)["d"] == "remove"


def test_what_is_not_ready_leaves_the_budget_to_others_in_the_same_step():
    """It counts as unavailable already. Upstream comes to the others at its next look."""
    bindings, rolling = [held("a"), *ready("bcd")], {"maxUnavailable": 2}
    out = decide(pick_n(4), *bindings, rolling=rolling)
    assert [each.cluster for each in out.acts if each.action == "update"] == ["a", "b"]
    again = decide(pick_n(4), *out.state.bindings, rolling=rolling)
    assert (again.acts, again.state) == ((), out.state)
    upstream = decide(pick_n(4), *bindings, rolling=rolling, upstream=True)
    assert [each.cluster for each in upstream.acts if each.action == "update"] == ["a"]


def test_a_cluster_on_its_way_out_counts_as_unavailable():
    out = decide(pick_n(3), *ready("ab"), held("c", READY, deleting=True), rolling={"maxUnavailable": 1})
    assert "update" not in actions(out).values()
    assert reasons(out) == {"a": "max-unavailable", "b": "max-unavailable", "c": "leaving"}
    assert out.state.report.waits[0].blockers == ("c",)


def test_a_cluster_on_its_way_out_that_is_not_ready_is_named_too_and_changes_no_number():
    def look(**options):
        bindings = [*ready("ab"), held("c", DOWN, deleting=True)]
        return decide(pick_n(3), *bindings, rolling={"maxUnavailable": 1}, **options)

    assert reasons(look()) == {"a": "max-unavailable", "b": "max-unavailable", "c": "leaving"}
    numbers, upstream = look().state.report.calculation, look(upstream=True).state.report.calculation
    assert (numbers.ready, numbers.can_be_unavailable, numbers.max_to_remove) == (2, 0, 0)
    assert (upstream.ready, upstream.can_be_unavailable, upstream.max_to_remove) == (2, 0, 0)


def test_a_cluster_that_is_to_have_it_and_has_not_is_named_as_using_the_budget_up():
    coming = decide(pick_n(3), *ready("ab"), *scheduled("c"), rolling={"maxUnavailable": 1})
    assert {each.cluster: each.blockers for each in coming.state.report.waits} == {"a": ("c",), "b": ("c",)}
    silent = decide(pick_n(3), *ready("ab"), *scheduled("c"), rolling={"maxUnavailable": 1}, out_of_reach={"c": "?"})
    assert {each.blockers for each in silent.state.report.waits if each.cluster != "c"} == {("c",)}


def test_a_cluster_that_is_asked_for_and_not_found_uses_the_budget_up_and_that_is_told():
    out = decide(pick_n(3), *ready("ab"), rolling={"maxUnavailable": 1})
    assert "update" not in actions(out).values()
    (told,) = {each.message for each in out.state.report.waits}
    assert told == "1 of 3 clusters may be unavailable at once, and 1 cluster is asked for and not found"


def test_a_scheduled_binding_that_is_being_deleted_is_not_bound():
    bindings = scheduled("a", deleting=True)
    assert actions(decide(pick_n(1), *bindings)) == {}
    assert actions(decide(pick_n(1), *bindings, upstream=True)) == {"a": "bind"}


def test_only_the_cluster_that_is_being_cleaned_waits():
    pair = [held("b", READY, name="web-b-0", deleting=True), held("b", name="web-b-1", state="Scheduled")]
    out = decide(pick_n(3), *ready("a"), *pair, *scheduled("c"), rolling={"maxSurge": 3})
    assert [each.cluster for each in out.acts if each.action == "bind"] == ["c"]
    assert [each.reason for each in out.state.report.waits if each.binding == "web-b-1"] == ["cleaning-up"]
    upstream = decide(pick_n(3), *ready("a"), *pair, *scheduled("c"), upstream=True)
    assert (upstream.state.report.outcome, upstream.wake_at) == (CLEANING_UP, NOW + timedelta(seconds=5))


def test_two_live_bindings_on_one_cluster_are_a_finding_and_stop_nobody_else():
    pair = [held("b", READY, name="web-b-0"), held("b", READY, name="web-b-1")]
    out = decide(None, *ready("a"), *pair, rolling={"maxUnavailable": 3})
    assert [each.cluster for each in out.acts if each.action == "update"] == ["a"]
    assert [each.code for each in out.state.report.findings] == ["two-bindings"]
    assert decide(None, *pair, upstream=True).state.report.error.code == "two-bindings"


def test_a_removal_beside_another_binding_waits_for_the_budget_alone():
    pair = [held("b", READY, name="web-b-0", state="Unscheduled"), held("b", name="web-b-1", state="Scheduled")]
    out = decide(pick_n(2), *ready("c", content=NEW), *pair, rolling={"maxUnavailable": 0, "maxSurge": 0})
    waits = {each.binding: (each.wants, each.reason) for each in out.state.report.waits}
    assert waits == {"web-b-0": ("remove", "max-unavailable"), "web-b-1": ("bind", "two-bindings")}


def test_a_changed_apply_strategy_goes_first_and_everywhere():
    rolling = {"strategy": {"type": "RollingUpdate", "applyStrategy": {"type": "ServerSideApply"}}}
    bindings = [*ready("a"), *scheduled("b"), *leaving("c"), held("d", deleting=True)]
    out = decide(pick_n(2), *bindings, rolling=rolling)
    assert actions(out) == dict.fromkeys("abc", "push-apply-strategy")
    assert (out.state.report.outcome, out.wake_at) == (PUSHED, NOW)
    assert decide(pick_n(2), *out.state.bindings, rolling=rolling).state.report.outcome != PUSHED


def test_an_absent_apply_strategy_is_the_default_one():
    bindings = [held("a", READY, STARTED, content=NEW, strategy=None)]
    assert decide(pick_n(1), *bindings).state.report.outcome == DONE
    assert decide(pick_n(1), *bindings, upstream=True).state.report.outcome == PUSHED


def test_placements_of_others_and_those_without_content_are_left_alone():
    assert decide(pick_n(1), *ready("a"), rolling={"strategy": {"type": "External"}}).state.report.outcome == IGNORED
    assert decide(pick_n(1), *ready("a"), content="").state.report.outcome == NO_CONTENT


def test_it_wakes_when_time_alone_makes_a_cluster_ready():
    bindings = [held("a", untrackable(10), content=NEW), held("b", untrackable(30), content=NEW), *ready("c")]
    assert decide(pick_n(3), *bindings).wake_at == NOW + timedelta(seconds=30)
    assert decide(pick_n(3), held("a", MID_APPLY, content=NEW), *ready("bc")).wake_at is None


def test_waits_tell_until_when_and_for_whom():
    out = decide(pick_n(2), held("a", untrackable(10), content=NEW), *ready("b"))
    rows = out.state.report.waits
    assert [row.until for row in rows] == [NOW + timedelta(seconds=50)] * 2
    assert rows[1].blockers == ("a",)
