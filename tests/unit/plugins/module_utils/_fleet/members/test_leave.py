# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Members that may not leave: somebody is at their nodes, or their cluster's other name leaves at the same time."""

from __future__ import annotations

import contextlib
import typing as t
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.api_groups import FLEET_API
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.leases import leaving_lease
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members import leave as leaving
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.leave import LeaveRequest, _refuse_busy, leave
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords


@pytest.fixture
def records(tmp_path: Path) -> t.Iterator[SqliteRecords]:
    made = SqliteRecords(tmp_path / "records.db", lambda: datetime.now(UTC))
    yield made
    made.close()


def test_a_member_that_was_half_forgotten_when_it_left_is_forgotten_by_the_next_run(
    records: SqliteRecords, tmp_path: Path
) -> None:
    """Killed between the two: what is left is the one by which it is still known."""
    spec = {"connection": {"kubeconfig": str(tmp_path / "gone")}}
    records.create({"apiVersion": FLEET_API, "kind": "FleetMember", "metadata": {"name": "east"}, "spec": spec})
    session = Session(records=records, holder="me", clock=lambda: datetime.now(UTC))
    assert leave(session, LeaveRequest(names=("east",), forget_unreachable=True), write=True).left == ("east",)
    assert not records.names("FleetMember") and not records.names("MemberCluster")


def test_a_member_that_is_named_twice_leaves_once(records: SqliteRecords, tmp_path: Path) -> None:
    """And if it cannot be asked, that is so of all: nothing is told as done in part."""
    spec = {"connection": {"kubeconfig": str(tmp_path / "gone")}}
    records.create({"apiVersion": FLEET_API, "kind": "FleetMember", "metadata": {"name": "east"}, "spec": spec})
    session = Session(records=records, holder="me", clock=lambda: datetime.now(UTC))
    with pytest.raises(FleetError):
        leave(session, LeaveRequest(names=("east", "east")), write=True)
    wish = LeaveRequest(names=("east", "east"), forget_unreachable=True)
    assert leave(session, wish, write=True).left == ("east",)
    (_begun, ended) = records.list("AuditEntry")
    assert ended["spec"]["members"] == ["east"]


@pytest.mark.parametrize("node", [{"phase": "Draining"}, {"phase": "GivenUp", "release": "too late"}])
def test_a_member_with_a_node_that_a_rotation_has_in_hand_stays(
    records: SqliteRecords, node: t.Mapping[str, str]
) -> None:
    """Once it had left nobody would uncordon the node any more."""
    body = {"apiVersion": FLEET_API, "kind": "NodeRotation", "metadata": {"name": "blue"}, "spec": {}}
    rows = [{"name": "east/a", "pool": "east/p", **node}, {"name": "west/a", "pool": "west/p", "phase": "Waiting"}]
    records.replace({**records.create(body), "status": {"state": {"nodes": rows}}})
    _refuse_busy(records, ["west"])
    with pytest.raises(FleetError) as refused:
        _refuse_busy(records, iter(["west", "east"]))
    (problem,) = refused.value.problems
    assert (problem.code, problem.where) == ("member-busy", "east")
    assert problem.message == "rotation blue has node a in hand" and "blue" in problem.hint


def forgotten(records: SqliteRecords) -> None:
    """What the run that lets b go has done by its end."""
    records.delete("FleetMember", "b")


def begun(records: SqliteRecords) -> None:
    """What it has done before it looks at what else is a member: nothing but to leave word."""
    records.acquire(leaving_lease("b"), "the other run", 60)


@pytest.mark.parametrize("other_run", [forgotten, begun])
def test_of_a_cluster_with_two_names_the_last_one_is_not_forgotten_as_if_the_other_stayed(
    records: SqliteRecords, monkeypatch: pytest.MonkeyPatch, other_run: t.Callable[[SqliteRecords], None]
) -> None:
    """Two runs, one for each name: each took the other for staying, and nothing that lies there was released."""
    for name in ("a", "b"):
        spec = {"connection": {"kubeconfig": f"/none/{name}"}, "clusterUID": "one"}
        records.create({"apiVersion": FLEET_API, "kind": "FleetMember", "metadata": {"name": name}, "spec": spec})
    taken = leaving._taken

    def late(*given: t.Any) -> t.Any:
        """The leases, once the other run has come so far."""
        other_run(records)
        return taken(*given)

    session = Session(records=records, holder="me", clock=lambda: datetime.now(UTC), environ={})
    assert leave(session, LeaveRequest(names=("a",)), write=False).doubles == ("a",)
    monkeypatch.setattr(leaving, "_taken", late)
    with pytest.raises(FleetError) as refused:
        leave(session, LeaveRequest(names=("a",)), write=True)
    assert (refused.value.code, refused.value.where) == ("records-moved", "a")
    assert "a" in records.names("FleetMember")


def test_who_was_to_be_forgotten_stays_once_the_run_is_told_to_end(
    records: SqliteRecords, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C where a member was named by mistake: of it, or of one with another name, nothing had been begun."""
    specs = {name: {"connection": {"kubeconfig": str(tmp_path / name)}} for name in ("east", "twin", "west")}
    for name, spec in specs.items():
        uid = {} if name == "east" else {"clusterUID": "one"}
        records.create({"apiVersion": FLEET_API, "kind": "FleetMember", "metadata": {"name": name}, "spec": spec | uid})
    session = Session(records=records, holder="me", clock=lambda: datetime.now(UTC))
    monkeypatch.setattr(leaving, "Interrupts", lambda: contextlib.nullcontext(lambda: "interrupted by SIGTERM"))
    wish = LeaveRequest(names=("east", "twin"), forget_unreachable=True)
    found = leave(session, wish, write=True)
    assert (found.left, found.unreachable, found.doubles) == ((), (), ())
    assert [(each.code, each.where) for each in found.failed] == [("interrupted", "east"), ("interrupted", "twin")]
    assert records.names("FleetMember") == set(specs)
    monkeypatch.undo()
    again = leave(session, wish, write=True)
    assert (again.left, again.unreachable, again.doubles) == (("east", "twin"), ("east",), ("twin",))


@pytest.mark.parametrize(
    ("remove", "passed_over", "said"),
    [
        (True, (), "what was placed there is removed"),
        (True, ("b",), "what was placed there is removed, but stays on b"),
        (True, ("a", "b"), "what was placed there stays"),
        (True, ("c",), "what was placed there is removed"),
        (False, (), "what was placed there stays"),
    ],
)
def test_the_entry_says_where_things_stay(
    records: SqliteRecords, monkeypatch: pytest.MonkeyPatch, remove: bool, passed_over: tuple[str, ...], said: str
) -> None:
    """Nothing is removed from who is forgotten unasked, or is a member under another name; on c nothing was placed."""
    monkeypatch.setattr(leaving, "_by_cluster", lambda _records: {"a": [{}], "b": [{}]})
    wish = LeaveRequest(names=("a", "b", "c"), remove=remove)
    assert leaving._deed(records, ("a", "b", "c"), wish, passed_over).message == said
    assert leaving._deed(records, ("c",), wish, passed_over).message == "nothing was placed there"


def test_a_member_that_stays_is_told_with_what_helps() -> None:
    missing = FleetError("forbidden", "configmaps may not be listed", "configmaps", "grant list on configmaps")
    (problem,) = leaving._failed({"east": missing})
    assert (problem.where, problem.hint) == ("east", "grant list on configmaps")
