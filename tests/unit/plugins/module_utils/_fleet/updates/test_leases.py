# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Leases on members whose API servers come and go while they are upgraded."""

from __future__ import annotations

import threading
import typing as t
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.command import CommandDriver
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.contract import Driver, Observation, Work
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.local import LocalDriver
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates import leases as module
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.leases import (
    LeasedDriver,
    UpgradeLeases,
    blocker_of_error,
    upgrade_leases,
)
from ansible_collections.gitops.fleet.plugins.module_utils._kube.shared_lease import OthersHold

NOW = datetime(2026, 1, 1, tzinfo=UTC)
AWAY = FleetError("unreachable", "nobody there", "east")
OTHERS = OthersHold("others work on this cluster", "east", "", holder="run/x by ann", since=NOW, seconds=900)


class Kept:
    """A lease that is due when it is told so."""

    def __init__(self, member: Member) -> None:
        self.member, self.due, self.released = member, False, False

    def keep(self) -> None:
        self.member.answer()
        self.due = False

    def release(self) -> None:
        self.released = True


class Member:
    """``error`` is what comes of every request to it."""

    def __init__(self) -> None:
        self.error: t.Any = None
        self.asked = 0
        self.kept: list[Kept] = []

    def get(self, _name: str) -> Member:
        return self

    @property
    def leases(self) -> Member:
        return self

    def answer(self) -> None:
        self.asked += 1
        error = self.error
        if error is not None:
            raise error

    def take(self, *_arguments: t.Any) -> Kept:
        self.answer()
        self.kept.append(Kept(self))
        return self.kept[-1]


@pytest.fixture
def member() -> Member:
    return Member()


def leases(member: Member, said: list[str] | None = None, **groups: t.Any) -> UpgradeLeases:
    heard: list[str] = [] if said is None else said
    return UpgradeLeases(t.cast(t.Any, member), "run/one", heard.append, **groups)


def test_a_member_is_taken_once(member: Member) -> None:
    found = leases(member)
    assert found.claim("east") is None and found.claim("east") is None
    assert member.asked == 1
    found.release("east")
    assert member.kept[0].released
    found.release("east")


def test_what_others_hold_is_told_in_words_that_stay(member: Member) -> None:
    member.error = OTHERS
    told = leases(member).claim("east")
    assert told is not None and told.reason == "OperationInProgress"
    assert told.message == (
        "run/x by ann works on it since 2026-01-01T00:00:00Z (Lease gitops-fleet/member on the cluster, free 900 s"
        " after its last sign of life)"
    )


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("unreachable", "Unreachable"),
        ("bad-answer", "Unreachable"),
        ("member-held", "Unreachable"),
        ("forbidden", "PreconditionFailed"),
        ("other-cluster", "PreconditionFailed"),
        ("double-member", "PreconditionFailed"),
    ],
)
def test_what_passes_by_itself_is_waited_for(member: Member, code: str, reason: str) -> None:
    member.error = FleetError(code, "words", "east", "the way out")
    assert leases(member).claim("east") == blocker_of_error(member.error)
    assert blocker_of_error(member.error).reason == reason
    assert ("the way out" in blocker_of_error(member.error).message) == (reason == "PreconditionFailed")


@pytest.mark.parametrize(
    ("code", "unseen", "revived"),
    [("unreachable", True, True), ("timeout", True, True), ("forbidden", True, False), ("other-cluster", False, False)],
)
def test_who_goes_without_a_lease(member: Member, code: str, unseen: bool, revived: bool) -> None:
    """Said aloud; others that hold the member are never passed over."""
    member.error = FleetError(code, "words", "east")
    said: list[str] = []
    assert (leases(member, said, unseen={"east"}).claim("east") is None) == unseen
    assert (leases(member, said, revived={"east"}).claim("east") is None) == revived
    assert len(said) == unseen + revived
    member.error = OTHERS
    assert leases(member, unseen={"east"}, revived={"east"}).claim("east") is not None


def test_a_member_without_a_lease_is_told_of_once_and_gets_one_when_its_server_is_back(member: Member) -> None:
    said: list[str] = []
    member.error = AWAY
    found = leases(member, said, revived={"east"}, unseen={"west"})
    for name in ("east", "west", "east", "west"):
        assert found.claim(name) is None
    assert member.asked == 2 and len(said) == 2
    found.renew(["east", "west"], NOW)
    assert member.asked == 3 and len(said) == 2, "one that is looked at elsewhere is not asked again"
    member.error = None
    found.renew(["east", "west"], NOW + timedelta(seconds=60))
    assert len(member.kept) == 1
    found.release("east")
    assert member.kept[0].released


def test_whoever_hangs_keeps_no_other_lease_from_being_renewed(member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    """All are asked at once, however many they are: a lease that runs out lets other records in amid an upgrade."""
    names = [f"member-{number}" for number in range(40)]
    member.error = AWAY
    found = leases(member, revived=set(names))
    assert all(found.claim(name) is None for name in names)
    member.error, together = None, threading.Barrier(len(names))
    monkeypatch.setattr(member, "answer", lambda: together.wait(60))
    found.renew(names, NOW)
    assert len(member.kept) == len(names)


def test_a_lease_is_renewed_when_the_member_answers_again(member: Member) -> None:
    found = leases(member)
    found.claim("east")
    found.renew(["east"], NOW)
    assert member.asked == 1, "not due"
    member.kept[0].due, member.error = True, AWAY
    for seconds, asked in ((1, 2), (2, 2), (60, 2), (61, 3), (62, 3)):  # a minute between two tries
        found.renew(["east"], NOW + timedelta(seconds=seconds))
        assert member.asked == asked
    member.error = None
    found.renew(["east"], NOW + timedelta(seconds=122))
    assert not member.kept[0].due and len(member.kept) == 1


def test_a_clock_that_is_set_back_delays_no_renewal(member: Member) -> None:
    """F7."""
    found = leases(member)
    found.claim("east")
    member.kept[0].due, member.error = True, AWAY
    found.renew(["east"], NOW)
    member.error = None
    found.renew(["east"], NOW - timedelta(hours=1))
    assert not member.kept[0].due


def test_a_machine_that_starts_no_thread_more_is_told_of(member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    said: list[str] = []
    found = leases(member, said)
    monkeypatch.setattr(threading.Thread, "start", refused)
    found.renew(["east"], NOW)
    assert len(said) == 1 and "no-workers" in said[0]
    monkeypatch.undo()
    found.renew(["east"], NOW + timedelta(seconds=60))
    assert member.asked and len(said) == 1


def test_one_that_left_in_flight_keeps_its_lease_until_that_is_over(member: Member) -> None:
    found = leases(member)
    found.claim("east")
    found.forget("east")
    found.release("east")
    assert not member.kept[0].released


def test_a_lost_lease_is_told_of_and_asked_for_again(member: Member) -> None:
    said: list[str] = []
    found = leases(member, said)
    found.claim("east")
    member.kept[0].due, member.error = True, FleetError("member-lost", "it is no longer ours", "east")
    found.renew(["east"], NOW)
    assert said == ["east: in flight, but it is no longer ours"]
    member.error = OTHERS
    found.renew(["east"], NOW + timedelta(seconds=60))
    assert "run/x by ann works on it" in said[-1]
    member.error = None
    found.renew(["east"], NOW + timedelta(seconds=120))
    assert len(member.kept) == 2 and len(said) == 2


def test_what_an_earlier_conductor_left_is_taken_and_given_up(member: Member) -> None:
    leases(member).release_left_over(["east"])
    assert member.kept[0].released
    member.error = AWAY
    leases(member).release_left_over(["east"])


@pytest.mark.parametrize("unseen", [True, False])
def test_what_could_not_be_taken_up_is_given_up_with_its_operation(member: Member, unseen: bool) -> None:
    """A member that did not answer for a moment keeps nobody off for the rest of the lease."""
    found = leases(member, unseen={"east"} if unseen else ())
    member.error = AWAY
    found.inherit("east")
    assert not member.asked, "nobody waits for it: the lease of the run would run out meanwhile"
    for seconds in (0, 60):
        found.renew(["east"], NOW + timedelta(seconds=seconds))
    assert member.asked == (1 if unseen else 2)
    member.error = None
    found.release("east")
    assert [each.released for each in member.kept] == [True]
    found.release("east")
    assert len(member.kept) == 1


@pytest.mark.parametrize("unseen", [True, False])
def test_what_an_earlier_conductor_left_is_held_on(member: Member, unseen: bool) -> None:
    found = leases(member, unseen={"east"} if unseen else ())
    found.inherit("east")
    found.renew(["east"], NOW)
    assert len(member.kept) == 1
    found.release("east")
    assert member.kept[0].released


def test_members_are_given_up_side_by_side(member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that hangs takes half a minute: ten of them, one after the other, more than the lease of the run lasts."""
    together = threading.Barrier(3)
    monkeypatch.setattr(Kept, "release", lambda kept: setattr(kept, "released", together.wait(30) >= 0))
    found = leases(member)
    for name in ("east", "north", "west"):
        found.claim(name)
    found.release_all(["east", "north", "west"])
    assert [each.released for each in member.kept] == [True] * 3
    found.release_all([])


def test_what_no_thread_gives_up_runs_out(member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    said: list[str] = []
    found = leases(member, said)
    found.claim("east")
    monkeypatch.setattr(threading.Thread, "start", refused)
    found.release_all(["east"])
    assert len(said) == 1 and "run out by themselves" in said[0] and not member.kept[0].released


def test_who_is_given_up_late_disturbs_no_renewal(member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that hung when all were given up is taken out while the conductor looks who was tried in the last minute."""
    found = leases(member)
    member.error = AWAY
    found.renew(["east", "north", "west"], NOW)

    def meanwhile(*_arguments: t.Any) -> bool:
        late = threading.Thread(target=found.release, args=("west",))
        late.start()
        late.join()
        return False

    monkeypatch.setattr(module, "is_due_again", meanwhile)
    found.renew(["east", "north"], NOW)
    assert member.asked == 3, "who was tried just now is not tried again"


class Interrupting(dict[str, t.Any]):
    """Calls ``meanwhile`` before anything is taken out."""

    meanwhile: t.Callable[[], object]

    def pop(self, *arguments: t.Any) -> t.Any:
        self.meanwhile()
        return super().pop(*arguments)


def test_what_is_claimed_while_it_is_given_up_is_held(member: Member) -> None:
    """The lease of an earlier conductor, had at last, is given up at once; whoever claims it then needs another."""
    found, told, tried = leases(member), list[t.Any](), Interrupting()
    again = threading.Thread(target=lambda: told.append(found.claim("east")))

    def meanwhile() -> None:
        again.start()
        again.join(0.2)

    tried.meanwhile = meanwhile
    found._tried = t.cast(t.Any, tried)  # of which it is taken out between taking the lease and giving it up
    found.inherit("east")
    found.release("east")
    again.join(30)
    assert told == [None] and [each.released for each in member.kept] == [True, False]


class Begins:
    """A driver that begins, and tells the version at which the member is."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.version = "1.35.4"

    def observe(self, _member: str) -> Observation:
        return Observation(version=self.version)

    def begin(self, work: Work) -> str:
        self.begun.append(work.operation)
        return "reference"


WORK = Work(operation="o", run="one", member="east", upgrade_type="Full", target="1.36.3")


def test_nothing_is_begun_on_a_member_that_is_not_held(member: Member) -> None:
    driver, found = Begins(), leases(member)
    guarded = LeasedDriver(t.cast(Driver, driver), found)
    member.error = OTHERS
    with pytest.raises(FleetError, match="run/x by ann") as refused:
        guarded.begin(WORK)
    assert refused.value.code == "busy" and driver.begun == []
    member.error = None
    assert guarded.begin(WORK) == "reference" and driver.begun == ["o"]


def test_what_others_upgraded_just_before_is_not_begun_again(member: Member) -> None:
    """F6: it was looked at before it was held, and whoever held it may have ended in between."""
    driver = Begins()
    driver.version = WORK.target
    guarded = LeasedDriver(t.cast(Driver, driver), leases(member))
    with pytest.raises(FleetError, match="upgraded by others") as refused:
        guarded.begin(WORK)
    assert refused.value.code == "busy" and driver.begun == []
    assert guarded.begin(replace(WORK, pool_step=True, pool="web")) == "reference"


def test_which_drivers_look_elsewhere() -> None:
    clients, here = t.cast(t.Any, None), Path("/")
    command = CommandDriver(clients=clients, operations=here, environ={}, cwd=here, begin_argv=("x",))
    observing = CommandDriver(
        clients=clients, operations=here, environ={}, cwd=here, begin_argv=("x",), observe_argv=("y",)
    )
    local = LocalDriver(clients=clients, root=here, operations=here, environ={})
    drivers: dict[str, Driver] = {"a": command, "b": observing, "c": local}
    found = upgrade_leases(clients, drivers, "run/one", print, 1200.0)
    assert (found.unseen, found.revived, found.seconds) == ({"b"}, {"c"}, 1200)
    assert upgrade_leases(clients, drivers, "run/one", print, 10.0).seconds == 900


def test_members_are_taken_side_by_side(member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    """An API server without its etcd tells its version, and hangs when it is asked for a lease."""
    together = threading.Barrier(2)
    monkeypatch.setattr(Member, "answer", lambda _member: together.wait(30))
    found = leases(member)
    assert found.claim_all(["east", "west"]) == {"east": None, "west": None} and len(member.kept) == 2
    assert found.claim_all(["east", "west"]) == {"east": None, "west": None}


def test_one_that_hangs_is_unreachable_and_not_asked_anew_meanwhile(
    member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = threading.Event()
    monkeypatch.setattr(module, "DEADLINE", 0.01)
    monkeypatch.setattr(Member, "answer", lambda _member: answered.wait(30))
    found = leases(member)
    for _turn in range(2):
        told = found.claim_all(["east"])["east"]
        assert told is not None and (told.reason, told.message) == ("Unreachable", "no answer within 0.01 s")
    answered.set()
    monkeypatch.setattr(module, "DEADLINE", 10.0)
    assert found.claim("east") is None and len(member.kept) == 1
    assert found.claim_all(["east"]) == {"east": None}
