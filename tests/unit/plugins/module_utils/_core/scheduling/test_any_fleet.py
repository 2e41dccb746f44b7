# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Whatever the fleet, the policy and the bindings are: what always holds of a scheduling. Each example is a seed."""

from __future__ import annotations

import typing as t
from random import Random

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.facts.snapshot import read_snapshot
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.binding import ClusterResourceBinding
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.member_cluster import MemberCluster
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.schema import encode
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.cycle import Scheduled, schedule
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.explain import explain_outcome
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.index import FleetIndex
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.overlay import overlaid, read_overlay
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.what_if import what_if
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.random_json import anything, mutated
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

SEEDS = range(80)
VALUES = (None, "1", "3", "3.0", "500m", "12", "broken")


def member(rng: Random, name: str) -> MemberCluster:
    labels = {key: rng.choice(("x", "y", "z")) for key in ("region", "env") if rng.random() < 0.7}
    taints = [{"key": rng.choice(("k", "l")), "effect": "NoSchedule"}] if rng.random() < 0.2 else []
    leaving = "2026-01-15T11:00:00Z" if rng.random() < 0.1 else None
    return cluster(name, rng.choice(VALUES), rng.choice(VALUES[:6]), labels=labels, taints=taints, leaving=leaving)


def policy(rng: Random) -> Manifest:
    terms = [
        term(
            {rng.choice(("region", "env")): rng.choice("xyz")},
            *([(NODES, rng.choice(("Ge", "Lt", "Ne")), "3")] * (rng.random() < 0.5)),
        )
        for _each in range(rng.randrange(3))
    ]
    wishes = [
        prefer(
            rng.randrange(-100, 101),
            {"env": "x"} if rng.random() < 0.5 else None,
            (rng.choice((NODES, CPU)), "Ascending"),
        )
        for _each in range(rng.randrange(3))
    ]
    spread = [
        {
            "topologyKey": key,
            "maxSkew": rng.randrange(1, 3),
            "whenUnsatisfiable": rng.choice(("DoNotSchedule", "ScheduleAnyway")),
        }
        for key in ("region", "env")
        if rng.random() < 0.4
    ]
    tolerations = [{"key": "k", "operator": "Exists"}] if rng.random() < 0.5 else []
    kind = rng.randrange(4)
    if kind == 0:
        return {"placementType": "PickFixed", "clusterNames": [f"c{rng.randrange(14):02}" for _each in range(4)]}
    if kind == 1:
        return {**require(*terms), "tolerations": tolerations} if terms else {"placementType": "PickAll"}
    more: Manifest = {"topologySpreadConstraints": spread, "tolerations": tolerations}
    return pick_n(rng.randrange(8), *wishes, required=terms or None, **more)


def case(seed: int) -> tuple[Manifest, list[MemberCluster], list[ClusterResourceBinding]]:
    rng = Random(seed)
    clusters = [member(rng, f"c{number:02}") for number in range(rng.randrange(12))]
    bindings = [
        binding(
            f"c{number:02}", rng.choice(("Bound", "Scheduled", "Unscheduled")), rng.choice(("web-1", "web-1", "web-0"))
        )
        for number in range(13)
        if rng.random() < 0.3
    ]
    return policy(rng), clusters, bindings


def decided(
    rules: Manifest, clusters: t.Iterable[MemberCluster], bindings: t.Iterable[ClusterResourceBinding]
) -> Scheduled:
    return schedule(placement(rules), snapshot(), FleetIndex(clusters, NOW), bindings)


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
def test_the_order_of_clusters_and_bindings_does_not_matter(upstream: bool) -> None:
    for seed in SEEDS:
        rules, clusters, bindings = case(seed)
        rng = Random(seed)
        orders = [(clusters, bindings), (rng.sample(clusters, len(clusters)), rng.sample(bindings, len(bindings)))]
        first, second = (
            schedule(placement(rules), snapshot(), FleetIndex(each, NOW), held, upstream=upstream)
            for each, held in orders
        )
        assert told(first)[:2] == told(second)[:2], f"seed {seed}"
        if not upstream:
            assert told(first) == told(second), f"seed {seed}"


def test_pick_n_never_holds_more_than_n_and_nobody_twice() -> None:
    for seed in SEEDS:
        rules, clusters, bindings = case(seed)
        outcome = decided(rules, clusters, bindings)
        if rules["placementType"] == "PickN":
            assert len(outcome.holders) <= rules["numberOfClusters"], f"seed {seed}"
        held = [each.spec.target_cluster for each in outcome.bindings if each.spec.state != "Unscheduled"]
        assert len(held) == len(set(held)), f"seed {seed}"
        assert set(held) == set(outcome.holders) <= {each.name for each in clusters}, f"seed {seed}"


def test_a_second_run_changes_nothing() -> None:
    for seed in SEEDS:
        rules, clusters, bindings = case(seed)
        outcome = decided(rules, clusters, bindings)
        again = decided(rules, clusters, outcome.bindings)
        assert [encode(each) for each in again.bindings] == [encode(each) for each in outcome.bindings], f"seed {seed}"
        assert again.changes == (), f"seed {seed}"


def test_an_irrelevant_cluster_changes_nothing() -> None:
    """One that was never read, carries no label and reports nothing, cannot be picked and is no part of any domain."""
    for seed in SEEDS:
        rules, clusters, bindings = case(seed)
        stranger = cluster("a-stranger", agentStatus=[])
        without, beside = (decided(rules, each, bindings) for each in (clusters, [stranger, *clusters]))
        assert [encode(each) for each in without.bindings] == [encode(each) for each in beside.bindings], f"seed {seed}"
        others = [each for each in beside.left_out if each.cluster != stranger.name]
        assert others == list(without.left_out), f"seed {seed}"
        assert without.fulfilled == beside.fulfilled, f"seed {seed}"


def test_whoever_keeps_a_placement_under_the_same_policy_was_not_better_elsewhere_D1_46() -> None:
    """Holders leave only because their cluster does, or because fewer are wanted."""
    for seed in SEEDS:
        rules, clusters, bindings = case(seed)
        if rules["placementType"] == "PickFixed":
            continue
        staying = {each.name for each in clusters if each.metadata.deletion_timestamp is None}
        current = {
            each.spec.target_cluster
            for each in bindings
            if each.spec.scheduling_policy_snapshot_name == "web-1" and each.spec.state != "Unscheduled"
        } & staying
        holders = set(decided(rules, clusters, bindings).holders)
        if rules.get("numberOfClusters") is None or len(current) <= rules["numberOfClusters"]:
            assert current <= holders, f"seed {seed}"
        else:
            assert holders <= current, f"seed {seed}"


def test_every_cluster_is_explained_as_it_was_decided() -> None:
    for seed in SEEDS[:40]:
        outcome = decided(*case(seed))
        for name in outcome.asked.index.names:
            told_of = explain_outcome(outcome, name)
            assert told_of.picked == (name in outcome.holders), f"seed {seed}"
            assert bool(told_of.refusal) != told_of.picked, f"seed {seed}"
            assert told_of.sentence.startswith(name) and told_of.sentence.endswith("."), f"seed {seed}"


def test_gained_lost_and_kept_add_up() -> None:
    for seed in SEEDS[:40]:
        rng = Random(seed)
        rules, clusters, bindings = case(seed)
        index = FleetIndex(clusters, NOW)
        names = list(index.names)
        supposed = {
            "gone": [name for name in names if rng.random() < 0.2],
            "new": [{"name": "n1", "labels": {"env": "x"}}, {"name": "n2", **({"like": names[0]} if names else {})}],
        }
        change = {name: {"properties": {NODES: 9}, "taints": []} for name in names if name not in supposed["gone"]}
        overlay = read_overlay({**supposed, "change": change}, names)
        found = what_if(placement(rules), snapshot(), index, bindings, overlay)
        before = set(decided(rules, clusters, bindings).holders)
        after = set(decided(rules, overlaid(clusters, overlay, NOW), bindings).holders)
        assert (set(found.gained), set(found.lost), set(found.kept)) == (after - before, before - after, after & before)
        assert all(each.sentence and each.before for each in found.rows), f"seed {seed}"


def test_an_overlay_that_is_no_overlay_is_refused_or_read() -> None:
    good = {
        "gone": ["a"],
        "new": [{"name": "n", "like": "a", "labels": {"x": "y"}, "taints": [{"key": "k", "effect": "NoSchedule"}]}],
        "change": {"b": {"labels": {"x": None}, "properties": {NODES: "3", CPU: 4}, "prices": {"cpu": 0.1}}},
        "numberOfClusters": 3,
    }
    clusters = [cluster("a", "3"), cluster("b", cpu="3")]
    for seed in range(200):
        rng = Random(seed)
        document = anything(rng) if seed % 4 == 0 else mutated(rng, good)
        try:
            overlay = read_overlay(document, ("a", "b"))
        except FleetError as error:
            assert len(set(error.problems)) == len(error.problems), f"seed {seed}"
        else:
            FleetIndex(overlaid(clusters, overlay, NOW), NOW)


def test_facts_that_are_no_facts_are_refused_or_read() -> None:
    good = {
        "schema": 1,
        "capturedAt": "2026-01-15T12:00:00Z",
        "members": [encode(cluster("a", "3", cpu="4"))],
        "nodes": {"a": [{"name": "n"}]},
    }
    for seed in range(200):
        rng = Random(seed)
        try:
            facts = read_snapshot(mutated(rng, good), "facts.json")
        except FleetError:
            continue
        outcome = decided(policy(rng), facts.members, ())
        assert len(outcome.left_out) + len(outcome.holders) <= len(facts.members) + 4


def test_a_policy_that_no_reader_would_pass_raises_nothing_else() -> None:
    for seed in SEEDS:
        rules, clusters, bindings = case(seed)
        wrong = mutated(Random(seed), rules, 1)
        try:
            asked = placement(wrong)
        except ValueError:
            continue
        try:
            outcome = schedule(asked, snapshot(), FleetIndex(clusters, NOW), bindings)
        except FleetError:
            continue
        assert outcome.count >= 0
