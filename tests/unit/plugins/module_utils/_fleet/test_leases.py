# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Whose lease is not waited for: that of a process of this machine that has ended, and of nobody else."""

from __future__ import annotations

import subprocess
import sys
import typing as t
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet import leases
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

NAME = "run/web"


@pytest.fixture
def records(tmp_path: Path) -> t.Iterator[SqliteRecords]:
    found = SqliteRecords(tmp_path / "records.db", lambda: datetime.now(UTC))
    yield found
    found.close()


@pytest.fixture
def gone() -> str:
    """The holder name of a process of this machine that has ended."""
    code = (
        f"import sys; sys.path[:0] = {sys.path!r}\nfrom {leases.__name__} import holder_name; print(holder_name({{}}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_this_process_has_not_ended():
    assert not leases.has_ended(leases.holder_name({"USER": "ann"}))
    assert leases.holder_name({"USER": "ann"}).startswith("ann@")


def test_the_lease_of_a_dead_process_of_this_machine_is_taken_at_once(records, gone):
    first = records.acquire(NAME, gone, 60)
    taken = leases.acquire(records, NAME, "me", 60)
    assert taken.epoch > first.epoch
    with pytest.raises(FleetError, match="no longer holds"):
        records.renew(first)


@pytest.mark.parametrize("pid, started", [("9" * 5000, "1"), ("1", "9" * 5000), ("\u0661", "1")])
def test_a_name_that_no_process_has_tells_nothing(pid: str, started: str):
    """Whoever may take leases may call themselves anything."""
    machine = leases.holder_name({}).partition("#")[2].partition("-")[0]
    assert not leases.has_ended(f"ann@here:{pid}#{machine}-{started}")


def test_another_failure_is_not_hidden_by_a_look_at_the_leases():
    class Denied:
        def acquire(self, *_given: object) -> object:
            raise FleetError("forbidden", "no")

    with pytest.raises(FleetError) as caught:
        leases.acquire(t.cast(t.Any, Denied()), NAME, "me", 60)
    assert caught.value.code == "forbidden"


def test_a_process_that_proc_hides_has_not_ended(gone: str, monkeypatch: pytest.MonkeyPatch):
    """One of another user, where /proc is mounted with hidepid: its lease would be taken over while it works."""
    monkeypatch.setattr(leases, "_started", lambda _pid: None)
    machine = leases.holder_name({}).partition("#")[2].partition("-")[0]
    assert not leases.has_ended(f"ann@here:1#{machine}-7") and leases.has_ended(gone)


def test_another_process_of_the_same_number_is_not_that_one():
    user, _hash, token = leases.holder_name({}).partition("#")
    machine, _dash, started = token.partition("-")
    assert leases.has_ended(f"{user}#{machine}-{int(started) + 1}")


@pytest.mark.parametrize("holder", ["tests", "ann@elsewhere:1#0a1b2c3d-7", "ann@here:999999999", ""])
def test_who_cannot_be_looked_for_is_waited_for(records, holder):
    if holder:
        records.acquire(NAME, holder, 60)
        with pytest.raises(FleetError, match="is being worked on by"):
            leases.acquire(records, NAME, "me", 60)
    assert not leases.has_ended(holder)


def test_where_the_machine_cannot_be_told_nobody_has_ended(monkeypatch, gone):
    monkeypatch.setattr(leases.os, "readlink", _unreadable)
    assert not leases.has_ended(gone)
    unknown = leases.holder_name({})
    assert f"#{leases.UNKNOWN}-" in unknown and not leases.has_ended(unknown.replace("-", "-9"))


def _unreadable(_path: str) -> str:
    raise PermissionError


def test_members_that_are_let_go_are_known_with_who_does_it(records: SqliteRecords, gone: str):
    records.acquire(leases.leaving_lease("m1"), "ann", 60)
    records.acquire(leases.leaving_lease("m2"), gone, 60)
    records.acquire("member/m3", "ann", 60)
    assert leases.leaving_members(records) == {"m1": "ann"}


def test_a_leave_that_died_elsewhere_long_ago_keeps_nobody_out(tmp_path: Path):
    past = datetime.now(UTC) - timedelta(hours=1)
    old = SqliteRecords(tmp_path / "old.db", lambda: past)
    old.acquire(leases.leaving_lease("m1"), "ann", 60)
    assert leases.leaving_members(old) == {}
    old.close()
