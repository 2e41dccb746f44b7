# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Random evictions by the real verb over made-up members: killed at any write, answers lost, objects that do not go.

No available cluster is given up that the budget needs, whatever was cut short before; none is cleaned that was not
given up in the records first; and each eviction comes to its end or says what keeps it. How many: EVICTIONS in the
environment, 300 without it.
"""

from __future__ import annotations

import os
import random
import typing as t
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError, Problem
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import ObjectId
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.document import PlacementPlan
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.losing.evicted import OVER, REFUSED, UNDERWAY
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.member import NOT_GONE
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.outcome import MemberOutcome, ObjectFailure
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.int_or_percent import scaled
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.evictions import carry_out
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.evictions.carry_out import (
    EvictionReport,
    EvictionRequest,
    run_evictions,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.look import Writing
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from ansible_collections.gitops.fleet.tests.simulation.virtual_time import BEGINNING, Died

COURSES = int(os.environ.get("EVICTIONS", "300"))
API = "placement.kubernetes-fleet.io/v1beta1"
PLACED = ObjectId("", "v1", "Namespace", "", "shop")
BINDING = "ClusterResourceBinding"
WRITES = ("create", "replace", "delete", "acquire", "release", "event")
Document = dict[str, t.Any]


@dataclass
class World:
    """Which clusters hold the placement, and whether it is available there. ``lives`` are how many more writes the
    present process makes; -1 for as many as it likes."""

    draw: random.Random
    target: int
    budget: dict[str, int | str]
    available: dict[str, bool] = field(default_factory=dict)
    now: datetime = BEGINNING
    lives: int = -1
    honest: bool = False

    def write(self) -> None:
        if self.lives == 0:
            raise Died
        self.lives -= 1

    def remove(self, name: str) -> None:
        """On the member."""
        assert not self.available.pop(name, False), f"{name} was cleaned, and nothing says so"

    def give_up(self, name: str) -> None:
        """From the instant at which it is recorded that a cluster is being cleaned, nobody counts on it."""
        if not self.available.get(name):
            return
        self.available[name] = False
        left = sum(self.available.values())
        for word, value in self.budget.items():
            limit = scaled(value, self.target, round_up=True)
            kept = left >= limit if word == "minAvailable" else self.target - left <= limit
            assert kept, f"{name} was given up: {left} of {self.target} are left under {self.budget}"


class MortalRecords:
    """The records as a process sees them that may be killed at each of its writes."""

    def __init__(self, records: SqliteRecords, world: World) -> None:
        self._records, self._world = records, world

    def __getattr__(self, name: str) -> t.Any:
        found = getattr(self._records, name)
        if name not in WRITES:
            return found

        def writing(*arguments: t.Any, **more: t.Any) -> t.Any:
            self._world.write()
            kept = found(*arguments, **more)
            if name == "replace" and kept["kind"] == BINDING and kept["spec"]["state"] != "Bound":
                self._world.give_up(kept["spec"]["targetCluster"])
            return kept

        return writing


class Course:
    """One placement on some clusters, and people who want it to leave some of them."""

    def __init__(self, seed: int, folder: Path) -> None:
        draw = random.Random(seed)
        self.names = [f"c{number}" for number in range(draw.randint(1, 6))]
        pick_n = draw.random() < 0.7
        least = {"minAvailable": draw.choice([0, 1, 2, "40%", "80%"]) if pick_n else draw.choice([0, 1, 2])}
        most = {"maxUnavailable": draw.choice([0, 1, 2, "25%", "50%"])}
        budget = draw.choice([least, most]) if pick_n else least
        self.world = World(draw, len(self.names), budget, dict.fromkeys(self.names, True))
        self.store = SqliteRecords(folder / f"{seed}.db", lambda: self.world.now)
        self.policy = (
            {"placementType": "PickN", "numberOfClusters": len(self.names)} if pick_n else {"placementType": "PickAll"}
        )
        for each in self._documents():
            self.store.create(each)
        for name in self.names:
            self.bind(name)

    def _documents(self) -> t.Iterator[Document]:
        selector = {"group": "", "version": "v1", "kind": "Namespace", "name": "shop"}
        spec = {"resourceSelectors": [selector], "policy": self.policy}
        yield {"apiVersion": API, "kind": "ClusterResourcePlacement", "metadata": {"name": "shop"}, "spec": spec}
        budget = {"name": "shop"}
        kind = "ClusterResourcePlacementDisruptionBudget"
        yield {"apiVersion": API, "kind": kind, "metadata": budget, "spec": dict(self.world.budget)}
        labels = {"kubernetes-fleet.io/parent-CRP": "shop", "kubernetes-fleet.io/resource-index": "0"}
        marks = {"kubernetes-fleet.io/resource-hash": "h"}
        metadata = {"name": "shop-0-snapshot", "labels": labels, "annotations": marks}
        objects = {"selectedResources": [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}]}
        yield {"apiVersion": API, "kind": "ClusterResourceSnapshot", "metadata": metadata, "spec": objects}
        for name in self.names:
            fleet = {"connection": {"kubeconfig": f"/none/{name}"}, "clusterUID": f"uid-{name}"}
            yield {
                "apiVersion": "gitops.fleet/v1alpha1",
                "kind": "FleetMember",
                "metadata": {"name": name},
                "spec": fleet,
            }

    def bind(self, name: str) -> None:
        """As an apply leaves it: the cluster holds the placement, and is available."""
        decision = {"clusterName": name, "selected": True, "reason": "picked"}
        spec = {
            "state": "Bound",
            "targetCluster": name,
            "schedulingPolicySnapshotName": "shop-0",
            "resourceSnapshotName": "shop-0-snapshot",
            "clusterDecision": decision,
        }
        metadata = {"name": f"shop-{name}", "labels": {"kubernetes-fleet.io/parent-CRP": "shop"}}
        made = self.store.create({"apiVersion": API, "kind": BINDING, "metadata": metadata, "spec": spec})
        self.store.replace({**made, "status": {"conditions": [_available("True")]}})
        self.world.available[name] = True

    def bindings(self) -> dict[str, Document]:
        return {each["spec"]["targetCluster"]: each for each in self.store.list(BINDING)}

    def time_passes(self) -> None:
        """Clusters fail and come right, and now and then an apply picks clusters for those that were left."""
        draw, bindings = self.world.draw, self.bindings()
        self.world.now += timedelta(seconds=draw.choice([1, 60, 3_600]))
        for name, each in bindings.items():
            if each["spec"]["state"] == "Bound" and draw.random() < 0.15:
                well = not self.world.available[name]
                self.world.available[name] = well
                self.store.replace({**each, "status": {"conditions": [_available("True" if well else "False")]}})
        if draw.random() < 0.3 and all(each["spec"]["state"] == "Bound" for each in bindings.values()):
            for name in set(self.names) - bindings.keys():
                self.bind(name)

    def ask(self, number: int) -> None:
        """Somebody creates an eviction."""
        spec = {"placementName": "shop", "clusterName": self.world.draw.choice([*self.names, "nobody"])}
        kind = "ClusterResourcePlacementEviction"
        self.store.create({"apiVersion": API, "kind": kind, "metadata": {"name": f"e{number}"}, "spec": spec})

    def run(self, *clusters: str) -> EvictionReport | None:
        """One process; None if it was killed."""
        records = t.cast(SqliteRecords, MortalRecords(self.store, self.world))
        session = Session(records=records, holder="me", clock=lambda: self.world.now, environ={})
        asked = EvictionRequest(placement="shop" if clusters else "", clusters=clusters, write=True)
        try:
            return run_evictions(session, asked)
        except Died:
            return None
        except FleetError as error:
            assert all(each.message for each in error.problems)
            raise

    def on_members(
        self, plan: PlacementPlan, *_given: object, writing: Writing | None = None, **_more: object
    ) -> dict[str, MemberOutcome]:
        (row,) = plan.clusters
        name, world = row.cluster, self.world
        fault = 1.0 if world.honest else world.draw.random()
        if fault < 0.1:
            return {name: MemberOutcome(cluster=name, error=Problem("unreachable", "cut off", name))}
        assert writing is not None
        writing.permit()
        if fault < 0.2:
            stuck = ObjectFailure(id=PLACED, reason=NOT_GONE, message="a finalizer holds it")
            return {name: MemberOutcome(cluster=name, done=True, failures=(stuck,))}
        world.write()
        world.remove(name)
        world.write()
        if fault < 0.3:
            return {name: MemberOutcome(cluster=name, error=Problem("timeout", "its answer was lost", name))}
        return {name: MemberOutcome(cluster=name, done=True)}


def _available(status: str) -> Document:
    return {
        "type": "Available",
        "status": status,
        "reason": "AllWorkAreAvailable" if status == "True" else "NotAllWorkAreAvailable",
        "message": "",
        "observedGeneration": 1,
        "lastTransitionTime": "2026-03-02T09:00:00Z",
    }


@pytest.mark.parametrize("seed", range(0, COURSES, 10))
def test_no_budget_is_exceeded_and_every_eviction_ends(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in range(seed, seed + 10):
        course = Course(each, tmp_path)
        monkeypatch.setattr(carry_out, "on_members", course.on_members)
        run_course(course)
        course.store.close()


def run_course(course: Course) -> None:
    world, draw = course.world, course.world.draw
    for number in range(draw.randint(1, 5)):
        world.lives = draw.randint(0, 12) if draw.random() < 0.6 else -1
        if draw.random() < 0.6:
            course.ask(number)
            told(course.run())
        else:
            told(course.run(*draw.sample(course.names, draw.randint(1, len(course.names)))))
        course.time_passes()
    world.lives, world.honest = -1, True
    told(course.run())
    gone = [name for name, each in course.bindings().items() if each["spec"]["state"] != "Bound"]
    if gone:
        told(course.run(*gone))
    over = course.run()
    assert over is not None and {each.state for each in over.results} <= {OVER}
    assert course.bindings().keys() == world.available.keys(), "what is recorded is what is there"
    for each in course.store.list("ClusterResourcePlacementEviction"):
        conditions = {one["type"]: one for one in each["status"]["conditions"]}
        last = conditions.get("Executed") or conditions["Valid"]
        assert last["status"] != "Unknown" and last["message"], "it says what came of it"


def told(report: EvictionReport | None) -> None:
    """Whatever is not done says what keeps it."""
    for each in report.results if report else ():
        assert each.verdict.message
        if each.state == UNDERWAY:
            assert any(each.cluster in one.where for one in report.problems) if report else True
        if each.state == REFUSED:
            assert not each.verdict.yes
