# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Rules of Karpenter that were once decided otherwise here, each alone; the recorded answers hold them all together."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.cluster_state import (
    ClusterState,
    StatePool,
    assemble,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.instance_types import InstanceType
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.pod_manifest import PodAffinityTerm
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.state_node import Node
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.methods.candidates import (
    DRIFT,
    EMPTINESS,
    MULTI_NODE,
    SINGLE_NODE,
    STATIC_DRIFT,
    node_verdicts,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.methods.commands import MethodCommands
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.methods.drift import drift
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.methods.method_input import MethodInput
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.methods.passes import commands_of
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.scheduling.settings import Settings
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.member_cluster import Taint
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import Condition
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.node_selector import (
    NodeSelectorRequirement,
    NodeSelectorTerm,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.selector import LabelSelector
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.disruption.nodes_made import (
    DAEMON,
    LONG_AGO,
    NOW,
    STATEFUL,
    a_claim,
    a_node,
    a_pod,
    a_pool,
    a_state,
    a_type,
    amounts,
    before,
)

SHIELD = {"karpenter.sh/do-not-disrupt": "true"}
ZONE, CAPACITY_TYPE = "topology.kubernetes.io/zone", "karpenter.sh/capacity-type"
DEAR = (a_type("m", 4, 2.0),)


def full(name: str, cpu: float = 4) -> t.Any:
    """A pod that keeps its node, so that only others are moved."""
    return a_pod(f"stays-{name}", name, cpu, annotations=SHIELD)


def of(state: ClusterState, method: str = SINGLE_NODE, settings: Settings = Settings()) -> MethodCommands:  # noqa: B008
    return commands_of(MethodInput(state, NOW, settings), method)


def nodes_of(found: MethodCommands) -> list[tuple[str, ...]]:
    return [each.nodes for each in found.commands]


def pools_of(*pools: t.Any, types: tuple[InstanceType, ...], **more: t.Any) -> ClusterState:
    """One drifted node ``n`` of pool p with one pod, and these pools to make a new one."""
    node = a_node("n")
    claims = [a_claim(node, drifted="X")]
    return assemble(
        [node], claims, [a_pod("a", "n")], [StatePool(each, instance_types=types) for each in pools], **more
    )


def made_by(state: ClusterState) -> str:
    (command,) = of(state, DRIFT).commands
    return command.replacements[0].pool


def ready(pool: t.Any, status: str) -> t.Any:
    told = {"conditions": [{"type": "Ready", "status": status}]}
    return dataclasses.replace(pool, manifest={**pool.manifest, "status": told})


def test_an_empty_node_is_never_underutilized_past_the_budget_for_empty_ones() -> None:
    pool = a_pool(budgets=[{"nodes": "0", "reasons": ["Empty"]}])
    state = a_state([a_node("a"), a_node("b")], pool=pool, types=DEAR)
    for method in (EMPTINESS, MULTI_NODE, SINGLE_NODE):
        assert of(state, method).commands == ()


@pytest.mark.parametrize(("pods", "method"), [((), EMPTINESS), ((a_pod("a", "n"),), SINGLE_NODE)])
def test_a_node_whose_claim_names_another_pool_is_not_refused_for_being_eligible(pods: t.Any, method: str) -> None:
    node = a_node("n")
    claim = a_claim(node, labels={"karpenter.sh/nodepool": "another"})
    (refused,) = of(a_state([node], pods, claims=[claim], types=DEAR), method).refused
    assert refused.code == "not-consolidatable"


def test_a_terminating_instance_is_leaving_and_a_deleted_node_with_a_claim_is_not() -> None:
    ending, deleted = a_node("a"), a_node("b", deleting=True)
    claims = [a_claim(ending, conditions=[Condition(type="InstanceTerminating", status="True")]), a_claim(deleted)]
    found = {each.node: each.graceful.error for each in node_verdicts(a_state([ending, deleted], claims=claims), NOW)}
    assert found == {"a": "node is deleting or marked for deletion", "b": ""}


@pytest.mark.parametrize(
    ("weights", "expected"), [((None, None), "z"), ((5, 5), "z"), ((10, None), "p"), ((10, 20), "z")]
)
def test_pools_by_weight_then_from_the_end_of_the_alphabet(weights: tuple[t.Any, t.Any], expected: str) -> None:
    own = [{"weight": each} if each else {} for each in weights]
    assert made_by(pools_of(a_pool("p", **own[0]), a_pool("z", **own[1]), types=DEAR)) == expected


def test_a_pool_that_is_not_ready_or_is_deleted_makes_nothing() -> None:
    assert made_by(pools_of(a_pool("p"), ready(a_pool("z"), "False"), types=DEAR)) == "p"
    assert made_by(pools_of(a_pool("p"), ready(a_pool("z"), "True"), types=DEAR)) == "z"
    going = a_pool("z")
    going = dataclasses.replace(going, metadata=dataclasses.replace(going.metadata, deletion_timestamp=NOW))
    assert made_by(pools_of(a_pool("p"), going, types=DEAR)) == "p"


@pytest.mark.parametrize(("limits", "expected"), [({"cpu": "4"}, "p"), ({"cpu": "3"}, "z"), ({"nodes": "0"}, "z")])
def test_limits_of_a_pool_leave_out_what_is_too_much(limits: dict[str, str], expected: str) -> None:
    """The node that goes counts no more."""
    assert made_by(pools_of(a_pool("p", weight=9, limits=limits), a_pool("z"), types=DEAR)) == expected


@pytest.mark.parametrize(("cpu", "expected"), [("3", "z"), ("4", "z"), ("5", "p")])
def test_limits_of_a_pool_count_all_that_a_machine_has(cpu: str, expected: str) -> None:
    """Beside what pods may ask for, of which each type here has 4."""
    larger = tuple(dataclasses.replace(each, capacity=amounts(5)) for each in DEAR)
    assert made_by(pools_of(a_pool("p", weight=9, limits={"cpu": cpu}), a_pool("z"), types=larger)) == expected


def test_min_values_of_a_pool_want_so_many_types() -> None:
    rows = [{"key": "node.kubernetes.io/instance-type", "operator": "Exists", "minValues": 2}]
    first = a_pool("p", weight=9, requirements=rows)
    assert made_by(pools_of(first, a_pool("z"), types=DEAR)) == "z"
    assert made_by(pools_of(first, a_pool("z"), types=(*DEAR, a_type("l", 8, 3.0)))) == "p"


def test_custom_labels_of_pools_with_several_values_or_any() -> None:
    several = a_pool("p", requirements=[{"key": "team", "operator": "In", "values": ["red", "blue"]}])
    anything = a_pool("p", requirements=[{"key": "team", "operator": "Exists"}])
    for pool in (several, anything):
        state = pools_of(pool, types=DEAR)
        (node,) = state.nodes
        asking = dataclasses.replace(node, pods=(a_pod("a", "n", node_selector={"team": "blue"}),))
        found = of(dataclasses.replace(state, nodes=(asking,)), DRIFT)
        assert [each.replacements[0].pool for each in found.commands] == ["p"]


def test_old_names_of_labels_stand_for_the_new_ones() -> None:
    pod = a_pod("a", "n", node_selector={"failure-domain.beta.kubernetes.io/zone": "b"})
    state = a_state([a_node("n"), a_node("b", zone="b")], [pod, full("b", 2)], types=DEAR)
    assert nodes_of(of(state)) == [("n",)]


def test_pods_of_one_size_go_by_age_and_then_by_uid() -> None:
    """One of two has room on the node that stays; the other one needs a new node."""
    node, home = a_node("n"), a_node("home", cpu=1)
    old, young = (
        a_pod("z-old", "n", created_at=before(hours=2), uid="2"),
        a_pod("a-young", "n", created_at=before(hours=1), uid="1"),
    )
    twins = [dataclasses.replace(each, created_at=LONG_AGO) for each in (old, young)]
    for pods, stays in (([old, young], "default/z-old"), (twins, "default/a-young")):
        claims = [a_claim(node, drifted="X"), a_claim(home)]
        (command,) = of(a_state([node, home], [*pods, full("home", 0)], claims=claims, types=DEAR), DRIFT).commands
        assert [each.pod for each in command.moves if each.target == "home"] == [stays]


def test_a_pod_goes_to_the_new_node_with_the_fewest_pods() -> None:
    pods = [a_pod(f"big-{number}", "n", 3) for number in range(2)] + [a_pod("small", "n", 0.5), a_pod("tiny", "n", 0.4)]
    node = a_node("n", cpu=8)
    (command,) = of(a_state([node], pods, claims=[a_claim(node, drifted="X")], types=DEAR), DRIFT).commands
    homes = {each.pod.partition("/")[2]: each.target for each in command.moves}
    assert homes["small"] != homes["tiny"]


def test_only_pods_that_the_scheduler_gave_up_take_room_before_others() -> None:
    """A pod that nobody tried to place, or for which others make room, needs no node of ours."""
    for waiting, gone in (
        (a_pod("w", cpu=2), [("n",)]),
        (a_pod("w", cpu=2, unschedulable=True), []),
        (a_pod("w", cpu=2, unschedulable=True, nominated="x"), [("n",)]),
        (a_pod("w", cpu=2, unschedulable=True, owners=DAEMON), [("n",)]),
    ):
        state = a_state([a_node("n"), a_node("home")], [a_pod("p", "n", 2), full("home", 2), waiting], types=DEAR)
        assert nodes_of(of(state)) == gone


def test_wishes_are_demands_until_they_cannot_be_met() -> None:
    wish = NodeSelectorTerm(match_expressions=(NodeSelectorRequirement(ZONE, "In", ("b",)),))
    pods = [a_pod("p", "n", preferred_terms=((1, wish),)), full("a", 2), full("b", 2)]
    nodes = [a_node("n"), a_node("a"), a_node("b", zone="b")]
    for settings, home in ((Settings(), "b"), (Settings(respect=False), "a")):
        (command,) = of(a_state(nodes, pods, types=DEAR), settings=settings).commands
        assert [each.target for each in command.moves] == [home]
    (command,) = of(a_state(nodes[:2], pods[:2], types=DEAR)).commands
    assert [each.target for each in command.moves] == ["a"], "given up where there is no such zone"


def test_room_is_kept_for_daemons_that_are_missing() -> None:
    daemon = a_pod("d", cpu=1, owners=DAEMON)
    there = dataclasses.replace(daemon, name="d-1", node="home")
    nodes, pods = [a_node("n"), a_node("home")], [a_pod("p", "n", 2), full("home", 1.5)]
    assert nodes_of(of(a_state(nodes, pods, daemons=[daemon], types=DEAR))) == []
    # Where the daemon runs it takes its room once.
    assert nodes_of(of(a_state(nodes, [*pods[:1], full("home", 1), there], daemons=[daemon], types=DEAR))) == [("n",)]


def in_flight(name: str, cpu: str = "4") -> t.Any:
    claim = a_claim(name)
    status = dataclasses.replace(
        claim.status, node_name="", conditions=(), allocatable={"cpu": cpu, "pods": "9"}, capacity={"cpu": cpu}
    )
    labels = {"karpenter.sh/nodepool": "p"}
    return dataclasses.replace(claim, status=status, metadata=dataclasses.replace(claim.metadata, labels=labels))


def test_a_claim_without_a_node_takes_pods_that_wait_and_is_no_place_to_rely_on() -> None:
    nodes, waiting = [a_node("n"), a_node("home")], a_pod("w", cpu=2, unschedulable=True)
    claims = [*map(a_claim, nodes), in_flight("new")]
    pods = [a_pod("p", "n", 2), full("home", 2)]
    # Large pods first, then by age: the waiting one takes the room at home, were it not for the claim.
    state = a_state(nodes, [*pods, dataclasses.replace(waiting, requests=amounts(3, 1))], claims=claims, types=DEAR)
    assert nodes_of(of(state)) == [("n",)]
    alone = a_state(nodes[:1], pods[:1], claims=[a_claim(nodes[0]), in_flight("new")], types=DEAR)
    (refused,) = of(alone).refused
    assert refused.text == "pod default/p would go to claim-new, which isn't initialized"
    assert (
        of(alone).events[-1].message.endswith("default/p => would schedule against uninitialized nodeclaim/claim-new")
    )


@pytest.mark.parametrize("key", ["node.kubernetes.io/not-ready", "readiness.k8s.io/network"])
def test_taints_that_go_by_themselves_do_not_count_before_initialization(key: str) -> None:
    labels = {"karpenter.sh/initialized": "false", "karpenter.sh/registered": "true"}
    fresh = a_node("fresh", labels=labels, taints=(Taint(key=key, effect="NoSchedule"),))
    state = a_state([a_node("n"), fresh], [a_pod("p", "n")], types=DEAR)
    assert "would go to fresh" in of(state).refused[0].text


def test_an_uninitialized_node_without_a_type_is_not_looked_at() -> None:
    labels = {"karpenter.sh/nodepool": "p", "karpenter.sh/registered": "true"}
    blank = Node(name="blank", labels=labels, allocatable=amounts(4))
    state = a_state([a_node("n"), blank], [a_pod("p", "n")], claims=[a_claim(a_node("n"))], types=DEAR)
    assert [each.name for each in state.nodes] == ["n"]
    assert [each.name for each in (one.node for one in state.overlooked) if each] == ["blank"]


def test_zone_anti_affinity_keeps_all_empty_zones() -> None:
    term = PodAffinityTerm(topology_key=ZONE, label_selector=LabelSelector(match_labels={"app": "web"}))
    node = a_node("n", zone="a")
    pods = [a_pod("p", "n", labels={"app": "web"}, anti_affinity=(term,))]
    state = a_state([node], pods, claims=[a_claim(node, drifted="X")], types=(a_type("m", 4, 1.0, "abc"),))
    (command,) = of(state, DRIFT).commands
    assert command.replacements[0].zones == ("a", "b", "c")


def test_a_type_is_asked_for_in_the_claim_and_not_in_the_node() -> None:
    node = a_node("n", kind="gone")
    claim = a_claim(a_node("n"), created=LONG_AGO)
    pool = StatePool(a_pool(), instance_types=DEAR)
    known = a_state([node], claims=[claim], types=DEAR).nodes[0]
    assert drift(pool, known, NOW) is None
    silent = {key: value for key, value in claim.metadata.labels.items() if key != CAPACITY_TYPE}
    claim = dataclasses.replace(claim, metadata=dataclasses.replace(claim.metadata, labels=silent))
    assert drift(pool, a_state([node], claims=[claim]).nodes[0], NOW) is None
    wrong = a_state([a_node("n")], claims=[a_claim(node)], types=DEAR).nodes[0]
    found = drift(pool, wrong, NOW)
    assert found is not None
    assert found.reason == "InstanceTypeNotFound"


def test_a_failed_pod_of_a_stateful_set_that_is_deleted_still_needs_a_place() -> None:
    pod = a_pod("p", "n", phase="Failed", deleting_at=NOW, owners=STATEFUL)
    state = a_state([a_node("n"), a_node("home")], [pod, full("home", 2)], types=DEAR)
    assert of(state, EMPTINESS).commands == ()
    assert nodes_of(of(state)) == [("n",)]


def test_host_ports_of_pods_that_have_ended_are_free() -> None:
    port = (("TCP", 80),)
    for phase, gone in (("Running", []), ("Succeeded", [("n",)])):
        other = a_pod("x", "home", 0, phase=phase, host_ports=port)
        state = a_state(
            [a_node("n"), a_node("home")], [a_pod("p", "n", host_ports=port), other, full("home", 2)], types=DEAR
        )
        assert nodes_of(of(state)) == gone


def both(name: str, cpu: float, on_demand: float, spot: float, available: bool = True) -> InstanceType:
    one = a_type(name, cpu, on_demand)
    cheap = dataclasses.replace(a_type(name, cpu, spot, kind="spot").offerings[0], available=available)
    return dataclasses.replace(one, offerings=(*one.offerings, cheap))


def test_spot_is_required_where_the_pool_admits_both_and_on_demand_types_stay_in_the_list() -> None:
    types = (both("m", 4, 2.0, 1.9), both("s", 2, 1.0, 0.3), a_type("t", 2, 0.5))
    (command,) = of(a_state([a_node("n")], [a_pod("p", "n")], types=types)).commands
    (new,) = command.replacements
    assert (new.capacity_types, new.instance_types[0], "t" in new.instance_types) == (("spot",), "s", True)
    assert {each.capacity_type for each in new.options} == {"spot"}


def test_spot_is_not_replaced_by_on_demand_while_spot_is_merely_unavailable() -> None:
    types = (both("m", 4, 2.0, 1.9), both("s", 2, 1.0, 0.3, available=False))
    state = a_state([a_node("n", capacity_type="spot")], [a_pod("p", "n")], types=types)
    assert [each.code for each in of(state).refused] == ["spot-to-spot-off"]


def test_a_replacement_is_never_dearer_because_something_is_reserved() -> None:
    """Reserved goes first in a launch, so that its price counts, and not that of spot beside it."""
    reserved = dataclasses.replace(a_type("s", 2, 5.0, kind="reserved").offerings[0])
    mixed = dataclasses.replace(both("s", 2, 1.0, 0.3), offerings=(*both("s", 2, 1.0, 0.3).offerings, reserved))
    state = a_state([a_node("n")], [a_pod("p", "n")], types=(a_type("m", 4, 2.0), mixed))
    assert [each.code for each in of(state).refused] == ["not-cheaper"]


def test_balanced_weighs_all_nodes_of_the_pool_and_not_only_candidates() -> None:
    """Four more nodes that are no candidates make the disruption of one a small share."""
    nodes = [a_node(name) for name in ("n", "home", "w", "x", "y")]
    pods = [a_pod("p", "n", 1), *(full(each.name, 3) for each in nodes[1:])]
    found = of(a_state(nodes, pods, a_pool(policy="Balanced"), types=DEAR))
    assert nodes_of(found) == [("n",)]
    assert found.events[-1].message == "score 1.00 >= threshold 0.50 (k: 2, savings 20.0%, disruption 20.0%)"


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_the_cheapest_node_of_a_type_that_goes_is_the_bound_whatever_the_order(order: tuple[str, ...]) -> None:
    """Type t goes at 1 in one zone and at 3 in the other; a replacement of it at 2 would be no gain."""
    kind = dataclasses.replace(
        a_type("t", 4, 1.0), offerings=(*a_type("t", 4, 1.0, "a").offerings, *a_type("t", 4, 3.0, "b").offerings)
    )
    nodes = [a_node(name, kind="t", zone=zone) for name, zone in zip(order, "ab", strict=True)]
    pods = [a_pod(f"p-{each.name}", each.name, 1.5) for each in nodes]
    state = a_state(nodes, pods, types=(kind, a_type("u", 4, 2.0)))
    assert all("t" not in each.replacements[0].instance_types for each in of(state, MULTI_NODE).commands)
    assert all("u" not in each.replacements[0].instance_types for each in of(state, MULTI_NODE).commands)


def test_static_drift_keeps_the_limit_of_nodes_and_counts_those_in_flight() -> None:
    nodes = [a_node("a"), a_node("b")]
    drifted = [a_claim(each, drifted="X") for each in nodes]

    def found(claims: list[t.Any], **spec: t.Any) -> MethodCommands:
        return of(a_state(nodes, claims=claims, pool=a_pool(replicas=2, **spec), types=DEAR), STATIC_DRIFT)

    assert nodes_of(found(drifted)) == [("a",), ("b",)]
    assert nodes_of(found(drifted, limits={"nodes": "3"})) == [("a",)]
    assert nodes_of(found(drifted, limits={"nodes": "2"})) == []
    assert [each.code for each in found([*drifted, in_flight("new")]).refused] == ["over-replicas"]


def test_pods_of_leaving_nodes_that_cannot_move_now_need_no_room() -> None:
    nodes = [a_node("n"), a_node("home"), a_node("old")]
    claims = [a_claim(nodes[0]), a_claim(nodes[1]), a_claim(nodes[2], deleting=NOW)]
    for leaving, gone in ((a_pod("l", "old", 2), []), (a_pod("l", "old", 2, annotations=SHIELD), [("n",)])):
        state = a_state(nodes, [a_pod("p", "n", 2), full("home", 2), leaving], claims=claims, types=DEAR)
        assert nodes_of(of(state)) == gone
