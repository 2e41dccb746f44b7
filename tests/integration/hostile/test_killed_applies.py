# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""ansible-playbook is told to end, or killed, in the middle of an apply: the next run ends what was begun (F5)."""

from __future__ import annotations

import os
import signal
import sys
import threading
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.binding import (
    ClusterResourceBinding,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from member_gateway import Gateway, until
from small_fleet import PARENTS, Document, Fleet

sys.path.insert(0, str(Path(__file__).parents[1] / "updates"))

from conducting import ROOT, Conducting, Plays, children, gone, is_alive

APPLY = str(ROOT / "playbooks" / "apply.yml")
SIGNALS: dict[str, t.Callable[[Conducting], None]] = {
    "SIGTERM to the worker": lambda one: one.kill(signal.SIGTERM, one.worker),
    "SIGHUP to the worker": lambda one: one.kill(signal.SIGHUP, one.worker),
    "SIGINT to the process group": lambda one: os.killpg(one.pid, signal.SIGINT),
    "SIGTERM to ansible-playbook": lambda one: one.kill(signal.SIGTERM, one.pid),
    "SIGKILL to ansible-playbook": lambda one: one.kill(signal.SIGKILL, one.pid),
    "SIGKILL to all of it": lambda one: one.kill(signal.SIGKILL, one.worker, one.pid),
}
GENTLE = [each for each in SIGNALS if "all of it" not in each]
NAMES = ("a-first", "b-second", "c-third")


@pytest.fixture
def plays(tmp_path: Path) -> t.Iterator[Plays]:
    folder = tmp_path / "plays"
    folder.mkdir()
    made = Plays(folder)
    yield made
    made.end()


class Stage:
    """A fleet of m1 and m2 behind gateways; a new content is being applied, and one request is on its way."""

    def __init__(self, fleet: Fleet, plays: Plays) -> None:
        self.fleet, self._plays = fleet, plays
        self.workers = 1
        self.gateways = {name: Gateway(fleet.servers[name]) for name in ("m1", "m2")}
        self.reached, self.go = threading.Event(), threading.Event()
        fleet.join("m1", "m2")
        fleet.resources(*(fleet.configmap(name, by="before") for name in (*NAMES, "z-gone")))
        fleet.place()
        assert not fleet.apply().problems
        self.foreign = {name: self._foreign(name) for name in ("m1", "m2")}
        fleet.resources(*(fleet.configmap(name, by="after") for name in NAMES))
        for name, gateway in self.gateways.items():
            fleet.log_in(name, gateway.kubeconfig(fleet.folder / f"through-{name}"))

    def _foreign(self, name: str) -> str:
        metadata = self.fleet.servers[name].client.post(
            self.fleet.namespaced("configmaps"), self.fleet.configmap("foreign")
        )["metadata"]
        return str(metadata["resourceVersion"])

    def start(self, at: t.Callable[[str, str], bool], **more: t.Any) -> Conducting:
        def rule(method: str, path: str) -> None:
            if at(method, path) and not self.reached.is_set():
                self.reached.set()
                self.go.wait(900)

        self.gateways["m2"].rule = rule
        started = self._plays.start(APPLY, **self.variables(), **more)
        until(lambda: self.reached.is_set() or not is_alive(started.pid), 300)
        assert self.reached.is_set(), started.output
        return started

    def variables(self) -> Document:
        folders = {each: [str(self.fleet.folder / each)] for each in ("placements", "resources")}
        return {"records": self.fleet.options, "workers": self.workers, **folders}

    def again(self) -> Conducting:
        """The same playbook once more, as a scheduled pipeline would."""
        return self._plays(APPLY, **self.variables())

    def content(self, name: str) -> dict[str, str]:
        found = self.fleet.servers[name].client.get(self.fleet.namespaced("configmaps"))["items"]
        return {each["metadata"]["name"]: (each.get("data") or {}).get("by", "") for each in found}

    def all_well(self) -> None:
        for name in ("m1", "m2"):
            assert self.content(name) == {**dict.fromkeys(NAMES, "after"), "foreign": ""}
            found = self.fleet.servers[name].get(self.fleet.namespaced("configmaps", "foreign"))
            assert found and found["metadata"]["resourceVersion"] == self.foreign[name]
        bindings = self.fleet.records.list("ClusterResourceBinding")
        assert [each["spec"]["state"] for each in bindings] == ["Bound", "Bound"]
        assert len({each["spec"]["resourceSnapshotName"] for each in bindings}) == 1


@pytest.fixture
def stage(file_fleet: Fleet, plays: Plays) -> t.Iterator[Stage]:
    made = Stage(file_fleet, plays)
    yield made
    made.go.set()
    for each in made.gateways.values():
        each.close()


def writes(name: str) -> t.Callable[[str, str], bool]:
    return lambda method, path: method == "PATCH" and path.endswith(f"/configmaps/{name}")


def intent(method: str, path: str) -> bool:
    return method == "PATCH" and "/namespaces/gitops-fleet/configmaps/" in path


def deletes(method: str, path: str) -> bool:
    return method == "DELETE" and path.endswith("/configmaps/z-gone")


POINTS = {"the intent": intent, "an object": writes("b-second"), "a deletion": deletes}


PAIRS = [
    *((sent, "an object", workers) for sent in SIGNALS for workers in (1, 2)),
    *(
        (sent, point, 1)
        for sent in ("SIGTERM to the worker", "SIGKILL to all of it")
        for point in ("the intent", "a deletion")
    ),
]


@pytest.mark.parametrize(("sent", "point", "workers"), PAIRS)
def test_the_next_run_ends_what_was_begun(stage: Stage, sent: str, point: str, workers: int) -> None:
    """Processes that work for the one that carries the task end with it, and write nothing more."""
    stage.workers = workers
    first = stage.start(POINTS[point])
    worker = first.worker
    crew = children(worker)
    assert len(crew) == (workers if workers > 1 else 0)
    SIGNALS[sent](first)
    assert gone(worker, 300), "the worker did not end by itself"
    assert all(map(gone, crew))
    first.ended()
    assert "Traceback" not in first.output
    held = len(stage.gateways["m2"].seen)
    stage.go.set()  # what was on its way may still arrive
    until(lambda: len(stage.gateways["m2"].seen) > held)
    assert len(stage.gateways["m2"].seen) == held + 1, "nothing else was sent"
    assert stage.content("m2")["c-third"] in ("before", "after")
    if sent in GENTLE:
        assert [each.name for each in stage.fleet.records.leases()] == []
    stage.again().code(0)
    stage.all_well()
    second = stage.again().code(0)
    assert second.changed == 0
    stage.all_well()


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("sent", [each for each in SIGNALS if "worker" in each])
def test_the_outcome_says_what_was_written_and_what_was_not(stage: Stage, sent: str, workers: int) -> None:
    stage.workers = workers
    first = stage.start(writes("b-second"))
    parent = ("PATCH", f"{PARENTS}/{stage.fleet.name}")
    until(lambda: stage.gateways["m1"].seen.count(parent) == 2)
    SIGNALS[sent](first)
    first.ended(300)
    assert first.process.returncode == 2 and "Traceback" not in first.output
    output = " ".join(first.output.split())
    assert '"outcome": "partial"' in output and '"code": "interrupted"' in output
    objects = {name: f"ConfigMap {stage.fleet.namespace}/{name}" for name in (*NAMES, "z-gone")}
    wanted = f"m1: {', '.join(objects.values())}; m2: {objects['a-first']} ({objects['b-second']} was on its way)"
    assert f"{wanted}; not done: m2 [interrupted]" in output, output
    bindings = (decode(ClusterResourceBinding, each) for each in stage.fleet.records.list("ClusterResourceBinding"))
    held = {each.spec.target_cluster: each.held_snapshot for each in bindings}
    assert held["m1"] > held["m2"]


def test_only_the_task_is_killed_and_those_who_work_for_it_end(stage: Stage) -> None:
    """ansible-playbook lives on, and tells that it was lost."""
    stage.workers = 2
    first = stage.start(writes("b-second"))
    worker = first.worker
    crew = children(worker)
    first.kill(signal.SIGKILL, worker)
    assert all(map(gone, (worker, *crew)))
    first.kill(signal.SIGTERM, first.pid)
    first.ended()
    held = len(stage.gateways["m2"].seen)
    stage.go.set()
    until(lambda: len(stage.gateways["m2"].seen) > held)
    assert len(stage.gateways["m2"].seen) == held + 1, "nothing else was sent"
    stage.again().code(0)
    stage.all_well()


def test_a_killed_process_of_workers_is_a_problem_of_its_member_and_the_next_run_ends_it(stage: Stage) -> None:
    """F5: no hang, and no other member is held up."""
    stage.workers = 2
    first = stage.start(writes("b-second"), max_idle=0)
    parent = ("PATCH", f"{PARENTS}/{stage.fleet.name}")
    until(lambda: stage.gateways["m1"].seen.count(parent) == 2)
    (busy,) = [pid for pid in children(first.worker) if stage.gateways["m2"].talks_to(pid, first.worker)]
    first.kill(signal.SIGKILL, busy)
    first.ended(300)
    assert first.process.returncode == 2 and "Traceback" not in first.output
    assert '"code": "worker-lost"' in first.output
    told = [line.strip() for line in first.output.splitlines() if line.strip().startswith("! ")]
    assert len(told) == 1 and told[0].startswith("! m2: the process that worked on it has ended"), told
    assert stage.content("m1") == {**dict.fromkeys(NAMES, "after"), "foreign": ""}
    assert stage.content("m2")["c-third"] == "before"
    stage.go.set()
    stage.again().code(0)
    stage.all_well()
