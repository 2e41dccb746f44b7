# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Nothing is removed because something could not be read."""

from __future__ import annotations

import typing as t
from dataclasses import replace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.evacuation import MARK
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.member_cluster import MemberCluster
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.missing_record import (
    with_record_missing,
    without_record,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.cluster_resource_placement import (
    PlacementStatus,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.status import placement_status
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.waves import waves
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode, encode
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan.made import (
    CONFIG,
    NAMESPACE,
    NOW,
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

UNREADABLE = ("kept", "kept-unreadable")
UNCHANGED = ("kept", "unchanged")


def bare(name: str, *conditions: dict[str, str], heard: str | None = "2026-01-15T11:59:30Z") -> MemberCluster:
    agent = {"type": "MemberAgent", "conditions": list(conditions), "lastReceivedHeartbeat": heard}
    return decode(MemberCluster, {"metadata": {"name": name}, "spec": {}, "status": {"agentStatus": [agent]}})


JOINED = {"type": "Joined", "status": "True"}
SICK = {"type": "Healthy", "status": "False", "lastTransitionTime": "2026-01-15T11:00:00Z"}


@pytest.mark.parametrize(
    "unread",
    [
        cluster("b", heard=SILENT),
        decode(MemberCluster, {"metadata": {"name": "b"}, "spec": {}}),
        bare("b", JOINED, heard=None),
        bare("b", JOINED),
        bare("b", JOINED, {"type": "Healthy", "status": "Unknown"}),
        bare("b", JOINED, SICK),
    ],
    ids=["silent", "never read", "no heartbeat", "no health", "unhealthy", "unhealthy for long"],
)
def test_a_changed_policy_leaves_a_holder_alone_that_was_not_read(unread: MemberCluster) -> None:
    known = placed(pick_all(), facts("a", "b"))
    made = plan(wanted(pick_all(tolerations=[{"operator": "Exists"}])), facts("a", unread), known)
    assert changes(made) == {"a": UNCHANGED, "b": UNREADABLE}
    binding = next(each for each in made.bindings if each.spec.target_cluster == "b")
    assert binding in known.bindings
    assert [each.code for each in made.findings] == ["kept-unreadable"]
    assert made.findings[0].message.startswith("b keeps the placement under its former policy, as it")
    assert [each.cluster for each in made.left_out] == []


RECORDLESS = replace(without_record("b"), status=cluster("b").status)
EAST = {"region": "east"}


@pytest.mark.parametrize(
    ("before", "after", "cause"),
    [
        (pick_all(), pick_all(), UNCHANGED),
        (pick_all(affinity=require(EAST)), pick_all(affinity=require(EAST)), UNCHANGED),
        (pick_all(), pick_all(affinity=require(EAST)), UNREADABLE),
        (pick_n(2), pick_n(2, affinity=require(EAST)), UNREADABLE),
        (pick_fixed("a", "b"), pick_fixed("b", "a"), UNREADABLE),
    ],
)
def test_a_holder_whose_member_cluster_is_missing_keeps_what_it_holds(
    before: dict[str, t.Any], after: dict[str, t.Any], cause: tuple[str, str]
) -> None:
    """It answers, but which labels it has, and so whether the policy is still for it, is not known (F2)."""
    first = cluster("a", labels=EAST)
    known = placed(before, facts(first, cluster("b", labels=EAST)))
    made = plan(wanted(after), facts(first, RECORDLESS), known)
    assert changes(made) == {"a": UNCHANGED, "b": cause}
    assert "would-not-be-picked" not in [each.code for each in made.findings]


def test_nothing_comes_to_a_member_whose_member_cluster_is_missing() -> None:
    """Not even what had to leave it, since it was evacuated: nobody knows that it was readmitted."""
    assert changes(plan(wanted(pick_all()), facts("a", RECORDLESS))) == {"a": ("gained", "picked")}
    known = placed(pick_all(), facts("a", "b"))
    leaving = plan(wanted(pick_all()), facts("a", cluster("b", taints=[encode(MARK)])), known)
    begun = carried_out(leaving, known, failing=("b",))
    made = plan(wanted(pick_all()), facts("a", with_record_missing(cluster("b"))), begun)
    assert changes(made) == {"a": UNCHANGED, "b": ("lost", "evacuated")}


@pytest.mark.parametrize(
    "gone",
    [bare("b", {"type": "Joined", "status": "False"}), cluster("b", heard=SILENT, leaving="2026-01-15T11:00:00Z")],
    ids=["not joined", "leaving"],
)
def test_one_that_is_no_member_is_not_meant(gone: MemberCluster) -> None:
    known = placed(pick_all(), facts("a", "b"))
    made = plan(wanted(pick_all(tolerations=[{"operator": "Exists"}])), facts("a", gone), known)
    assert changes(made)["b"][0] == "lost"


def test_one_that_the_new_policy_refuses_for_another_reason_is_lost_read_or_not() -> None:
    east = {"region": "east"}
    known = placed(pick_all(), facts(cluster("a", labels=east), "b"))
    made = plan(
        wanted(pick_all(affinity=require(east))), facts(cluster("a", labels=east), cluster("b", heard=SILENT)), known
    )
    assert changes(made) == {"a": UNCHANGED, "b": ("lost", "policy-changed")}


def test_a_taint_that_is_not_tolerated_is_another_reason_too() -> None:
    taint = {"key": "k", "value": "v", "effect": "NoSchedule"}
    known = placed(pick_all(), facts("a", "b"))
    fleet = facts("a", cluster("b", heard=SILENT, taints=[taint]))
    assert changes(plan(wanted(pick_all(affinity=require(nodes=1))), fleet, known))["b"] == ("lost", "policy-changed")


def test_pick_n_keeps_it_beside_the_clusters_that_it_asks_for() -> None:
    known = placed(pick_n(2), facts("b", "c"))
    edited = pick_n(2, affinity=require(nodes=1))
    made = plan(wanted(edited), facts("a", "b", cluster("c", heard=SILENT)), known)
    assert changes(made) == {"a": ("gained", "picked"), "b": UNCHANGED, "c": UNREADABLE}
    assert (made.wanted, made.picked, made.unread) == (2, 2, 1) and made.fulfilled


def test_no_healthy_holder_goes_instead_of_one_that_is_silent() -> None:
    known = placed(pick_n(3), facts("a", "b", "c"))
    edited = pick_n(2, affinity=require(nodes=1))
    made = plan(wanted(edited), facts("a", "b", cluster("c", heard=SILENT)), known)
    assert changes(made) == {"a": UNCHANGED, "b": UNCHANGED, "c": UNREADABLE} and made.fulfilled


def test_silent_holders_are_not_what_the_policy_asks_for() -> None:
    known = placed(pick_n(3), facts("a", "b", "c"))
    edited = pick_n(1, affinity=require(nodes=1))
    made = plan(wanted(edited), facts(*(cluster(name, heard=SILENT) for name in ("a", "b", "c"))), known)
    assert set(changes(made).values()) == {UNREADABLE} and not made.fulfilled
    status = placement_status(made, {}, PlacementStatus(), 1, NOW)
    scheduled = status.conditions[0]
    assert (scheduled.status, scheduled.reason) == ("False", "SchedulingPolicyUnfulfilled")
    assert scheduled.message == (
        "found 0 of 1 cluster that the policy asks for; 3 more keep it, since they could not be read"
    )


def test_it_is_judged_when_it_is_read_again() -> None:
    edited = pick_n(2, affinity=require(nodes=1))
    silent = facts("b", cluster("c", heard=SILENT))
    known = carried_out(plan(wanted(edited), silent, placed(pick_n(2), facts("b", "c"))), failing={"c"})
    assert changes(plan(wanted(edited), silent, known)) == {"b": UNCHANGED, "c": UNREADABLE}
    back = plan(wanted(edited), facts("a", "b", "c"), known)
    assert changes(back) == {"b": UNCHANGED, "c": UNCHANGED}
    assert {each.spec.scheduling_policy_snapshot_name for each in back.bindings} == {"web-1"}
    fewer_nodes = plan(wanted(edited), facts("a", "b", cluster("c", 0)), known)
    assert changes(fewer_nodes) == {
        "a": ("gained", "picked"),
        "b": UNCHANGED,
        "c": ("lost", "policy-changed"),
    }


def test_a_holder_that_is_still_unread_is_no_change_of_its_own() -> None:
    """The second run of the same is unchanged, and is the rest of what was approved."""
    edited = pick_all(tolerations=[{"operator": "Exists"}])
    silent = facts("a", cluster("b", heard=SILENT))
    first = plan(wanted(edited), silent, placed(pick_all(), facts("a", "b")))
    again = plan(wanted(edited), silent, carried_out(first, failing={"b"}))
    assert changes(again) == {"a": UNCHANGED, "b": UNREADABLE} and not again.decides_change


def test_what_it_holds_is_brought_up_to_date_as_soon_as_it_answers() -> None:
    """In a wave, within maxUnavailable: nothing that it was picked for is known to have changed."""
    edited = pick_all(tolerations=[{"operator": "Exists"}])
    silent = facts("a", cluster("b", heard=SILENT))
    known = placed(pick_all(), facts("a", "b"))
    other = (rendered(NAMESPACE), rendered(CONFIG, "2"))
    first = plan(wanted(edited, other), silent, known)
    assert changes(first) == {"a": ("kept", "content-changed"), "b": UNREADABLE}
    assert sorted(each for wave in waves(first) for each in wave) == ["a", "b"]
    later = plan(wanted(edited, other), silent, carried_out(first, known, failing={"b"}))
    assert changes(later) == {"a": UNCHANGED, "b": UNREADABLE} and later.decides_change and waves(later) == (("b",),)


def test_more_unread_holders_than_places_take_none_from_those_that_were_read() -> None:
    known = placed(pick_n(3), facts("a", "b", "c"))
    edited = pick_n(1, affinity=require(nodes=1))
    fleet = facts("a", cluster("b", heard=SILENT), cluster("c", heard=SILENT))
    made = plan(wanted(edited), fleet, known)
    assert changes(made) == {"a": UNCHANGED, "b": UNREADABLE, "c": UNREADABLE}


def test_pick_fixed_keeps_it_while_it_is_named() -> None:
    known = placed(pick_fixed("a", "b"), facts("a", "b"))
    fleet = facts("a", cluster("b", heard=SILENT), "c")
    made = plan(wanted(pick_fixed("b", "c")), fleet, known)
    assert changes(made) == {"a": ("lost", "policy-changed"), "b": UNREADABLE, "c": ("gained", "picked")}
    assert made.left_out == () and made.wanted == 2
    assert changes(plan(wanted(pick_fixed("c")), fleet, known))["b"] == ("lost", "policy-changed")


def test_a_lowered_number_alone_is_no_matter_of_reading() -> None:
    known = placed(pick_n(2), facts("a", "b"))
    made = plan(wanted(pick_n(1)), facts(cluster("a", heard=SILENT), "b"), known)
    assert changes(made) == {"a": ("lost", "scaled-down"), "b": UNCHANGED}
