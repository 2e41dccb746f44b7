# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import ObjectId
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.binding import (
    BOUND,
    HELD_BEFORE,
    UNSCHEDULED,
    ClusterResourceBinding,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.rollout_strategy import (
    ApplyStrategy,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.brakes import BrakeLimits, older_source_brake
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.compose import RecordedState
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.document import PlacementPlan, Rendered
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan.made import (
    CONFIG,
    EXTRA,
    NAMESPACE,
    NOW,
    OBJECTS,
    SILENT,
    carried_out,
    changes,
    cluster,
    facts,
    pick_all,
    pick_fixed,
    pick_n,
    placed,
    plan,
    rendered,
    require,
    wanted,
)

FREE = BrakeLimits(max_removals="100%", allow_empty=True)


def test_a_first_plan_gains_every_picked_cluster_and_makes_both_snapshots() -> None:  # D1-02
    made = plan(wanted(), facts("a", "b"))
    assert changes(made) == {"a": ("gained", "picked"), "b": ("gained", "picked")}
    assert (made.policy_snapshot.name, made.policy_snapshot_new) == ("web-0", True)
    assert (made.resource_snapshot, made.resource_snapshot_new) == ("web-0-snapshot", True)
    assert not any(each.stops for each in made.brakes)


def test_a_second_plan_changes_nothing_and_makes_no_snapshot() -> None:  # D4-63
    fleet = facts("a", "b")
    made = plan(wanted(), fleet, placed(None, fleet))
    assert changes(made) == {"a": ("kept", "unchanged"), "b": ("kept", "unchanged")}
    assert not made.policy_snapshot_new and not made.resource_snapshot_new and not made.decides_change


def test_only_the_number_of_clusters_makes_no_policy_snapshot() -> None:  # D4-63, D4-98
    fleet = facts("a", "b", "c")
    known = placed(pick_n(2), fleet)
    made = plan(wanted(pick_n(3)), fleet, known)
    assert not made.policy_snapshot_new
    assert changes(made) == {"a": ("gained", "picked"), "b": ("kept", "unchanged"), "c": ("kept", "unchanged")}


def test_a_lowered_number_names_its_cause() -> None:  # D4-96, D4-99, D4-104
    fleet = facts("a", "b", "c")
    made = plan(wanted(pick_n(2)), fleet, placed(pick_n(3), fleet))
    assert changes(made)["a"] == ("lost", "scaled-down")
    lost = next(each for each in made.clusters if each.cluster == "a")
    assert (lost.prune, lost.release, lost.leftover) == ((CONFIG,), (NAMESPACE,), ())


def test_a_changed_policy_names_its_cause_and_the_next_snapshot() -> None:  # D4-97, D4-104
    east = cluster("a", labels={"region": "east"})
    fleet = facts(east, "b")
    made = plan(wanted(pick_all(affinity=require({"region": "east"}))), fleet, placed(pick_all(), fleet))
    assert changes(made) == {"a": ("kept", "unchanged"), "b": ("lost", "policy-changed")}
    assert (made.policy_snapshot.name, made.policy_snapshot_new) == ("web-1", True)


def test_an_edited_policy_that_picks_the_same_clusters_changes_none() -> None:  # D4-97
    fleet = facts("a", "b", "c")
    before = placed(pick_n(2), fleet)
    made = plan(wanted(pick_n(2, affinity=require(nodes=1))), fleet, before)
    assert changes(made) == {"b": ("kept", "unchanged"), "c": ("kept", "unchanged")}
    assert made.policy_snapshot_new and not made.decides_change


def test_a_loss_that_could_not_be_carried_out_keeps_its_cause_in_the_next_plan() -> None:  # D4-104
    fleet = facts(cluster("a", labels={"region": "east"}), "b")
    policy = pick_all(affinity=require({"region": "east"}))
    known = carried_out(plan(wanted(policy), fleet, placed(pick_all(), fleet)), failing={"b"})
    assert [each.spec.state for each in known.bindings] == ["Bound", UNSCHEDULED]
    assert changes(plan(wanted(policy), fleet, known))["b"] == ("lost", "policy-changed")


def test_a_recorded_loss_that_is_called_off_is_a_change() -> None:
    """Else the record would say for ever that the cluster loses it, and scheduling would count on another one."""
    fleet = facts(cluster("a", labels={"region": "east"}), "b")
    policy = pick_all(affinity=require({"region": "east"}))
    known = carried_out(plan(wanted(policy), fleet, placed(pick_all(), fleet)), failing={"b"})
    again = facts(*(cluster(each, labels={"region": "east"}) for each in "ab"))
    made = plan(wanted(policy), again, known)
    assert changes(made) == {"a": ("kept", "unchanged"), "b": ("kept", "unchanged")}
    assert [each.decides_change for each in made.clusters] == [False, True] and made.decides_change


def test_a_cluster_that_left_is_replaced_by_pick_n_and_what_is_there_stays() -> None:  # D4-101
    known = placed(pick_n(1), facts("b"))
    made = plan(wanted(pick_n(1)), facts("a"), known)
    assert changes(made) == {"a": ("gained", "picked"), "b": ("lost", "left-the-fleet")}
    assert made.clusters[1].prune == ()


@pytest.mark.parametrize("policy", [pick_fixed("b"), pick_all(affinity=require({"region": "east"}))])
def test_a_cluster_that_left_is_not_replaced_otherwise(policy) -> None:  # D4-101
    known = placed(policy, facts(cluster("b", labels={"region": "east"})))
    assert changes(plan(wanted(policy), facts("a"), known)) == {"b": ("lost", "left-the-fleet")}


def test_a_cluster_that_is_leaving_counts_as_gone() -> None:
    known = placed(None, facts("a", "b"))
    made = plan(wanted(), facts("a", cluster("b", leaving="2026-01-15T11:00:00Z")), known)
    assert changes(made)["b"] == ("lost", "left-the-fleet")


def test_a_new_member_gets_a_pick_all_placement() -> None:  # D4-100
    made = plan(wanted(), facts("a", "b"), placed(None, facts("a")))
    assert changes(made) == {"a": ("kept", "unchanged"), "b": ("gained", "picked")}


def test_a_better_cluster_displaces_none() -> None:  # D4-96
    sorter = {"propertySorter": {"name": "kubernetes-fleet.io/node-count", "sortOrder": "Descending"}}
    preferred = [{"weight": 50, "preference": sorter}]
    policy = pick_n(1, affinity={"clusterAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}})
    known = placed(policy, facts(cluster("a", 5)))
    assert changes(plan(wanted(policy), facts(cluster("a", 5), cluster("b", 99)), known)) == {
        "a": ("kept", "unchanged")
    }


def test_changed_content_moves_no_cluster_and_makes_the_next_snapshot() -> None:  # D4-60, D4-102
    fleet = facts("a", "b")
    made = plan(wanted(objects=(OBJECTS[0], rendered(CONFIG, "2"))), fleet, placed(None, fleet))
    assert changes(made) == {"a": ("kept", "content-changed"), "b": ("kept", "content-changed")}
    assert made.resource_snapshot == "web-1-snapshot" and made.decides_change


def test_a_changed_selection_delivers_what_is_new_and_prunes_what_is_gone() -> None:  # D4-103
    fleet = facts("a")
    made = plan(wanted(objects=(OBJECTS[0], rendered(EXTRA))), fleet, placed(None, fleet))
    assert [each.prune for each in made.clusters] == [(CONFIG,)]
    assert [each.id for each in made.objects] == [NAMESPACE, EXTRA]


def test_a_deleted_placement_lists_what_disappears_from_which_member() -> None:  # D1-49
    fleet = facts("a", "b")
    made = plan(wanted(objects=(), deleting="deleted"), fleet, placed(None, fleet), FREE)
    assert changes(made) == {"a": ("lost", "deleted"), "b": ("lost", "deleted")}
    assert all((each.prune, each.release) == ((CONFIG,), (NAMESPACE,)) for each in made.clusters)
    assert all(each.spec.state == UNSCHEDULED for each in made.bindings)
    assert made.left_out == () and made.deleting and not made.resource_snapshot_new


def test_a_deletion_asks_nothing_of_a_cluster_that_left() -> None:
    known = placed(None, facts("a", "b"))
    made = plan(wanted(objects=(), deleting="source-gone"), facts("a"), known)
    assert changes(made) == {"a": ("lost", "source-gone"), "b": ("lost", "left-the-fleet")}


def test_one_row_for_a_cluster_with_two_bindings() -> None:
    fleet = facts("a")
    known = placed(None, fleet)
    old = known.bindings[0]
    left = replace(old, metadata=replace(old.metadata, name="web-a-old"), spec=replace(old.spec, state=UNSCHEDULED))
    made = plan(wanted(), fleet, replace(known, bindings=(old, left)))
    assert changes(made) == {"a": ("kept", "unchanged")}


def test_a_shortfall_is_said() -> None:  # D1-46
    made = plan(wanted(pick_n(3)), facts("a"))
    assert not made.fulfilled and made.wanted == 3


def test_who_is_left_out_is_read_when_it_is_asked_for() -> None:
    made = plan(wanted(pick_n(1)), facts("a", "b", cluster("c", heard=SILENT)))
    assert "left_out" not in vars(made)
    assert {each.cluster: each.rule for each in made.left_out} == {
        "a": "not-enough-score",
        "c": "ClusterEligibility",
    }
    assert made.left_out is made.left_out


def test_required_conditions_are_judged_at_scheduling_and_the_plan_says_who_would_not_be_picked() -> None:  # D1-24
    policy = pick_all(affinity=require(nodes=5))
    known = placed(policy, facts(cluster("a", 5)))
    made = plan(wanted(policy), facts(cluster("a", 4)), known)
    assert changes(made) == {"a": ("kept", "unchanged")}
    finding = next(each for each in made.findings if each.code == "would-not-be-picked")  # D4-76
    assert "a keeps the placement, but the next edit of the policy would remove it" in finding.message
    assert "it reports 4" in finding.message and finding.where == "ClusterResourcePlacement/web"


def test_no_such_finding_for_one_that_was_merely_not_read() -> None:
    known = placed(pick_n(1), facts("a"))
    assert plan(wanted(pick_n(1)), facts(cluster("a", heard=SILENT)), known).findings == ()


def test_a_pick_fixed_plan_has_the_finding_of_the_scheduler_alone() -> None:
    known = placed(pick_fixed("a"), facts("a"))
    made = plan(wanted(pick_fixed("a")), facts(cluster("a", heard=SILENT)), known)
    assert [each.code for each in made.findings] == ["holder-not-eligible"]


def test_all_brakes_are_on_and_the_one_of_emptiness_is_not_asked_of_a_deletion() -> None:
    fleet = facts("a")
    known = placed(None, fleet)
    assert [each.name for each in plan(wanted(), fleet, known).brakes] == [
        "max_removals",
        "max_facts_age",
        "max_object_removals",
        "allow_no_objects",
        "allow_empty",
    ]
    older = older_source_brake("web", "b" * 40, "a" * 40, older=True, allow=False)
    made = plan(wanted(objects=(), deleting="deleted", older_source=older), fleet, known)
    assert [each.name for each in made.brakes] == ["max_removals", "max_facts_age", "allow_older"]


def test_a_file_that_is_gone_ends_a_placement_only_where_an_empty_result_is_permitted() -> None:
    fleet = facts("a")
    known = placed(None, fleet)
    gone = wanted(objects=(), deleting="source-gone")
    assert [each.name for each in plan(gone, fleet, known).brakes if each.stops] == ["allow_empty"]
    assert not any(each.stops for each in plan(gone, fleet, known, FREE).brakes)


def test_too_many_losses_and_an_empty_pick_stop() -> None:
    fleet = facts("a", "b", "c")
    made = plan(wanted(pick_all(affinity=require({"no": "where"}))), fleet, placed(pick_all(), fleet))
    assert [each.name for each in made.brakes if each.stops] == ["max_removals", "allow_empty"]
    lifted = plan(wanted(pick_all(affinity=require({"no": "where"}))), fleet, placed(pick_all(), fleet), FREE)
    assert [each.name for each in lifted.brakes if each.lifted] == ["max_removals", "allow_empty"]
    assert not any(each.stops for each in lifted.brakes)


@pytest.mark.parametrize(("begun", "lost"), [((), 0), (("a", "b"), 2), (("a", "b", "c"), 3)])
def test_who_was_picked_and_given_nothing_loses_nothing_but_who_was_only_begun_does(
    begun: tuple[str, ...], lost: int
) -> None:
    """Where a first write was cut short nobody knows what is there."""
    fleet = facts("a", "b", "c")
    made = plan(wanted(pick_all()), fleet)
    known = carried_out(made, failing=("a", "b", "c"))
    bindings = tuple(
        marked(each, made.resource_snapshot) if each.spec.target_cluster in begun else each for each in known.bindings
    )
    after = plan(wanted(pick_all(affinity=require({"no": "where"}))), fleet, replace(known, bindings=bindings))
    (removals,) = (each for each in after.brakes if each.name == "max_removals")
    assert removals.message.startswith(f"web: {lost} of {len(begun)} clusters would lose it")
    assert removals.stops is (lost > 1)


def marked(binding: ClusterResourceBinding, snapshot: str) -> ClusterResourceBinding:
    """As it is recorded before the first write on its cluster."""
    spec = replace(binding.spec, state=BOUND, resource_snapshot_name=snapshot)
    return replace(binding, spec=spec, metadata=replace(binding.metadata, annotations={HELD_BEFORE: ""}))


def test_eligibility_is_judged_at_the_facts_instant_and_their_age_now() -> None:
    late = NOW + timedelta(hours=25)
    made = plan(wanted(), facts("a"), now=late)
    assert changes(made) == {"a": ("gained", "picked")}
    assert [each.name for each in made.brakes if each.stops] == ["max_facts_age"]


def test_equal_plans_are_equal_bytes_whatever_the_order_of_members_and_bindings() -> None:
    fleet, turned = facts("a", "b", "c", "d"), facts("d", "c", "b", "a")
    known = placed(pick_n(3), fleet)
    other = replace(known, bindings=tuple(reversed(known.bindings)))
    one, two = plan(wanted(pick_n(2)), fleet, known), plan(wanted(pick_n(2)), turned, other)
    assert json.dumps(one.as_dict()) == json.dumps(two.as_dict())


def test_a_plan_is_plain_json_without_instants() -> None:
    fleet = facts("a", "b", cluster("c", heard=SILENT))
    known = placed(None, facts("a", "b"))
    text = json.dumps(plan(wanted(pick_n(1)), fleet, known).as_dict())
    assert "2026" not in text and json.loads(text)["placement"] == "web"
    deleting = plan(wanted(objects=(), deleting="deleted"), fleet, known)
    assert json.loads(json.dumps(deleting.as_dict()))["leftOut"] == []


def test_nothing_known_and_nothing_wanted_is_an_empty_plan() -> None:
    made = plan(wanted(objects=(), deleting="deleted"), facts("a"), RecordedState())
    assert made.clusters == () and not any(each.tripped for each in made.brakes)


def stopping(made: PlacementPlan) -> list[str]:
    return [each.name for each in made.brakes if each.stops]


def test_objects_that_go_are_braked_on_clusters_that_keep_the_placement() -> None:
    fleet = facts("a", "b")
    many = (*OBJECTS, *(rendered(replace(CONFIG, name=f"c{number}")) for number in range(8)))
    known = placed(None, fleet, many)
    assert stopping(plan(wanted(objects=OBJECTS), fleet, known)) == ["max_object_removals"]
    assert stopping(plan(wanted(objects=many[:-2]), fleet, known)) == []
    assert stopping(plan(wanted(objects=()), fleet, known)) == ["max_object_removals", "allow_no_objects"]
    lifted = plan(wanted(objects=()), fleet, known, replace(FREE, max_object_removals=9, allow_no_objects=True))
    assert stopping(lifted) == []
    assert [each.name for each in lifted.brakes if each.lifted] == ["max_object_removals", "allow_no_objects"]


def test_a_cluster_that_loses_the_placement_is_for_the_brake_on_clusters() -> None:
    fleet = facts("a", "b", "c", "d")
    made = plan(wanted(pick_n(3)), fleet, placed(pick_n(4), fleet))
    assert made.clusters_with("lost") and stopping(made) == []


def test_another_api_version_of_an_object_removes_nothing() -> None:
    fleet = facts("a")
    known = placed(None, fleet, (*OBJECTS, rendered(replace(EXTRA, version="v1beta1"))))
    made = plan(wanted(objects=(*OBJECTS, rendered(EXTRA))), fleet, known)
    assert made.clusters[0].leaving == ()


def test_namespaces_are_deleted_only_if_their_kind_is_named() -> None:
    fleet = facts("a")
    known = placed(None, fleet)
    made = plan(wanted(objects=(), deleting="deleted", prune_kinds=("Namespace",)), fleet, known)
    assert (made.clusters[0].prune, made.clusters[0].release) == ((NAMESPACE, CONFIG), ())
    other = plan(wanted(objects=(), deleting="deleted"), fleet, known)
    assert other.digest != made.digest


def test_what_an_unfinished_run_may_have_put_there_is_named_and_not_counted() -> None:
    """Its snapshot is recorded, and no binding names it: nothing of it is known to be held."""
    fleet = facts("a")
    begun = (*OBJECTS, *(rendered(replace(CONFIG, name=f"c{number}")) for number in range(8)))
    known = carried_out(plan(wanted(objects=begun), fleet, placed(None, fleet)), placed(None, fleet), failing=("a",))
    made = plan(wanted(objects=OBJECTS), fleet, known)
    (row,) = made.clusters
    assert (row.prune, len(row.leftover)) == ((), 8) and stopping(made) == []
    assert row.cause == "content-changed"


def test_a_placement_that_only_reports_deletes_nothing() -> None:
    fleet = facts("a")
    known = placed(None, fleet)
    wish = wanted(objects=OBJECTS[:1])
    strategy = replace(wish.placement.spec.strategy, apply_strategy=ApplyStrategy(type="ReportDiff"))
    only = replace(wish, placement=replace(wish.placement, spec=replace(wish.placement.spec, strategy=strategy)))
    assert plan(only, fleet, known).clusters[0].leaving == ()
    assert plan(wish, fleet, known).clusters[0].prune == (CONFIG,)


def test_more_objects_than_a_member_can_list_are_refused_with_the_way_out() -> None:
    def many(count: int) -> tuple[Rendered, ...]:
        return tuple(
            Rendered(id=ObjectId("", "v1", "ConfigMap", "shop", f"c{each:05}"), manifest={}, hash="h")
            for each in range(count)
        )

    assert plan(wanted(objects=many(7_000)), facts("a")).objects
    with pytest.raises(FleetError) as refused:
        plan(wanted(objects=many(10_000)), facts("a"))
    (problem,) = refused.value.problems
    assert problem.code == "too-many-objects" and "10000 objects" in problem.message and "several" in problem.hint


ROLE = ObjectId("rbac.authorization.k8s.io", "v1", "ClusterRole", "", "reader")
WIDGET = ObjectId("example.com", "v1", "Widget", "", "w")


@pytest.mark.parametrize("each", [ROLE, WIDGET], ids=["built in", "defined among the objects"])
@pytest.mark.parametrize("before, after", [("test", ""), ("", "test")])
def test_a_cluster_scoped_object_is_one_whether_a_namespace_is_recorded_of_it_or_not(
    each: ObjectId, before: str, after: str
) -> None:
    fleet = facts("a")
    definition = rendered(ObjectId("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "", "widgets.example.com"))
    spec = {"group": "example.com", "names": {"kind": "Widget"}, "scope": "Cluster"}
    definition = replace(definition, manifest={**definition.manifest, "spec": spec})
    known = placed(None, fleet, (*OBJECTS, definition, rendered(replace(each, namespace=before))))
    made = plan(wanted(objects=(*OBJECTS, definition, rendered(replace(each, namespace=after)))), fleet, known)
    assert made.clusters[0].leaving == ()
    gone = plan(wanted(objects=(*OBJECTS, definition)), fleet, known)
    assert gone.clusters[0].prune == (replace(each, namespace=before),)


def test_so_it_is_where_the_definition_is_placed_by_another_placement() -> None:
    fleet = facts("a")
    known = placed(None, fleet, (*OBJECTS, rendered(replace(WIDGET, namespace="test"))))
    again = wanted(objects=(*OBJECTS, rendered(WIDGET)), kinds={("example.com", "Widget"): False})
    assert plan(again, fleet, known).clusters[0].leaving == ()
