# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Rotation, rollout and staged run over made-up worlds, each behind the steering that the conductor's loop asks for."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.rotation import decide as rotation
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.rotation.input import (
    RotationInput,
    RotationNode,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.rotation.state import (
    RotationSettings,
    RotationState,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.machine import Decision
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.binding import (
    ClusterResourceBinding,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.staged.update_run import ClusterStagedUpdateRun
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.content import RolloutBinding, WantedContent
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.rolling import decide as rolling
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged import decide as staged
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged import world as staged_world
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode, encode
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor.journal import Change
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Lease, Record
from ansible_collections.gitops.fleet.tests.simulation.virtual_time import BEGINNING
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.rollout import made, staged_made

KIND, NAME = "UpdateRun", "machine"
# Done at once, and decided again until it is seen: never in flight.
ASKING = ("request ", "accept ")
S = t.TypeVar("S")
Write = t.Callable[[str, t.Callable[[], object]], object]


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


class StateBook(t.Generic[S]):
    """A state as it is, in the status of one record."""

    kind, name, uid = KIND, NAME, ""

    def __init__(self, to_data: t.Callable[[S], t.Any], of_data: t.Callable[[t.Any], S]) -> None:
        self.to_data, self._of_data = to_data, of_data
        self._epoch = self._written = 0

    def read(self, document: Record) -> S:
        self._epoch = document["status"]["epoch"]
        return self._of_data(document["status"]["state"])

    def written(self, document: Record, state: S, epoch: int) -> Record:
        self._written = epoch
        return {**document, "status": {"epoch": epoch, "state": self.to_data(state)}}

    def remember(self) -> None:
        self._epoch = self._written

    def epoch(self) -> int:
        return self._epoch

    def gone(self) -> FleetError:
        return FleetError("gone", "nobody deletes it here")


@dataclass
class MachineWorld(t.Generic[S]):
    """What there is besides the record, on a clock that moves while the conductor waits.

    ``effects`` are operations that really began something, in order: an act that is begun again begins nothing.
    ``recorded`` gives those that the record has in flight; ``unrecorded`` are those that began without being there.
    """

    now: datetime = BEGINNING
    effects: list[str] = field(default_factory=list)
    due: dict[str, datetime] = field(default_factory=dict)
    recorded: t.Callable[[], set[str]] = set
    unrecorded: list[str] = field(default_factory=list)

    def clock(self) -> datetime:
        return self.now

    def act(self, act: t.Any, state: S) -> None:
        if act.operation not in self.effects:
            self.effects.append(act.operation)
            if not act.operation.startswith(ASKING) and act.operation not in self.recorded():
                self.unrecorded.append(act.operation)
            self.begun(act, state)

    def begun(self, act: t.Any, state: S) -> None:
        raise NotImplementedError

    def happen(self) -> list[str]:
        """What is due by now."""
        found = [name for name, at in self.due.items() if at <= self.now]
        for name in found:
            del self.due[name]
        return found


class MachineSteering(t.Generic[S]):
    """``machine`` is the module that decides."""

    def __init__(self, machine: t.Any, book: StateBook[S], world: MachineWorld[S], write: Write) -> None:
        self.book, self.world = book, world
        self._machine, self._write = machine, write
        self._told: list[Change[S]] = []

    def decide(self, state: S, seen: t.Any, now: datetime) -> Decision[S, t.Any]:
        return t.cast(Decision[S, t.Any], self._machine.decide(state, seen, now))

    def acts_in_flight(self, state: S) -> tuple[t.Any, ...]:
        return tuple(self._machine.acts_in_flight(state))

    def see(self, state: S, now: datetime) -> t.Any:
        raise NotImplementedError

    def settled(self, state: S) -> bool:
        raise NotImplementedError

    def look_before_beginning(self, _decision: t.Any, _seen: t.Any, _now: datetime) -> None:
        return None

    def before_store(self, decision: Decision[S, t.Any]) -> S:
        return decision.state

    def stored(self, _state: S, _lease: Lease) -> None:
        """There is nothing to show."""

    def carry_out(self, act: t.Any, state: S, resumed: bool) -> None:
        self._write(act.operation, lambda: self.world.act(act, state))

    def release(self, _state: S) -> None:
        """Nothing is held."""

    def drain_events(self, state: S, now: datetime) -> t.Iterable[Change[S]]:
        told, self._told = self._told, []
        return told

    def keep(self, _state: S, _now: datetime) -> None:
        """Nothing is held."""

    def next_look(self) -> datetime:
        return self.world.now + seconds(1)

    def wait(self, time: float) -> None:
        self.world.now += seconds(time)

    def close(self) -> None:
        """Nothing is followed."""


@dataclass
class RotationWorld(MachineWorld[RotationState]):
    """Four nodes of a pool. The first drain of one fails; new nodes come when old ones have gone."""

    nodes: dict[str, RotationNode] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    born: int = 0

    def begun(self, act: t.Any, state: RotationState) -> None:
        if act.kind == "release":
            self.failed.pop(act.node, None)
        else:
            self.due[f"{act.node} {act.attempt}"] = self.now + seconds(4)

    def sight(self) -> RotationInput:
        for what in self.happen():
            name, _space, attempt = what.partition(" ")
            if name == "new":
                self.born += 1
                self.nodes[f"new-{self.born}"] = RotationNode(name=f"new-{self.born}", uid=f"n{self.born}", pool="p")
            elif (name, attempt) == ("p-1", "1"):
                self.failed[name] = "its machine does not answer"
            else:
                del self.nodes[name]
                self.due[f"new {name}"] = self.now + seconds(3)
        return RotationInput(nodes=tuple(self.nodes.values()), failed=dict(self.failed))


class RotationSteering(MachineSteering[RotationState]):
    world: RotationWorld

    def see(self, _state: RotationState, _now: datetime) -> RotationInput:
        return self.world.sight()

    def carry_out(self, act: t.Any, state: RotationState, resumed: bool) -> None:
        super().carry_out(act, state, resumed)
        if act.kind == "release":
            self._told.append(lambda now: rotation.released(now, act.operation))

    def settled(self, state: RotationState) -> bool:
        return state.done


def rotation_of_four() -> tuple[RotationWorld, RotationState]:
    nodes = {f"p-{at}": RotationNode(name=f"p-{at}", uid=f"u{at}", pool="p") for at in range(4)}
    settings = RotationSettings(first_wave=2, attempts=2, retry_after=5, node_timeout=600)
    state = rotation.begin(nodes, RotationInput(nodes=tuple(nodes.values())), settings, BEGINNING)
    return RotationWorld(nodes=nodes), state


@dataclass
class RolloutWorld(MachineWorld[rolling.RolloutState]):
    """Members hold what they are given two seconds later, and say so; cleaned ones are gone."""

    reports: dict[str, tuple[int, datetime]] = field(default_factory=dict)
    cleaned: set[str] = field(default_factory=set)

    def begun(self, act: t.Any, state: rolling.RolloutState) -> None:
        self.due[f"{act.binding} {act.generation} {act.action}"] = self.now + seconds(2)

    def pass_by(self) -> None:
        for what in self.happen():
            name, generation, action = what.split(" ")
            if action == "remove":
                self.cleaned.add(name)
            else:
                self.reports[name] = (int(generation), self.now)


class RolloutSteering(MachineSteering[rolling.RolloutState]):
    world: RolloutWorld
    wanted = rolling.RolloutSeen(
        placement=made.placement(made.pick_n(4), maxUnavailable=1, maxSurge=1),
        wanted=WantedContent(resource_snapshot=made.NEW, overrides={}),
    )

    def see(self, _state: rolling.RolloutState, _now: datetime) -> rolling.RolloutSeen:
        return self.wanted

    def carry_out(self, act: t.Any, state: rolling.RolloutState, resumed: bool) -> None:
        """What is done by being recorded needs nothing more."""
        if act.action not in rolling.RECORDED:
            super().carry_out(act, state, resumed)

    def drain_events(self, state: rolling.RolloutState, now: datetime) -> t.Iterable[Change[rolling.RolloutState]]:
        self.world.pass_by()
        after = self._heard(state)
        return [] if after == state else [self._heard]

    def _heard(self, state: rolling.RolloutState) -> rolling.RolloutState:
        there = (each for each in state.bindings if each.name not in self.world.cleaned)
        return replace(state, bindings=tuple(self._reported(each) for each in there))

    def _reported(self, each: RolloutBinding) -> RolloutBinding:
        generation, at = self.world.reports.get(each.name, (0, BEGINNING))
        if each.binding.metadata.generation != generation:
            return each
        return staged_made.reported(each, "Available", "True", "AllWorkAreAvailable", at)

    def settled(self, state: rolling.RolloutState) -> bool:
        return state.report.outcome == rolling.DONE and not state.report.waits


def rollout_of_five() -> tuple[RolloutWorld, rolling.RolloutState]:
    """Three clusters are updated, one comes and one leaves."""
    bindings = [made.held(name, made.READY) for name in "abc"]
    bindings += [made.held("d", state="Scheduled"), made.held("e", made.READY, state="Unscheduled")]
    return RolloutWorld(), rolling.RolloutState(bindings=tuple(bindings))


@dataclass
class StagedWorld(MachineWorld[staged.StagedState]):
    """Members report two seconds later; a person approves what is asked for."""

    there: staged_world.ObservedState = staged_world.ObservedState(placement=None, strategy=None)

    def begun(self, act: t.Any, state: staged.StagedState) -> None:
        self.there = staged_world.carried_out(state.run, self.there, [act], self.now)
        if isinstance(act, (staged_world.BindCluster, staged_world.MarkStarted, staged_world.DeleteBinding)):
            self.due[f"{type(act).__name__} {act.cluster}"] = self.now + seconds(2)
        elif isinstance(act, staged_world.RequestApproval):
            self.due[f"approve {act.name}"] = self.now + seconds(2)

    def world(self) -> staged_world.ObservedState:
        for what in self.happen():
            kind, _space, name = what.partition(" ")
            game = staged_made.Play(self.there, staged_made.run()).after(seconds=0)
            game.now = self.now
            if kind == "approve":
                game.approve(name)
            elif kind == "DeleteBinding":
                game.vanish(name)
            else:
                game.report(name)
            self.there = game.world
        return self.there


class StagedSteering(MachineSteering[staged.StagedState]):
    world: StagedWorld

    def see(self, _state: staged.StagedState, _now: datetime) -> staged_world.ObservedState:
        return self.world.world()

    def carry_out(
        self, act: t.Any, state: staged.StagedState, _resumed: bool = False, *, resumed: bool = False
    ) -> None:
        """A cluster in flight is followed by being seen: what was not begun is decided again."""
        # Not isinstance: what begins a cluster is one as well, and is carried out.
        if not (resumed and type(act) is staged_world.ClusterInFlight):  # pylint: disable=unidiomatic-typecheck
            super().carry_out(act, state, resumed)

    def settled(self, state: staged.StagedState) -> bool:
        return staged.has_ended_or_stopped(state)


def staged_run_of_five() -> tuple[StagedWorld, staged.StagedState]:
    """Two stages, an approval before each and one after, and a cluster that leaves."""
    asked: dict[str, t.Any] = {"beforeStageTasks": [staged_made.APPROVAL], "afterStageTasks": [staged_made.APPROVAL]}
    stages = (
        staged_made.stage("canary", {"ring": "canary"}, **asked),
        staged_made.stage("prod", {"ring": "prod"}, maxConcurrency=2, **asked),
    )
    labels = {name: {"ring": "canary" if name == "a" else "prod"} for name in "abcde"}
    there = staged_made.world("abcd", *stages, gone="e", labels=labels)
    return StagedWorld(there=there), staged.StagedState(run=staged_made.run())


def _bindings(state: rolling.RolloutState) -> list[t.Any]:
    return [encode(each.binding) for each in state.bindings]


def _rollout(data: t.Any) -> rolling.RolloutState:
    return rolling.RolloutState(
        bindings=tuple(RolloutBinding(binding=decode(ClusterResourceBinding, each)) for each in data)
    )


@dataclass(frozen=True)
class Simulated:
    """One machine: its world at the beginning, and how it is conducted."""

    begin: t.Callable[[], tuple[MachineWorld[t.Any], t.Any]]
    steering: type[MachineSteering[t.Any]]
    module: t.Any
    to_data: t.Callable[[t.Any], t.Any]
    of_data: t.Callable[[t.Any], t.Any]

    def book(self) -> StateBook[t.Any]:
        return StateBook(self.to_data, self.of_data)


MACHINES = {
    "rotation": Simulated(
        rotation_of_four, RotationSteering, rotation, encode, lambda data: decode(RotationState, data)
    ),
    "rollout": Simulated(rollout_of_five, RolloutSteering, rolling, _bindings, _rollout),
    "staged run": Simulated(
        staged_run_of_five,
        StagedSteering,
        staged,
        lambda state: encode(state.run),
        lambda data: staged.StagedState(run=decode(ClusterStagedUpdateRun, data)),
    ),
}
