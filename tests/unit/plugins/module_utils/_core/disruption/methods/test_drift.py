# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Why nodes have drifted, and when they expire."""

from __future__ import annotations

import dataclasses
from datetime import timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.cluster_state import ClusterState, StatePool
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.methods.drift import (
    drift,
    drifted,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.methods.drift_method import (
    drift_candidates,
    drift_method,
    static_drift_method,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.methods.expiration import (
    due_at,
    expired,
    expiry,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.methods.method_input import MethodInput
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.node_class import (
    NodeClass,
    NodeClassStatus,
    NodeImage,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import ObjectMeta
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.disruption.nodes_made import (
    LONG_AGO,
    NOW,
    a_claim,
    a_node,
    a_pod,
    a_pool,
    a_state,
    a_type,
    before,
)

HASH, CLASS_HASH = "karpenter.sh/nodepool-hash", "karpenter.azure.com/aksnodeclass-hash"
TYPE = "node.kubernetes.io/instance-type"


def hashed(value: str, version: str = "v3", key: str = HASH) -> dict[str, str]:
    return {key: value, f"{key}-version": version}


def reason(state: ClusterState) -> str:
    found = drift(state.pools["p"], state.nodes[0], NOW)
    return found.reason if found else ""


@pytest.mark.parametrize(
    ("owner", "claim", "expected"),
    [
        (hashed("1"), hashed("1"), ""),
        (hashed("2"), hashed("1"), "NodePoolDrifted"),
        (hashed("2"), {}, ""),
        ({}, hashed("1"), ""),
        ({HASH: "2"}, hashed("1"), ""),
        (hashed("2", "v4"), hashed("1", "v3"), ""),
    ],
)
def test_hashes_are_compared_only_if_versions_agree_d0_30_d0_31(owner: dict, claim: dict, expected: str) -> None:
    node = a_node("n")
    state = a_state([node], pool=a_pool(annotations=owner), claims=[a_claim(node, annotations=claim)])
    assert reason(state) == expected


@pytest.mark.parametrize(
    ("operator", "values", "drifts"),
    [
        ("In", ["D2", "D4"], False),  # wider: D0-32
        ("In", ["D4"], True),  # narrower: D0-33
        ("NotIn", ["D2"], True),
        ("NotIn", ["D4"], False),
        ("Exists", [], False),
        ("DoesNotExist", [], True),
    ],
)
def test_requirements_drift_where_the_label_is_no_longer_admitted_d0_32_d0_33(
    operator: str, values: list[str], drifts: bool
) -> None:
    rows = [{"key": TYPE, "operator": operator, "values": values}]
    state = a_state([a_node("n", kind="D2")], pool=a_pool(requirements=rows))
    assert reason(state) == ("RequirementsDrifted" if drifts else "")


@pytest.mark.parametrize(
    ("operator", "values", "drifts"),
    [
        ("In", ["x"], True),
        ("Exists", [], True),
        ("Gt", ["1"], True),
        ("NotIn", ["x"], False),
        ("DoesNotExist", [], False),
    ],
)
def test_a_key_that_the_node_lacks_d0_33(operator: str, values: list[str], drifts: bool) -> None:
    rows = [{"key": "example.com/new", "operator": operator, "values": values}]
    assert bool(reason(a_state([a_node("n")], pool=a_pool(requirements=rows)))) == drifts


@pytest.mark.parametrize(
    ("operator", "bound", "drifts"),
    [
        ("Gt", "3", False),
        ("Gt", "4", True),
        ("Lt", "5", False),
        ("Lt", "4", True),
        ("Gte", "4", False),
        ("Lte", "3", True),
    ],
)
def test_numeric_bounds(operator: str, bound: str, drifts: bool) -> None:
    rows = [{"key": "cpu", "operator": operator, "values": [bound]}]
    assert bool(reason(a_state([a_node("n", labels={"cpu": "4"})], pool=a_pool(requirements=rows)))) == drifts


def test_a_type_that_is_no_longer_offered_drifts_nodes_that_are_an_hour_old() -> None:
    node = a_node("n", kind="gone")
    types = (a_type("m", 4, 1.0),)
    assert reason(a_state([node], types=types)) == "InstanceTypeNotFound"
    young = a_claim(node, created=before(minutes=59))
    assert reason(a_state([node], types=types, claims=[young])) == ""
    assert reason(a_state([node])) == "", "an unknown catalogue is not an empty one"
    assert reason(a_state([a_node("n", kind="m", zone="b")], types=types)) == "InstanceTypeNotFound"


def with_class(node_class: NodeClass, **claim: object) -> ClusterState:
    node = a_node("n", kubelet_version=str(claim.pop("kubelet", "v1.33.1")))
    return a_state([node], claims=[a_claim(node, **claim)], pool_facts={"node_class": node_class})


def a_class(annotations: dict[str, str] | None = None, **status: object) -> NodeClass:
    return NodeClass(
        metadata=ObjectMeta(name="default", annotations=annotations or {}), status=NodeClassStatus(**status)
    )


def test_a_changed_class_drifts_every_node_made_from_it_d0_34() -> None:
    changed, nodes = a_class(hashed("2", key=CLASS_HASH)), [a_node(name) for name in "abc"]
    claims = [a_claim(each, annotations=hashed("1", key=CLASS_HASH)) for each in nodes]
    state = a_state(nodes, claims=claims, pool_facts={"node_class": changed})
    assert [(each.node.name, each.drift.reason) for each in drifted(state, NOW)] == [
        ("a", "NodeClassDrift"),
        ("b", "NodeClassDrift"),
        ("c", "NodeClassDrift"),
    ]


def test_causes_of_the_provider_come_in_its_order_d0_39() -> None:
    images = (NodeImage(id="new"),)
    behind = a_class(kubernetes_version="1.34.0", images=images)
    assert reason(with_class(behind, image="old")) == "K8sVersionDrift"
    assert reason(with_class(behind, image="old", kubelet="v1.34.0")) == "ImageDrift"
    assert reason(with_class(behind, image="new", kubelet="v1.34.0")) == ""
    assert reason(with_class(a_class(), image="old")) == "", "what the class does not say is not judged"


def test_an_unknown_cause_is_passed_through_d0_39() -> None:
    node = a_node("n")
    state = a_state([node], claims=[a_claim(node, drifted="MoonPhaseDrift")])
    (command,) = drift_method(MethodInput(state, NOW)).commands
    assert "MoonPhaseDrift" in command.text


def test_the_condition_goes_when_the_edit_is_taken_back_d0_37() -> None:
    node = a_node("n")
    for value, told, expected in (
        ("2", None, "NodePoolDrifted"),
        ("1", "NodePoolDrifted", ""),
        ("2", "NodePoolDrifted", "NodePoolDrifted"),
    ):
        claim = a_claim(node, annotations=hashed("1"), drifted=told)
        state = a_state([node], claims=[claim], pool=a_pool(annotations=hashed(value)))
        assert reason(state) == expected


def test_a_cause_of_a_class_that_nobody_read_is_not_doubted() -> None:
    node = a_node("n")
    state = a_state([node], claims=[a_claim(node, drifted="ImageDrift")])
    assert reason(state) == "ImageDrift"


def test_a_claim_that_is_not_launched_is_not_judged() -> None:
    node = a_node("n")
    claim = a_claim(node, annotations=hashed("1"))
    bare = dataclasses.replace(claim, status=dataclasses.replace(claim.status, conditions=()))
    assert reason(a_state([node], claims=[bare], pool=a_pool(annotations=hashed("2")))) == ""


def test_oldest_first_but_nodes_without_pods_before_all_others_d0_40() -> None:
    nodes = [a_node(name) for name in ("busy-old", "busy-new", "free-old", "free-new")]
    ages = dict(zip((each.name for each in nodes), (4, 1, 3, 2), strict=True))
    claims = [a_claim(each, drifted="X", drifted_at=before(days=ages[each.name])) for each in nodes]
    pods = [a_pod("a", "busy-old"), a_pod("b", "busy-new")]
    found = drift_candidates(MethodInput(a_state(nodes, pods, claims=claims), NOW))
    assert [each.name for each in found] == ["free-old", "free-new", "busy-old", "busy-new"]


def test_expiry_is_due_at_the_very_second_d0_16_d0_20() -> None:
    claim = a_claim("n", created=LONG_AGO, expire_after="24h")
    due = due_at(claim)
    assert due == LONG_AGO + timedelta(seconds=86_400)
    node = a_node("n")
    state = a_state([node], claims=[a_claim(node, created=LONG_AGO, expire_after="24h")])
    assert not expiry(state, state.nodes[0], LONG_AGO + timedelta(hours=23, minutes=59, seconds=59)).due
    assert expiry(state, state.nodes[0], LONG_AGO + timedelta(hours=24)).due


def test_nodes_that_never_expire_d0_14() -> None:
    node = a_node("n")
    state = a_state([node], claims=[a_claim(node, expire_after="Never")])
    assert expired(state, NOW + timedelta(days=36500)) == ()


def test_an_annotated_pod_does_not_stop_expiry_and_the_note_says_so_d0_92() -> None:
    node = a_node("n")
    pod = a_pod("x", "n", annotations={"karpenter.sh/do-not-disrupt": "true"})
    for grace, told in (("", "without end, for want of a deadline"), ("1h", "until terminationGracePeriod (1h) ends")):
        state = a_state([node], [pod], claims=[a_claim(node, expire_after="1h", grace=grace)])
        (found,) = expired(state, NOW)
        assert found.due
        assert [each.code for each in found.held] == ["pod-annotation"]
        assert found.note.endswith(f"the drain waits for 1 pod {told}")


def test_a_static_pool_is_drifted_within_budgets_one_replacement_each() -> None:
    nodes = [a_node(name) for name in "abcd"]
    claims = [a_claim(each, drifted="X") for each in nodes]
    pool = a_pool(budgets=[{"nodes": "2"}], replicas=4)
    found = static_drift_method(MethodInput(a_state(nodes, claims=claims, pool=pool), NOW))
    assert [(each.nodes, len(each.replacements)) for each in found.commands] == [(("a",), 1), (("b",), 1)]
    assert [each.code for each in found.refused] == ["budget", "budget"]
    crowded = static_drift_method(MethodInput(a_state(nodes, claims=claims, pool=a_pool(replicas=3)), NOW))
    assert (crowded.commands, [each.code for each in crowded.refused]) == ((), ["over-replicas"])


@pytest.mark.parametrize("replicas", [1, None])
def test_drift_saves_nothing_that_anybody_knows_where_the_price_of_the_new_node_is_not_known(
    replicas: int | None,
) -> None:
    """A static pool leaves the type to the provider; another starts a type without a price here."""
    old = a_node("n", kind="old", cpu=1)
    spec = {"replicas": replicas} if replicas else {}
    types = (a_type("old", 1, 2.0), a_type("new", 4, None))
    state = a_state([old], [a_pod("x", "n", cpu=2)], a_pool(**spec), types, claims=[a_claim(old, drifted="X")])
    method = static_drift_method if replicas else drift_method
    (command,) = method(MethodInput(state, NOW)).commands
    assert len(command.replacements) == 1 and (command.source_cost, command.saving) == (2.0, None)


def test_pools_keep_their_facts_apart() -> None:
    assert StatePool(a_pool()).static is False
    assert StatePool(a_pool(replicas=0)).static is True
