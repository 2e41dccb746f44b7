# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import json
from dataclasses import replace

from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.document import PlacementPlan
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan.made import (
    CONFIG,
    OBJECTS,
    SILENT,
    carried_out,
    cluster,
    facts,
    pick_n,
    placed,
    plan,
    rendered,
    wanted,
)


def scaled() -> PlacementPlan:
    """Of a, b and c, b and c hold it; c keeps it."""
    fleet = facts("a", "b", "c", cluster("d", heard=SILENT))
    return plan(wanted(pick_n(1)), fleet, placed(pick_n(2), facts("b", "c")))


def test_clusters_by_change() -> None:
    made = scaled()
    assert (made.clusters_with("lost"), made.clusters_with("kept")) == (("b",), ("c",))
    assert made.clusters_with("gained") == ()


def test_changes_come_first_where_a_list_may_be_cut() -> None:
    fleet = facts("a", "b", "c", "d")
    made = plan(wanted(pick_n(3)), fleet, placed(pick_n(2), facts("a", "x")))
    assert [(each.change, each.cluster) for each in made.changes_first] == [
        ("lost", "x"),
        ("gained", "c"),
        ("gained", "d"),
        ("kept", "a"),
    ]


def test_left_out_tells_whoever_does_not_get_it() -> None:
    assert [(each.cluster, each.rule) for each in scaled().left_out] == [
        ("a", "not-needed"),
        ("b", "not-needed"),
        ("d", "ClusterEligibility"),
    ]


def test_a_plan_changes_something_if_a_cluster_or_the_content_does() -> None:
    fleet = facts("a", "b")
    known = placed(pick_n(1), fleet)
    assert not plan(wanted(pick_n(1)), fleet, known).decides_change
    assert plan(wanted(pick_n(2)), fleet, known).decides_change
    assert plan(wanted(pick_n(1), objects=(OBJECTS[0], rendered(CONFIG, "2"))), fleet, known).decides_change
    assert plan(wanted(pick_n(1), deleting="deleted"), fleet, known).decides_change


def test_what_is_recorded_and_waits_for_a_cluster_that_is_away_is_a_change_once() -> None:
    newer, fleet = wanted(pick_n(1), objects=(OBJECTS[0], rendered(CONFIG, "2"))), facts("a")
    known = placed(pick_n(1), fleet)
    first = plan(newer, fleet, known)
    assert first.decides_change_beside({"a"})
    again = plan(newer, fleet, carried_out(first, known, failing=("a",)))
    assert again.decides_change and not again.decides_change_beside({"a"}) and again.decides_change_beside({"b"})
    assert plan(replace(newer, deleting="deleted"), fleet, known).decides_change_beside({"a"})


def test_its_json_shows_tripped_brakes_only() -> None:
    made = scaled()
    row = json.loads(json.dumps(made.as_dict()))
    assert row["brakes"] == []
    tripped = replace(made.brakes[0], tripped=True)
    assert [each["name"] for each in replace(made, brakes=(tripped,)).as_dict()["brakes"]] == ["max_removals"]
    assert row["clusters"][0] == {
        "cluster": "b",
        "change": "lost",
        "cause": "scaled-down",
        "reason": "fewer clusters are wanted, and it ranks lowest",
        "affinityScore": 0,
        "topologySpreadScore": 0,
        "prune": [{"apiVersion": "v1", "object": "ConfigMap test/test-1"}],
        "release": [{"apiVersion": "v1", "object": "Namespace test"}],
        "leftover": [],
    }
    assert row["objects"][1] == {"apiVersion": "v1", "object": "ConfigMap test/test-1", "hash": "ConfigMap-1"}
    assert [each["cluster"] for each in row["leftOut"]] == ["a", "b", "d"]
