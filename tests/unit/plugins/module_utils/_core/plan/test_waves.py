# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The waves that a plan tells are those that the rolling update makes when every cluster is available at once."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.evacuation import EVACUATED
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.binding import INSTEAD_OF
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.compose import WantedPlacement
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.document import ClusterPlan, PlacementPlan
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.waves import (
    clusters_reached_at_once,
    counted_as_recorded_findings,
    waves,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.conditions import set_condition
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.content import RolloutBinding, WantedContent
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.rolling.decide import (
    RolloutSeen,
    RolloutState,
    decide,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan import made
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.rollout.made import (
    NEW,
    NOW,
    OLD,
    READY,
    held,
    pick_n,
    placement,
)
from hypothesis import given
from hypothesis import strategies as st

CHOICES = st.sampled_from([0, 1, 2, 3, "10%", "25%", "50%", "100%"])
CAUSES = {
    "lost": "scaled-down",
    "gained": "picked",
    "kept": "content-changed",
    "same": "unchanged",
    "unread": "kept-unreadable",
    "unread, same": "kept-unreadable",
}
ROWS = {"same": "kept", "unread": "kept", "unread, same": "kept", "evacuated": "lost"}
CONTENTS = {"gained": "", "same": NEW, "unread, same": NEW}


def carried_out(wanting, bindings, empty_first=False):
    """The clusters of each wave, all of them available right after it."""
    state = RolloutState(bindings=tuple(bindings))
    content = WantedContent(resource_snapshot=NEW, overrides={})
    seen = RolloutSeen(placement=wanting, wanted=content, empty_first=empty_first)
    found, now = [], NOW
    while True:
        now += timedelta(minutes=5)
        decision = decide(state, seen, now)
        wave = [each.cluster for each in decision.acts if each.action in ("bind", "update", "remove")]
        if not wave:
            return found
        found.append(sorted(wave))
        state = RolloutState(bindings=tuple(available(each) for each in decision.state.bindings if not each.deleting))


def row(name, change):
    outdated = change in ("kept", "unread")
    cause = CAUSES.get(change, change)
    return ClusterPlan(cluster=name, change=ROWS.get(change, change), cause=cause, reason="", outdated=outdated)


def available(each):
    binding = each.binding
    if each.state == "Scheduled":
        return each
    fresh = held(each.cluster, READY).binding.status.conditions
    stamped = tuple(replace(one, observed_generation=binding.metadata.generation) for one in fresh)
    return RolloutBinding(binding=replace(binding, status=replace(binding.status, conditions=stamped)))


@given(st.dictionaries(st.sampled_from("abcdefghij"), st.sampled_from(list(CAUSES)), min_size=1), CHOICES, CHOICES)
def test_they_are_those_of_the_rolling_update(changes, unavailable, surge):
    wanting = placement(None, maxUnavailable=unavailable, maxSurge=surge)
    bindings = []
    for name, change in sorted(changes.items()):
        state = {"lost": "Unscheduled", "gained": "Scheduled"}.get(change, "Bound")
        content = CONTENTS.get(change, OLD)
        bindings.append(held(name, *([] if change == "gained" else [READY]), state=state, content=content))
    clusters = [row(name, change) for name, change in sorted(changes.items())]
    plan = SimpleNamespace(
        placement=wanting,
        deleting=False,
        is_by_staged_runs=False,
        empty_first=False,
        clusters=clusters,
        bindings=[each.binding for each in bindings],
    )
    assert [sorted(each) for each in waves(plan)] == carried_out(wanting, bindings)


@given(
    st.dictionaries(st.sampled_from("abcdefghij"), st.sampled_from([*CAUSES, "evacuated"]), min_size=1),
    st.integers(0, 9),
    CHOICES,
    CHOICES,
    st.booleans(),
)
def test_evacuated_clusters_go_after_those_that_take_their_places(changes, homes, unavailable, surge, empty_first):
    """As many of the gained clusters as ``homes`` says take one's place each; the others of them are short of one."""
    changes = dict(sorted(changes.items()))
    names = {what: [name for name, each in changes.items() if each == what] for what in (*CAUSES, "evacuated")}
    places = dict(list(zip(names["gained"], names["evacuated"], strict=False))[:homes])
    held_after = sum(len(found) for change, found in names.items() if change not in ("lost", "evacuated"))
    wanting = placement(pick_n(held_after + homes % 2), maxUnavailable=unavailable, maxSurge=surge)
    bindings = []
    for name, change in changes.items():
        state = {"lost": "Unscheduled", "evacuated": "Unscheduled", "gained": "Scheduled"}.get(change, "Bound")
        content = CONTENTS.get(change, OLD)
        marks = {EVACUATED: "true"} if change == "evacuated" else {}
        marks |= {INSTEAD_OF: places[name]} if name in places else {}
        ready = [] if change == "gained" else [READY]
        bindings.append(held(name, *ready, state=state, content=content, annotations=marks))
    clusters = [row(name, each) for name, each in changes.items()]
    plan = SimpleNamespace(
        placement=wanting,
        deleting=False,
        is_by_staged_runs=False,
        empty_first=empty_first,
        clusters=clusters,
        bindings=[each.binding for each in bindings],
    )
    assert [sorted(each) for each in waves(plan)] == carried_out(wanting, bindings, empty_first)


def test_a_placement_that_ends_ends_at_once():
    clusters = [ClusterPlan(cluster=name, change="lost", cause="deleted", reason="") for name in "abcd"]
    plan = SimpleNamespace(
        placement=placement(None), deleting=True, is_by_staged_runs=False, clusters=clusters, bindings=[]
    )
    assert waves(plan) == (("a", "b", "c", "d"),)


def first(clusters, **more):
    """The plan of a placement that was never applied."""
    rows = [ClusterPlan(cluster=name, change="gained", cause="picked", reason="") for name in clusters]
    parts = {
        "placement": placement(None), "deleting": False, "is_by_staged_runs": False, "empty_first": False,
        "clusters": rows, "bindings": [], "resource_snapshot": "web-0-snapshot", "resource_snapshot_new": True,
    }  # fmt: skip
    return SimpleNamespace(**{**parts, **more})


def test_a_first_apply_reaches_all_clusters_at_once():
    assert clusters_reached_at_once(first("abcd")) == 4


def test_what_does_not_reach_many_clusters_for_the_first_time_says_nothing_of_it():
    assert clusters_reached_at_once(first("a")) == 0
    assert clusters_reached_at_once(first("abcd", resource_snapshot="web-1-snapshot")) == 0
    assert clusters_reached_at_once(first("abcd", resource_snapshot_new=False)) == 0
    assert clusters_reached_at_once(first("abcd", is_by_staged_runs=True)) == 0
    assert clusters_reached_at_once(first("abcd", deleting=True)) == 0
    assert clusters_reached_at_once(first("")) == 0


def moved(number: int = 1, objects: tuple[t.Any, ...] = made.OBJECTS, **strategy: t.Any) -> PlacementPlan:
    """An edit of the policy by which clusters a and b, as far as they have the placement, lose it to y and z."""
    rings = [{"ring": "old"}, {"ring": "new"}]
    members = [
        made.cluster(name, labels=ring) for names, ring in zip(("ab", "yz"), rings, strict=True) for name in names
    ]
    fleet = made.facts(*members)
    old, new = (made.pick_n(number, affinity=made.require(ring)) for ring in rings)
    spec = made.placement(new, strategy=strategy)
    return made.plan(WantedPlacement(placement=spec, objects=objects), fleet, made.placed(old, fleet, objects))


def test_a_move_in_which_no_cluster_has_it_for_a_while_is_told_with_the_way_round_it() -> None:  # D4-97
    plan = moved()
    (told,) = plan.findings
    assert waves(plan) == (("b", "z"),)
    assert "it leaves b before it is available on z; no cluster has it meanwhile" in told.message
    assert "maxUnavailable (25%, of 1 cluster) allows" in told.message and "maxUnavailable 0" in told.hint
    assert plan.as_dict()["findings"] == [told.as_dict()] and told.code == "moves-with-a-gap"
    around = moved(rollingUpdate={"maxUnavailable": 0})
    assert (waves(around), around.findings) == ((("z",), ("b",)), ())


@pytest.mark.parametrize(
    ("number", "strategy", "gap"),
    [
        (2, {}, False),
        (2, {"rollingUpdate": {"maxUnavailable": 2}}, True),
        (2, {"rollingUpdate": {"maxUnavailable": "100%", "maxSurge": 0}}, True),
        (1, {"type": "External"}, False),
        (1, {"deleteStrategy": {"propagationPolicy": "Abandon"}}, True),
    ],
)
def test_no_gap_is_told_where_one_cluster_at_least_has_it(number: int, strategy: t.Any, gap: bool) -> None:
    """Staged runs clean last; ``Abandon`` is about the end of a placement, and not about a cluster that loses it."""
    assert [each.code for each in moved(number, **strategy).findings] == ["moves-with-a-gap"] * gap


def test_no_gap_is_told_of_what_stays_where_it_is() -> None:
    assert moved(objects=made.OBJECTS[:1]).findings == (), "a namespace is released"


@pytest.mark.parametrize(
    ("wanted", "limits", "told", "hint"),
    [
        (3, {}, ", and 1 cluster is asked for and not found", ", or ask for no more clusters than there are"),
        (2, {"maxUnavailable": 0}, "", ""),
        (3, {"maxUnavailable": 2}, None, ""),
        (2, {}, None, ""),
    ],
)
def test_clusters_that_the_limits_never_let_change_are_told(
    wanted: int, limits: dict[str, t.Any], told: str | None, hint: str
) -> None:
    """Without it, the plan would promise an update that no apply ever begins."""
    fleet, policy = made.facts("a", "b"), made.pick_n(wanted)
    wish = made.wanted(policy, (*made.OBJECTS, made.rendered(made.EXTRA)))
    wish = replace(wish, placement=made.placement(policy, strategy={"rollingUpdate": limits}))
    plan = made.plan(wish, fleet, made.placed(policy, fleet))
    if told is None:
        assert plan.findings == () and waves(plan)
        return
    (found,) = plan.findings
    assert (found.code, waves(plan)) == ("held-by-limits", ())
    assert "nothing change on a, b" in found.message and found.message.endswith(f"may be unavailable at once{told}")
    assert found.hint == f"raise maxUnavailable{hint}"


def test_who_waits_for_a_cluster_that_never_leaves_is_told_too() -> None:
    policy, limits = made.pick_fixed("b"), {"maxUnavailable": 0, "maxSurge": 0}
    fleet = made.facts("a", "b")
    wish = replace(made.wanted(policy), placement=made.placement(policy, strategy={"rollingUpdate": limits}))
    (found,) = made.plan(wish, fleet, made.placed(made.pick_fixed("a"), fleet)).findings
    assert "on a, b while all are available" in found.message
    assert found.hint == "raise maxUnavailable, or give maxSurge room"


CONTENT = (*made.OBJECTS, made.rendered(made.EXTRA))
TWO_WEEKS = timedelta(days=14)


def recorded(available="True"):
    """The placement on a, b and c, where it became so two weeks ago."""
    known = made.placed(made.pick_all(), made.facts("a", "b", "c"))
    row = (available, "AllWorkAreAvailable", "")
    rows = [set_condition((), "Available", row, each.metadata.generation, NOW - TWO_WEEKS) for each in known.bindings]
    bindings = zip(known.bindings, rows, strict=True)
    statuses = (replace(each, status=replace(each.status, conditions=row)) for each, row in bindings)
    return replace(known, bindings=tuple(statuses))


def of(known, objects=CONTENT, policy=None, fleet="abc", **more):
    fleet = made.facts(*fleet)
    return made.plan(made.wanted(policy or made.pick_all(), objects, **more), fleet, known)


def test_a_silent_cluster_that_counts_as_available_is_told_with_since_when():
    """With maxUnavailable 1 b is updated although a, which was available two weeks ago, may be down."""
    (told,) = counted_as_recorded_findings(of(recorded()), {"a"})
    assert (told.code, told.where) == ("counted-as-recorded", "a (web)")
    assert "available since 2026-01-01T12:00:00Z" in told.message


@pytest.mark.parametrize(
    ("plan", "silent"),
    [
        (of(recorded()), ()),
        (of(recorded("False")), ("a",)),
        (of(recorded(), made.OBJECTS), ("a",)),
        (of(recorded(), deleting="deleted"), ("a",)),
        (of(recorded()), ("a", "b", "c")),
        (of(recorded(), made.OBJECTS, fleet="ab"), ("a",)),
    ],
    ids=[
        "all answer",
        "it spends the budget",
        "nothing changes",
        "the placement ends",
        "nobody is begun",
        "what has left the fleet keeps what it holds",
    ],
)
def test_where_nothing_rests_on_it_nothing_is_told(plan, silent):
    assert counted_as_recorded_findings(plan, silent) == ()
