# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What breaks in the middle of an apply: connections, patience of servers, disks. Nothing is lost, all is told."""

from __future__ import annotations

import contextlib
import resource
import time
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.binding_journal import BindingJournal
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.write_records import Writer
from member_gateway import CUT, Gateway
from small_fleet import Fleet, codes, conditions

NAMES = ("a-first", "b-second", "c-third")


@pytest.fixture
def gateway(servers: dict[str, t.Any]) -> t.Iterator[Gateway]:
    made = Gateway(servers["m2"])
    yield made
    made.close()


def ready(fleet: Fleet, gateway: Gateway) -> None:
    """m1 and m2 hold ``z-gone`` and the rest; the rest is to get a new content, and ``z-gone`` to go."""
    fleet.join("m1", "m2")
    fleet.resources(*(fleet.configmap(name, by="before") for name in (*NAMES, "z-gone")))
    fleet.place()
    fleet.apply()
    fleet.resources(*(fleet.configmap(name, by="after") for name in NAMES))
    fleet.log_in("m2", gateway.kubeconfig(fleet.folder / "through"))


def content(fleet: Fleet, name: str) -> dict[str, str]:
    found = fleet.servers[name].client.get(fleet.namespaced("configmaps"))["items"]
    return {each["metadata"]["name"]: each["data"]["by"] for each in found}


def all_well(fleet: Fleet) -> None:
    assert content(fleet, "m1") == content(fleet, "m2") == dict.fromkeys(NAMES, "after")
    with fleet.writing() as written:
        assert not fleet.apply().changed
    assert written == []


WRITES = ("PATCH", "POST", "DELETE")


def test_a_member_that_is_cut_off_half_way_is_told_with_what_it_got(fleet: Fleet, gateway: Gateway) -> None:
    ready(fleet, gateway)
    cut: list[str] = []

    def rule(method: str, path: str) -> str | None:
        if method == "PATCH" and path.endswith("/b-second"):
            cut.append(path)
        return CUT if cut else None

    gateway.rule = rule
    report = fleet.apply()
    assert codes(report) <= {"unreachable", "bad-answer"} and [each.where for each in report.problems] == [
        f"m2 ({fleet.name})"
    ]
    outcome = report.outcomes_of(fleet.name)["m2"]
    assert [each.name for each in outcome.written] == ["a-first"]
    assert outcome.doubtful is not None and outcome.doubtful.name == "b-second"
    assert content(fleet, "m2") == {"a-first": "after", "b-second": "before", "c-third": "before", "z-gone": "before"}
    assert content(fleet, "m1") == dict.fromkeys(NAMES, "after")
    assert conditions(report.statuses[fleet.name])["Applied"] == "Unknown"
    gateway.rule = lambda _method, _path: None
    assert [each.name for each in fleet.look().plan.plans[0].clusters[1].prune] == ["z-gone"]
    assert not fleet.apply().problems
    all_well(fleet)


def test_an_answer_that_is_lost_is_no_failure_for_the_next_run(file_fleet: Fleet, gateway: Gateway) -> None:
    """The server has carried the write out; nobody heard of it."""
    fleet = file_fleet
    ready(fleet, gateway)
    lost: list[str] = []
    server = fleet.servers["m2"]

    def rule(method: str, path: str) -> str | None:
        if method == "PATCH" and path.endswith("/b-second") and not lost:
            lost.append(path)
            server.patch(path, {"data": {"by": "after"}}, manager="gitops-fleet")
            return CUT
        return CUT if lost else None

    gateway.rule = rule
    assert fleet.apply().problems and lost
    gateway.rule = lambda _method, _path: None
    assert not fleet.apply().problems
    all_well(fleet)


def test_a_server_that_wants_us_to_wait_is_obeyed(file_fleet: Fleet, gateway: Gateway) -> None:
    """429 with Retry-After now and then (F26)."""
    fleet = file_fleet
    ready(fleet, gateway)
    count = [0]

    def rule(method: str, _path: str) -> t.Any:
        count[0] += 1
        return (429, {"Retry-After": "0"}) if method in WRITES and count[0] % 2 else None

    gateway.rule = rule
    assert not fleet.apply().problems
    all_well(fleet)


def test_a_server_that_never_has_time_stalls_nobody(file_fleet: Fleet, gateway: Gateway) -> None:
    """It is given up as a whole, and not asked again for each of its objects (F26)."""
    fleet = file_fleet
    ready(fleet, gateway)
    asked: list[str] = []

    def rule(method: str, path: str) -> t.Any:
        if method in WRITES and not path.endswith("/a-first"):
            asked.append(path)
            return 429
        return None

    gateway.rule = lambda method, path: None if "/gitops-fleet/" in path else rule(method, path)
    report = fleet.apply()
    assert codes(report) == {"too-many-requests"} and len(set(asked)) == 1
    assert content(fleet, "m1") == dict.fromkeys(NAMES, "after")
    gateway.rule = lambda _method, _path: None
    assert not fleet.apply().problems
    all_well(fleet)


def test_an_object_that_others_keep_changing_is_written_all_the_same(file_fleet: Fleet, gateway: Gateway) -> None:
    """Its resourceVersion is another at every write: a controller writes its status, say."""
    fleet = file_fleet
    ready(fleet, gateway)
    server, moved = fleet.servers["m2"], []

    def rule(method: str, path: str) -> None:
        if method in WRITES and path.endswith(("/b-second", "/z-gone")) and moved.count(path) < 3:
            moved.append(path)
            server.patch(path, {"metadata": {"annotations": {"example.org/seen": str(time.monotonic_ns())}}})

    gateway.rule = rule
    assert not fleet.apply().problems and len(moved) == 6
    all_well(fleet)


def test_a_field_that_another_manager_has_taken_stays_its_own_and_is_told(file_fleet: Fleet, gateway: Gateway) -> None:
    """409 of server-side apply: one object fails, with the owner's name, and the others are written; what is no longer
    selected stays until all of them are."""
    fleet = file_fleet
    ready(fleet, gateway)
    fleet.place(strategy={"type": "ServerSideApply"})
    path = fleet.namespaced("configmaps", "b-second")
    fleet.servers["m2"].patch(path, {"data": {"by": "theirs"}}, manager="operator")
    report = fleet.apply()
    assert codes(report) == {"not-applied", "not-gone"} and "operator" in str(report.problems)
    assert content(fleet, "m2") == {"a-first": "after", "b-second": "theirs", "c-third": "after", "z-gone": "before"}


@contextlib.contextmanager
def no_room() -> t.Iterator[None]:
    """No file of this process can grow."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_disk_that_is_full_after_the_members_were_written(
    file_fleet: Fleet, gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F24: what stands on the members is told, no other placement is begun, and the next run takes it up."""
    fleet = file_fleet
    ready(fleet, gateway)
    fleet.place(rolling={"maxUnavailable": "100%"})  # both in one wave
    fleet.place(name=f"{fleet.name}-b")
    real, stored = BindingJournal.store, []

    def store(self: BindingJournal, *arguments: t.Any) -> bool:
        stored.append(self)
        with no_room() if len(stored) > 1 else contextlib.nullcontext():
            return real(self, *arguments)

    monkeypatch.setattr(BindingJournal, "store", store)
    report = fleet.apply()
    problems = {each.code: each for each in report.problems}
    assert list(problems) == ["records-disk-error", "not-begun"] and problems["not-begun"].where == f"{fleet.name}-b"
    message = problems["records-disk-error"].message
    assert all(f"ConfigMap {fleet.namespace}/{name}" in message for name in (*NAMES, "z-gone")) and "m2: " in message
    assert content(fleet, "m1") == content(fleet, "m2") == dict.fromkeys(NAMES, "after")
    monkeypatch.undo()
    (fleet.folder / "placements" / f"{fleet.name}-b.yml").unlink()
    assert not fleet.apply().problems
    bindings_now = fleet.records.list("ClusterResourceBinding")
    assert {each["spec"]["resourceSnapshotName"] for each in bindings_now} == {f"{fleet.name}-1-snapshot"}
    all_well(fleet)


def test_a_disk_that_is_full_before_stops_all_before_any_member(
    file_fleet: Fleet, gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = file_fleet
    ready(fleet, gateway)
    real = Writer.write_snapshots

    def snapshots(self: Writer, *arguments: t.Any) -> None:
        with no_room():
            real(self, *arguments)

    monkeypatch.setattr(Writer, "write_snapshots", snapshots)
    with fleet.writing() as written, pytest.raises(FleetError) as refused:
        fleet.apply()
    assert refused.value.code == "records-disk-error" and written == []
    monkeypatch.undo()
    assert not fleet.apply().problems
    all_well(fleet)
