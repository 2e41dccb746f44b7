# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What Karpenter would consolidate, asked of a real API server and of a file: pods, DaemonSets, NodeClaims, types."""

from __future__ import annotations

import dataclasses
import time
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.catalogue import (
    Catalogue,
    read_catalogue,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.consolidation_plan import NodePlan
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.budget_info import (
    BudgetQuestion,
    budget_report,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.node_info import (
    ConsolidationQuestion,
    NodeReport,
    node_report,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.reading import ReadingWish
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.sources import NodeManifests
from ansible_collections.gitops.fleet.plugins.module_utils._report.nodes.consolidation_text import consolidation_text
from karpenter_members import CLAIMS, NODES, POOLS, claimed, gone, install, pool
from rotation_workload import Workload
from small_fleet import Document, Fleet, Server

SIZES = {"s": ("2", 0.1), "m": ("4", 0.2), "l": ("8", 0.4)}
TYPES: list[Document] = [
    {
        "name": name,
        "allocatable": {"cpu": cpu, "memory": "16Gi", "pods": "110"},
        "offerings": [{"zone": "a", "capacityType": "on-demand", "price": price}],
    }
    for name, (cpu, price) in SIZES.items()
]
GIVEN = ConsolidationQuestion(catalogue=Catalogue(types=read_catalogue(TYPES, "types")))
OURS = {"karpenter.sh/nodepool": "cp"}


def pod(name: str, cpu: str, node: str = "", **metadata: t.Any) -> Document:
    """On nodes of our pool only."""
    spec: Document = {
        "nodeSelector": OURS,
        "terminationGracePeriodSeconds": 0,
        "containers": [{"name": "c", "image": "none", "resources": {"requests": {"cpu": cpu}}}],
    }
    return {"metadata": {"name": name, **metadata}, "spec": spec | ({"nodeName": node} if node else {})}


@pytest.fixture
def underused(node_server: Server) -> t.Iterator[Server]:
    """A pool with an empty node, one that is far too large, one that is full and one that is protected, and a DaemonSet
    that takes half a CPU of each."""
    install(node_server)
    work = Workload(node_server)
    pool(node_server, "cp", [{"nodes": "100%"}])
    kinds = {"cp-empty": "m", "cp-full": "m", "cp-held": "m", "cp-large": "l"}
    try:
        for name, kind in kinds.items():
            claimed(node_server, name, "cp", kind=kind, cpu=SIZES[kind][0])
        template = pod("", "500m")
        template["metadata"] = {"labels": {"app": "log"}}
        spec = {"selector": {"matchLabels": {"app": "log"}}, "template": template}
        path = f"/apis/apps/v1/namespaces/{work.namespace}/daemonsets"
        node_server.client.post(
            path, {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "log"}, "spec": spec}
        )
        held = {"annotations": {"karpenter.sh/do-not-disrupt": "true"}}
        for each in (
            pod("full", "3300m", "cp-full"), pod("held", "100m", "cp-held", **held), pod("small", "1", "cp-large"),
        ):  # fmt: skip
            node_server.client.post(f"/api/v1/namespaces/{work.namespace}/pods", each)
        until(lambda: len(work.pods("log")) == len(kinds), "the DaemonSet has no pod on each node")
        yield node_server
    finally:
        gone(node_server, f"/apis/apps/v1/namespaces/{work.namespace}/daemonsets/log")
        for name in kinds:
            gone(node_server, f"{CLAIMS}/{name}")
            gone(node_server, f"{NODES}/{name}")
        gone(node_server, f"{POOLS}/cp")
        node_server.client.delete(f"/api/v1/namespaces/{work.namespace}/pods")
        work.end()


def until(holds: t.Callable[[], bool], told: str) -> None:
    end = time.monotonic() + 180
    while not holds():
        assert time.monotonic() < end, told
        time.sleep(0.1)


def asked(fleet: Fleet, question: ConsolidationQuestion = GIVEN, snapshot: str = "") -> NodeReport:
    return node_report(fleet.session(), NodeManifests(), ReadingWish(), snapshot, question)


def ours(found: NodeReport) -> dict[str, NodePlan]:
    (plan,) = found.plans
    assert plan.member == "n1" and plan.unknown == ""
    return {each.node: each for each in plan.nodes if each.pool == "cp"}


def test_each_node_has_its_decision_live_and_from_a_file(node_fleet: Fleet, underused: Server) -> None:
    """D0-09, D0-10, D0-23, D0-24, D0-27, D0-28: pods, DaemonSets and budgets as the server holds them. Nodes that say
    too little are kept, and told."""
    live = asked(node_fleet)
    assert live.problems == ()
    rows = ours(live)
    assert (rows["cp-empty"].decision, rows["cp-empty"].reason, rows["cp-empty"].next) == ("delete", "Empty", True)
    assert rows["cp-empty"].saving == pytest.approx(0.2)
    assert (rows["cp-held"].decision, rows["cp-held"].code) == ("keep", "pod-annotation")
    # A CPU, and half a one for the DaemonSet: the smallest will do, but nobody needs a new node for it.
    assert rows["cp-large"].decision == "delete"
    assert {each.target for each in rows["cp-large"].moves} <= {"cp-empty", "cp-held"}
    assert (rows["cp-full"].decision, rows["cp-full"].held) == ("delete", "other nodes go before it")
    assert [each.target for each in rows["cp-full"].moves] and not rows["cp-full"].needs_catalogue
    unmanaged = [each for each in live.plans[0].nodes if each.node.startswith("n1-blue")]
    assert len(unmanaged) == 12 and {each.code for each in unmanaged} == {"overlooked"}
    lines = consolidation_text(live.plans)
    assert max(map(len, lines)) <= 80 and "Emptiness 1 empty node, saves 0.2" in " ".join(" ".join(lines).split())

    read = ReadingWish(keep=True, daemons=True)
    path = node_fleet.folder / "nodes.json"
    path.write_text(budget_report(node_fleet.session(), BudgetQuestion(reading=read)).file)
    node_fleet.cut("n1", "m1")
    assert [each.as_dict() for each in asked(node_fleet, snapshot=str(path)).plans] == [
        each.as_dict() for each in live.plans
    ]


def test_a_plan_is_held_against_what_came_meanwhile(node_fleet: Fleet, underused: Server) -> None:
    """D0-29: after the pause the empty node still goes; once a pod is bound to it, it is told that and why not."""
    waited: list[float] = []
    question = dataclasses.replace(GIVEN, look_again=15)

    def again(pause: t.Callable[[float], None]) -> Document:
        found = node_report(node_fleet.session(), NodeManifests(), ReadingWish(), "", question, None, pause)
        assert found.problems == ()
        (plan,) = found.plans
        assert plan.commands[0].nodes == ("cp-empty",)
        (told,) = plan.as_dict()["again"]
        return told | {"lines": " ".join(" ".join(consolidation_text(found.plans)).split())}

    calm = again(waited.append)
    assert waited == [15] and calm["nodes"] == ["cp-empty"] and "looked at again, Emptiness: as before" in calm["lines"]
    pods = f"/api/v1/namespaces/{namespace_of(underused, 'small')}/pods"
    busy = again(lambda _seconds: t.cast(None, underused.client.post(pods, pod("late", "100m", "cp-empty"))))
    assert (busy["nodes"], busy["failure"]) == ([], "churn") and "given up, churn: node cp-empty" in busy["lines"]
    with pytest.raises(FleetError) as error:
        asked(node_fleet, question, "nodes.json")
    assert error.value.code == "bad-option"


def test_a_replacement_has_room_for_daemon_sets_and_needs_a_catalogue(node_fleet: Fleet, underused: Server) -> None:
    """Without the empty node and with the held one closed, the pod of the large node finds no other place."""
    for name in ("cp-empty", "cp-held"):
        underused.patch(f"{NODES}/{name}", {"spec": {"unschedulable": True}})
    row = ours(asked(node_fleet))["cp-large"]
    assert row.decision == "replace" and row.replacements[0].instance_types == ("s", "m")
    assert row.saving == pytest.approx(0.3) and row.reason == "Underutilized"
    small = f"/api/v1/namespaces/{namespace_of(underused, 'small')}/pods"
    underused.client.post(small, pod("more", "700m", "cp-large"))
    assert ours(asked(node_fleet))["cp-large"].replacements[0].instance_types == ("m",)
    seen = ours(asked(node_fleet, ConsolidationQuestion()))["cp-large"]
    assert (seen.decision, seen.code, seen.needs_catalogue) == ("keep", "price-unknown", True)
    priced = ConsolidationQuestion(catalogue=Catalogue(prices={"m": 0.2, "l": 0.4}))
    seen = ours(asked(node_fleet, priced))["cp-large"]
    assert seen.decision == "replace" and seen.needs_catalogue and seen.saving == pytest.approx(0.2)


def test_without_the_pods_of_a_file_there_is_no_plan(node_fleet: Fleet, underused: Server) -> None:
    read = ReadingWish(keep=True, pods=False)
    path = node_fleet.folder / "nodes.json"
    path.write_text(budget_report(node_fleet.session(), BudgetQuestion(reading=read)).file)
    found = asked(node_fleet, snapshot=str(path))
    assert [(each.unknown, each.nodes) for each in found.plans] == [("pods were not read", ())]
    assert [each.code for each in found.problems] == ["plan-unknown"]
    assert asked(node_fleet, dataclasses.replace(GIVEN, nodes=("cp-full",))).plans[0].nodes[0].node == "cp-full"


def namespace_of(server: Server, name: str) -> str:
    items = server.client.get("/api/v1/pods", {"fieldSelector": f"metadata.name={name}"})["items"]
    return str(items[0]["metadata"]["namespace"])
