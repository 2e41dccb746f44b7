# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A member that answers with garbage gets an error with its name; nobody and nothing else is touched. (F1, F3)"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.contract import Observation
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.role import RoleDriver
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.facts import FleetReading, read_fleet
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.leave import LeaveRequest, leave
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import Clients, recorded_members
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.on_member import member_apply
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.recovery.recovering import recover_records
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.conducting import observed_versions
from ansible_collections.gitops.fleet.plugins.module_utils._kube import client as kube_client
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import Timeouts
from ansible_collections.gitops.fleet.plugins.module_utils._kube.parallel import in_parallel
from garbage import PARENTS, parent, steps
from misbehaving import Misbehaving
from small_fleet import Fleet

if t.TYPE_CHECKING:
    from conftest import Turned

# Codes that say what is wrong. ``member-fault`` says that something of ours fell over, and is none of them.
TOLD = {"bad-answer", "too-large", "applyset-invalid", "foreign-applyset", "server-error", "no-version"}


@dataclass
class Bad:
    """A fleet of m1, which misbehaves, and m2, both with a placement on them."""

    fleet: Fleet
    server: Misbehaving

    def clients(self) -> Clients:
        members = recorded_members(self.fleet.records)
        return Clients(members={name: each.fleet for name, each in members.items()}, timeout=Timeouts(read=10.0))

    def facts(self, pods: bool = True) -> FleetReading:
        with self.clients() as clients:
            return read_fleet(recorded_members(self.fleet.records), clients, self.fleet.now, pods=pods)

    def observe(self) -> dict[str, Observation | FleetError]:
        with self.clients() as clients:
            driver = RoleDriver(clients=clients, operations=Path("x"), environ={}, cwd=Path("x"), role="x")
            found = observed_versions({"m1": driver, "m2": driver}, 2)
            assert "m2" in found
            return in_parallel({"m1": lambda: driver.observe("m1")})


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken answers are asked for again without a pause."""
    monkeypatch.setattr(kube_client, "_backoff", lambda _attempt: 0.0)


@pytest.fixture
def bad(file_fleet: Fleet, turned: Turned) -> Bad:
    server = turned(file_fleet.servers["m1"], file_fleet.folder / "kubeconfigs" / "m1", "token-of-m1")
    file_fleet.join("m1", "m2")
    file_fleet.place()
    assert not file_fleet.apply().problems
    return Bad(file_fleet, server)


def codes_of(error: FleetError | None) -> set[str]:
    return {each.code for each in error.problems} if error else set()


NODE_PATHS = ("GET /version", "GET /readyz", "GET /api/v1/nodes", "GET /api/v1/pods")


def test_facts(bad: Bad) -> None:
    """F1, F2, F3: what was known stays, and nothing is zero that could not be read."""
    bad.server.real.post("/api/v1/nodes", {"metadata": {"name": "n1"}})
    try:
        assert not bad.facts().problems
        for path in NODE_PATHS:
            for name, step in steps(bad.server).items():
                bad.server.rules = {f"^{path}": step}
                reading = bad.facts()
                found = {each.where.split()[0] for each in reading.problems}
                assert found <= {"m1"}, (path, name, reading.problems)
                assert {each.code for each in reading.problems} <= {*TOLD, "partly-read"}, (
                    path,
                    name,
                    reading.problems,
                )
                assert "member-fault" not in str(reading.problems), (path, name, reading.problems)
                told = {each.name: each for each in reading.snapshot.members}
                count = told["m1"].status.properties.get("kubernetes-fleet.io/node-count")
                assert count is None or count.value != "0", (path, name)
                assert told["m2"].status.properties["k8s.io/k8s-version"].value.startswith("v1.")
    finally:
        bad.server.real.delete("/api/v1/nodes/n1")


@pytest.mark.parametrize("verb", ["look", "apply"])
def test_plan_and_apply(bad: Bad, verb: str) -> None:
    """Nothing is removed, m2 gets its own, and m1 has an error of its own."""
    fleet = bad.fleet
    ours = (
        f"/configmaps/{fleet.name}$",
        f"/namespaces/{fleet.namespace}$",
        f"/namespaces/{fleet.namespace}/configmaps/",
    )
    for path in ours if verb == "look" else ours[-1:]:
        for number, (name, step) in enumerate(steps(bad.server).items()):
            bad.server.rules = {f"^GET .*{path}": step}
            fleet.resources(fleet.configmap(color=f"{path} {number}"))
            report = fleet.apply() if verb == "apply" else fleet.look()
            found = [each for each in report.problems if each.where.startswith("m1 (") and each.code not in TOLD]
            assert not found, (path, name, found)
            assert all(each.where.startswith("m1 (") for each in report.problems), (path, name, report.problems)
            assert not report.outcomes_of(fleet.name)["m2"].error
            if verb == "apply":
                assert fleet.servers["m2"].data(fleet.namespaced("configmaps", "settings")) == {
                    "color": f"{path} {number}"
                }
            assert fleet.holders() == ["m1", "m2"], (path, name)


@pytest.mark.parametrize("damage", PARENTS)
def test_a_damaged_applyset_is_the_error_of_its_member(bad: Bad, damage: str) -> None:
    fleet, change = bad.fleet, parent(bad.fleet.name, damage)
    bad.server.rules = {"^GET .*/namespaces/gitops-fleet/configmaps": bad.server.changed(change)}
    fleet.resources(fleet.configmap(color="red"))
    report = fleet.apply()
    assert {each.code for each in report.problems} <= {"applyset-invalid", "foreign-applyset"}, report.problems
    assert {each.where for each in report.problems} == {f"m1 ({fleet.name})"}
    assert fleet.servers["m2"].data(fleet.namespaced("configmaps", "settings")) == {"color": "red"}
    assert "\x1b" not in str(report.problems) and "\n" not in str(report.problems[0])
    if report.problems[0].code == "foreign-applyset":
        return
    left = leave(fleet.session(hub=None), LeaveRequest(names=("m1", "m2"), max_removals="100%"), write=True)
    assert left.left == ("m2",) and [each.where for each in left.failed] == ["m1"]
    assert list(recorded_members(fleet.records)) == ["m1"]


def test_leaving(bad: Bad) -> None:
    """Who cannot be read stays, and is named; nothing is released on a guess."""
    fleet = bad.fleet
    for name, step in steps(bad.server).items():
        bad.server.rules = {"^GET .*/namespaces/gitops-fleet/configmaps": step}
        wish = LeaveRequest(names=("m1", "m2"), max_removals="100%")
        found = leave(fleet.session(hub=None), wish, write=False)
        assert {each.where for each in found.failed} <= {"m1"}, (name, found)
        assert {each.code for each in found.failed} <= TOLD, (name, found)
        assert "m2" in found.left and fleet.holders() == ["m1", "m2"]


def test_recovering_says_that_it_needs_everybody(bad: Bad) -> None:
    fleet = bad.fleet
    refusals = 0
    for name, step in steps(bad.server).items():
        bad.server.rules = {"^GET .*/namespaces/gitops-fleet/configmaps": step}
        try:
            recover_records(fleet.session(hub=None), fleet.asked())
        except FleetError as error:
            refusals += 1
            assert {each.where for each in error.problems} == {"m1"}, (name, error)
            assert codes_of(error) <= TOLD, (name, error)
            assert all("all members or not at all" in each.hint for each in error.problems), (name, error)
    assert refusals >= 18


def test_discovery(bad: Bad) -> None:
    """Kinds are asked for where an object is of none that every server has."""
    fleet = bad.fleet
    custom = {"apiVersion": "example.org/v1", "kind": "Web", "metadata": {"name": "a", "namespace": fleet.namespace}}
    fleet.resources(fleet.configmap(), custom)
    for name, step in steps(bad.server).items():
        bad.server.rules = {"^GET /apis$": step}
        report = fleet.look()
        assert {each.code for each in report.problems} <= {*TOLD, "unknown-kind", "not-applied"}, (
            name,
            report.problems,
        )
        assert not report.outcomes_of(fleet.name)["m2"].error


def test_an_update_run_looks_at_it(bad: Bad) -> None:
    for name, step in steps(bad.server).items():
        bad.server.rules = {"^GET /version": step}
        found = bad.observe()["m1"]
        if isinstance(found, FleetError):
            assert codes_of(found) <= TOLD, (name, found)
        else:
            assert found.version.startswith("v1."), name


def test_what_makes_us_fall_over_is_still_the_error_of_that_member(bad: Bad, monkeypatch: pytest.MonkeyPatch) -> None:
    """The net below: a member whose thread raises anything is named, with our place in the code."""
    real = member_apply.observe

    def fall(client: t.Any, *arguments: t.Any) -> t.Any:
        if client.server_name == "m1":
            raise KeyError("canary")
        return real(client, *arguments)

    monkeypatch.setattr(member_apply, "observe", fall)
    report = bad.fleet.look()
    (problem,) = report.problems
    assert (problem.code, problem.where) == ("member-fault", f"m1 ({bad.fleet.name})")
    assert "KeyError at " in problem.message and "_fleet/placements/on_member/member_apply.py:" in problem.message
    assert "canary" not in str(problem) and not report.outcomes_of(bad.fleet.name)["m2"].error
