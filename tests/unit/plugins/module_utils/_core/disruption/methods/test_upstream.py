# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Where we decide otherwise than Karpenter on purpose; ``upstream`` takes each of these back."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.cluster_state import ClusterState
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.pod_manifest import PodAffinityTerm
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.methods.candidates import (
    DRIFT,
    EMPTINESS,
    MULTI_NODE,
    SINGLE_NODE,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.methods.method_input import MethodInput
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.methods.passes import commands_of
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.scheduling.settings import Settings
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.member_cluster import Taint
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.selector import LabelSelector
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.disruption.nodes_made import (
    NOW,
    a_claim,
    a_node,
    a_pod,
    a_pool,
    a_state,
    a_type,
)

UPSTREAM = Settings(upstream=True)
SHIELD = {"karpenter.sh/do-not-disrupt": "true"}


def single(state: ClusterState, settings: Settings = Settings()) -> list[tuple[str, ...]]:  # noqa: B008
    return [each.nodes for each in commands_of(MethodInput(state, NOW, settings), SINGLE_NODE).commands]


def crowded(*others: t.Any, **more: t.Any) -> ClusterState:
    """A small pod on the node ``old``; the one type there is is dear, so that nothing replaces it."""
    pods = [a_pod("p", "old"), *more.pop("pods", ())]
    return a_state([a_node("old"), *others], pods, types=(a_type("m", 4, 1.0),), **more)


def test_who_goes_first_among_equals_can_be_said() -> None:
    state = a_state([a_node(name) for name in "abc"], pool=a_pool(budgets=[{"nodes": "1"}]))
    assert commands_of(MethodInput(state, NOW), EMPTINESS).commands[0].nodes == ("a",)
    assert commands_of(MethodInput(state, NOW, Settings(first=("c",))), EMPTINESS).commands[0].nodes == ("c",)


def test_a_node_that_is_not_ready_takes_pods_only_as_upstream() -> None:
    state = crowded(a_node("a", ready="False"), pods=[a_pod("f", "a", 0, annotations=SHIELD)])
    assert (single(state), single(state, UPSTREAM)) == ([], [("old",)])


def test_a_soft_taint_of_a_node_binds_only_as_upstream() -> None:
    soft = Taint(key="x", effect="PreferNoSchedule")
    state = crowded(a_node("a", taints=(soft,)), pods=[a_pod("f", "a", 0, annotations=SHIELD)])
    assert (single(state), single(state, UPSTREAM)) == ([("old",)], [])


def test_a_zone_in_which_only_nodes_are_is_a_place_except_as_upstream() -> None:
    """The catalogue offers zone a alone, where a pod keeps such pods away."""
    keeps_away = PodAffinityTerm(
        topology_key="topology.kubernetes.io/zone", label_selector=LabelSelector(match_labels={"app": "web"})
    )
    nodes = [a_node("old", zone="c"), a_node("a", zone="a"), a_node("b", zone="b")]
    pods = [
        a_pod("p", "old", labels={"app": "web"}),
        a_pod("1", "a", 0, anti_affinity=(keeps_away,), annotations=SHIELD),
        a_pod("f", "b", 0, annotations=SHIELD),
    ]
    types = (dataclasses.replace(a_type("m", 4, 1.0), offerings=a_type("m", 4, 1.0, "a").offerings),)
    state = a_state(nodes, pods, types=types)
    assert (single(state), single(state, UPSTREAM)) == ([("old",)], [])


def test_spot_that_nobody_offers_is_demanded_only_as_upstream() -> None:
    state = a_state([a_node("n")], [a_pod("p", "n")], types=(a_type("m", 4, 2.0), a_type("s", 1, 0.5)))
    (ours,) = commands_of(MethodInput(state, NOW), SINGLE_NODE).commands
    (theirs,) = commands_of(MethodInput(state, NOW, UPSTREAM), SINGLE_NODE).commands
    assert (ours.replacements[0].capacity_types, len(ours.replacements[0].options)) == (None, 1)
    assert (theirs.replacements[0].capacity_types, theirs.replacements[0].options) == (("spot",), ())


def test_one_node_more_than_is_meant_goes_only_as_upstream() -> None:
    nodes = [a_node(f"n{number:03}") for number in range(120)]
    pods = [a_pod(f"p-{each.name}", each.name, 0.01) for each in nodes]
    home = a_pod("f", "home", 0, annotations=SHIELD)
    state = a_state([*nodes, a_node("home")], [*pods, home], types=(a_type("m", 4, 1.0),))
    for settings, count in ((Settings(), 100), (UPSTREAM, 101)):
        (command,) = commands_of(MethodInput(state, NOW, settings), MULTI_NODE).commands
        assert len(command.nodes) == count


def test_without_pools_upstream_gives_up() -> None:
    nodes = [a_node("old"), a_node("a")]
    claims = [a_claim(nodes[0], drifted="X"), a_claim(nodes[1])]
    pool = a_pool(status={"conditions": [{"type": "Ready", "status": "False"}]})
    pool = dataclasses.replace(pool, manifest={**pool.manifest, "status": pool.manifest["spec"]["status"]})
    state = a_state(nodes, [a_pod("p", "old")], pool, claims=claims, types=(a_type("m", 4, 1.0),))
    assert [each.nodes for each in commands_of(MethodInput(state, NOW), DRIFT).commands] == [("old",)]
    found = commands_of(MethodInput(state, NOW, UPSTREAM), DRIFT)
    assert (found.commands, found.error) == ((), "creating scheduler, no nodepools found")


def test_an_unknown_price_counts_as_nothing_only_as_upstream() -> None:
    pods = [a_pod("p", "a", 3), a_pod("q", "b", 3)]
    state = a_state([a_node("a"), a_node("b")], pods, types=(a_type("m", 4, None), a_type("s", 3, 0.1)))
    codes = [each.code for each in commands_of(MethodInput(state, NOW), SINGLE_NODE).refused]
    assert codes == ["price-unknown", "price-unknown"]
    assert {each.code for each in commands_of(MethodInput(state, NOW, UPSTREAM), SINGLE_NODE).refused} == {
        "not-cheaper"
    }
