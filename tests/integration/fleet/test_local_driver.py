# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The driver of local clusters on real API servers: newer binaries on the same data, whoever is killed when."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import time
import typing as t
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_member import FleetMember
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.releases import versions
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor.executor import Ended, Executor, Pace
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers import contract
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.contract import OperationProgress, Work
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.local import LocalDriver
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import Clients
from ansible_collections.gitops.fleet.plugins.module_utils._local import cluster, upgrades
from ansible_collections.gitops.fleet.plugins.module_utils._local.binaries import get_binaries
from ansible_collections.gitops.fleet.plugins.module_utils._local.spec import NodesSpec, TokenUser

OLD, NEW = "v1.35.4", "v1.36.3"
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Place:
    """One member at 1.35, its driver, and what is known of upgrades."""

    name: str
    root: Path
    driver: LocalDriver

    def work(self, attempt: int = 1, target: str = "1.36.3") -> Work:
        operation = f"run-1234.{self.name}.{attempt}"
        return Work(
            operation=operation,
            run="run",
            member=self.name,
            upgrade_type="ControlPlaneOnly",
            target=target,
            attempt=attempt,
        )

    def version(self) -> str:
        return self.driver.observe(self.name).version

    def lines(self) -> list[dict[str, t.Any]]:
        log = self.root / upgrades.LOG
        found = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        return [line for line in found if line["member"] == self.name]

    def ended(self, work: Work, seconds: float = 60) -> OperationProgress:
        end = time.monotonic() + seconds
        while (progress := self.driver.poll(work)).state == contract.IN_PROGRESS:
            assert time.monotonic() < end, progress
            time.sleep(0.05)
        return progress


@pytest.fixture
def place(local_cluster_factory: t.Any, tmp_path: Path) -> t.Iterator[Place]:
    yield from _place(local_cluster_factory, tmp_path)


def _place(factory: t.Any, folder: Path, **fields: t.Any) -> t.Iterator[Place]:
    name = f"driven-{next(_numbers)}"
    made = factory(name, version="1.35", **fields)
    spec = {"connection": {"kubeconfig": made.kubeconfig}, "driver": "local"}
    document = {"apiVersion": "gitops.fleet/v1alpha1", "kind": "FleetMember", "metadata": {"name": name}, "spec": spec}
    with Clients({name: decode(FleetMember, document)}) as clients:
        driver = LocalDriver(
            clients=clients, root=factory.root, operations=folder / "operations", environ=dict(os.environ)
        )
        yield Place(name, factory.root, driver)
    cluster.absent(name, factory.root)


def test_one_minor_up_on_the_same_data_with_one_line_in_the_log(place: Place) -> None:
    assert place.version() == OLD
    reference = place.driver.begin(place.work())
    assert place.driver.begin(place.work()) == reference
    assert place.ended(place.work()).state == contract.SUCCEEDED
    assert place.driver.begin(place.work()) == reference
    assert place.version() == NEW
    (line,) = place.lines()
    assert (line["operation"], line["from"], line["to"]) == (place.work().operation, OLD, NEW)


def test_all_else_of_the_cluster_is_kept(local_cluster_factory: t.Any, tmp_path: Path) -> None:
    asked: dict[str, t.Any] = {
        "profile": "fleet",
        "audit": True,
        "nodes": (NodesSpec(2, labels={"kept": "yes"}),),
        "tokens": (TokenUser("a-token", "ann", ("readers", "writers")),),
    }
    for place in _place(local_cluster_factory, tmp_path, **asked):
        before = cluster.status(place.root, place.name)
        place.driver.begin(place.work())
        assert place.ended(place.work()).state == contract.SUCCEEDED
        after = cluster.status(place.root, place.name)
        assert (after.profile, after.nodes, after.ports) == (before.profile, before.nodes, before.ports)
        assert after.audit_log == before.audit_log != ""
        assert not local_cluster_factory(place.name, version="1.36", **asked).changed


@pytest.mark.parametrize("target, code", [("1.34.0", "unknown-version"), ("1.37.0", "unknown-version")])
def test_versions_that_are_not_at_hand_are_refused_before_anything_starts(place: Place, target: str, code: str) -> None:
    with pytest.raises(FleetError) as refused:
        place.driver.begin(place.work(target=target))
    assert refused.value.code == code
    assert not place.driver.operations.exists()


def test_a_downgrade_and_two_minors_are_refused(place: Place) -> None:
    state = place.root / place.name / "state.json"
    kept = state.read_text()
    for told, target, code in (("1.36.3", "1.35.4", "downgrade-refused"), ("1.34.1", "1.36.3", "minor-skipped")):
        state.write_text(kept.replace('"version": "1.35.4"', f'"version": "{told}"'))
        with pytest.raises(FleetError) as refused:
            place.driver.begin(place.work(target=target))
        assert refused.value.code == code
    state.write_text(kept)
    assert not place.driver.operations.exists()


@pytest.mark.parametrize("delay", [0.2, 1.0])
def test_killed_in_the_middle_and_taken_up_again_it_happens_once(place: Place, delay: float) -> None:
    reference = place.driver.begin(place.work())
    time.sleep(delay)
    with contextlib.suppress(ProcessLookupError):
        os.kill(int(reference.split(":")[2]), signal.SIGKILL)
    assert place.ended(place.work()).state in (contract.FAILED, contract.SUCCEEDED)
    ended = _carry_out(place, place.work(attempt=2))
    assert ended.result in ("Completed", "Skipped"), ended
    assert place.version() == NEW
    assert len(place.lines()) == 1


def test_killed_with_the_old_server_gone_and_the_new_one_not_there(place: Place, tmp_path: Path) -> None:
    hangs = replace(place.driver, binaries_dir=_binaries_that_hang(tmp_path / "binaries"))
    reference = hangs.begin(place.work())
    end = time.monotonic() + 300
    while not place.lines():
        assert time.monotonic() < end
        time.sleep(0.02)
    os.kill(int(reference.split(":")[2]), signal.SIGKILL)
    progress = place.ended(place.work())
    assert progress.state == contract.FAILED and "was killed" in progress.message
    assert place.version() == OLD, "the data are still of the old version, and it can be taken up"
    ended = _carry_out(place, place.work(attempt=2))
    assert (ended.result, ended.version_before, ended.version_after) == ("Completed", OLD, NEW)
    assert [line["operation"] for line in place.lines()] == [place.work().operation]
    assert upgrades.pending(place.root / place.name) is None


def _binaries_that_hang(folder: Path) -> Path:
    """An API server that tells its version, and then does nothing."""
    real = get_binaries(("etcd", "kube-apiserver"), "1.36")
    folder.mkdir()
    (folder / "etcd").symlink_to(real["etcd"].path)
    script = f"#!/bin/sh\ntest $1 = --version && exec {real['kube-apiserver'].path} --version\nexec sleep 984\n"
    (folder / "kube-apiserver").write_text(script)
    (folder / "kube-apiserver").chmod(0o700)
    return folder


def _carry_out(place: Place, work: Work) -> Ended:
    executor = Executor({place.name: place.driver}, versions, Pace(interval=0.1))
    executor.begin(work)
    end = time.monotonic() + 300
    while time.monotonic() < end:
        executor.wait(1)
        for event in executor.events():
            if isinstance(event, Ended):
                return event
    raise AssertionError("it does not end")
