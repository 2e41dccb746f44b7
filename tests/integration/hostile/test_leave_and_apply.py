# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A member is let go while a placement is carried out: neither orphans what the other does (F6, F14)."""

from __future__ import annotations

import threading
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.brakes import BrakeLimits
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.leave import LeaveRequest, Left, leave
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import recorded_members
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.binding_journal import BindingJournal
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.placement import Report, run
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.recovery.recovering import recover_records
from member_gateway import Gateway
from small_fleet import PARENTS, Fleet, codes


@pytest.fixture
def gateway(servers: dict[str, t.Any]) -> t.Iterator[Gateway]:
    made = Gateway(servers["m2"])
    yield made
    made.close()


class Held:
    """Work in a thread of its own that is held at the first request for which ``at`` holds, until ``go``."""

    def __init__(self, gateway: Gateway, at: t.Callable[[str, str], bool], work: t.Callable[[], t.Any]) -> None:
        self.reached, self._go = threading.Event(), threading.Event()
        self.answer: t.Any = None

        def rule(method: str, path: str) -> None:
            if at(method, path) and not self.reached.is_set():
                self.reached.set()
                self._go.wait(600)

        def worked() -> None:
            try:
                self.answer = work()
            except FleetError as error:
                self.answer = error

        gateway.rule = rule
        self._thread = threading.Thread(target=worked)
        self._thread.start()
        assert self.reached.wait(300)

    def go(self) -> t.Any:
        self._go.set()
        self._thread.join(120)
        assert not self._thread.is_alive()
        return self.answer


def let_go(fleet: Fleet, *names: str, holder: str = "leaver", **wish: t.Any) -> Left:
    return leave(fleet.session(fleet.open(), holder=holder), LeaveRequest(names=names, **wish), write=True)


def apply(fleet: Fleet) -> t.Callable[[], Report]:
    asked = fleet.asked(write=True, timeout=60.0)
    return lambda: run(fleet.session(fleet.open(), holder="applier"), asked)


def writes(method: str, path: str) -> bool:
    return method in ("PATCH", "POST") and "/namespaces" in path


def nothing_orphaned(fleet: Fleet) -> None:
    """Whatever carries our label on a member belongs to an ApplySet there, and the member is recorded."""
    members = recorded_members(fleet.records)
    for name, server in fleet.servers.items():
        if fleet.is_ours(name, fleet.namespaced("configmaps", "settings")):
            assert name in members and server.get(f"{PARENTS}/{fleet.name}")


def test_who_lets_a_member_go_waits_for_who_writes_to_it(fleet: Fleet, gateway: Gateway) -> None:
    fleet.join("m1", "m2")
    fleet.log_in("m2", gateway.kubeconfig(fleet.folder / "through"))
    fleet.place()
    applying = Held(gateway, writes, apply(fleet))
    with pytest.raises(FleetError) as refused:
        let_go(fleet, "m2")
    assert refused.value.code == "lease-held" and "applier" in str(refused.value)
    report = applying.go()
    assert isinstance(report, Report) and not report.problems
    assert fleet.holders() == ["m1", "m2"] and list(recorded_members(fleet.records)) == ["m1", "m2"]
    assert [each.name for each in fleet.records.leases()] == []
    assert let_go(fleet, "m2").left == ("m2",)
    nothing_orphaned(fleet)


@pytest.mark.parametrize("held", [True, False], ids=["a placement that it holds", "a placement that is new to it"])
def test_nothing_is_brought_to_a_member_that_is_leaving(fleet: Fleet, gateway: Gateway, held: bool) -> None:
    fleet.join("m1", "m2")
    fleet.place({"placementType": "PickFixed", "clusterNames": ["m1", "m2"] if held else ["m1"]})
    fleet.apply()
    fleet.log_in("m2", gateway.kubeconfig(fleet.folder / "through"))
    if not held:  # something else is there, so that leaving takes its time
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"{fleet.namespace}-b"}}
        document = fleet.placement({"placementType": "PickFixed", "clusterNames": ["m2"]}, name=f"{fleet.name}-b")
        document["spec"]["resourceSelectors"][0]["name"] = space["metadata"]["name"]
        fleet.resources(fleet.configmap(), space)
        fleet.apply(definition=document)
        fleet.place({"placementType": "PickFixed", "clusterNames": ["m1", "m2"]})
    else:
        fleet.resources(fleet.configmap(color="red"))
    other = Held(gateway, writes, lambda: let_go(fleet, "m2"))
    if held:
        with pytest.raises(FleetError) as refused:
            fleet.apply(holder="applier")
        assert refused.value.code == "lease-held" and "leaver" in str(refused.value)
    else:
        report = fleet.apply(holder="applier")
        assert codes(report) == {"member-leaving"} and "leaver" in str(report.problems)
        assert not fleet.is_ours("m2", fleet.namespaced("configmaps", "settings"))
    left = other.go()
    assert isinstance(left, Left) and left.left == ("m2",) and not left.failed
    fleet.mend("m2")
    report = fleet.apply(holder="applier")
    assert not report.problems and fleet.holders() == ["m1"]
    nothing_orphaned(fleet)
    assert {each["spec"]["targetCluster"] for each in fleet.records.list("ClusterResourceBinding")} == {"m1"}


def test_a_member_that_left_between_plan_and_write_gets_nothing(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet.join("m1", "m2")
    fleet.place()
    gone: list[Left] = []

    def say(line: str) -> None:  # first called when all that is intended is recorded, before any member is written
        if not gone:
            # As after a leave of an older release, which took no lease of a placement.
            for kind in ("MemberCluster", "FleetMember"):
                fleet.records.delete(kind, "m2")
            gone.append(Left(left=("m2",)))

    store = BindingJournal.store
    monkeypatch.setattr(BindingJournal, "store", lambda self, *given: (say(""), store(self, *given))[1])
    report = run(fleet.session(holder="applier"), fleet.asked(write=True))
    assert codes(report) == {"not-a-member"} and fleet.holders() == ["m1"]
    monkeypatch.undo()
    assert not fleet.apply().problems
    assert {each["spec"]["targetCluster"] for each in fleet.records.list("ClusterResourceBinding")} == {"m1"}


def unfenced(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Gets the writes to the records, from now on, that come without a lease. Evidence has none: nothing is decided by
    it, and what was done is told too by one who has lost the lease."""
    without: list[str] = []
    kind = type(fleet.records)
    for verb, place in {"create": 1, "replace": 1, "delete": 3}.items():
        real = getattr(kind, verb)

        def spied(
            self: t.Any, *arguments: t.Any, _real: t.Any = real, _verb: str = verb, _place: int = place, **named: t.Any
        ) -> t.Any:
            written = arguments[0] if _verb == "delete" else arguments[0]["kind"]
            unleased = named.get("lease") is None and (len(arguments) <= _place or arguments[_place] is None)
            if unleased and (_verb, written) != ("create", "AuditEntry"):
                without.append(f"{_verb} {written}")
            return _real(self, *arguments, **named)

        monkeypatch.setattr(kind, verb, spied)
    return without


def test_every_record_is_written_under_the_lease_that_stands_for_it(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By an apply, a recovery of lost records, a leave, an end."""
    fleet.join("m1", "m2")
    fleet.place()
    without = unfenced(fleet, monkeypatch)
    fleet.apply()
    for each in fleet.records.list("ClusterResourceBinding"):
        lease = fleet.records.acquire("test/test", "test", 60)
        fleet.records.delete("ClusterResourceBinding", each["metadata"]["name"], lease=lease)
    assert recover_records(fleet.session(), fleet.asked(write=True)).recovered == {fleet.name: ("m1", "m2")}
    assert let_go(fleet, "m2").left == ("m2",)
    fleet.end(limits=BrakeLimits(max_removals="100%"))
    assert without == [] and fleet.record() is None
