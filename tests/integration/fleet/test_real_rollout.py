# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Real Deployments on members with controllers, scheduler and simulated nodes: a rollout as somebody else measures it.

A watcher of its own process, which knows nothing of us, writes down when a member's Deployment is whole; a version that
fits on no node is a broken one. REAL_MEMBERS and REAL_KILLS in the environment make it larger than its 4 members and 6
kills.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
import typing as t
from datetime import timedelta
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.listed import listed
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.look import ApplyOptions, RolloutOptions
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.rollout_words import NAMED
from ansible_collections.gitops.fleet.plugins.module_utils._kube.parallel import in_parallel
from ansible_collections.gitops.fleet.plugins.module_utils._local.outcome import LocalOutcome
from ansible_collections.gitops.fleet.plugins.module_utils._local.spec import NodesSpec
from member_gateway import until
from small_fleet import Document, Fleet, Server

NAMES = tuple(f"r{number}" for number in range(1, int(os.environ.get("REAL_MEMBERS", "4")) + 1))
KILLS = int(os.environ.get("REAL_KILLS", "6"))
HERE = Path(__file__).resolve().parents[1]
PATIENT = ApplyOptions(rollout=RolloutOptions(max_idle=timedelta(minutes=5), to_the_end=True))
AT_ONCE = ApplyOptions(rollout=RolloutOptions(max_idle=timedelta(0)))


@pytest.fixture(scope="module")
def real_servers(module_clusters: t.Any) -> dict[str, Server]:
    def make(name: str) -> t.Callable[[], LocalOutcome]:
        return lambda: t.cast(LocalOutcome, module_clusters(name, profile="fleet", nodes=(NodesSpec(1),), audit=True))

    made = in_parallel({name: make(name) for name in NAMES}, threads=2)
    assert all(isinstance(each, LocalOutcome) for each in made.values()), made
    return {name: Server(each) for name, each in made.items() if isinstance(each, LocalOutcome)}


@pytest.fixture(scope="module")
def real_fleet(real_servers: dict[str, Server], tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Fleet]:
    folder = tmp_path_factory.mktemp("real")
    fleet = Fleet(9000, folder, {"type": "sqlite", "path": str(folder / "records.db")}, None, real_servers)
    fleet.join(*NAMES)
    fleet.place(rolling={"maxUnavailable": 1})
    yield fleet
    for records in fleet.opened:
        records.close()


class Watcher:
    """The process that writes down what the members' API servers tell."""

    def __init__(self, fleet: Fleet) -> None:
        path = f"/apis/apps/v1/namespaces/{fleet.namespace}/deployments/web"
        clusters = [f"{name}={server.made.kubeconfig}" for name, server in fleet.servers.items()]
        self.file = fleet.folder / f"watched-{time.monotonic_ns()}"
        with self.file.open("w") as output:
            command = [sys.executable, str(HERE / "availability_watcher.py"), path, *clusters]
            self.process = subprocess.Popen(command, stdout=output)

    def __enter__(self) -> Watcher:
        return self

    def __exit__(self, *_error: object) -> None:
        self.process.kill()
        self.process.wait()

    @property
    def lines(self) -> list[Document]:
        return [json.loads(line) for line in self.file.read_text().splitlines() if line.endswith("}")]

    def now(self) -> dict[str, tuple[str, bool]]:
        return {each["cluster"]: (each["image"], each["whole"]) for each in self.lines}

    def most_lacking(self) -> int:
        """How many clusters at most were not whole at one instant, once all were."""
        state, most, begun = dict[str, bool](), 0, False
        for each in sorted(self.lines, key=lambda line: line["at"]):
            state[each["cluster"]] = each["whole"]
            begun = begun or (len(state) == len(NAMES) and all(state.values()))
            most = max(most, list(state.values()).count(False)) if begun else 0
        assert begun
        return most


def release(fleet: Fleet, image: str, cpu: str = "100m") -> None:
    deployment = fleet.deployment(image, replicas=2)
    deployment["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
    fleet.resources(deployment)


def everywhere(watcher: Watcher, image: str) -> t.Callable[[], bool]:
    return lambda: watcher.now() == dict.fromkeys(NAMES, (image, True))


def test_no_more_clusters_lack_it_than_may_and_a_broken_version_stops(real_fleet: Fleet) -> None:
    """D4-77, D4-78: measured from outside; the mended version goes through."""
    fleet = real_fleet
    release(fleet, "web:1")
    assert not fleet.apply(ways=AT_ONCE).problems
    with Watcher(fleet) as watcher:
        until(everywhere(watcher, "web:1"), 600)
        release(fleet, "web:2")
        report = fleet.apply(ways=PATIENT)
        assert not report.problems and not report.waits
        until(everywhere(watcher, "web:2"), 600)
        assert watcher.most_lacking() == 1

        release(fleet, "web:broken", cpu="500")
        fleet.apply(ways=AT_ONCE)
        until(lambda: watcher.now()["r1"] == ("web:broken", False), 600)
        waiting = ApplyOptions(rollout=RolloutOptions(max_idle=timedelta(seconds=5)))
        (wait,) = fleet.apply(ways=waiting).waits.values()
        assert [image for image, _whole in watcher.now().values()].count("web:broken") == 1
        assert (
            f"{listed(NAMES[1:], NAMED)} wait for r1: Deployment" in wait.lines[0] and "Unschedulable" in wait.lines[0]
        )

        release(fleet, "web:3")
        report = fleet.apply(ways=PATIENT)
        assert not report.waits
        assert report.availability[fleet.name]["available"] == len(NAMES), "it stayed for the last one too"
        until(everywhere(watcher, "web:3"), 600)
        assert watcher.most_lacking() == 1


def test_kills_at_random_instants_change_no_final_state(real_fleet: Fleet) -> None:
    """Whenever a run comes to its end between the kills, the next version follows."""
    fleet, draw, version, kills = real_fleet, random.Random(7), 5, 0
    release(fleet, "web:4")
    assert not fleet.apply(ways=PATIENT).problems
    with Watcher(fleet) as watcher:
        until(everywhere(watcher, "web:4"), 600)
        release(fleet, "web:5")
        while kills < KILLS:
            process = fleet.started()
            try:
                process.wait(draw.uniform(0.5, 3.0))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                kills += 1
            if process.wait() == 0:
                until(everywhere(watcher, f"web:{version}"), 600)
                version += 1
                release(fleet, f"web:{version}")
        assert not fleet.apply(ways=PATIENT).waits
        until(everywhere(watcher, f"web:{version}"), 600)
        assert watcher.most_lacking() == 1
    assert not fleet.apply(ways=AT_ONCE).changed
