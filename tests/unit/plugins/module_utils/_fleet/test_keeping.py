# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Leases that are kept: by a thread, by whoever is about to write, and not beyond the moment when they are lost."""

from __future__ import annotations

import mmap
import os
import struct
import time
import typing as t
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.keeping import BOOTTIME, Keeper, running_time
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.permits import PermitPage
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

NAME = "placement/web"


class Time:
    """The clock of the records and ours, moved by hand."""

    def __init__(self) -> None:
        self.passed = 0.0

    def __call__(self) -> float:
        return self.passed

    @property
    def now(self) -> datetime:
        return datetime(2026, 1, 15, tzinfo=UTC) + timedelta(seconds=self.passed)


@pytest.fixture
def clock() -> Time:
    return Time()


@pytest.fixture
def records(tmp_path: Path, clock: Time) -> t.Iterator[SqliteRecords]:
    found = SqliteRecords(tmp_path / "records.db", lambda: clock.now)
    yield found
    found.close()


def code(work: t.Callable[[], object]) -> str:
    with pytest.raises(FleetError) as caught:
        work()
    return caught.value.code


def test_a_lease_is_given_back_at_the_end(records: SqliteRecords, clock: Time) -> None:
    with Keeper(records, "one", str, 300, clock) as keeper:
        lease = keeper.take(NAME)
        assert lease.holder == "one" and code(lambda: records.acquire(NAME, "two", 300)) == "lease-held"
        keeper.check()
    assert records.leases() == ()


def test_whoever_is_about_to_write_renews_a_lease_that_is_old(records: SqliteRecords, clock: Time) -> None:
    with Keeper(records, "one", str, 300, clock) as keeper:
        keeper.take(NAME)
        clock.passed = 199
        keeper.check()
        assert records.leases()[0].renewed == clock.now - timedelta(seconds=199)
        clock.passed = 250
        keeper.check()
        assert records.leases()[0].renewed == clock.now


def test_one_that_ran_out_and_that_nobody_took_is_held_again(records: SqliteRecords, clock: Time) -> None:
    with Keeper(records, "one", str, 300, clock) as keeper:
        keeper.take(NAME)
        clock.passed = 1000
        keeper.check()
        assert code(lambda: records.acquire(NAME, "two", 300)) == "lease-held"


def test_one_that_another_took_is_lost_for_good(records: SqliteRecords, clock: Time) -> None:
    with Keeper(records, "one", str, 300, clock) as keeper:
        keeper.take(NAME)
        clock.passed = 1000
        taken = records.acquire(NAME, "two", 300)
        assert code(keeper.check) == "lease-lost"
        records.release(taken)
        assert code(keeper.check) == "lease-lost"
    assert records.leases() == ()


def test_records_that_cannot_be_asked_any_more_end_it_too(
    records: SqliteRecords, clock: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows then whether somebody else has the lease."""

    def renew(_lease: object) -> t.NoReturn:
        raise FleetError("unreachable", "no route")

    with Keeper(records, "one", str, 300, clock) as keeper:
        keeper.take(NAME)
        monkeypatch.setattr(records, "renew", renew)
        clock.passed = 150
        keeper.check()
        clock.passed = 200
        with pytest.raises(FleetError, match="no route") as lost:
            keeper.check()
        assert lost.value.code == "lease-lost"
        assert lost.value.message == (
            "the records have not answered for 3 min 20 s, so that leases may be others' by now, and nothing more is"
            " written: no route"
        )
        assert lost.value.hint.startswith("nothing is lost: ")


def test_every_lease_of_several_is_renewed(records: SqliteRecords, clock: Time) -> None:
    with Keeper(records, "one", str, 300, clock) as keeper:
        for name in ("member/a", "placement/web"):
            keeper.take(name)
        clock.passed = 250
        keeper.check()
        assert {each.renewed for each in records.leases()} == {clock.now}


def test_a_run_that_is_told_to_end_writes_no_more(records: SqliteRecords, clock: Time) -> None:
    came = [""]
    with Keeper(records, "one", lambda: came[0], 300, clock) as keeper:
        keeper.take(NAME)
        keeper.check()
        came[0] = "interrupted by SIGTERM"
        assert code(keeper.check) == "interrupted"
        keeper.check_leases()  # its records are still written


def test_the_thread_renews_while_nobody_asks(tmp_path: Path) -> None:
    records = SqliteRecords(tmp_path / "real.db", lambda: datetime.now(UTC))
    with Keeper(records, "one", str, 1) as keeper:
        first = keeper.take(NAME).renewed
        end = time.monotonic() + 300
        while records.leases()[0].renewed == first:
            assert time.monotonic() < end
            time.sleep(0.05)
        assert code(lambda: records.acquire(NAME, "two", 1)) == "lease-held"
    records.close()


def test_time_goes_on_while_the_machine_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    before = running_time()
    wall = time.time()
    monkeypatch.setattr(time, "time", lambda: wall + 3600)
    assert running_time() - before >= 3599


def test_a_clock_that_is_set_ahead_by_one_process_of_a_holder_counts_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until when writes are permitted is said by one of them and looked up by others, who slept in between."""
    told = mmap.mmap(-1, 8)
    before, wall = running_time(), time.time
    child = os.fork()
    if not child:
        try:
            monkeypatch.setattr(time, "time", lambda: wall() + 3600)
            told[:] = struct.pack("d", running_time())
        finally:
            os._exit(0)
    assert os.waitpid(child, 0) == (child, 0)
    (there,) = struct.unpack("d", told[:])
    assert there - before >= 3599 and running_time() >= there


def open_until(page: PermitPage, clock: Time) -> float:
    """By trying: when the first window closes."""
    before, clock.passed = clock.passed, -1.0
    end = next((each for each in range(0, 2000, 50) if not _open_at(page, clock, each)), 2000)
    clock.passed = before
    return end


def _open_at(page: PermitPage, clock: Time, at: float) -> bool:
    clock.passed = at
    return page.holds(0)


def test_others_may_write_for_two_thirds_of_the_time_after_each_renewal(records: SqliteRecords, clock: Time) -> None:
    """Those who share a page with the holder, and as long as it may itself without asking the records."""
    page = PermitPage(1, clock)
    with Keeper(records, "one", str, 300, clock, window=page.window()) as keeper:
        assert open_until(page, clock) == 0
        keeper.take(NAME)
        assert open_until(page, clock) == 200
        clock.passed = 250
        keeper.check()
        assert open_until(page, clock) == 450
    assert open_until(page, clock) == 0


def test_others_write_nothing_more_once_it_is_lost(records: SqliteRecords, clock: Time) -> None:
    page = PermitPage(1, clock)
    with Keeper(records, "one", str, 300, clock, window=page.window()) as keeper:
        keeper.take(NAME)
        clock.passed = 1000
        records.acquire(NAME, "two", 300)
        assert code(keeper.check) == "lease-lost"
        assert open_until(page, clock) == 0


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="Linux has it")
def test_the_time_that_a_machine_sleeps_counts() -> None:
    """Else a runner that slept would write under leases that have run out meanwhile."""
    assert time.CLOCK_BOOTTIME == BOOTTIME
