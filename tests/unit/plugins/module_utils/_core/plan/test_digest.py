# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import ObjectId
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.brakes import Brake, BrakeLimits
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.digest import (
    document_digest,
    plan_digest,
    plans_digest,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.document import (
    GAINED,
    LEAVING,
    LOST,
    ClusterPlan,
    PlacementPlan,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan.made import (
    CONFIG,
    EXTRA,
    NAMESPACE,
    NOW,
    OBJECTS,
    cluster,
    facts,
    pick_all,
    pick_n,
    placed,
    plan,
    rendered,
    wanted,
)

A = ClusterPlan(cluster="a", change=GAINED, cause="picked", reason="it is best", affinity_score=5, spread_score=1)
B = ClusterPlan(cluster="b", change=LOST, cause="scaled-down", reason="", prune=(NAMESPACE, CONFIG))
BRAKE = Brake(name="max_removals", tripped=True, message="m", option="o")


def digest(name="web", spec="s", deleting=False, clusters=(A, B), objects=OBJECTS, brakes=(BRAKE,)) -> str:
    return plan_digest(name, spec, deleting, clusters, objects, brakes)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "other"},
        {"spec": "t"},
        {"deleting": True},
        {"clusters": (A,)},
        {"clusters": (A, B, replace(A, cluster="c"))},
        {"clusters": (replace(A, change="kept"), B)},
        {"clusters": (A, replace(B, prune=(NAMESPACE,)))},
        {"clusters": (A, replace(B, prune=(NAMESPACE, replace(CONFIG, group="other"))))},
        {"objects": OBJECTS[:1]},
        {"objects": (OBJECTS[0], rendered(CONFIG, "2"))},
        {"objects": (OBJECTS[0], rendered(EXTRA, "1"))},
        {"brakes": (replace(BRAKE, lifted=True),)},
    ],
    ids=str,
)
def test_it_covers_every_result(change: dict) -> None:
    assert digest(**change) != digest()


@pytest.mark.parametrize(
    "same",
    [
        {"clusters": (B, A)},
        {"clusters": (replace(A, affinity_score=99, spread_score=0, reason="other", cause="other"), B)},
        {"clusters": (A, replace(B, prune=(CONFIG, NAMESPACE)))},
        {"brakes": ()},
        {"brakes": (replace(BRAKE, message="with other numbers", tripped=False),)},
    ],
    ids=str,
)
def test_it_does_not_cover_scores_reasons_orders_and_what_is_not_lifted(same: dict) -> None:
    assert digest(**same) == digest()


def test_objects_that_nobody_gets_are_no_result() -> None:
    assert digest(clusters=(B,), objects=OBJECTS) == digest(clusters=(B,), objects=())


def test_the_same_results_from_other_facts_are_the_same_plan() -> None:
    known = placed(pick_n(1), facts("b"))
    one = plan(wanted(pick_n(2)), facts("a", "b"), known)
    later = NOW + timedelta(hours=3)
    other = replace(facts(cluster("b", 50), cluster("a", 9, labels={"x": "y"})), captured_at=later, digest="e" * 64)
    two = plan(wanted(pick_n(2)), other, known, BrakeLimits(max_removals="50%"), now=later)
    assert one.digest == two.digest
    assert len(one.digest) == 64


def test_another_pick_or_another_policy_is_another_plan() -> None:
    one = plan(wanted(pick_n(2)), facts("a", "b", "c"))
    assert plan(wanted(pick_n(2)), facts("a", "b")).digest != one.digest
    assert plan(wanted(pick_all()), facts("b", "c")).digest != one.digest


def test_several_plans_have_one_digest_whatever_their_order() -> None:
    assert plans_digest({"web": "1", "db": "2"}) == plans_digest({"db": "2", "web": "1"})
    assert plans_digest({"web": "1", "db": "2"}) != plans_digest({"web": "2", "db": "1"})
    assert plans_digest({"web": "1"}) == "1"
    assert plans_digest({}) != ""


def test_object_ids_of_two_groups_differ() -> None:
    one, two = (
        ObjectId("extensions", "v1", "Ingress", "a", "b"),
        ObjectId("networking.k8s.io", "v1", "Ingress", "a", "b"),
    )
    assert digest(objects=(rendered(one),)) != digest(objects=(rendered(two),))


def test_released_is_not_deleted_and_what_may_be_left_over_counts() -> None:
    digests = {digest(clusters=(A, replace(B, **{"prune": (), way: (CONFIG,)}))) for way in LEAVING}
    assert len(digests) == 3


def made_plans() -> list[PlacementPlan]:
    fleet = facts("a", "b", "c")
    known = placed(pick_n(2), fleet)
    lifted = BrakeLimits(max_removals="100%", max_object_removals="100%", allow_no_objects=True, allow_empty=True)
    return [
        plan(wanted(pick_n(2)), fleet),
        plan(wanted(pick_n(1)), fleet, known),
        plan(wanted(pick_n(2), objects=()), fleet, known, lifted),
        plan(wanted(objects=(), deleting="deleted"), fleet, known, lifted),
        plan(wanted(pick_all(), objects=(*OBJECTS, rendered(EXTRA))), fleet, known),
    ]


@pytest.mark.parametrize("made", made_plans(), ids=range(5))
def test_what_a_plan_shows_is_all_that_its_digest_needs(made: PlacementPlan) -> None:
    assert document_digest(json.loads(json.dumps(made.as_dict()))) == made.digest
