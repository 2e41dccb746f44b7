# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Nodes and pools disrupted by hand on a real API server: told first, confirmed, drained, let go where that fails."""

from __future__ import annotations

import contextlib
import threading
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes import manual as by_hand_module
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.manual import (
    ManualReport,
    ManualWish,
    manual,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.reading import read_members
from karpenter_members import (
    CLAIMS,
    NODES,
    POOLS,
    claimed,
    gone,
    install,
    pool,
)
from rotation_workload import Workload
from small_fleet import Document, Fleet, Server

ANNOTATION = "karpenter.sh/do-not-disrupt"


def by_hand(fleet: Fleet, state: str, write: bool = True, **wish: t.Any) -> ManualReport:
    return manual(fleet.session(), ManualWish(member="n1", state=state, **wish), write)


def refused(fleet: Fleet, state: str, **wish: t.Any) -> FleetError:
    with pytest.raises(FleetError) as error:
        by_hand(fleet, state, **wish)
    return error.value


@pytest.fixture
def karpenter(node_server: Server) -> t.Iterator[Server]:
    install(node_server)
    pool(node_server, "kp", [{"nodes": "50%"}])
    for number in range(3):
        claimed(node_server, f"hand-{number}", "kp")
    yield node_server
    for number in range(3):
        gone(node_server, f"{CLAIMS}/hand-{number}")
        gone(node_server, f"{NODES}/hand-{number}")
    gone(node_server, f"{POOLS}/kp")


@contextlib.contextmanager
def played(server: Server) -> t.Iterator[None]:
    """While entered, somebody plays Karpenter: whose NodeClaim is deleted loses its Node, then its finalizer."""
    stop = threading.Event()

    def play() -> None:
        while not stop.wait(0.1):
            for claim in t.cast(Document, server.get(CLAIMS))["items"]:
                if claim["metadata"].get("deletionTimestamp"):
                    gone(server, f"{NODES}/{claim['metadata']['name']}")
                    gone(server, f"{CLAIMS}/{claim['metadata']['name']}")

    thread = threading.Thread(target=play, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def spec_of(server: Server) -> t.Any:
    return t.cast(Document, server.get(f"{POOLS}/kp"))["spec"]["disruption"]["budgets"]


def test_a_node_is_drained_first_and_its_pods_run_elsewhere(node_fleet: Fleet, node_server: Server) -> None:
    """D0-87: by its name; in check mode nothing is written."""
    workload = Workload(node_server)
    try:
        pods = workload.deployment("moves", 1)
        workload.settled()
        (name,) = workload.nodes_of(pods)
        told = by_hand(node_fleet, "deleted", write=False, names=(name,))
        assert told.changed and list(told.nodes) == [name]
        node = t.cast(Document, node_server.get(f"{NODES}/{name}"))
        assert not node["spec"].get("unschedulable") and workload.nodes_of(pods) == [name]
        report = by_hand(node_fleet, "deleted", names=(name,))
        assert report.changed and report.failed == () and node_server.get(f"{NODES}/{name}") is None
        workload.settled()
        assert workload.nodes_of(pods) != [name]
    finally:
        workload.end()


def test_a_node_that_a_pdb_holds_is_let_go_and_both_are_named(node_fleet: Fleet, node_server: Server) -> None:
    workload = Workload(node_server)
    try:
        pods = workload.deployment("stays", 1)
        workload.pdb("stays", minAvailable=1)
        workload.settled()
        (name,) = workload.nodes_of(pods)
        told = by_hand(node_fleet, "deleted", write=False, names=(name,))
        assert "pdb" in told.nodes[name] and f"{workload.namespace}/stays" in told.nodes[name]
        report = by_hand(node_fleet, "deleted", names=(name,), timeout=4.0)
        assert [each.code for each in report.failed] == ["node-stays"] and report.changed
        node = t.cast(Document, node_server.get(f"{NODES}/{name}"))
        assert not node["spec"].get("unschedulable")
    finally:
        workload.end()


def test_many_nodes_need_their_number_and_an_empty_name_is_never_all(node_fleet: Fleet, karpenter: Server) -> None:
    """D0-88, D0-89: nothing is touched without the number; then only nodes of that pool go."""
    everyone = t.cast(Document, karpenter.get(NODES))["items"]
    blue = {each["metadata"]["uid"] for each in everyone if each["metadata"]["labels"].get("pool") == "blue"}
    assert refused(node_fleet, "deleted").code == "empty-name"
    assert refused(node_fleet, "deleted", names=(" ",)).code == "empty-name"
    assert refused(node_fleet, "deleted", pool="").code == "empty-name"
    assert refused(node_fleet, "deleted", pool="kpp").code == "no-such-pool"
    assert refused(node_fleet, "deleted", pool="kp").code == "count-not-confirmed"
    wrong = refused(node_fleet, "deleted", selector="karpenter.sh/nodepool", confirmed=3)
    assert wrong.code == "count-not-confirmed" and wrong.problems[0].hint == "confirm_count: 15"
    assert refused(node_fleet, "stopped", pool="").code == "empty-name"
    assert by_hand(node_fleet, "deleted", write=False, pool="kp", confirmed=3).changed
    with played(karpenter):
        report = by_hand(node_fleet, "deleted", pool="kp", confirmed=3, timeout=60.0)
    assert report.failed == () and list(report.nodes) == ["hand-0", "hand-1", "hand-2"]
    left = t.cast(Document, karpenter.get(NODES))["items"]
    assert {each["metadata"]["uid"] for each in left} == blue


def test_a_pool_is_stopped_and_released_and_no_node_drifts(node_fleet: Fleet, karpenter: Server) -> None:
    """D0-97: the budget of 0 touches no node; what was there before comes back."""
    assert by_hand(node_fleet, "stopped", write=False, pool="kp").changed and spec_of(karpenter) == [{"nodes": "50%"}]
    report = by_hand(node_fleet, "stopped", pool="kp")
    assert report.changed and report.nodes == {} and spec_of(karpenter) == [{"nodes": "0"}]
    assert not by_hand(node_fleet, "stopped", pool="kp").changed
    assert by_hand(node_fleet, "released", pool="kp").changed and spec_of(karpenter) == [{"nodes": "50%"}]
    assert not by_hand(node_fleet, "released", pool="kp").changed
    assert refused(node_fleet, "stopped", pool="nobodys").code == "no-such-pool"


@pytest.mark.parametrize("times", [2, None])
def test_what_others_write_meanwhile_is_read_and_judged_anew(
    node_fleet: Fleet, karpenter: Server, monkeypatch: pytest.MonkeyPatch, times: int | None
) -> None:
    """Karpenter writes into its NodePools whenever they change; only one written all the time is not ours to change."""
    reads: list[str] = []

    def read(*asked: t.Any) -> t.Any:
        found = read_members(*asked)
        reads.append("read")
        if times is None or len(reads) <= times:
            body: Document = {"metadata": {"annotations": {"hash": str(len(reads))}}}
            karpenter.patch(f"{POOLS}/kp", body)
        return found

    monkeypatch.setattr(by_hand_module, "read_members", read)
    if times is None:
        assert refused(node_fleet, "stopped", pool="kp").code == "conflict" and len(reads) == by_hand_module.ATTEMPTS
        assert spec_of(karpenter) == [{"nodes": "50%"}]
    else:
        assert by_hand(node_fleet, "stopped", pool="kp").changed and len(reads) == times + 1
        assert spec_of(karpenter) == [{"nodes": "0"}]


def test_a_patch_that_replaces_nodes_needs_consent(node_fleet: Fleet, karpenter: Server) -> None:
    """D0-01, D0-19, D0-55: how many drift is told first; behaviour drifts nobody; a patch makes no pool."""
    api = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "kp"}}
    rotating: Document = {**api, "spec": {"template": {"spec": {"terminationGracePeriod": "30s"}}}}
    told = by_hand(node_fleet, "patched", write=False, patches=(rotating,))
    assert list(told.nodes) == ["hand-0", "hand-1", "hand-2"]
    error = refused(node_fleet, "patched", patches=(rotating,))
    assert error.code == "drift-without-consent" and "3 existing nodes" in error.message
    assert by_hand(node_fleet, "patched", patches=(rotating,), consent=True).changed
    calm: Document = {**api, "spec": {"weight": 7}}
    assert by_hand(node_fleet, "patched", patches=(calm,)).nodes == {}
    assert not by_hand(node_fleet, "patched", patches=(calm,)).changed
    other = {**calm, "metadata": {"name": "new"}}
    assert refused(node_fleet, "patched", patches=(other,)).code == "no-such-pool"


def test_a_node_is_protected_and_that_is_lifted(node_fleet: Fleet, karpenter: Server) -> None:
    """D0-95"""
    assert by_hand(node_fleet, "protected", names=("hand-0",)).changed
    node = t.cast(Document, karpenter.get(f"{NODES}/hand-0"))
    assert node["metadata"]["annotations"][ANNOTATION] == "true"
    assert not by_hand(node_fleet, "protected", names=("hand-0",)).changed
    assert by_hand(node_fleet, "unprotected", names=("hand-0",)).changed
    assert ANNOTATION not in t.cast(Document, karpenter.get(f"{NODES}/hand-0"))["metadata"].get("annotations", {})


def test_deleting_a_pool_tells_its_nodes_first(node_fleet: Fleet, karpenter: Server) -> None:
    """D0-90"""
    assert refused(node_fleet, "pool_deleted", pool="kp").code == "count-not-confirmed"
    told = by_hand(node_fleet, "pool_deleted", write=False, pool="kp", confirmed=3)
    assert list(told.nodes) == ["hand-0", "hand-1", "hand-2"] and karpenter.get(f"{POOLS}/kp") is not None
    assert by_hand(node_fleet, "pool_deleted", pool="kp", confirmed=3).changed
    assert karpenter.get(f"{POOLS}/kp") is None
