# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Whose the lease on a member is, and by which clock it is renewed."""

from __future__ import annotations

import contextlib
import json
import shutil
import time
import typing as t
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet import keeping
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members import member_lease
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.member_lease import (
    KeptLease,
    MemberLeases,
    records_id,
    running_time,
    whereabouts,
)
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import Answer, KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.connection import Connection
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords


class Server(KubeClient):
    """Takes any Lease; once ``logged_out`` no request leaves, as the login of the member's kubeconfig has expired."""

    def __init__(self) -> None:
        super().__init__(Connection(server="https://nowhere", name="east"))
        self.logged_out = False

    def send(self, method: str, path: str, body: t.Any = None, *_more: t.Any, **_options: t.Any) -> Answer:
        if self.logged_out:
            raise FleetError("credentials-plugin", f"{method} {path}: aws ended with 255", "east", "log in again")
        return Answer(201, "application/json", json.dumps(body).encode(), "Thu, 01 Jan 2026 12:00:00 GMT")


def records(path: Path) -> SqliteRecords:
    return SqliteRecords(path, lambda: datetime.now(UTC))


def test_records_have_an_id_that_stays_and_no_other_records_have_it(tmp_path: Path) -> None:
    first = records_id(records(tmp_path / "a.db"))
    assert first == records_id(records(tmp_path / "a.db")) != records_id(records(tmp_path / "b.db"))


def test_a_copy_is_other_records_and_a_renamed_file_is_not(tmp_path: Path) -> None:
    first = records_id(records(tmp_path / "a.db"))
    shutil.copyfile(tmp_path / "a.db", tmp_path / "copy.db")
    assert records_id(records(tmp_path / "copy.db")) != first
    (tmp_path / "a.db").rename(tmp_path / "renamed.db")
    assert records_id(records(tmp_path / "renamed.db")) == first


def test_an_id_that_is_no_text_is_a_damaged_record(tmp_path: Path) -> None:
    """A hub takes any bytes for a Secret."""
    there = records(tmp_path / "a.db")
    there.keep_secret("records-id", b"\xff\xfe")
    with pytest.raises(FleetError) as refused:
        records_id(there)
    assert refused.value.code == "record-damaged" and "records-id" in refused.value.where


def test_a_run_asks_its_records_once_who_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a hub it is a request, and there is a lease for each placement on each member."""
    asked: list[str] = []
    monkeypatch.setattr(member_lease, "KeptLease", lambda _client, worker, _seconds: worker.owner)
    monkeypatch.setattr(SqliteRecords, "secret", lambda _self, name: asked.append(name) or b"one")
    leases = MemberLeases(records(tmp_path / "a.db"), "me")
    owners = {leases.take(None, "placement/web") for _member in range(3)}  # type: ignore[arg-type]
    assert len(owners) == len(asked) == 1


def test_a_person_finds_the_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USER", "ann")
    monkeypatch.setattr("platform.node", lambda: "ci-7")
    assert whereabouts(records(tmp_path / "a.db")) == f"ann@ci-7:{tmp_path / 'a.db'}"
    on_hub = records(tmp_path / "a.db")
    on_hub.place = "hub https://hub:6443"
    assert whereabouts(on_hub) == "hub https://hub:6443"


@pytest.mark.parametrize("faster", ["time", "clock_gettime"])
def test_the_clock_that_ran_faster_counts(monkeypatch: pytest.MonkeyPatch, faster: str) -> None:
    """One stands still in a machine that is paused, the other can be set back. This machine's own may differ, too."""
    begun = dict(zip(("clock_gettime", "time"), keeping._START, strict=True))
    clocks = {
        "clock_gettime": lambda: time.clock_gettime(keeping.BOOTTIME) - begun["clock_gettime"],
        "time": lambda: time.time() - begun["time"],
    }
    (other,) = (clock for name, clock in clocks.items() if name != faster)
    own, real = clocks[faster](), getattr(time, faster)
    monkeypatch.setattr(time, faster, lambda *which: real(*which) + 3600)
    assert running_time() >= own + 3600
    monkeypatch.setattr(time, faster, lambda *which: real(*which) - 3600)
    least = other()
    assert running_time() >= least


def test_a_lease_that_cannot_be_given_up_runs_out(tmp_path: Path) -> None:
    server = Server()
    leases = MemberLeases(records(tmp_path / "a.db"), "me")
    held = leases.take(server, "run/one")
    with leases.holding(server, "placement/web"):
        server.logged_out = True
    held.release()


def test_a_lease_is_renewed_in_time_although_the_clock_was_set_ahead_and_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was taken while the clock was an hour ahead. Right again, that clock had an hour to go to be as far."""
    boot, wall = time.clock_gettime(keeping.BOOTTIME), time.time()
    passed, set_ahead = 0.0, 3600.0
    monkeypatch.setattr(time, "clock_gettime", lambda _which: boot + passed)
    monkeypatch.setattr(time, "time", lambda: wall + passed + set_ahead)
    renewed: list[float] = []
    monkeypatch.setattr(member_lease, "with_home_made", lambda _client, _take: SimpleNamespace(seconds=300))
    monkeypatch.setattr(member_lease, "renew", lambda _client, lease: renewed.append(passed) or lease)
    client, taken = SimpleNamespace(without_time_budget=contextlib.nullcontext), None
    lease = KeptLease(t.cast(t.Any, client), t.cast(t.Any, taken), 300)
    set_ahead = 0.0
    for _second in range(1800):
        passed += 1
        lease.keep()
    assert max(later - earlier for earlier, later in pairwise([0.0, *renewed, passed])) <= 101
    set_ahead = 3600.0
    assert lease.due, "the machine was paused for an hour"
