# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What is done by hand to the nodes and pools of a member that is a few words in memory."""

from __future__ import annotations

import contextlib
import typing as t
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.state_node import Node
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.member_nodes import MemberNodes
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError, Problem
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.node_pool import decode_node_pool
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes import manual
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.manual import (
    ManualReport,
    ManualWish,
    ReplacementWish,
    _Manual,
)
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Lease
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.disruption.nodes_made import a_claim, a_node

Document = dict[str, t.Any]
POOLS = "/apis/karpenter.sh/v1/nodepools"


@dataclass
class Server:
    """Notes what is written, and under which lease; ``refuse`` gives the code with which a path is refused."""

    written: list[tuple[str, str, t.Any]] = field(default_factory=list)
    refuse: dict[str, str] = field(default_factory=dict)
    held: int = 0
    kept: int = 0

    def get(self, _name: str) -> Server:
        return self

    @contextlib.contextmanager
    def holding(self, _name: str, _task: str) -> t.Iterator[t.Callable[[], None]]:
        self.held += 1
        yield self.keep
        self.held -= 1

    def keep(self) -> None:
        self.kept += 1

    def delete(self, path: str, body: t.Any = None) -> None:
        self._write("DELETE", path, body)

    def request(self, verb: str, path: str, body: t.Any, *_more: t.Any) -> None:
        self._write(verb, path, body)

    def _write(self, verb: str, path: str, body: t.Any) -> None:
        assert self.held == 1, "the member is held meanwhile"
        if path in self.refuse:
            raise ApiError(self.refuse[path], "no")
        self.written.append((verb, path, body))


class Kept:
    """Records that take evidence, and give leases; ``taken`` has their holders by name."""

    def __init__(self) -> None:
        self.entries: list[t.Any] = []
        self.taken: dict[str, str] = {}

    def acquire(self, name: str, holder: str, seconds: int) -> Lease:
        if self.taken.setdefault(name, holder) != holder:
            raise FleetError("lease-held", f"{self.taken[name]} has it", name)
        now = Session.clock()
        return Lease(name=name, holder=holder, epoch=1, acquired=now, renewed=now, seconds=seconds)

    def leases(self) -> tuple[Lease, ...]:
        return ()

    def release(self, lease: Lease) -> None:
        del self.taken[lease.name]

    def create(self, record: t.Any) -> t.Any:
        self.entries.append(record["spec"])
        return record


class Session:
    clock = staticmethod(lambda: datetime(2026, 3, 28, 12, tzinfo=UTC))
    hub = None
    holder, reason = "job-7", ""

    def __init__(self) -> None:
        self.records, self.once, self.environ = Kept(), dict[str, str](), {"USER": "anna"}


def pool(budgets: t.Any = None, **metadata: t.Any) -> t.Any:
    spec = {"disruption": {"budgets": budgets or [{"nodes": "10%"}]}}
    return decode_node_pool({"metadata": {"name": "p", "uid": "u-p", "resourceVersion": "7", **metadata}, "spec": spec})


def a_member(*nodes: Node, pools: t.Any = (), **parts: t.Any) -> MemberNodes:
    return MemberNodes(name="m", nodes=nodes, pools=tuple(pools) or (pool(),), karpenter=True, **parts)


def by_hand(member: MemberNodes, state: str, server: Server | None = None, **wish: t.Any) -> ManualReport:
    asked = ManualWish(member="m", state=state, **wish)
    return _Manual(t.cast(t.Any, Session()), t.cast(t.Any, server or Server()), member, asked, True).done()


def refused(member: MemberNodes, state: str, **wish: t.Any) -> list[str]:
    with pytest.raises(FleetError) as error:
        by_hand(member, state, **wish)
    return sorted(each.code for each in error.value.problems)


@pytest.mark.parametrize(
    ("wish", "codes"),
    [
        ({"driver": "local"}, ["not-simulated"]),
        ({"driver": "karpenter"}, ["no-node-claim"]),
        ({"driver": "command"}, ["bad-option"]),
        ({"command": ("delete", "{machine}")}, ["bad-option"]),
        ({}, ["no-driver"]),
    ],
)
def test_nodes_that_cannot_be_replaced_so_are_refused_before_anything_is_done(
    wish: t.Any, codes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by a rotation."""
    monkeypatch.setattr(manual, "delete_nodes", lambda *_each: pytest.fail("nothing is begun"))
    here = a_member(Node(name="a", uid="u-a"))
    assert refused(here, "deleted", names=("a",), replacement=ReplacementWish(**wish)) == codes


def scaling() -> MemberNodes:
    """``a`` is there, ``b`` not registered yet, and the Node of ``c`` not there yet."""
    ready, fresh = a_node("a"), a_node("b", labels={"karpenter.sh/initialized": "false"})
    return a_member(ready, fresh, claims=tuple(map(a_claim, (ready, fresh, a_node("c")))))


def test_a_pool_that_is_scaling_is_deleted_node_by_node(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[t.Any] = []
    monkeypatch.setattr(manual, "delete_nodes", lambda _session, _clients, wish: seen.append(wish.uids) or ())
    report = by_hand(scaling(), "deleted", pool="p", confirmed=2)
    assert list(report.nodes) == ["a", "b"] and seen == [{"a": "uid-a", "b": "uid-b"}]


def test_nobody_deletes_nodes_of_a_member_by_hand_while_another_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who lets a node go would uncordon the one that the other is emptying."""
    session, begun = Session(), list[t.Any]()

    def deletes(_session: t.Any, _clients: t.Any, _wish: t.Any) -> tuple[Problem, ...]:
        begun.append(dict(session.records.taken))
        return ()

    monkeypatch.setattr(manual, "delete_nodes", deletes)
    asked = ManualWish(member="m", state="deleted", pool="p", confirmed=2)
    one = _Manual(t.cast(t.Any, session), t.cast(t.Any, Server()), scaling(), asked, True)
    one.done()
    assert begun == [{"by-hand/m": "job-7"}] and session.records.taken == {}
    session.records.taken["by-hand/m"], told = "ben", list(session.records.entries)
    with pytest.raises(FleetError) as held:
        one.done()
    assert (held.value.code, len(begun), session.records.entries) == ("lease-held", 1, told)


def test_nodes_that_are_all_late_are_changed_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their NodeClaims are deleted, or pods of theirs evicted."""
    stays = tuple(Problem("node-stays", "it was not empty within 1 s", f"m/{name}") for name in "ab")
    monkeypatch.setattr(manual, "delete_nodes", lambda _session, _clients, _wish: stays)
    report = by_hand(scaling(), "deleted", pool="p", confirmed=2)
    assert report.changed and report.failed == stays


def test_a_pool_that_is_scaling_is_protected_node_by_node() -> None:
    server = Server()
    by_hand(scaling(), "protected", server, pool="p", confirmed=2)
    marks = {"karpenter.sh/do-not-disrupt": "true"}
    assert server.written == [
        ("PATCH", f"/api/v1/nodes/{name}", {"metadata": {"annotations": marks, "uid": f"uid-{name}"}}) for name in "ab"
    ]


def test_the_pool_that_was_seen_is_deleted_and_no_other_of_its_name() -> None:
    server = Server()
    report = by_hand(scaling(), "pool_deleted", server, pool="p", confirmed=3)
    assert sorted(report.nodes) == ["a", "b", "claim-c"]
    ((verb, path, body),) = server.written
    assert (verb, path, body["preconditions"]) == ("DELETE", f"{POOLS}/p", {"uid": "u-p"})


def test_a_patch_is_written_over_the_version_that_was_judged() -> None:
    server = Server()
    by_hand(a_member(), "stopped", server, pool="p")
    ((_verb, path, body),) = server.written
    assert path == f"{POOLS}/p" and (body["metadata"]["uid"], body["metadata"]["resourceVersion"]) == ("u-p", "7")
    assert server.kept == 1
    server.refuse = {f"{POOLS}/p": "conflict"}
    with pytest.raises(FleetError) as error:
        by_hand(a_member(), "stopped", server, pool="p")
    assert [each.code for each in error.value.problems] == ["conflict"]


def test_what_was_written_before_a_refusal_is_told() -> None:
    server = Server(refuse={"/api/v1/nodes/b": "forbidden"})
    with pytest.raises(FleetError) as error:
        by_hand(a_member(a_node("a"), a_node("b")), "protected", server, names=("a", "b"))
    assert [each.code for each in error.value.problems] == ["forbidden", "partly-written"]
    assert "/api/v1/nodes/a" in error.value.problems[1].message


@pytest.mark.parametrize("state", ["stopped", "released"])
def test_budgets_that_others_wrote_into_a_stopped_pool_are_told(state: str) -> None:
    edited = pool([{"nodes": "3"}], annotations={"gitops.fleet/budgets-before": '[{"nodes": "10%"}]'})
    report = by_hand(a_member(pools=[edited]), state, pool="p")
    assert any('[{"nodes": "3"}]' in each for each in report.text)
    assert by_hand(a_member(), "stopped", pool="p").notes == ()


def test_nodes_that_may_drift_are_not_counted_as_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a class only the provider knows; one of its nodes drifts by its pool for certain, whatever the class does."""
    nodes = (a_node("a"), a_node("b", pool="q"), a_node("c", pool="q"))
    claims = tuple(a_claim(each, class_kind="EC2NodeClass", node_class="c") for each in nodes)
    a_class = {"metadata": {"name": "c", "uid": "u-c"}, "spec": {"amiSelectorTerms": [{"id": "ami-1"}]}}
    monkeypatch.setattr(manual, "read_object", lambda *_each: a_class)
    known: Document = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "p"}}
    pool_edit = {**known, "spec": {"template": {"spec": {"expireAfter": "24h"}}}}
    edited = {"metadata": {"name": "c"}, "spec": {"amiSelectorTerms": [{"id": "ami-2"}]}}
    class_edit = {"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", **edited}
    here = a_member(*nodes, claims=claims)
    report = by_hand(here, "patched", patches=(class_edit,), consent=True)
    assert list(report.nodes) == ["a", "b", "c"] and all(each.startswith("perhaps: ") for each in report.nodes.values())
    assert report.text[0] == "patched: 0 nodes replaced or gone by it, 3 more perhaps"
    for patches in ((pool_edit, class_edit), (class_edit, pool_edit)):
        report = by_hand(here, "patched", patches=patches, consent=True)
        assert report.text[0] == "patched: 1 node replaced or gone by it, 2 more perhaps"
        assert report.nodes["a"].startswith("NodePoolDrifted: ") and report.unsure == {"b", "c"}


def test_a_report_tells_what_stays() -> None:
    report = ManualReport(state="deleted", changed=False, failed=(Problem("node-stays", "held", "m/a"),))
    assert report.text[-1] == "  stays: m/a: held [node-stays]"
