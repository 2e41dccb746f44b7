# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The bindings of one placement while it is scheduled (KubeFleet scheduler): how new ones are named, held under a
policy, dropped, re-used, their finalizer taken off (``state-not-remembered``)."""

from __future__ import annotations

import hashlib
import typing as t
from dataclasses import dataclass, replace

from ...errors import FleetError, Problem
from ...objects.clusters.evacuation import EVACUATED
from ...objects.placements.binding import (
    BOUND,
    PREVIOUS_STATE,
    SCHEDULED,
    SCHEDULER_FINALIZER,
    UNSCHEDULED,
    BindingSpec,
    ClusterDecision,
    ClusterResourceBinding,
    ClusterScore,
)
from ...scheduling import bitset
from ...schema.meta import EMPTY, ObjectMeta
from ..index import FleetIndex
from ..request import SchedulingRequest

CREATED, REBASED, RESTORED = "created", "rebased", "restored"
DROPPED, RELEASED = "unscheduled", "finalizer-removed"
PLACEMENT_CHARACTERS, CLUSTER_CHARACTERS = 26, 27


@dataclass(frozen=True)
class Pick:
    """A cluster that was chosen; ``score`` is None where nothing was scored (PickFixed); of PickAll it is 0."""

    cluster: str
    score: ClusterScore | None
    reason: str

    @property
    def decision(self) -> ClusterDecision:
        """The form of ``clusterDecision`` in a binding."""
        return ClusterDecision(cluster_name=self.cluster, selected=True, reason=self.reason, cluster_score=self.score)


@dataclass(frozen=True)
class BindingChange:
    """``what`` is created, rebased, restored, unscheduled or finalizer-removed."""

    binding: str
    cluster: str
    what: str


@dataclass(frozen=True)
class Taken:
    """Names of the bindings that one batch of picks created and patched, in the order they were handled."""

    created: tuple[str, ...]
    patched: tuple[str, ...]


class Bindings:
    """The bindings, changed in memory only. At first each is one of, first match wins: deleting (its finalizer goes),
    unscheduled, dangling (its cluster is gone, leaving or evacuated, so it is unscheduled), obsolete (made for another
    policy), current. ``unscheduled``, ``obsolete`` and ``current`` are lists of names; deleting and dangling ones are
    in none, so that they are not re-used. Of several current and obsolete ones of a cluster one stays, a current before
    an obsolete and a Bound before a Scheduled; for upstream all. ``by_name`` has all bindings as they are by now,
    ``changes`` and ``findings`` what was done and found so far."""

    def __init__(self, asked: SchedulingRequest, bindings: t.Iterable[ClusterResourceBinding]) -> None:
        self.asked = asked
        self.by_name = {each.metadata.name: each for each in sorted(bindings, key=lambda each: each.metadata.name)}
        self.changes: list[BindingChange] = []
        self.findings: list[Problem] = []
        self.unscheduled: list[str] = []
        self.obsolete: list[str] = []
        self.current: list[str] = []
        for name, binding in list(self.by_name.items()):
            self._classify(name, binding)
        if not asked.upstream:
            self._drop_doubles()

    def _classify(self, name: str, binding: ClusterResourceBinding) -> None:
        """Puts the binding where it belongs, as the class says; a dropped one of an evacuated cluster gets a mark."""
        if binding.metadata.deletion_timestamp is not None:
            self._release(binding)
        elif binding.spec.state == UNSCHEDULED:
            self.unscheduled.append(name)
        elif _gone(self.asked.index, binding.spec.target_cluster):
            self.drop([name])
        elif self.asked.index.evacuated >> self.asked.index.positions[binding.spec.target_cluster] & 1:
            self.drop([name], {EVACUATED: "true"})
        elif binding.spec.scheduling_policy_snapshot_name != self.asked.snapshot.name:
            self.obsolete.append(name)
        else:
            self.current.append(name)

    def _drop_doubles(self) -> None:
        """Drops all but one of the current and obsolete bindings of each cluster, as the class says."""
        held: dict[str, str] = {}
        for names in (self.current, self.obsolete):
            for name in sorted(names, key=lambda each: self.by_name[each].spec.state != BOUND):
                held.setdefault(self._cluster(name), name)
        one = set(held.values())
        doubles = [name for name in (*self.current, *self.obsolete) if name not in one]
        self.drop_listed(doubles)

    def net_changes(self) -> tuple[BindingChange, ...]:
        """One change for each binding that was changed, the last that was made to it, in the order in which they were
        touched first; unscheduled and then restored is rebased."""
        net: dict[str, BindingChange] = {}
        for change in self.changes:
            before = net.get(change.binding)
            if before and (before.what, change.what) == (DROPPED, RESTORED):
                change = BindingChange(change.binding, change.cluster, REBASED)
            net[change.binding] = change
        return tuple(net.values())

    def in_state(self, state: str) -> list[str]:
        """Names of the current bindings in that state, sorted."""
        return sorted(name for name in self.current if self.by_name[name].spec.state == state)

    def clusters(self, names: t.Iterable[str]) -> int:
        """The clusters that bindings point at, as a bit set by position. KeyError for one that is not in the index."""
        index = self.asked.index
        return bitset.of([index.positions[self._cluster(name)] for name in names], index.size)

    def drop(self, names: t.Iterable[str], marks: t.Mapping[str, str] = EMPTY) -> None:
        """Marks the bindings as Unscheduled, with ``marks`` and the state before in annotations; with
        ``asked.upstream`` all others are lost. The lists, such as ``current``, stay as they are."""
        for name in names:
            binding = self.by_name[name]
            remembered = {**marks, PREVIOUS_STATE: binding.spec.state}
            if not self.asked.upstream:
                remembered = {**binding.metadata.annotations, **remembered}
            self.by_name[name] = replace(
                binding,
                metadata=replace(binding.metadata, annotations=remembered),
                spec=replace(binding.spec, state=UNSCHEDULED),
            )
            self._note(name, DROPPED)

    def drop_listed(self, names: t.Sequence[str]) -> None:
        """Drops these of the current and obsolete bindings, which are then in ``unscheduled``."""
        self.drop(names)
        gone = set(names)
        self.current = [name for name in self.current if name not in gone]
        self.obsolete = [name for name in self.obsolete if name not in gone]
        self.unscheduled = sorted([*self.unscheduled, *names])

    def leave_doubles(self, clusters: t.Container[str]) -> None:
        """Takes bindings that stay as they are, as upstream's PickFixed does, off the lists: of these ``clusters`` all
        that are not current where one is, else all but the last obsolete one by name, or without one the last
        unscheduled one."""
        others = [*self.unscheduled, *self.obsolete]
        one_of = {self._cluster(name): name for name in (*others, *self.current)}
        left = {name for name in others if self._cluster(name) in clusters and one_of[self._cluster(name)] != name}
        self.obsolete = [name for name in self.obsolete if name not in left]
        self.unscheduled = [name for name in self.unscheduled if name not in left]

    def take(self, picks: t.Sequence[Pick]) -> Taken:
        """Has bindings hold the picked clusters, which no current binding may hold: old ones (obsolete or unscheduled),
        or else new ones. Other obsolete ones are dropped.

        A cluster with an obsolete binding gets no unscheduled one, one without the first unscheduled one by name;
        upstream patches all. A state before Unscheduled that is not recorded (``state-not-remembered``) is one of
        ``findings``, and told by what the binding holds; upstream fails (FleetError). Upstream also fails
        (``invalid-name``) where a new binding's name would have a dot.
        """
        wanted = {pick.cluster: pick for pick in picks}
        rebase = [name for name in self.obsolete if self._cluster(name) in wanted]
        taken = {self._cluster(name) for name in rebase}
        restore = []
        for name in self.unscheduled:
            cluster = self._cluster(name)
            if cluster in wanted and (self.asked.upstream or cluster not in taken):
                restore.append(name)
                taken.add(cluster)
        states = {name: self._remembered(name) for name in restore}
        new = [pick for pick in picks if pick.cluster not in taken]
        if self.asked.upstream:
            self._check_names(new)
        created = [self._create(pick) for pick in new]
        for name in rebase:
            self._hold(name, wanted[self._cluster(name)], self.by_name[name].spec.state, REBASED)
        for name in restore:
            self._hold(name, wanted[self._cluster(name)], states[name], RESTORED)
        held = {*rebase, *restore}
        self.obsolete = [name for name in self.obsolete if name not in held]
        self.unscheduled = [name for name in self.unscheduled if name not in held]
        self.drop_listed(self.obsolete)
        self.current += [*created, *rebase, *restore]
        return Taken(tuple(created), (*rebase, *restore))

    def _cluster(self, name: str) -> str:
        """The cluster of the binding with that name."""
        return self.by_name[name].spec.target_cluster

    def _note(self, name: str, what: str) -> None:
        """Adds a change of the binding to ``changes``."""
        self.changes.append(BindingChange(name, self._cluster(name), what))

    def _release(self, binding: ClusterResourceBinding) -> None:
        """Takes the scheduler's finalizer off a binding, if it has it."""
        kept = tuple(one for one in binding.metadata.finalizers if one != SCHEDULER_FINALIZER)
        if kept != binding.metadata.finalizers:
            name = binding.metadata.name
            self.by_name[name] = replace(binding, metadata=replace(binding.metadata, finalizers=kept))
            self._note(name, RELEASED)

    def _check_names(self, picks: t.Iterable[Pick]) -> None:
        """FleetError ``invalid-name`` where upstream, which wants an RFC 1123 label, cannot name a binding."""
        placement = self.asked.placement.metadata.name
        for pick in picks:
            name = f"{placement[:PLACEMENT_CHARACTERS]}-{pick.cluster[:CLUSTER_CHARACTERS]}"
            if "." in name:
                raise FleetError("invalid-name", f"no binding can be called {name}, as it has a dot", name)

    def _create(self, pick: Pick) -> str:
        """Adds a new binding, Scheduled, for the picked cluster, and gives its name."""
        placement, snapshot = self.asked.placement, self.asked.snapshot
        name = binding_name(self.asked.namespace, placement.metadata.name, pick.cluster, snapshot.name, self.by_name)
        self.by_name[name] = ClusterResourceBinding(
            kind=placement.key.kinds.binding,
            api_version=placement.api_version,
            metadata=ObjectMeta(
                name=name,
                namespace=self.asked.namespace,
                labels=placement.key.labels,
                finalizers=(SCHEDULER_FINALIZER,),
            ),
            spec=BindingSpec(
                state=SCHEDULED,
                target_cluster=pick.cluster,
                scheduling_policy_snapshot_name=snapshot.name,
                cluster_decision=pick.decision,
                apply_strategy=placement.spec.strategy.apply_strategy,
            ),
        )
        self._note(name, CREATED)
        return name

    def _hold(self, name: str, pick: Pick, state: str, what: str) -> None:
        """Makes an old binding hold the picked cluster in that ``state``, under the current policy; RESTORED takes the
        marks of being Unscheduled off, but for upstream."""
        binding = self.by_name[name]
        metadata = binding.metadata
        if what == RESTORED and not self.asked.upstream:
            kept = {k: value for k, value in metadata.annotations.items() if k not in (PREVIOUS_STATE, EVACUATED)}
            metadata = replace(metadata, annotations=kept)
        spec = replace(
            binding.spec,
            state=state,
            scheduling_policy_snapshot_name=self.asked.snapshot.name,
            cluster_decision=pick.decision,
        )
        self.by_name[name] = replace(binding, metadata=metadata, spec=spec)
        self._note(name, what)

    def _remembered(self, name: str) -> str:
        """The state before Unscheduled. Where none is remembered, which is a finding, Bound if it holds resources, else
        Scheduled; for upstream FleetError ``state-not-remembered``, and any text is a state."""
        binding = self.by_name[name]
        state = binding.metadata.annotations.get(PREVIOUS_STATE)
        if state in (SCHEDULED, BOUND) or (state and self.asked.upstream):
            return state
        where = f"{binding.kind}/{name} metadata.annotations[{PREVIOUS_STATE}]"
        problem = Problem("state-not-remembered", "the state before Unscheduled is not recorded", where)
        if self.asked.upstream:
            raise FleetError.of([problem])
        self.findings.append(problem)
        return BOUND if binding.spec.resource_snapshot_name else SCHEDULED


def binding_name(namespace: str, placement: str, cluster: str, snapshot: str, taken: t.Container[str]) -> str:
    """The name of a new binding, ``<placement>-<cluster>-<8 hex>``, with both cut so that it has at most 63 characters;
    the same for equal inputs, never one of ``taken``."""
    attempt = 0
    while True:
        seed = "\n".join((namespace, placement, cluster, snapshot, str(attempt)))
        digest = hashlib.sha256(seed.encode()).hexdigest()[:8]
        parts = (placement[:PLACEMENT_CHARACTERS], cluster[:CLUSTER_CHARACTERS])
        name = "-".join((*(part.rstrip("-.") for part in parts), digest))
        if name not in taken:
            return name
        attempt += 1


def _gone(index: FleetIndex, cluster: str) -> bool:
    """Whether the cluster is not in the fleet, or leaving it."""
    position = index.positions.get(cluster)
    return position is None or bool(index.leaving >> position & 1)
