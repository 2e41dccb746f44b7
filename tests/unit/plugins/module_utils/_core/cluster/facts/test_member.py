# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.member import (
    NODES,
    PODS,
    MemberReading,
    after_failed_read,
    after_read,
    fleet_member_status,
    next_condition,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.node import NodeFacts
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import Problem
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_member import (
    CertificateEnds,
    NodePoolStatus,
    PoolImage,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.member_cluster import (
    AgentStatus,
    MemberCluster,
    MemberClusterStatus,
    PropertyValue,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.namespace_affinity import namespace_refusal
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode, encode
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import ObjectMeta, find_condition
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.quantity import parse_quantity

AT = datetime(2026, 1, 15, 12, tzinfo=UTC)
LATER = AT + timedelta(minutes=1)


def node(name: str = "n", cpu: str = "4", memory: str = "8Gi", **more: object) -> NodeFacts:
    amounts = {"cpu": cpu, "memory": memory}
    return NodeFacts(name=name, capacity=amounts, allocatable=amounts, ready=True, **more)  # type: ignore[arg-type]


def reading(*nodes: NodeFacts, at: datetime = AT, ready: bool = True, **more: object) -> MemberReading:
    return MemberReading(at=at, ready=ready, version="v1.34.2", server="https://a:6443", nodes=nodes, **more)  # type: ignore[arg-type]


def conditions(status: MemberClusterStatus) -> dict[str, tuple[str, str]]:
    (agent,) = (each for each in status.agent_status if each.type == "MemberAgent")
    return {each.type: (each.status, each.reason) for each in agent.conditions}


def test_the_three_families_of_facts() -> None:  # D1-01, D1-11
    found = after_read(
        reading(
            node("a"),
            node("b", cpu="3500m"),
            requests={"cpu": parse_quantity("1500m"), "memory": parse_quantity("1Gi")},
            prices={"": 0.3},
        ),
        MemberClusterStatus(),
    )
    assert {name: each.value for name, each in found.properties.items()} == {
        "kubernetes-fleet.io/node-count": "2",
        "k8s.io/k8s-version": "v1.34.2",
        "k8s.io/cluster-entrypoint": "https://a:6443",
        "kubernetes.azure.com/per-cpu-core-cost": "0.080",
        "kubernetes.azure.com/per-gb-memory-cost": "0.037",
    }
    usage = found.resource_usage
    assert usage is not None
    assert usage.capacity == {"cpu": "7500m", "memory": "16Gi"}
    assert usage.available == {"cpu": "6", "memory": "15Gi"}


def three(**more: object) -> MemberReading:
    """Three nodes, of which not all is allocatable and one is not Ready."""
    sizes = [("4", "8Gi", "3900m", "7Gi"), ("8", "16Gi", "7800m", "15Gi"), ("500m", "1Gi", "500m", "1Gi")]
    nodes = [
        NodeFacts(
            name=f"n{number}",
            capacity={"cpu": cpu, "memory": memory},
            allocatable={"cpu": left, "memory": free},
            ready=number != 2,
        )
        for number, (cpu, memory, left, free) in enumerate(sizes)
    ]
    return reading(*nodes, **more)


def test_every_node_counts_ready_or_not() -> None:  # D4-43
    nodes = [node(f"n{number}") for number in range(4)]
    found = after_read(reading(*nodes, replace(node("n4"), ready=False)), MemberClusterStatus())
    assert found.properties["kubernetes-fleet.io/node-count"].value == "5"


def test_cpu_and_memory_are_summed_over_nodes() -> None:  # D4-44, D4-45, D4-46, D4-47, D4-48, D4-49
    requests = {"cpu": parse_quantity("1200m"), "memory": parse_quantity("3Gi")}
    usage = after_read(three(requests=requests), MemberClusterStatus()).resource_usage
    assert usage is not None
    assert usage.capacity == {"cpu": "12500m", "memory": "25Gi"}
    assert usage.allocatable == {"cpu": "12200m", "memory": "23Gi"}
    assert usage.available == {"cpu": "11", "memory": "20Gi"}


def test_nodes_that_are_alike_count_as_often_as_they_are_there() -> None:
    """They are added at once, wherever they stand among others."""
    nodes = [
        node(f"n{number}", cpu, memory) for number, (cpu, memory) in enumerate(3 * [("300m", "3Gi"), ("2", "1e9")])
    ]
    usage = after_read(reading(*nodes, node("last", "1", "512Mi")), MemberClusterStatus()).resource_usage
    assert usage is not None
    assert usage.capacity == {"cpu": "7900m", "memory": "13200547328"}


def test_prices_become_the_cost_of_a_core_and_of_a_gib_an_hour() -> None:  # D4-50, D4-52
    nodes = (
        replace(node("a", "4", "4Gi"), instance_type="small"),
        replace(node("b", "8", "12Gi"), instance_type="big"),
    )
    found = after_read(reading(*nodes, prices={"small": 0.32, "big": 0.64}), MemberClusterStatus()).properties
    assert found["kubernetes.azure.com/per-cpu-core-cost"].value == "0.080"  # 0.96 dollars for 12 cores
    assert found["kubernetes.azure.com/per-gb-memory-cost"].value == "0.060"  # and for 16 GiB


def test_more_requested_than_there_is_leaves_nothing_and_pods_that_were_not_read_leave_it_open() -> None:
    over = after_read(reading(node(), requests={"cpu": parse_quantity("9")}), MemberClusterStatus()).resource_usage
    assert over is not None and over.available["cpu"] == "0" and over.available["memory"] == "8Gi"
    open_ = after_read(reading(node()), MemberClusterStatus()).resource_usage
    assert open_ is not None and open_.available == {}


def test_a_node_without_a_price_leaves_the_cost_open() -> None:
    found = after_read(reading(node(), node(instance_type="big"), prices={"": 1.0}), MemberClusterStatus())
    assert not [name for name in found.properties if "cost" in name]
    assert not [
        name for name in after_read(reading(prices={"": 1.0}), MemberClusterStatus()).properties if "cost" in name
    ]


def test_a_cost_that_is_not_known_any_more_goes_and_properties_of_others_stay() -> None:
    foreign = MemberClusterStatus(properties={"example.com/tier": PropertyValue(value="gold")})
    priced = after_read(reading(node(), prices={"": 1.0}), foreign)
    assert COST in priced.properties
    dearer = node(instance_type="not in the list")
    for again in (reading(dearer, at=LATER, prices={"": 1.0}), reading(at=LATER)):
        found = after_read(again, priced).properties
        assert found["example.com/tier"].value == "gold" and COST not in found


def test_a_read_without_prices_leaves_costs_as_they_were_made() -> None:
    """Reads before an apply are given no price list: the cheapest clusters stay known by what was read before."""
    priced = after_read(reading(node(), prices={"": 1.0}), MemberClusterStatus())
    again = after_read(reading(node(), node(), at=LATER), priced)
    assert again.properties[COST] == priced.properties[COST]
    assert again.properties["kubernetes-fleet.io/node-count"] == PropertyValue(value="2", observation_time=LATER)


def test_a_read_is_a_heartbeat_and_transition_times_change_only_with_the_status() -> None:  # D4-90
    other = AgentStatus(type="ServiceExportImportAgent")
    first = after_read(reading(node()), MemberClusterStatus(agent_status=(other,)))
    assert conditions(first) == {"Joined": ("True", "Joined"), "Healthy": ("True", "Ready")}
    again = after_read(reading(node(), at=LATER), first)
    agent = again.agent_status[0]
    assert agent.last_received_heartbeat == LATER and other in again.agent_status
    assert {each.last_transition_time for each in agent.conditions} == {AT}
    sick = after_read(reading(node(), at=LATER, ready=False), first).agent_status[0]
    health = find_condition(sick.conditions, "Healthy")
    assert health is not None and (health.status, health.last_transition_time) == ("False", LATER)


def test_a_failed_read_empties_nothing() -> None:
    before = after_read(reading(node()), MemberClusterStatus())
    after = after_failed_read(before, LATER, "connection-refused", "nobody answers")
    assert after.properties == before.properties and after.resource_usage == before.resource_usage
    assert conditions(after)["Healthy"] == ("False", "ConnectionRefused")
    assert conditions(after)["Joined"][0] == "True"
    assert after.agent_status[0].last_received_heartbeat == AT
    again = after_failed_read(after, LATER + timedelta(minutes=1), "timeout", "no answer")
    health = find_condition(again.agent_status[0].conditions, "Healthy")
    assert health is not None and (health.last_transition_time, health.message) == (LATER, "no answer")


def test_a_member_that_was_never_read_stays_so() -> None:
    assert after_failed_read(MemberClusterStatus(), AT, "timeout", "no answer") == MemberClusterStatus()


def test_a_pool_with_several_images_tells_each_with_its_nodes() -> None:
    """What has to be done follows from the oldest; how far that is, from all of them."""
    names = ("os-1.9", "os-1.10", "os-1.10", "other-1", "")
    mixed = fleet_member_status(reading(*(node(str(at), pool="p", image=name) for at, name in enumerate(names[:3]))))
    (pool,) = mixed.node_pools
    assert pool.image == "os-1.9"
    assert pool.images == (PoolImage(image="os-1.10", count=2), PoolImage(image="os-1.9", count=1))
    strange = fleet_member_status(reading(*(node(str(at), image=name) for at, name in enumerate(names)))).node_pools[0]
    assert (strange.image, sum(each.count for each in strange.images)) == ("", 4), "the image of one is not known"
    assert fleet_member_status(reading(node("a", image="x"), node("b", image="x"))).node_pools[0].images == ()
    assert decode(NodePoolStatus, encode(pool)) == pool


def test_pools_have_their_oldest_version_and_an_image_if_they_share_one() -> None:
    found = fleet_member_status(
        reading(
            node("a", pool="p", version="v1.34.2", image="x"),
            node("b", pool="p", version="v1.33.10", image="x"),
            node("c", pool="p", version="v1.33.9", image="x"),
            node("d", version="v1.30.0", image="x"),
            node("e", version="v1.30.0", image="y"),
        )
    )
    assert [(each.name, each.count, each.version, each.image) for each in found.node_pools] == [
        ("", 2, "v1.30.0", ""),
        ("p", 3, "v1.33.9", "x"),
    ]
    assert found.last_read == AT


def test_a_node_without_a_readable_version_does_not_hide_its_pool() -> None:
    (pool,) = fleet_member_status(
        reading(node("a", version="unknown"), node("b", version="v1.34.2"), node("c"))
    ).node_pools
    assert (pool.count, pool.version) == (3, "v1.34.2")
    assert fleet_member_status(reading(node("a", version="unknown"))).node_pools[0].version == ""


@pytest.mark.parametrize(("status", "since"), [("True", AT), ("False", LATER), ("Unknown", LATER)])
def test_the_time_of_a_condition_moves_with_its_status_alone(status: str, since: datetime) -> None:  # D4-90
    old = next_condition(None, "Applied", ("True", "One", "one"), AT, 1)
    new = next_condition(old, "Applied", (status, "Two", "two"), LATER, 2)
    assert new == replace(
        old, status=status, reason="Two", message="two", observed_generation=2, last_transition_time=since
    )


COST = "kubernetes.azure.com/per-cpu-core-cost"
FORBIDDEN = Problem("forbidden", "nodes is forbidden")


def test_a_part_that_could_not_be_read_stays_with_the_time_of_its_last_read() -> None:
    """F1-F3: never zero."""
    before = after_read(reading(node(), requests={"cpu": parse_quantity("1")}, prices={"": 0.3}), MemberClusterStatus())
    partly = replace(reading(at=LATER), nodes=None, version="v1.35.0", missing={NODES: FORBIDDEN})
    after = after_read(partly, before)
    assert after.resource_usage == before.resource_usage
    for name in ("kubernetes-fleet.io/node-count", "kubernetes.azure.com/per-cpu-core-cost"):
        assert after.properties[name] == before.properties[name]
    assert after.properties["k8s.io/k8s-version"] == PropertyValue(value="v1.35.0", observation_time=LATER)
    assert conditions(after)["Healthy"] == ("True", "Ready")
    older = fleet_member_status(reading(node(pool="big"))).node_pools
    assert (
        fleet_member_status(partly, older).node_pools == older
        and fleet_member_status(partly, older).version == "v1.35.0"
    )


def test_pods_that_could_not_be_read_leave_the_usage_as_it_was() -> None:
    before = after_read(reading(node(), requests={}), MemberClusterStatus())
    after = after_read(reading(node(), node(), at=LATER, missing={PODS: FORBIDDEN}), before)
    assert after.resource_usage == before.resource_usage
    assert after.properties["kubernetes-fleet.io/node-count"].value == "2"


def test_namespaces_are_known_where_they_were_read_and_stay_where_they_were_not() -> None:
    known = after_read(reading(node(), namespaces=("web", "shop")), MemberClusterStatus())
    assert known.namespaces == {"shop": "", "web": ""}
    assert [(each.type, each.status) for each in known.conditions] == [("NamespaceCollectionSucceeded", "True")]
    later = after_read(reading(node()), known)
    assert (later.namespaces, later.conditions) == (known.namespaces, known.conditions)
    assert after_read(reading(node()), MemberClusterStatus()).namespaces is None


def test_of_very_many_namespaces_as_many_are_kept_as_say_that_there_are_more() -> None:
    names = tuple(f"n{number}" for number in range(500))
    known = after_read(reading(node(), namespaces=names), MemberClusterStatus())
    (found,) = known.conditions
    assert known.namespaces is not None and len(known.namespaces) == 200
    assert found.reason == "NamespaceCollectionDegraded"
    cluster = MemberCluster(metadata=ObjectMeta(name="a"), status=known)
    assert namespace_refusal(cluster, "n499", upstream=False) is None


def test_namespaces_that_could_not_be_read_leave_the_usage_alone() -> None:
    why = {"namespaces": Problem("forbidden", "no", "a")}
    known = after_read(reading(node(), missing=why), MemberClusterStatus())
    assert known.resource_usage is not None and known.namespaces is None


def test_until_when_certificates_are_valid_goes_with_the_pools() -> None:
    ends = CertificateEnds(server=LATER)
    assert fleet_member_status(reading(certificates=ends)).certificates == ends
    assert fleet_member_status(replace(reading(certificates=ends), nodes=None)).certificates == ends
    assert fleet_member_status(reading()).certificates is None
