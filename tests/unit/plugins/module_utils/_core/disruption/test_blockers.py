# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What keeps a node from being disrupted, gate by gate."""

from __future__ import annotations

import dataclasses
import typing as t
from datetime import timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.cluster_state import ClusterState
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.pod import DISRUPTED as TAINT
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.pod import Pod
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.pod_disruption import evictable
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.pod_disruption_budget import (
    PodDisruptionBudget,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.blockers import (
    EVENTUAL,
    GRACEFUL,
    blockers,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.methods.candidates import node_verdicts
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.methods.events import of_annotations
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.policy import Toleration
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import Condition
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.selector import LabelSelector
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.disruption.nodes_made import (
    DAEMON,
    LONG_AGO,
    NOW,
    STATIC,
    a_claim,
    a_node,
    a_pod,
    a_pool,
    a_state,
    before,
)

DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
DISRUPTED = Toleration(key="karpenter.sh/disrupted", operator="Exists")


def codes(state: ClusterState, kind: str = GRACEFUL) -> list[str]:
    (node,) = state.nodes
    return [each.code for each in blockers(state, node, NOW, kind)]


def with_pods(*pods: Pod, **more: t.Any) -> ClusterState:
    return a_state([a_node("n")], [dataclasses.replace(each, node="n") for each in pods], **more)


def a_pdb(name: str = "pdb", allowed: int = 0, **more: t.Any) -> PodDisruptionBudget:
    return PodDisruptionBudget(name=name, selector=LabelSelector(match_labels={"app": "web"}), allowed=allowed, **more)


WEB = a_pod("web", labels={"app": "web"})


def test_a_plain_node_is_a_candidate() -> None:
    assert codes(with_pods(WEB)) == []


def test_each_gate_of_the_node_closes_alone() -> None:
    plain = a_node("n")
    uninitialized = dict(plain.labels) | {"karpenter.sh/initialized": "false"}
    no_pool = {key: value for key, value in plain.labels.items() if key != "karpenter.sh/nodepool"}
    assert codes(a_state([plain], claims=[])) == ["not-managed"]
    assert codes(a_state([], claims=[a_claim("n", labels={"karpenter.sh/nodepool": "p"})])) == ["no-node"]
    assert codes(a_state([dataclasses.replace(plain, labels=uninitialized)])) == ["not-initialized"]
    assert codes(a_state([plain], claims=[a_claim(plain, deleting=NOW)])) == ["deleting"]
    assert codes(a_state([dataclasses.replace(plain, labels=no_pool)])) == ["no-pool-label"]
    assert codes(a_state([plain], pool=a_pool("other"))) == ["no-pool"]
    assert codes(a_state([plain], types=())) == ["no-pool"]
    assert codes(a_state([plain], pool_facts={"managed": False})) == ["no-pool"]


def test_a_running_command_and_a_nomination_block() -> None:
    state = a_state([a_node("n")])
    queued = dataclasses.replace(state.nodes[0], queued=True)
    assert codes(dataclasses.replace(state, nodes=(queued,))) == ["in-command"]
    nominated = dataclasses.replace(state.nodes[0], nominated_until=NOW + timedelta(seconds=1))
    assert codes(dataclasses.replace(state, nodes=(nominated,))) == ["nominated"]
    over = dataclasses.replace(nominated, nominated_until=NOW)
    assert codes(dataclasses.replace(state, nodes=(over,))) == []


def test_taint_and_condition_together_mark_a_node() -> None:
    tainted = a_node("n", taints=(TAINT,))
    reason = Condition(type="DisruptionReason", status="True")
    assert codes(a_state([tainted])) == []
    assert codes(a_state([tainted], claims=[a_claim(tainted, conditions=[reason])])) == ["deleting"]


@pytest.mark.parametrize(("value", "blocked"), [("true", True), ("1h", False), ("True", False), ("false", False)])
def test_on_nodes_only_the_word_true_counts_d0_95(value: str, blocked: bool) -> None:
    state = a_state([a_node("n", annotations={DO_NOT_DISRUPT: value})])
    assert codes(state) == (["node-annotation"] if blocked else [])
    assert codes(state, EVENTUAL) == codes(state)


def test_an_annotated_pod_keeps_its_node_and_is_named_d0_91() -> None:
    state = with_pods(dataclasses.replace(WEB, annotations={DO_NOT_DISRUPT: "true"}))
    assert not any(each.graceful.candidate for each in node_verdicts(state, NOW))
    (found,) = blockers(state, state.nodes[0], NOW)
    assert (found.code, found.about["pod"]) == ("pod-annotation", "default/web")
    assert found.text == "pod default/web has karpenter.sh/do-not-disrupt"


@pytest.mark.parametrize(("age", "blocked"), [(59, True), (60, False), (61, False)])
def test_a_duration_protects_a_pod_from_its_start_d0_94(age: int, blocked: bool) -> None:
    pod = dataclasses.replace(WEB, annotations={DO_NOT_DISRUPT: "1h"}, started_at=before(minutes=age))
    assert codes(with_pods(pod)) == (["pod-annotation"] if blocked else [])


@pytest.mark.parametrize("value", ["yes", "1d", "-1h", "0s", ""])
def test_an_unreadable_duration_protects_nothing_and_is_told_d0_94(value: str) -> None:
    pod = dataclasses.replace(WEB, annotations={DO_NOT_DISRUPT: value}, started_at=NOW)
    assert codes(with_pods(pod)) == []
    (found,) = of_annotations([pod], NOW, moving=True)
    assert found.reason == "InvalidDoNotDisruptAnnotation"


def test_daemon_and_static_pods_with_the_annotation_block_and_ended_ones_never_do() -> None:
    shield = {DO_NOT_DISRUPT: "true"}
    for owners in (DAEMON, STATIC):
        assert codes(with_pods(a_pod("x", owners=owners, annotations=shield))) == ["pod-annotation"]
    assert codes(with_pods(a_pod("x", phase="Failed", annotations=shield))) == []
    assert codes(with_pods(a_pod("x", deleting_at=NOW, annotations=shield))) == []


def test_a_pdb_with_nothing_left_blocks_and_both_are_named_d0_98() -> None:
    state = with_pods(WEB, pdbs=[a_pdb()])
    (found,) = blockers(state, state.nodes[0], NOW)
    assert found.as_dict() == {
        "code": "pdb",
        "text": "pdb default/pdb prevents pod evictions: it allows 0 disruptions, and covers pod default/web",
        "byPod": True,
        "pod": "default/web",
        "pdb": "default/pdb",
        "allowed": 0,
    }
    assert codes(with_pods(WEB, pdbs=[a_pdb(allowed=1)])) == []


def test_one_disruption_left_is_enough_for_all_pods_of_a_node() -> None:
    assert codes(with_pods(WEB, dataclasses.replace(WEB, name="web2"), pdbs=[a_pdb(allowed=1)])) == []


def test_several_pdbs_always_block() -> None:
    assert codes(with_pods(WEB, pdbs=[a_pdb("x", 5), a_pdb("y", 5)])) == ["pdb-several"]


def test_pdbs_hold_only_pods_of_their_namespace_that_would_be_evicted() -> None:
    elsewhere = dataclasses.replace(WEB, namespace="other")
    tolerant = dataclasses.replace(WEB, tolerations=(DISRUPTED,))
    static = dataclasses.replace(WEB, owners=STATIC)
    ending = dataclasses.replace(WEB, deleting_at=NOW)
    for pod in (elsewhere, tolerant, static, ending):
        assert codes(with_pods(pod, pdbs=[a_pdb()])) == []
    assert codes(with_pods(dataclasses.replace(WEB, owners=DAEMON), pdbs=[a_pdb()])) == ["pdb"]


def test_a_pod_that_is_not_ready_passes_if_its_pdb_says_so() -> None:
    sick = dataclasses.replace(WEB, ready="False")
    assert codes(with_pods(sick, pdbs=[a_pdb(unhealthy="AlwaysAllow")])) == []
    assert codes(with_pods(sick, pdbs=[a_pdb()])) == ["pdb"]
    assert codes(with_pods(WEB, pdbs=[a_pdb(unhealthy="AlwaysAllow")])) == ["pdb"]


def test_a_deadline_overrules_pods_and_nothing_else() -> None:
    node = a_node("n", annotations={DO_NOT_DISRUPT: "true"})
    pod = dataclasses.replace(WEB, node="n")
    for grace, left in (("", ["node-annotation", "pdb"]), ("1h", ["node-annotation"])):
        state = a_state([node], [pod], claims=[a_claim(node, grace=grace)], pdbs=[a_pdb()])
        assert codes(state, EVENTUAL) == left
        assert codes(state, GRACEFUL) == ["node-annotation", "pdb"]


def test_gates_come_in_upstreams_order() -> None:
    node = a_node("n", annotations={DO_NOT_DISRUPT: "true"})
    pods = [dataclasses.replace(WEB, node="n"), a_pod("x", "n", annotations={DO_NOT_DISRUPT: "true"})]
    state = a_state([node], pods, claims=[a_claim(node, deleting=LONG_AGO)], pool=a_pool("q"), pdbs=[a_pdb()])
    assert codes(state) == ["deleting", "node-annotation", "no-pool", "pod-annotation", "pdb"]


@pytest.mark.parametrize(
    ("pod", "held"),
    [
        (WEB, True),
        (a_pod("x", phase="Succeeded"), False),
        (a_pod("x", owners=STATIC), False),
        (a_pod("x", owners=DAEMON), True),
        (a_pod("x", tolerations=(DISRUPTED,)), False),
        (a_pod("x", deleting_at=NOW), False),
        (a_pod("x", annotations={DO_NOT_DISRUPT: "true"}), False),
    ],
)
def test_which_pods_are_held_against_pdbs(pod: Pod, held: bool) -> None:
    assert evictable(pod, NOW) is held
