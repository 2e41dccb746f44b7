# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Two fleets with records of their own and one cluster: one works on it at a time, and nothing is lost (F6)."""

from __future__ import annotations

import contextlib
import json
import shutil
import threading
import typing as t
from datetime import timedelta
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.brakes import BrakeLimits
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members import member_lease
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.join import MemberSpec, join
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.leave import LeaveRequest, leave
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.member_lease import MemberLeases
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import Clients, recorded_members
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.on_member import member_apply
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.placement import Report
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.recovery.recovering import recover_records
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import Timeouts
from ansible_collections.gitops.fleet.plugins.module_utils._kube.shared_lease import OWNER, WORKERS
from further_user import client_kubeconfig
from small_fleet import LEASES, OURS, PARENTS, WRITES, Document, Fleet, Server, codes

LEASE = f"{LEASES}/member"


class Paused:
    """An apply of one fleet that stands still before it writes an object on m1; other members come when they come."""

    def __init__(self, fleet: Fleet, monkeypatch: pytest.MonkeyPatch, at: str = "_carry_out") -> None:
        self.fleet, self.holds, self.go = fleet, threading.Event(), threading.Event()
        self.done: list[Report | FleetError] = []
        real = getattr(member_apply, at)

        def slow(*arguments: t.Any) -> t.Any:
            tasks = [each for each in arguments if isinstance(each, member_apply.MemberTask)]
            if [(each.placement, each.cluster) for each in tasks] == [(fleet.name, "m1")] and not self.holds.is_set():
                self.holds.set()
                assert self.go.wait(600)
            return real(*arguments)

        monkeypatch.setattr(member_apply, at, slow)
        self._thread = threading.Thread(target=self._work, daemon=True)

    def _work(self) -> None:
        try:
            self.done.append(self.fleet.run(self.fleet.open(), write=True))
        except FleetError as error:
            self.done.append(error)

    def __enter__(self) -> Paused:
        self._thread.start()
        assert self.holds.wait(300)
        return self

    def __exit__(self, *_error: object) -> None:
        self.go.set()
        self._thread.join(300)

    @property
    def report(self) -> Report:
        self.go.set()
        self._thread.join(300)
        (found,) = self.done
        assert isinstance(found, Report), found
        return found


def settings(fleet: Fleet, member: str = "m1") -> Document | None:
    return fleet.servers[member].data(fleet.namespaced("configmaps", "settings"))


def an_hour_passes(server: Server) -> None:
    """The lease on the member was last renewed long ago by now."""
    server.patch(LEASE, {"spec": {"renewTime": "2020-01-01T00:00:00.000000Z"}})


@pytest.fixture
def others(fleet: Fleet) -> Fleet:
    """Another fleet, with records in a file; that of ``fleet`` are in a file, or on a hub."""
    fleet.join("m1")
    fleet.place()
    made = fleet.another()
    made.join("m1", "m2")
    made.place()
    return made


def test_others_pass_over_a_member_that_is_written_to(
    fleet: Fleet, others: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Paused(fleet, monkeypatch) as paused:
        with fleet.servers["m1"].writing(but=("leases",)) as written:
            report = others.apply()
        assert written == [] and others.holders() == ["m2"]
        (problem,) = report.problems
        assert problem.code == "member-held" and problem.where == f"m1 ({others.name})"
        assert f"placement/{fleet.name} by runner-1" in problem.message and "free in" in problem.message
        assert str(fleet.records.place) in problem.message and "since" in problem.message
        assert fleet.options["type"] == "hub" or "@" in problem.message
        looked = others.look()  # who only looks needs no lease
        assert looked.changed and not looked.problems
        lease = fleet.servers["m1"].client.get(LEASE)
        assert lease["spec"]["leaseDurationSeconds"] == 300 and fleet.name in lease["spec"]["holderIdentity"]
        assert not paused.report.problems
    assert fleet.servers["m1"].get(LEASE) is None
    assert not others.apply().problems
    assert settings(fleet) == settings(others) == {"color": "blue"}
    with fleet.writing() as written:
        assert not fleet.apply().changed and not others.apply().changed
    assert written == []


def test_two_fleets_that_apply_again_and_again_never_work_at_once(fleet: Fleet, others: Fleet) -> None:
    """By the member's audit log: while one surely held the lease, the other wrote nothing."""
    server = fleet.servers["m1"]
    for each, user in ((fleet, "first"), (others, "second")):
        each.log_in("m1", client_kubeconfig(server.folder, user, ("system:masters",)))
    start = Path(server.made.after.audit_log).stat().st_size
    workers = [threading.Thread(target=_apply_often, args=(each,)) for each in (fleet, others)]
    for thread in workers:
        thread.start()
    for thread in workers:
        thread.join(300)
    with server.writing():  # what was asked before this is in the log by its end
        pass
    events = _succeeded(Path(server.made.after.audit_log), start)
    held = {user: _held(events, user) for user in ("first", "second")}
    assert min(len(each) for each in held.values()) >= TURNS, "both came to work"
    for event in events:
        user, came = event["user"]["username"], event["requestReceivedTimestamp"]
        # the lease itself goes from hand to hand within a request: it may come before one span, or be done after it
        done = event["stageTimestamp"] if event["objectRef"].get("resource") == "leases" else came
        other = {"first": "second", "second": "first"}.get(user, "")
        between = [span for span in held.get(other, ()) if span[0] < came and done < span[1]]
        assert not between, (event["requestURI"], came, done, between)
    assert server.get(LEASE) is None
    for each in (fleet, others):
        assert not each.apply().problems and settings(each) == {"color": str(TURNS)}


TURNS = 12


def _apply_often(fleet: Fleet) -> None:
    for number in range(1, TURNS + 1):
        fleet.resources(fleet.configmap(color=str(number)))
        for _again in range(200):
            report = fleet.run(fleet.open(), write=True)
            assert codes(report) <= {"member-held"}, report.problems
            if not report.problems:
                break


def _succeeded(log: Path, start: int) -> list[Document]:
    """Writes from there on."""
    found = [json.loads(line) for line in log.read_bytes()[start:].splitlines()]
    return [each for each in found if each["verb"] in WRITES and each["responseStatus"]["code"] < 300]


def _held(events: list[Document], user: str) -> list[tuple[str, str]]:
    """When that user surely had the lease: from the answer to the request that made it to the one that deletes it."""
    mine = [
        each for each in events if each["user"]["username"] == user and each["objectRef"].get("resource") == "leases"
    ]
    begins = [each["stageTimestamp"] for each in mine if each["verb"] == "create"]
    ends = [each["requestReceivedTimestamp"] for each in mine if each["verb"] == "delete"]
    assert len(begins) == len(ends)
    return list(zip(sorted(begins), sorted(ends), strict=True))


@pytest.mark.parametrize("held", [False, True], ids=["before it is held", "right before it is written"])
def test_of_two_placements_of_one_name_one_has_the_member(
    file_fleet: Fleet, monkeypatch: pytest.MonkeyPatch, held: bool
) -> None:
    """Both planned for an empty member. What was known before a member is held does not count once it is."""
    fleet, others = file_fleet, file_fleet.another()
    for each in (fleet, others):
        each.join("m1")
        each.place(name="shared-name")
    first: list[Report] = []
    real, take = member_apply.observe, MemberLeases.take

    def observe(*arguments: t.Any) -> t.Any:
        """Right after the look of the others, the first fleet applies."""
        found = real(*arguments)
        if arguments[3][0].manifest["metadata"]["name"] == others.namespace and not first:
            first.append(fleet.run(fleet.open(), write=True))
        return found

    def taken(self: MemberLeases, *arguments: t.Any) -> t.Any:
        """Right before the others take the lease on the member, the first fleet applies."""
        if self._holder == others.holder and not first:
            first.append(fleet.run(fleet.open(), write=True))
        return take(self, *arguments)

    monkeypatch.setattr(*((member_apply, "observe", observe) if held else (MemberLeases, "take", taken)))
    seen_by_others = codes(others.run(others.open(), write=True))
    assert [seen_by_others, codes(first[0])] == ([set(), {"member-held"}] if held else [{"foreign-applyset"}, set()])
    winner, loser = (others, fleet) if held else (fleet, others)
    parent = fleet.servers["m1"].client.get(f"{PARENTS}/shared-name")
    recorded = winner.records.get("ClusterResourcePlacement", "shared-name")
    assert recorded and json.loads(parent["data"]["placement"])["uid"] == recorded["metadata"]["uid"]
    assert settings(winner) == {"color": "blue"} and settings(loser) is None
    assert codes(loser.run(write=True)) == {"foreign-applyset"} and not winner.run(write=True).problems


# Holders that die, or are late.


def test_a_killed_holder_hinders_others_until_its_time_is_over_and_its_own_records_not_at_all(
    fleet: Fleet, others: Fleet
) -> None:
    fleet.killed("object")
    server = fleet.servers["m1"]
    assert server.client.get(LEASE)["spec"]["leaseTransitions"] == 1
    for later in (timedelta(minutes=-10), timedelta(minutes=10)):  # F7: what the runner's clock says is no matter
        others.later = later
        assert codes(others.apply()) == {"member-held"}
    others.later = timedelta(0)
    assert not fleet.apply().problems and settings(fleet) == {"color": "blue"}
    assert server.get(LEASE) is None
    assert not others.apply().problems and settings(others) == {"color": "blue"}


def test_an_expired_lease_is_taken_over_with_a_higher_epoch_and_its_holder_stops_writing(
    fleet: Fleet, others: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F6: the holder was suspended, and wakes up."""
    server = fleet.servers["m1"]
    fleet.resources(fleet.configmap(), fleet.configmap("other"))
    with Paused(fleet, monkeypatch) as late:
        an_hour_passes(server)
        with Paused(others, monkeypatch) as taker:
            lease = server.client.get(LEASE)
            assert lease["spec"]["leaseTransitions"] == 2 and others.name in lease["spec"]["holderIdentity"]
            started = member_lease.running_time()
            monkeypatch.setattr(member_lease, "running_time", lambda: started + 3600)
            (problem,) = late.report.problems
            monkeypatch.setattr(member_lease, "running_time", lambda: started)
            assert problem.code == "member-lost" and problem.where.startswith("m1")
            assert server.get(fleet.namespaced("configmaps", "other")) is None
            assert not taker.report.problems
        assert server.get(LEASE) is None
    assert not fleet.apply().problems
    assert server.get(fleet.namespaced("configmaps", "other")) and settings(others) == {"color": "blue"}


def test_a_long_apply_renews_its_lease(file_fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet, hours = file_fleet, iter(range(100))
    fleet.join("m1")
    fleet.place()
    monkeypatch.setattr(member_lease, "running_time", lambda: 3600.0 * next(hours))
    with fleet.servers["m1"].writing() as written:
        assert not fleet.apply().problems
    leases = [each.split()[0] for each in written if "leases" in each]
    assert leases[0] == "create" and leases[-1] == "delete" and "update" in leases


def test_runs_of_the_same_records_share_a_member(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two placements of one fleet never hindered each other; the lease goes with the last of them."""
    fleet.join("m1")
    fleet.place(name=f"{fleet.name}-a")
    fleet.place(name=f"{fleet.name}-b")
    others = fleet.another()
    others.join("m1")
    others.place()
    server, first, second = fleet.servers["m1"], f"{fleet.name}-a", f"{fleet.name}-b"
    leases = MemberLeases(fleet.records, "runner-1")
    with leases.holding(server.client, f"placement/{first}"):
        assert fleet.apply(names=(second,)).problems == ()
        assert set(json.loads(server.client.get(LEASE)["metadata"]["annotations"][WORKERS])) == {f"placement/{first}"}
        assert codes(others.apply()) == {"member-held"}
    assert server.get(LEASE) is None
    with contextlib.ExitStack() as stack:
        stack.enter_context(leases.holding(server.client, f"placement/{second}"))
        with leases.holding(server.client, f"placement/{first}"):
            assert codes(others.apply()) == {"member-held"}
        assert codes(others.apply()) == {"member-held"}
    assert server.get(LEASE) is None and not others.apply().problems


def test_the_copy_of_a_records_file_is_other_records(file_fleet: Fleet) -> None:
    """Two runners with a cache each are two fleets, whatever they were once copied from."""
    file_fleet.join("m1")
    file_fleet.place()
    file_fleet.apply()
    copied = file_fleet.another()
    shutil.copyfile(file_fleet.options["path"], copied.options["path"])
    server = file_fleet.servers["m1"]
    ours, theirs = MemberLeases(file_fleet.records, "runner-1"), MemberLeases(copied.open(), "runner-1")
    with ours.holding(server.client, "placement/web"), pytest.raises(FleetError) as refused:
        theirs.take(server.client, "placement/web")
    assert refused.value.code == "member-held"


def test_a_lease_that_somebody_wrote_by_hand_is_respected_until_it_is_old(file_fleet: Fleet) -> None:
    file_fleet.join("m1")
    file_fleet.place()
    file_fleet.apply()
    server = file_fleet.servers["m1"]
    file_fleet.resources(file_fleet.configmap(color="red"))
    metadata = {"name": "member", "namespace": "gitops-fleet", "annotations": {WORKERS: "[[", OWNER: ""}}
    spec = {"holderIdentity": "ann, by hand", "leaseDurationSeconds": 3600}
    server.client.post(LEASES, {"metadata": metadata, "spec": spec})
    (problem,) = file_fleet.apply().problems
    assert problem.code == "member-held" and "ann, by hand works on this cluster" in problem.message
    server.patch(LEASE, {"spec": {"leaseDurationSeconds": 1, "renewTime": "2020-01-01T00:00:00.000000Z"}})
    assert not file_fleet.apply().problems and settings(file_fleet) == {"color": "red"}


# Other verbs.


def test_leave_and_recover_stay_away_from_a_member_that_others_work_on(fleet: Fleet, others: Fleet) -> None:
    fleet.apply()
    server = fleet.servers["m1"]
    farewell = LeaveRequest(names=("m1",), remove=True, max_removals="100%")
    with MemberLeases(others.records, "r").holding(server.client, "placement/x"):
        left = leave(fleet.session(), farewell, write=True)
        assert [each.code for each in left.failed] == ["member-held"] and left.left == ()
        assert settings(fleet) == {"color": "blue"}
        lost = fleet.another()
        lost.place(name=fleet.name)
        lost.join("m1")
        with pytest.raises(FleetError) as refused:
            _recovered(lost)
        assert refused.value.code == "member-held"
    before = server.client.get(f"{PARENTS}/{fleet.name}")
    assert json.loads(before["data"]["placement"])["uid"] == fleet.record()["metadata"]["uid"]
    left = leave(fleet.session(), farewell, write=True)
    assert left.left == ("m1",) and settings(fleet) is None


def _recovered(fleet: Fleet) -> t.Any:
    return recover_records(fleet.session(hub=None), fleet.asked(write=True))


def test_a_member_leaves_and_what_others_placed_there_stays(fleet: Fleet, others: Fleet) -> None:
    for each in (fleet, others):
        assert not each.apply().problems
    farewell = LeaveRequest(names=("m1",), remove=True, max_removals="100%")
    left = leave(fleet.session(), farewell, write=True)
    assert left.left == ("m1",) and left.others == {"m1": (others.name,)}
    assert settings(fleet) is None and settings(others) == {"color": "blue"}
    assert fleet.servers["m1"].get(OURS) and not others.apply().changed


def test_a_hub_that_is_a_member_too_keeps_its_records(hub_fleet: Fleet) -> None:
    """The lease on the member lies beside those of the records, and neither is taken for the other."""
    assert hub_fleet.hub is not None
    hub = hub_fleet.hub
    connection = {"kubeconfig": hub.made.kubeconfig}
    join(hub_fleet.session(holder="x"), [MemberSpec(name="itself", connection=connection)], write=True)
    hub_fleet.place()
    with MemberLeases(hub_fleet.records, "x").holding(hub.client, "placement/other"):
        assert hub_fleet.records.leases() == ()
        assert not hub_fleet.apply().problems
    assert hub.data(hub_fleet.namespaced("configmaps", "settings")) == {"color": "blue"}
    assert not hub_fleet.end(limits=BrakeLimits(max_removals="100%", allow_empty=True)).problems
    assert hub.get(OURS) and not hub.client.get(OURS)["metadata"].get("deletionTimestamp")
    assert hub_fleet.records.list("FleetMember")


def test_the_lease_is_kept_and_given_up_when_the_time_for_everything_else_is_over(
    file_fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An upgrade takes longer than anything that is asked of a member in one go."""
    file_fleet.join("m1")
    fleet = {name: each.fleet for name, each in recorded_members(file_fleet.records).items()}
    with Clients(members=fleet, leases=MemberLeases(file_fleet.records, "tests")) as clients:
        client = clients.get("m1")
        kept = MemberLeases(file_fleet.records, "tests").take(client, "upgrade")
        client.timeout = Timeouts(whole=0.0)
        client.start_time_budget()
        an_hour_passes(file_fleet.servers["m1"])
        later = member_lease.running_time() + 3600
        monkeypatch.setattr(member_lease, "running_time", lambda: later)
        assert kept.due
        kept.keep()
        lease = file_fleet.servers["m1"].get(LEASE)
        assert lease is not None and not lease["spec"]["renewTime"].startswith("2020")
        kept.release()
        assert file_fleet.servers["m1"].get(LEASE) is None
