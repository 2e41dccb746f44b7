# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A run that is slower than its lease: it keeps the lease, or it stops and says exactly what it wrote (F6, F7)."""

from __future__ import annotations

import mmap
import threading
import typing as t
from dataclasses import replace
from datetime import timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet import keeping
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.crew import member_worker, worker_crew
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.placement import Report, run
from member_gateway import Gateway, until
from small_fleet import NOT_WAITING, PARENTS, Fleet


@pytest.fixture
def gateway(request: pytest.FixtureRequest, servers: dict[str, t.Any]) -> t.Iterator[Gateway]:
    made = Gateway(servers["m2"])
    yield made
    made.close()


NAMES = ("a-before", "c-first", "d-last")


class Slow:
    """A run in a thread of its own whose write of the ConfigMap ``c-first`` on m2 is on its way until ``go``."""

    def __init__(self, fleet: Fleet, gateway: Gateway, workers: int = 1) -> None:
        self.held, self._go = threading.Event(), threading.Event()
        self.report: Report | None = None
        self.error: FleetError | None = None
        fleet.log_in("m2", gateway.kubeconfig(fleet.folder / "through"))
        gateway.rule = self._hold
        self._workers = workers
        self._thread = threading.Thread(target=self._run, args=(fleet,))
        self._thread.start()

    def _hold(self, method: str, path: str) -> None:
        if method == "PATCH" and path.endswith("/c-first") and not self.held.is_set():
            self.held.set()
            self._go.wait(600)

    def _run(self, fleet: Fleet) -> None:
        try:
            ways = replace(NOT_WAITING, workers=self._workers)
            asked = fleet.asked(write=True, timeout=60.0, ways=ways)
            self.report = run(fleet.session(fleet.open(), holder="slow"), asked)
        except FleetError as error:
            self.error = error

    def go(self) -> None:
        self._go.set()
        self._thread.join(120)
        assert not self._thread.is_alive()


def ready(fleet: Fleet) -> None:
    """m1 and m2 hold three ConfigMaps, which are written in the order of their names; all get a new content."""
    fleet.join("m1", "m2")
    fleet.place()
    content(fleet, "first")
    fleet.apply()
    content(fleet, "slow")


def content(fleet: Fleet, by: str) -> None:
    fleet.resources(*(fleet.configmap(name, by=by) for name in NAMES))


def data(fleet: Fleet, name: str, object_name: str) -> t.Any:
    return fleet.servers[name].data(fleet.namespaced("configmaps", object_name))


def overtake(fleet: Fleet) -> None:
    """Another runner has waited until the lease ran out, and applies newer content everywhere."""
    content(fleet, "newer")
    fleet.later = timedelta(seconds=keeping.LEASE_SECONDS + 60)
    for lease in fleet.records.leases():
        if lease.name.startswith("placement/"):
            fleet.records.release(lease)
    fleet.mend("m2")
    assert not fleet.apply(holder="newer").problems


@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_that_lost_its_lease_overwrites_nothing_and_says_what_it_wrote(
    fleet: Fleet, gateway: Gateway, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    """As after the machine slept: no renewal came through, and the clock has gone on."""
    passed = memoryview(mmap.mmap(-1, 8)).cast("d")  # one clock for all processes of the machine
    for module in (keeping, member_worker, worker_crew):
        monkeypatch.setattr(module, "running_time", lambda: passed[0])
    monkeypatch.setattr(keeping.Keeper.__init__, "__defaults__", (keeping.LEASE_SECONDS, lambda: passed[0]))
    ready(fleet)
    slow = Slow(fleet, gateway, workers)
    assert slow.held.wait(300)
    until(lambda: data(fleet, "m1", "d-last") == {"by": "slow"})
    passed[0] = keeping.LEASE_SECONDS + 60.0
    overtake(fleet)
    slow.go()
    assert slow.report is not None
    (problem,) = slow.report.problems
    assert (problem.code, problem.where) == ("lease-lost", fleet.name)
    told = problem.message.partition("this run has written ")[2]
    names = {name: f"ConfigMap {fleet.namespace}/{name}" for name in NAMES}
    assert told == f"m1: {', '.join(names.values())}; m2: {names['a-before']} ({names['c-first']} was on its way)"
    assert [data(fleet, "m2", each) for each in NAMES] == [{"by": "newer"}] * 3
    assert not fleet.apply(holder="newer").changed


def test_a_slow_run_keeps_its_lease(fleet: Fleet, gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """It works for several times as long as its lease lasts, and nobody can take it."""
    monkeypatch.setattr(keeping.Keeper.__init__, "__defaults__", (2, keeping.running_time))
    ready(fleet)
    slow = Slow(fleet, gateway)
    assert slow.held.wait(300)
    name = f"placement/{fleet.name}"
    epochs = set()
    seen = set()
    while len(seen) < 8:
        (lease,) = (each for each in fleet.records.leases() if each.name == name)
        seen.add(lease.renewed)
        epochs.add(lease.epoch)
        with pytest.raises(FleetError) as refused:
            fleet.apply(holder="newer")
        assert refused.value.code == "lease-held" and "slow" in str(refused.value)
    slow.go()
    assert slow.error is None and slow.report is not None and not slow.report.problems
    assert len(epochs) == 1
    assert data(fleet, "m2", "d-last") == {"by": "slow"}
    assert [each.name for each in fleet.records.leases()] == []


def test_a_member_that_another_run_wrote_meanwhile_is_left_alone(fleet: Fleet) -> None:
    """Between our look and our first write: the parent says so, whatever became of the leases."""
    fleet.join("m1")
    fleet.place()
    fleet.apply()
    fleet.resources(fleet.configmap(color="red"))
    server = fleet.servers["m1"]
    moved: list[str] = []
    parent = f"{PARENTS}/{fleet.name}"
    gateway = Gateway(server)
    try:

        def rule(method: str, path: str) -> None:
            if method == "PATCH" and path == parent and not moved:
                moved.append(path)
                server.patch(parent, {"metadata": {"annotations": {"another": "run"}}})

        gateway.rule = rule
        fleet.log_in("m1", gateway.kubeconfig(fleet.folder / "through"))
        report = fleet.apply()
    finally:
        gateway.close()
    assert moved and [each.code for each in report.problems] == ["member-moved"]
    assert data(fleet, "m1", "settings") == {"color": "blue"}
    fleet.mend("m1")
    assert not fleet.apply().problems and data(fleet, "m1", "settings") == {"color": "red"}
