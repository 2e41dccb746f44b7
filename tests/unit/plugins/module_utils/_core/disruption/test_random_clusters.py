# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Random clusters: plans do not depend on the order of inputs, keep budgets, and leave every pod a home."""

from __future__ import annotations

import dataclasses
import typing as t
from collections import Counter
from random import Random

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.cluster_state import (
    ClusterState,
    StatePool,
    assemble,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.pod import Pod
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.pod_disruption_budget import (
    PodDisruptionBudget,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.pod_manifest import PodSpread
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.methods.commands import Command
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.methods.method_input import MethodInput
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.methods.passes import pass_of
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.node_pool import REASONS
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.selector import LabelSelector
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.disruption.nodes_made import (
    DAEMON,
    NOW,
    a_claim,
    a_node,
    a_pod,
    a_pool,
    a_state,
    a_type,
)

TYPES = (a_type("s", 2, 0.5, "abc"), a_type("m", 4, 1.0, "abc"), a_type("l", 8, 1.9, "abc"))
SIZES = {"s": 2.0, "m": 4.0, "l": 8.0}
ZONE = "topology.kubernetes.io/zone"


class Cluster:
    """The parts of a random cluster, to be put together in any order."""

    def __init__(self, rng: Random) -> None:
        kinds = [rng.choice("sml") for _each in range(rng.randrange(2, 9))]
        self.nodes = [
            a_node(f"n{place}", rng.choice("pq"), SIZES[kind], kind, rng.choice("abc"))
            for place, kind in enumerate(kinds)
        ]
        self.claims = [a_claim(each, drifted="X" if rng.random() < 0.1 else None) for each in self.nodes]
        self.pods = [
            pod
            for node in self.nodes
            for pod in _pods(rng, node.name, SIZES[node.labels["node.kubernetes.io/instance-type"]])
        ]
        self.pools = [
            StatePool(a_pool(name, budgets=[{"nodes": rng.choice(("1", "2", "50%", "100%"))}]), instance_types=TYPES)
            for name in "pq"
        ]
        self.pdbs = [
            PodDisruptionBudget(name=app, selector=LabelSelector(match_labels={"app": app}), allowed=rng.randrange(2))
            for app in rng.sample("xyz", 1)
        ]

    def state(self, rng: Random | None = None) -> ClusterState:
        def mixed(rows: list[t.Any]) -> list[t.Any]:
            return rng.sample(rows, len(rows)) if rng else rows

        return assemble(*map(mixed, (self.nodes, self.claims, self.pods, self.pools, self.pdbs)))


def _pods(rng: Random, node: str, cpu: float) -> t.Iterator[Pod]:
    for number in range(rng.randrange(1, 5)):
        size = rng.choice((0.1, 0.5, 1.0, 1.5))
        if size > cpu:
            return
        cpu -= size
        app = rng.choice("xyz")
        spread = (PodSpread(topology_key=ZONE, max_skew=2, label_selector=LabelSelector(match_labels={"app": app})),)
        yield a_pod(
            f"{node}-{number}",
            node,
            size,
            labels={"app": app},
            owners=DAEMON if rng.random() < 0.05 else (),
            spread=spread if rng.random() < 0.3 else (),
            bound_volumes=rng.random() < 0.1,
        )


SEEDS = range(60)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_order_of_inputs_never_matters(seed: int) -> None:
    rng = Random(seed)
    cluster = Cluster(rng)
    assert pass_of(MethodInput(cluster.state(rng), NOW)) == pass_of(MethodInput(cluster.state(), NOW))
    assert MethodInput(cluster.state(rng), NOW).verdicts() == MethodInput(cluster.state(), NOW).verdicts()


@pytest.mark.parametrize("seed", SEEDS)
def test_no_budget_is_exceeded_and_every_pod_has_a_home_with_room(seed: int) -> None:
    state = Cluster(Random(seed)).state()
    for command in pass_of(MethodInput(state, NOW)).commands:
        allowed = MethodInput(state, NOW).allowances(command.reason)
        pools = Counter(each.pool for each in state.nodes if each.name in command.nodes)
        assert all(count <= allowed[pool].allowed for pool, count in pools.items())
        assert_homes(state, command)


def assert_homes(state: ClusterState, command: Command) -> None:
    """Every pod that moves has exactly one home, on a node that stays, or a new one that is large enough."""
    going = [each for each in state.nodes if each.name in command.nodes]
    moving = {pod.key: pod for node in going for pod in node.pods if not pod.daemon}
    assert sorted(each.pod for each in command.moves) == sorted(moving)
    room = {
        node.name: node.node.allocatable["cpu"] - sum(pod.requests["cpu"] for pod in node.pods)
        for node in state.nodes
        if node.node
    }
    new = {each.name: min(option.free["cpu"] for option in each.options) for each in command.replacements}
    for each in command.moves:
        assert each.target not in command.nodes
        home = new if each.target in new else room
        home[each.target] -= moving[each.pod].requests["cpu"]
    targets = {each.target for each in command.moves}
    assert all(left >= 0 for name, left in (room | new).items() if name in targets)


@pytest.mark.parametrize("seed", SEEDS)
def test_consolidation_only_ever_saves(seed: int) -> None:
    for command in pass_of(MethodInput(Cluster(Random(seed)).state(), NOW)).commands:
        assert command.reason == "Drifted" or command.saving is None or command.saving > 0


@pytest.mark.parametrize("seed", SEEDS)
def test_deleting_what_is_not_needed_comes_to_an_end(seed: int) -> None:
    """Pass by pass until nothing is to be gained; pods go where the plan says."""
    state = Cluster(Random(seed)).state()
    for _pass in range(30):
        commands = [each for each in pass_of(MethodInput(state, NOW)).commands if not each.replacements]
        if not commands:
            return
        state = carried_out(state, commands[0])
    raise AssertionError("the passes do not end")


def carried_out(state: ClusterState, command: Command) -> ClusterState:
    homes = {each.pod: each.target for each in command.moves}
    moved = {pod.key: pod for node in state.nodes for pod in node.pods if pod.key in homes}
    nodes = []
    for node in state.nodes:
        if node.name not in command.nodes:
            come = tuple(pod for key, pod in moved.items() if homes[key] == node.name)
            nodes.append(dataclasses.replace(node, pods=(*node.pods, *come)))
    return dataclasses.replace(state, nodes=tuple(nodes))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_pool_that_may_lose_nothing_changes_nothing_for_others(seed: int) -> None:
    """An unmanaged node with neither room nor label is irrelevant."""
    cluster = Cluster(Random(seed))
    before = pass_of(MethodInput(cluster.state(), NOW))
    stranger = dataclasses.replace(a_node("zz", cpu=0), labels={}, allocatable={})
    cluster.nodes.append(stranger)
    after = pass_of(MethodInput(cluster.state(), NOW))
    assert [(each.nodes, each.moves) for each in after.commands] == [
        (each.nodes, each.moves) for each in before.commands
    ]


def test_a_budget_of_0_stops_the_pool_for_every_reason_d0_97() -> None:
    state = a_state([a_node("a"), a_node("b")], pool=a_pool(budgets=[{"nodes": "0"}]))
    assert [MethodInput(state, NOW).allowances(reason)["p"].allowed for reason in REASONS] == [0, 0, 0]


def test_with_the_default_policy_every_node_is_a_candidate_d0_14() -> None:
    state = a_state([a_node(name) for name in "abc"], [a_pod("p", "a")])
    assert [each.node for each in MethodInput(state, NOW).verdicts() if each.candidate] == ["a", "b", "c"]
