# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Threads that work on nodes, and leases on members of which some do not answer."""

from __future__ import annotations

import threading
import time
import typing as t
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.workers import (
    MemberHolds,
    NodeWorkers,
    SteadyClock,
    WorkerHands,
)

SOON = 10.0


@dataclass
class Lease:
    """One lease of a member, which answers once ``answers`` is set."""

    answers: threading.Event
    due: bool = False
    kept: int = 0
    released: int = 0
    lost: bool = False
    why: str = "member-lost"

    def keep(self) -> None:
        self.answers.wait(SOON)
        if self.lost:
            raise FleetError(self.why, "another has it, or nobody answers")
        self.kept, self.due = self.kept + 1, False

    def release(self) -> None:
        self.answers.wait(SOON)
        self.released += 1


@dataclass
class Members:
    """Clients and leases of members; those in ``silent`` do not answer yet, others have those in ``held``."""

    silent: dict[str, threading.Event] = field(default_factory=dict)
    taken: dict[str, list[Lease]] = field(default_factory=dict)
    held: set[str] = field(default_factory=set)

    @property
    def leases(self) -> Members:
        return self

    def get(self, name: str) -> str:
        return name

    def take(self, client: str, _task: str) -> Lease:
        answers = self.silent.get(client) or threading.Event()
        if client not in self.silent:
            answers.set()
        answers.wait(SOON)
        if client in self.held:
            raise FleetError("member-held", "others have it")
        made = Lease(answers)
        self.taken.setdefault(client, []).append(made)
        return made


def holds_of(members: Members) -> MemberHolds:
    return MemberHolds(t.cast(t.Any, members), "test")


def until(what: t.Callable[[], t.Any]) -> None:
    end = time.monotonic() + SOON
    while not what():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_member_that_does_not_answer_keeps_nobody_else_waiting() -> None:
    members = Members({"dead": threading.Event()})
    holds = holds_of(members)
    thread = threading.Thread(target=holds.client, args=("dead",), daemon=True)
    thread.start()
    assert t.cast(t.Any, holds.client("well")) == "well"
    members.taken["well"][0].due = True
    holds.keep()
    until(lambda: members.taken["well"][0].kept == 1)
    holds.keep_only({"dead"})
    until(lambda: members.taken["well"][0].released == 1)
    assert "dead" not in members.taken
    members.silent["dead"].set()
    thread.join(SOON)
    assert len(members.taken["dead"]) == 1


def test_a_lease_that_is_lost_is_taken_again_by_whoever_needs_it_next() -> None:
    members = Members()
    holds = holds_of(members)
    holds.client("m")
    members.taken["m"][0].lost = members.taken["m"][0].due = True
    holds.keep()
    until(lambda: holds.client("m") and len(members.taken["m"]) == 2)
    holds.client("m")
    assert len(members.taken["m"]) == 2


def test_a_lease_that_an_earlier_process_left_is_given_back_once_nothing_is_done_there_any_more() -> None:
    """Nobody may ever ask for it: the node was gone when the next process looked. It would keep others off."""
    members = Members()
    holds = holds_of(members)
    holds.inherit(["m", "held"])
    assert holds.keep_only({"m", "held"}) == () and not members.taken
    members.held.add("held")
    for thread in holds.keep_only(()):
        thread.join(SOON)
    assert members.taken["m"][0].released == 1 and "held" not in members.taken
    assert holds.keep_only(()) == ()


def test_a_lease_that_could_not_be_renewed_is_given_back_in_the_end() -> None:
    members = Members()
    holds = holds_of(members)
    holds.client("m")
    (lease,) = members.taken["m"]
    lease.lost, lease.due, lease.why = True, True, "unreachable"
    with pytest.raises(FleetError):
        holds.client("m")
    for thread in holds.keep_only(()):
        thread.join(SOON)
    assert [each.released for each in members.taken["m"]] == [0, 1]


def test_who_works_on_a_member_renews_its_lease_although_nobody_else_does() -> None:
    """The conductor may wait for another member, or for the records, for longer than a lease lasts."""
    members = Members()
    holds = holds_of(members)
    holds.client("m")
    (lease,) = members.taken["m"]
    lease.due = True
    holds.client("m")
    assert (lease.kept, lease.due, len(members.taken["m"])) == (1, False, 1)
    lease.lost = True
    holds.client("m")
    assert len(members.taken["m"]) == 2


def test_nobody_works_under_a_lease_that_cannot_be_renewed() -> None:
    members = Members()
    holds = holds_of(members)
    holds.client("m")
    (lease,) = members.taken["m"]
    lease.lost, lease.why = True, "unreachable"
    with pytest.raises(FleetError) as refused:
        holds.client("m")
    assert refused.value.code == "unreachable" and len(members.taken["m"]) == 1
    holds.client("m")
    assert len(members.taken["m"]) == 2


def test_what_begins_with_a_node_waits_for_what_was_done_with_it_and_nobody_else_does() -> None:
    done: list[str] = []
    slow = threading.Event()

    def stubborn(_hands: WorkerHands) -> None:
        slow.wait(SOON)
        done.append("drain")

    workers = NodeWorkers(holds_of(Members()), lambda: datetime.now(UTC), lambda _text: None)
    workers.begin("m/a", "drain", stubborn)
    begun = time.monotonic()
    workers.halt("m/a")
    workers.begin("m/a", "release", lambda _hands: done.append("release"))
    workers.begin("m/b", "drain", lambda _hands: done.append("other"))
    assert time.monotonic() - begun < SOON / 2
    until(lambda: done == ["other"])
    slow.set()
    until(lambda: done == ["other", "drain", "release"])
    workers.close()


@pytest.fixture
def crowded(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """While it is set the machine has no thread for anybody."""
    full, real = threading.Event(), threading.Thread.start

    def start(thread: threading.Thread) -> None:
        if full.is_set():
            raise RuntimeError("can't start new thread")
        real(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    return full


def test_what_no_thread_was_there_for_is_begun_later_unless_it_was_halted(crowded: threading.Event) -> None:
    done: list[str] = []
    workers = NodeWorkers(holds_of(Members()), lambda: datetime.now(UTC), lambda _text: None)
    crowded.set()
    for node in ("m/a", "m/b"):
        workers.begin(node, "drain", lambda hands: (hands.pause(0), done.append("drain"))[1])
    workers.begin("m/a", "release", lambda _hands: done.append("release"))
    workers.halt("m/b")
    workers.wait(0)
    assert workers.ended() == () and done == []
    crowded.clear()
    workers.wait(SOON)
    until(lambda: done == ["release"])
    workers.close()
    assert [each.operation for each in workers.ended()] == ["release"]


def test_what_was_never_begun_holds_up_no_end(crowded: threading.Event) -> None:
    workers = NodeWorkers(holds_of(Members()), lambda: datetime.now(UTC), lambda _text: None)
    crowded.set()
    workers.begin("m/a", "drain", lambda _hands: None)
    workers.close()


def test_a_lease_that_no_thread_was_there_for_is_renewed_and_given_back_later(crowded: threading.Event) -> None:
    members = Members()
    holds = holds_of(members)
    holds.client("m")
    lease = members.taken["m"][0]
    lease.due = True
    crowded.set()
    holds.keep()
    assert holds.keep_only(()) == () and (lease.kept, lease.released) == (0, 0)
    crowded.clear()
    holds.keep()
    until(lambda: lease.kept == 1)
    until(lambda: holds.keep_only(()))
    until(lambda: lease.released == 1)


def test_a_clock_that_jumps_ahead_takes_the_present_no_more_than_five_minutes_further() -> None:
    """Pods are deleted, whatever protects them, once the time of their node is over."""
    start, told, gone = datetime(2026, 1, 1, tzinfo=UTC), [timedelta(0)], [100.0]
    steady = SteadyClock(lambda: start + told[0], lambda: gone[0])
    assert steady() == start
    told[0] = timedelta(days=1)
    assert steady() == start + timedelta(minutes=5)
    gone[0] += 3600
    assert steady() == start + timedelta(minutes=65)
    told[0] = timedelta(hours=1)
    assert steady() == start + told[0]
    told[0] = timedelta(hours=-1)
    assert steady() == start + told[0]
