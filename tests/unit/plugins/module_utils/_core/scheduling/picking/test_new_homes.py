# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which newly picked cluster takes the place of which evacuated one."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.evacuation import EVACUATED, with_mark
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.binding import (
    BOUND,
    INSTEAD_OF,
    PREVIOUS_STATE,
    UNSCHEDULED,
    ClusterResourceBinding,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling import unreadable
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.cycle import Scheduled
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.picking.new_homes import (
    replaced_cluster_of,
    with_new_homes,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.scheduling.made import (
    AGENT,
    Manifest,
    binding,
    cluster,
    decide,
    fleet,
    pick_n,
    placement,
    snapshot,
)

NAMES = "abcdef"


def evacuated(policy: Manifest, names: str, *bindings: ClusterResourceBinding, upstream: bool = False) -> Scheduled:
    index = fleet(*(with_mark(cluster(each), each in names) for each in NAMES))
    return decide(policy, index, *bindings, upstream=upstream)


def homes(outcome: Scheduled) -> dict[str, str]:
    found = {replaced_cluster_of(each): each.spec.target_cluster for each in outcome.bindings}
    return {leaving: home for leaving, home in found.items() if leaving}


def test_each_evacuated_cluster_gets_one_of_the_new_ones_as_far_as_there_are_some() -> None:
    held = [binding(each) for each in "abc"]
    assert homes(evacuated(pick_n(3), "ab", *held)) == {"a": "e", "b": "f"}
    assert homes(evacuated(pick_n(3), "abef", *held)) == {"a": "d"}
    assert homes(evacuated(pick_n(1), "ab", *held)) == {}
    assert homes(evacuated(pick_n(3), "", *held)) == {}


@pytest.mark.parametrize(
    ("policy", "found"),
    [
        ({"placementType": "PickAll"}, {}),
        ({"placementType": "PickFixed", "clusterNames": ["a", "b", "d"]}, {"a": "d"}),
    ],
)
def test_other_policies(policy: Manifest, found: dict[str, str]) -> None:
    """Under PickAll nobody takes another's place."""
    assert homes(evacuated(policy, "a", binding("a"), binding("b"))) == found


def test_a_second_look_leaves_the_marks_as_they_are() -> None:
    first = evacuated(pick_n(3), "ab", *(binding(each) for each in "abc"))
    again = evacuated(pick_n(3), "ab", *first.bindings)
    assert again.bindings == first.bindings


def test_a_new_home_that_is_evacuated_itself_hands_its_place_on() -> None:
    first = evacuated(pick_n(2), "a", binding("a"), binding("b"))
    (home,) = homes(first).values()
    then = evacuated(pick_n(2), f"a{home}", *first.bindings)
    ((leaving, other),) = homes(then).items()
    assert leaving == "a" and other not in ("a", "b", home)


def test_a_mark_of_an_earlier_evacuation_counts_for_nothing() -> None:
    """The cluster was readmitted since, and holds the placement anew."""
    first = evacuated(pick_n(2), "a", binding("a"), binding("b"))
    (home,) = homes(first).values()
    gone = [each for each in first.bindings if each.spec.state != UNSCHEDULED]
    wider = evacuated(pick_n(6), "", *gone)
    assert homes(wider) == {}
    back = [*(each for each in wider.bindings if each.spec.target_cluster in ("a", "b", home))]
    stale = [_with_mark(each, "a") if each.spec.target_cluster == home else each for each in back]
    found = homes(evacuated(pick_n(3), "a", *stale))
    assert set(found) == {"a"} and found["a"] not in ("a", "b", home)


def _with_mark(each: ClusterResourceBinding, leaving: str) -> ClusterResourceBinding:
    metadata: t.Any = each.metadata
    object.__setattr__(metadata, "annotations", {**metadata.annotations, INSTEAD_OF: leaving})
    return each


@pytest.mark.parametrize(("number", "found"), [(2, {"f": "a"}), (1, {"b": "a"})])
def test_a_silent_new_home_hands_its_place_on_where_another_is_picked_under_a_changed_policy(
    number: int, found: dict[str, str]
) -> None:
    """It keeps what it holds beside the others. With two marks the evacuated cluster would wait for the silent one."""
    silent = cluster("b", agentStatus=[{**AGENT, "lastReceivedHeartbeat": "2026-01-15T10:00:00Z"}])
    index = fleet(with_mark(cluster("a"), True), silent, "c", "f")
    gone = binding("a", UNSCHEDULED, annotations={EVACUATED: "true", PREVIOUS_STATE: BOUND})
    held = (gone, binding("b", annotations={INSTEAD_OF: "a"}), binding("c", policy="web-2" if number == 1 else "web-1"))
    decided = unreadable.schedule_keeping_unread(placement(pick_n(number)), snapshot("web-2"), index, held)
    marks = {each.spec.target_cluster: replaced_cluster_of(each) for each in decided.bindings}
    assert {home: leaving for home, leaving in marks.items() if leaving} == found
    assert "b" in decided.scheduled.unread


def test_upstream_marks_nothing() -> None:
    outcome = evacuated(pick_n(2), "a", binding("a"), binding("b"), upstream=True)
    assert homes(outcome) == {}


def test_bindings_without_any_evacuation_are_those_that_were_given() -> None:
    bindings = (binding("a"), binding("b", state=UNSCHEDULED))
    assert with_new_homes(bindings, bindings, {"web-a-0"}) == bindings
    marked = binding("b", state=UNSCHEDULED, annotations={EVACUATED: "true"})
    (first, _second) = with_new_homes((marked,), (binding("a"), marked), {"web-a-0"})
    assert replaced_cluster_of(first) == "b"
