# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Whatever the fleet, the policy and the bindings are: what always holds of a scheduling. Each example is a seed."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace
from random import Random

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.snapshot import read_snapshot
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.member_cluster import MemberCluster
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.binding import (
    ClusterResourceBinding,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.contest import (
    HELD,
    NAME,
    Contests,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.contest import NOW as NOW_AFRESH
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.cycle import Scheduled, schedule
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.explain import explain_outcome
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.index import FleetIndex
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.what_if.overlay import (
    overlaid,
    read_overlay,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.what_if.what_if import what_if
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import encode
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.random_json import (
    RANDOM,
    any_json,
    gone_wrong,
    mutated,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.scheduling.made import (
    CPU,
    NODES,
    NOW,
    Manifest,
    binding,
    cluster,
    pick_n,
    placement,
    prefer,
    require,
    snapshot,
    term,
)
from hypothesis import assume, given, settings
from hypothesis import strategies as st

NAMES = [f"c{number:02}" for number in range(14)]
VALUES = (None, "1", "3", "3.0", "500m", "12", "broken")
KEYS = ("region", "env")


@dataclass(frozen=True)
class Case:
    policy: Manifest
    clusters: list[MemberCluster]
    bindings: list[ClusterResourceBinding]


def some(*items: t.Any) -> st.SearchStrategy[t.Any]:
    return st.sampled_from(items)


LABELS = st.fixed_dictionaries({}, optional={key: some(*"xyz") for key in KEYS})
FEW_NAMES = st.lists(some(*NAMES[:12]), unique=True, max_size=4)
MANY_NAMES = st.lists(some(*NAMES[:12]), unique=True, min_size=7)


@st.composite
def fleets(draw: st.DrawFn) -> list[MemberCluster]:
    return [
        cluster(
            name,
            draw(some(*VALUES)),
            draw(some(*VALUES[:6])),
            labels=draw(LABELS),
            taints=[{"key": each, "effect": "NoSchedule"} for each in draw(some(*[""] * 6, "k", "l"))],
            leaving=draw(some(*[None] * 9, "2026-01-15T11:00:00Z")),
        )
        for name in draw(FEW_NAMES | MANY_NAMES)
    ]


@st.composite
def holders(draw: st.DrawFn) -> list[ClusterResourceBinding]:
    return [
        binding(name, draw(some("Bound", "Scheduled", "Unscheduled")), draw(some("web-1", "web-1", "web-0")))
        for name in draw(st.lists(some(*NAMES[:13]), unique=True, max_size=6))
    ]


SELECTED = st.builds(lambda key, value: {key: value}, some(*KEYS), some(*"xyz"))
TERMS = st.lists(
    st.builds(
        lambda labels, needs: term(labels, *needs),
        some(None) | SELECTED,
        st.lists(st.tuples(st.just(NODES), some("Ge", "Lt", "Ne"), st.just("3")), max_size=1),
    ),
    max_size=2,
)
WISHES = st.lists(
    st.builds(
        prefer,
        st.integers(-100, 100),
        some(None, {"env": "x"}),
        st.tuples(some(NODES, CPU), some("Ascending", "Descending")),
    ),
    max_size=2,
)
SPREAD = st.lists(
    st.fixed_dictionaries(
        {
            "topologyKey": some(*KEYS),
            "maxSkew": st.integers(1, 2),
            "whenUnsatisfiable": some("DoNotSchedule", "ScheduleAnyway"),
        }
    ),
    unique_by=lambda each: each["topologyKey"],
    max_size=2,
)
TOLERATIONS = some([], [{"key": "k", "operator": "Exists"}])
POLICIES = st.one_of(
    st.builds(
        lambda number, wishes, terms, spread, tolerations: pick_n(
            number, *wishes, required=terms or None, topologySpreadConstraints=spread, tolerations=tolerations
        ),
        st.integers(0, 7) | st.integers(3, 5),
        WISHES,
        TERMS,
        SPREAD,
        TOLERATIONS,
    ),
    st.builds(
        lambda terms, tolerations: {
            **(require(*terms) if terms else {"placementType": "PickAll"}),
            "tolerations": tolerations,
        },
        TERMS,
        TOLERATIONS,
    ),
    st.builds(
        lambda names: {"placementType": "PickFixed", "clusterNames": names},
        st.lists(some(*NAMES), min_size=1, max_size=4),
    ),
)
CASES = st.builds(Case, POLICIES, fleets(), holders())


def decided(case: Case, clusters: t.Iterable[MemberCluster] | None = None, upstream: bool = False) -> Scheduled:
    index = FleetIndex(case.clusters if clusters is None else clusters, NOW)
    return schedule(placement(case.policy), snapshot(), index, case.bindings, upstream=upstream)


def told(outcome: Scheduled) -> t.Any:
    """Everything that an outcome says, as plain data."""
    return (
        [encode(each) for each in outcome.bindings],
        [repr(each) for each in outcome.decisions],
        {repr(each) for each in outcome.changes},
        [repr(each) for each in outcome.left_out],
        (outcome.fulfilled, outcome.count, outcome.wanted),
        {each.message for each in outcome.findings},
    )


@pytest.mark.parametrize("upstream", [False, True])
@settings(max_examples=2 * settings().max_examples)
@given(case=CASES, data=st.data())
def test_the_order_of_clusters_and_bindings_does_not_matter(upstream: bool, case: Case, data: st.DataObject) -> None:
    other = Case(case.policy, *(data.draw(st.permutations(each)) for each in (case.clusters, case.bindings)))
    first, second = (decided(each, upstream=upstream) for each in (case, other))
    assert told(first)[:2] == told(second)[:2]
    if not upstream:
        assert told(first) == told(second)


@settings(max_examples=2 * settings().max_examples)
@given(case=CASES)
def test_pick_n_never_holds_more_than_n_and_nobody_twice(case: Case) -> None:
    outcome = decided(case)
    if case.policy["placementType"] == "PickN":
        assert len(outcome.holders) <= case.policy["numberOfClusters"]
    held = [each.spec.target_cluster for each in outcome.bindings if each.spec.state != "Unscheduled"]
    assert len(held) == len(set(held))
    assert set(held) == set(outcome.holders) <= {each.name for each in case.clusters}


@settings(max_examples=2 * settings().max_examples)
@given(case=CASES)
def test_a_second_run_changes_nothing(case: Case) -> None:
    outcome = decided(case)
    again = decided(replace(case, bindings=list(outcome.bindings)))
    assert [encode(each) for each in again.bindings] == [encode(each) for each in outcome.bindings]
    assert again.changes == ()


@settings(max_examples=2 * settings().max_examples)
@given(case=CASES)
def test_an_irrelevant_cluster_changes_nothing(case: Case) -> None:
    """One that was never read, carries no label and reports nothing, cannot be picked and is no part of any domain."""
    stranger = cluster("a-stranger", agentStatus=[])
    without, beside = (decided(case, each) for each in (case.clusters, [stranger, *case.clusters]))
    assert [encode(each) for each in without.bindings] == [encode(each) for each in beside.bindings]
    assert [each for each in beside.left_out if each.cluster != stranger.name] == list(without.left_out)
    assert without.fulfilled == beside.fulfilled


@settings(max_examples=2 * settings().max_examples)
@given(case=CASES)
def test_whoever_keeps_a_placement_under_the_same_policy_was_not_better_elsewhere_D1_46(case: Case) -> None:
    """Holders leave only because their cluster does, or because fewer are wanted."""
    assume(case.policy["placementType"] != "PickFixed")
    staying = {each.name for each in case.clusters if each.metadata.deletion_timestamp is None}
    current = {
        each.spec.target_cluster
        for each in case.bindings
        if each.spec.scheduling_policy_snapshot_name == "web-1" and each.spec.state != "Unscheduled"
    } & staying
    holders = set(decided(case).holders)
    number = case.policy.get("numberOfClusters")
    assert current <= holders if number is None or len(current) <= number else holders <= current


@settings(max_examples=2 * settings().max_examples)
@given(case=CASES)
def test_every_cluster_is_explained_as_it_was_decided(case: Case) -> None:
    outcome = decided(case)
    for name in outcome.asked.index.names:
        told_of = explain_outcome(outcome, name)
        assert told_of.picked == (name in outcome.holders)
        assert bool(told_of.refusal) != told_of.picked
        assert told_of.sentence.startswith(name) and told_of.sentence.endswith(".")


@settings(max_examples=2 * settings().max_examples)
@given(case=CASES, named=FEW_NAMES)
def test_whoever_lost_lost_to_a_holder_by_a_score_that_does_not_lie(case: Case, named: list[str]) -> None:
    """A rule is told only where the scores that are told with it say the same; of a decision of now one always is."""
    outcome = decided(case)
    contests = Contests(outcome, among=tuple(named))
    for name in outcome.asked.index.names:
        lost = contests.lost(name)
        if lost is None:
            continue
        assert name not in outcome.holders and lost.rival in outcome.holders and lost.rival_score is not None
        mine, theirs = ((each.priority_score or 0, each.affinity_score or 0) for each in (lost.score, lost.rival_score))
        assert (theirs >= mine) == bool(lost.rule) and (lost.rule in (NAME, HELD)) == (mine == theirs)
        assert lost.rule or lost.known == NOW_AFRESH
        assert all(line.endswith(".") for line in lost.lines)


@settings(max_examples=2 * settings().max_examples)
@given(case=CASES, data=st.data())
def test_gained_lost_and_kept_add_up(case: Case, data: st.DataObject) -> None:
    index = FleetIndex(case.clusters, NOW)
    names = list(index.names)
    gone = [name for name in names if data.draw(some(False, False, True))]
    supposed = {
        "gone": gone,
        "new": [{"name": "n1", "labels": {"env": "x"}}, {"name": "n2", **({"like": names[0]} if names else {})}],
        "change": {name: {"properties": {NODES: 9}, "taints": []} for name in names if name not in gone},
    }
    overlay = read_overlay(supposed, names)
    found = what_if(placement(case.policy), snapshot(), index, case.bindings, overlay)
    before = set(decided(case).holders)
    after = set(decided(case, overlaid(case.clusters, overlay, NOW)).holders)
    assert (set(found.gained), set(found.lost), set(found.kept)) == (after - before, before - after, after & before)
    assert all(each.sentence and each.before for each in found.rows)


OVERLAY = {
    "gone": ["a"],
    "new": [{"name": "n", "like": "a", "labels": {"x": "y"}, "taints": [{"key": "k", "effect": "NoSchedule"}]}],
    "change": {"b": {"labels": {"x": None}, "properties": {NODES: "3", CPU: 4}, "prices": {"cpu": 0.1}}},
    "numberOfClusters": 3,
}


@given(document=gone_wrong(OVERLAY) | any_json())
def test_an_overlay_that_is_no_overlay_is_refused_or_read(document: t.Any) -> None:
    try:
        overlay = read_overlay(document, ("a", "b"))
    except FleetError as error:
        assert len(set(error.problems)) == len(error.problems)
    else:
        FleetIndex(overlaid([cluster("a", "3"), cluster("b", cpu="3")], overlay, NOW), NOW)


FACTS = {
    "schema": 1,
    "capturedAt": "2026-01-15T12:00:00Z",
    "members": [encode(cluster("a", "3", cpu="4"))],
    "nodes": {"a": [{"name": "n"}]},
}


@given(document=gone_wrong(FACTS), policy=POLICIES)
def test_facts_that_are_no_facts_are_refused_or_read(document: t.Any, policy: Manifest) -> None:
    try:
        facts = read_snapshot(document, "facts.json")
    except FleetError:
        return
    outcome = decided(Case(policy, list(facts.members), []))
    assert len(outcome.left_out) + len(outcome.holders) <= len(facts.members) + 4


@settings(max_examples=2 * settings().max_examples)
@given(case=CASES, rng=RANDOM)
def test_a_policy_that_no_reader_would_pass_raises_nothing_else(case: Case, rng: Random) -> None:
    try:
        asked = placement(mutated(rng, case.policy, 1))
    except ValueError:
        return
    try:
        outcome = schedule(asked, snapshot(), FleetIndex(case.clusters, NOW), case.bindings)
    except FleetError:
        return
    assert outcome.count >= 0
