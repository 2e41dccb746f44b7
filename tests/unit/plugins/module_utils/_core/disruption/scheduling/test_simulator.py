# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Where pods go when their node goes: each filter of the scheduler alone."""

from __future__ import annotations

import dataclasses
import time
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.cluster_state import ClusterState
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.pod import Pod
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.pod_manifest import (
    PodAffinityTerm,
    PodSpread,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.methods.consolidation import single_node
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.methods.method_input import MethodInput
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.scheduling.simulation import Simulation
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.scheduling.simulator import (
    Settings,
    Simulator,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.member_cluster import Taint
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.policy import Toleration
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.node_selector import (
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.selector import (
    LabelSelector,
    LabelSelectorRequirement,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.disruption.nodes_made import (
    DAEMON,
    NOW,
    STATIC,
    a_claim,
    a_node,
    a_pod,
    a_pool,
    a_state,
    a_type,
    before,
)

ZONE = "topology.kubernetes.io/zone"
WEB = LabelSelector(match_labels={"app": "web"})
SECONDS = 6
TAINT = Taint(key="dedicated", value="db", effect="NoSchedule")


def homes(found: Simulation) -> dict[str, str]:
    return {each.pod.partition("/")[2]: each.target for each in found.moves}


def simulate(state: ClusterState, consolidation: bool = False, settings: Settings = Settings()) -> Simulation:  # noqa: B008
    """What becomes of the pods of the node ``old`` when that goes."""
    going = [each for each in state.nodes if each.name == "old"]
    return Simulator(state, NOW, settings).simulate(going, consolidation)


def move(pod: Pod, *others: t.Any, pods: tuple[Pod, ...] = (), **more: t.Any) -> Simulation:
    """What becomes of a pod of the node ``old`` when that goes."""
    state = a_state([a_node("old"), *others], [dataclasses.replace(pod, node="old"), *pods], **more)
    return simulate(state)


def test_a_pod_goes_where_there_is_room_d0_04() -> None:
    full = [a_pod("x", "a", 4)]
    assert homes(move(a_pod("p"), a_node("a"), a_node("b"), pods=(*full,))) == {"p": "b"}


def test_a_misfit_is_told_with_all_reasons() -> None:
    found = move(a_pod("p", cpu=3), a_node("a", cpu=2), a_node("b", taints=(TAINT,)))
    assert [each.text for each in found.misfits] == [
        "pod default/p fits none of 2 nodes (1 taint dedicated, 1 too little cpu) and no new one"
    ]


def test_the_number_of_pods_is_a_resource_too() -> None:
    packed = dataclasses.replace(a_node("a"), allocatable={"cpu": 4 * 10**9, "pods": 10**9})
    assert move(a_pod("p"), packed, pods=(a_pod("x", "a", 0),)).misfits


@pytest.mark.parametrize(
    ("more", "target"),
    [
        ({"node_selector": {"disk": "ssd"}}, "b"),
        ({"tolerations": (Toleration(key="dedicated", operator="Exists"),)}, "a"),
        (
            {
                "node_affinity": NodeSelector(
                    (NodeSelectorTerm(match_expressions=(NodeSelectorRequirement("disk", "In", ("ssd",)),)),)
                )
            },
            "b",
        ),
        (
            {
                "node_affinity": NodeSelector(
                    (NodeSelectorTerm(match_expressions=(NodeSelectorRequirement("x", "Bad"),)),)
                )
            },
            "",
        ),
        ({"unjudged": "devices (resourceClaims)"}, ""),
        ({"bound_volumes": True}, "b"),
        ({"host_ports": (("TCP", 80),)}, "c"),
    ],
)
def test_each_filter_alone(more: dict[str, t.Any], target: str) -> None:
    tainted = a_node("a", taints=(TAINT,), zone="b")
    ssd = a_node("b", labels={"disk": "ssd"})
    taken = a_pod("x", "b", host_ports=(("TCP", 80),))
    found = move(a_pod("p", **more), tainted, ssd, a_node("c", zone="c"), pods=(taken,))
    assert homes(found) == ({"p": target} if target else {})
    assert bool(found.misfits) == (not target)


def test_preferences_of_taints_do_not_bind() -> None:
    soft = Taint(key="x", effect="PreferNoSchedule")
    assert homes(move(a_pod("p"), a_node("a", taints=(soft,)))) == {"p": "a"}


def test_nodes_that_are_not_ready_or_on_their_way_out_take_nothing() -> None:
    going = a_node("b")
    claims = [a_claim(a_node("old")), a_claim(a_node("a")), a_claim(going, deleting=NOW)]
    assert move(a_pod("p"), a_node("a", ready="False"), going, claims=claims).misfits


def spread(skew: int = 1, key: str = ZONE, **more: t.Any) -> tuple[PodSpread, ...]:
    return (PodSpread(topology_key=key, max_skew=skew, label_selector=WEB, **more),)


def web(name: str, node: str = "", **more: t.Any) -> Pod:
    return a_pod(name, node, labels={"app": "web"}, **more)


def test_spread_keeps_domains_within_the_skew() -> None:
    others = [a_node("a", zone="a"), a_node("b", zone="b")]
    there = (web("1", "a"), web("2", "a"))
    assert homes(move(web("p", spread=spread()), *others, pods=there)) == {"p": "b"}
    assert homes(move(web("p", spread=spread(3)), *others, pods=there)) == {"p": "a"}
    assert homes(move(a_pod("p", spread=spread()), *others, pods=there)) == {"p": "b"}, "the zone is skewed already"


def test_spread_counts_pods_that_are_placed_in_the_same_plan() -> None:
    pods = tuple(web(f"p{number}", "old", spread=spread()) for number in range(4))
    state = a_state([a_node("old", zone="c"), a_node("a", zone="a"), a_node("b", zone="b")], pods)
    assert sorted(homes(simulate(state)).values()) == ["a", "a", "b", "b"]


def test_a_node_without_the_label_takes_no_pod_that_spreads() -> None:
    bare = dataclasses.replace(a_node("a"), labels={})
    assert move(web("p", spread=spread()), bare).misfits


def test_domains_that_the_pod_cannot_go_to_do_not_count() -> None:
    others = [a_node("a", zone="a"), a_node("b", zone="b", labels={"disk": "ssd"})]
    choosy = web("p", spread=spread(), node_selector={"disk": "ssd"})
    assert homes(move(choosy, *others, pods=(web("1", "b"),))) == {"p": "b"}


def test_too_few_domains_count_as_an_empty_one() -> None:
    assert move(web("p", spread=spread(min_domains=2)), a_node("a"), pods=(web("1", "a"),)).misfits
    assert homes(move(web("p", spread=spread(min_domains=1)), a_node("a"), pods=(web("1", "a"),))) == {"p": "a"}


def affinity(key: str = ZONE, **more: t.Any) -> tuple[PodAffinityTerm, ...]:
    return (PodAffinityTerm(topology_key=key, label_selector=WEB, **more),)


def test_pod_affinity_wants_company() -> None:
    others = [a_node("a", zone="a"), a_node("b", zone="b")]
    assert homes(move(a_pod("p", affinity=affinity()), *others, pods=(web("1", "b"),))) == {"p": "b"}
    assert move(a_pod("p", affinity=affinity()), *others).misfits
    assert homes(move(web("p", affinity=affinity()), *others)) == {"p": "a"}, "the first of its kind may go anywhere"


def test_pod_anti_affinity_works_both_ways() -> None:
    others = [a_node("a", zone="a"), a_node("b", zone="b")]
    assert homes(move(a_pod("p", anti_affinity=affinity()), *others, pods=(web("1", "a"),))) == {"p": "b"}
    loner = a_pod("1", "a", anti_affinity=affinity())
    assert homes(move(web("p"), *others, pods=(loner,))) == {"p": "b"}
    assert homes(move(web("p", namespace="x"), *others, pods=(loner,))) == {"p": "a"}
    everywhere = a_pod("1", "a", anti_affinity=affinity(namespace_selector=LabelSelector()))
    assert homes(move(web("p", namespace="x"), *others, pods=(everywhere,))) == {"p": "b"}


def test_a_selector_of_namespaces_by_name_means_those_and_any_other_means_all() -> None:
    """Every namespace has its name as a label, and no other label of namespaces is read."""
    name = "kubernetes.io/metadata.name"
    for selector, kept_away in (
        (LabelSelector({name: "x"}), ["x"]),
        (LabelSelector({}, (LabelSelectorRequirement(name, "In", ("x", "y")),)), ["x", "y"]),
        (LabelSelector({name: "x"}, (LabelSelectorRequirement(name, "In", ("y",)),)), []),
        (LabelSelector({"team": "a"}), ["default", "x", "y"]),
        (LabelSelector({}, (LabelSelectorRequirement(name, "NotIn", ("x",)),)), ["default", "x", "y"]),
    ):
        loner = a_pod("1", "a", anti_affinity=affinity(namespace_selector=selector))
        others = [a_node("a", zone="a"), a_node("b", zone="b")]
        found = [homes(move(web("p", namespace=each), *others, pods=(loner,))) for each in ("default", "x", "y")]
        assert [
            each for each, home in zip(("default", "x", "y"), found, strict=True) if home == {"p": "b"}
        ] == kept_away


def test_pods_that_move_nowhere_need_no_place() -> None:
    for pod in (
        a_pod("p", owners=DAEMON),
        a_pod("p", owners=STATIC),
        a_pod("p", phase="Failed"),
        a_pod("p", deleting_at=NOW),
    ):
        assert move(pod) == Simulation()


def test_a_pod_that_waited_before_may_go_on_waiting() -> None:
    state = a_state([a_node("old")], [a_pod("p", cpu=99)])
    assert simulate(state).misfits == ()


def test_a_node_that_is_not_initialized_is_no_safe_home() -> None:
    fresh = a_node("a", labels={"karpenter.sh/initialized": "false", "karpenter.sh/registered": "true"})
    (found,) = move(a_pod("p"), fresh).misfits
    assert found.text == "pod default/p would go to a, which isn't initialized"


def test_where_a_pod_has_just_come_no_other_is_put_by_consolidation() -> None:
    nodes = [a_node("old"), a_node("a"), a_node("b")]
    claims = [a_claim(nodes[0]), a_claim(nodes[1], last_pod_event=before(seconds=10)), a_claim(nodes[2])]
    state = a_state(nodes, [a_pod("p", "old")], a_pool(after="30s"), claims=claims)
    assert homes(simulate(state, consolidation=True)) == {"p": "b"}
    assert homes(simulate(state)) == {"p": "a"}


def test_a_new_node_has_the_labels_and_taints_of_its_pool() -> None:
    types = (a_type("m", 4, 1.0, "ab"),)
    found = move(a_pod("p", cpu=3, node_selector={ZONE: "b"}), types=types)
    assert (found.new_nodes[0].pool, found.new_nodes[0].requirements[ZONE].single) == ("p", "b")
    rows = [{"key": ZONE, "operator": "In", "values": ["a"]}]
    assert move(a_pod("p", node_selector={ZONE: "b"}), types=types, pool=a_pool(requirements=rows)).misfits


def test_daemons_take_room_on_new_nodes() -> None:
    types = (a_type("m", 4, 1.0),)
    assert move(a_pod("p", cpu=4), types=types).new_nodes
    assert move(a_pod("p", cpu=4), types=types, daemons=[a_pod("d", cpu=1, owners=DAEMON)]).misfits


def test_pods_that_repel_each_other_need_two_new_nodes() -> None:
    key = "kubernetes.io/hostname"
    pods = tuple(web(str(number), "old", anti_affinity=affinity(key)) for number in range(2))
    state = a_state([a_node("old")], pods, types=(a_type("m", 4, 1.0),))
    assert homes(simulate(state)) == {"0": "new-1", "1": "new-2"}


def test_a_new_node_stays_in_one_zone_once_a_pod_spreads_over_zones() -> None:
    others = [a_node("a", zone="a", cpu=0), a_node("b", zone="b", cpu=0)]
    found = move(web("p", spread=spread()), *others, pods=(web("1", "a", cpu=0),), types=(a_type("m", 4, 1.0, "ab"),))
    assert found.new_nodes[0].requirements[ZONE].single == "b"


def alone(app: str) -> tuple[PodAffinityTerm, ...]:
    selector = LabelSelector(match_labels={"app": app})
    return (PodAffinityTerm(label_selector=selector, topology_key="kubernetes.io/hostname"),)


def test_pods_of_300_applications_that_want_a_node_each_for_themselves_are_placed_node_by_node() -> None:
    """It takes half a second, and took a quarter of a minute when every node was gone through for every such pod."""
    apps = [f"a{at}" for at in range(300)]
    nodes = [a_node(app) for app in apps]
    pods = [a_pod(app, app, 3, labels={"app": app}, anti_affinity=alone(app)) for app in apps]
    look = MethodInput(a_state(nodes, pods, types=(a_type("m", 4, 1.0),)), NOW)
    start = time.process_time()
    assert single_node(look).commands == ()
    assert time.process_time() - start < SECONDS


def test_12000_pods_that_wait_are_asked_once_each() -> None:
    pods = [a_pod(f"p{at}", cpu=0.1, phase="Pending", unschedulable=True) for at in range(12_000)]
    state = a_state([a_node("old")], pods, types=(a_type("m", 64, 1.0),))
    start = time.process_time()
    assert len(simulate(state).moves) == len(pods)
    assert time.process_time() - start < SECONDS


@pytest.mark.parametrize("upstream", [False, True])
def test_a_pod_keeps_others_away_from_where_it_is_and_from_where_it_goes(upstream: bool) -> None:
    """Of two pods whose terms are the same one stays and one moves."""
    here, there = (a_pod(name, node, labels={"app": "db"}, anti_affinity=alone("web"))
                   for name, node in (("x", "old"), ("y", "a")))  # fmt: skip
    web = a_pod("web", "old", labels={"app": "web"})
    state = a_state([a_node("old"), a_node("a"), a_node("b"), a_node("c")], [here, there, web])
    found = simulate(state, settings=Settings(upstream=upstream))
    assert homes(found) == {"x": "a", "web": "b"}
