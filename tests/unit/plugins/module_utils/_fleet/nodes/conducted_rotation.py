# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A rotation to be conducted over members that are a few words in memory, on ground that a test may change."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.pod import DO_NOT_DISRUPT
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.state_node import Node
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.member_nodes import MemberNodes
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.nodes_snapshot import NodesSnapshot
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.rotation_sight import RotationGround
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.rotation.decide import begin
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.rotation.state import RotationState
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError, Problem
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.api_groups import FLEET_API
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.node_rotation import NodeRotation
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.reading import read
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor.loop import Ending, RunLimits, conduct
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.other_rotations import OtherRotations
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.rotation_ground import Around
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.rotation_record import (
    RotationBook,
    record_begun,
    rotation_document,
    rotation_state,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.rotation_steering import RotationSteering
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.rotation_words import RotationTelling
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.workers import WorkEnd
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.recorded import recorded
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from ansible_collections.gitops.fleet.tests.data.maintenance_parts import maintenance, rotation

START = datetime(2026, 3, 28, 12, tzinfo=UTC)
FAST = {"firstWave": 99, "growth": 1, "nodeTimeoutSeconds": 600}
ONE_NODE = maintenance(budgets=[{"name": "one", "nodes": "1"}])
FROZEN = {"name": "emergency", "start": "2026-03-01", "end": "2026-04-30"}
SITES = "cluster.kubernetes-fleet.io/v1beta1"
Document = dict[str, t.Any]


BY_ONE = {**FAST, "firstWave": 1, "replacement": "none"}


class Fleet:
    """Members ``m1`` and ``m2`` with nodes by name. It plays the workers: what is begun ends as ``failures`` say, by
    the kind of the act; who waits moves the clock."""

    def __init__(self, **nodes: str) -> None:
        self.nodes = {name: list(told) for name, told in nodes.items()}
        self.time = START
        self.failures: dict[str, str] = {}
        self.reads: list[t.Collection[str] | None] = []
        self.begun: list[str] = []
        self.halted: list[str] = []
        self.inherited: list[str] = []
        self.silent: set[str] = set()
        self.kept: set[str] = set()
        self.holds = self
        self._ends: list[WorkEnd] = []

    def look(self, now: datetime, names: t.Collection[str] | None) -> NodesSnapshot:
        self.reads.append(names)
        there = [name for name in self.nodes if names is None or name in names]
        members = tuple(
            MemberNodes(name=name, nodes=tuple(self.node(each) for each in self.nodes[name]))
            for name in there
            if name not in self.silent
        )
        failed = {name: Problem("timeout", "no answer", name) for name in there if name in self.silent}
        return NodesSnapshot(captured_at=now, members=members, failed=failed)

    def node(self, name: str) -> Node:
        return Node(name=name, uid=f"u-{name}", annotations={DO_NOT_DISRUPT: "true"} if name in self.kept else {})

    def begin(self, node: str, operation: str, _work: t.Any) -> None:
        self.begun.append(operation)
        kind = operation.rpartition(".")[2]
        if kind in self.failures:
            self._ends.append(WorkEnd(operation=operation, node=node, failure=self.failures[kind]))

    def halt(self, node: str) -> None:
        self.halted.append(node)

    def end(self, operation: str) -> None:
        node = operation.rpartition(".")[0].rpartition(".")[0]
        self._ends.append(WorkEnd(operation=operation, node=node))

    def ended(self) -> tuple[WorkEnd, ...]:
        found, self._ends = tuple(self._ends), []
        return found

    def wait(self, _seconds: float) -> None:
        self.time += timedelta(seconds=1)

    def inherit(self, members: t.Iterable[str]) -> None:
        self.inherited.extend(members)

    def keep(self) -> None:
        """Nothing is held."""

    def keep_only(self, _members: t.Any) -> None:
        """Nothing is held."""

    def close(self) -> None:
        """Nothing is followed."""

    def clock(self) -> datetime:
        return self.time


class Surroundings:
    """What a rotation stands on: ``present`` is it as it is by now, or why it is not known; ``ahead`` is how far the
    clocks of servers are, and ``left`` who lets which member go."""

    def __init__(self, ground: RotationGround) -> None:
        self.at_first = ground
        self.present: RotationGround | FleetError = ground
        self.ahead = timedelta(0)
        self.left: dict[str, str] = {}

    def ground(self, _now: datetime) -> RotationGround:
        if isinstance(self.present, FleetError):
            raise self.present
        return self.present

    def clock_ahead(self) -> timedelta:
        return self.ahead

    def leaving(self) -> dict[str, str]:
        return self.left


class Conducted:
    """A rotation that is recorded, and its steering."""

    def __init__(self, records: SqliteRecords, fleet: Fleet, document: Document, *maintenances: Document) -> None:
        self.records, self.fleet = records, fleet
        wanted = t.cast(NodeRotation, read(document).object)
        windows = t.cast(t.Any, tuple(read(each).object for each in maintenances))
        self.ground = RotationGround(rotation=wanted, maintenance=windows, fleet=dict.fromkeys(fleet.nodes, {}))
        members = fleet.look(START, None).members
        state = begin(self.ground.due(members, START), self.ground.step_input(members, START), wanted.spec.pace, START)
        record_begun(records, wanted, state, "test", None)
        self.name = wanted.name
        self.around = Surroundings(self.ground)
        self.surroundings: Around = self.around
        self.said: list[str] = []
        self.steering = self.steered()

    def steered(self) -> RotationSteering:
        """For a conductor that knows nothing but the record."""
        others = OtherRotations(self.records, self.name, "me")
        workers, replacer = t.cast(t.Any, self.fleet), t.cast(t.Any, None)
        return RotationSteering(RotationBook(self.name), self.surroundings, self.fleet.look, workers, replacer, others)

    def on(self, **changes: t.Any) -> None:
        """From now on it stands on this ground."""
        self.around.present = replace(self.ground, **changes)

    @property
    def told(self) -> list[str]:
        return [why.text for held in self.steering.waits for why in held.blockers]

    def run(self, seconds: int = 30) -> Ending[RotationState]:
        def told() -> str:
            return "enough" if self.fleet.time >= START + timedelta(seconds=seconds) else ""

        telling = RotationTelling(self.name, self.said.append, lambda *_each: None, lambda: self.steering.waits)
        limits = RunLimits(holder="me", max_idle=timedelta(seconds=20), interrupted=told)
        return conduct(self.records, f"rotation/{self.name}", self.steering, self.fleet.clock, telling, limits)

    @property
    def state(self) -> RotationState:
        return rotation_state(recorded(NodeRotation, rotation_document(self.records, self.name)))


def named(name: str, **spec: t.Any) -> Document:
    document = rotation({"nodes": "100%"}, **{"pace": FAST, **spec})
    return {**document, "metadata": {"name": name}}


def join(records: SqliteRecords, name: str, **labels: str) -> None:
    member = {"apiVersion": FLEET_API, "kind": "FleetMember", "metadata": {"name": name}}
    records.create({**member, "spec": {"connection": {"kubeconfig": "x"}}})
    identity = {"identity": {"kind": "User", "name": "fleet"}}
    records.create(
        {"apiVersion": SITES, "kind": "MemberCluster", "metadata": {"name": name, "labels": labels}, "spec": identity}
    )
