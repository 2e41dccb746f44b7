# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A state of a cluster made ready for simulations (nodes with what pods and DaemonSets leave free, taints, what limits
of pools leave, pending pods), and the simulation of nodes that go (Karpenter, ``SimulateScheduling``)."""

from __future__ import annotations

import typing as t
from datetime import datetime
from functools import cached_property

from ...cluster.cluster_state import ClusterState
from ...cluster.consolidation_wait import consolidation_eligibility
from ...cluster.pod import Pod, provisionable
from ...cluster.pod_requests import summed_requests
from ...cluster.state_node import ZONE, StateNode
from ...objects.clusters.member_cluster import Taint
from ...objects.clusters.tolerations import first_untolerated
from ...values.quantity import NANO
from .kinds import by_price, types_for_min_values
from .landscape import landscape
from .new_claim import Memory, NewClaim
from .reasons import why_unplaced
from .requirement import WELL_KNOWN, LabelRequirement, compatible, of_labels
from .rooms import Room, Rooms
from .settings import DEFAULTS, Settings
from .simulation import Misfit, Move, NewNode, Simulation
from .solve import Limits, SchedulingRun
from .templates import NODES, SOFT, MakingPool, Template, making_pools, possible_domains, template
from .topology import Landscape, PodTopology
from .wishes import HOSTNAME, PodDemands, Wishes, acceptable

# No more types than these are sent to a provider for one node.
MOST_TYPES = 600
EPHEMERAL = (
    ("node.kubernetes.io/not-ready", "NoSchedule"),
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoSchedule"),
    ("node.cloudprovider.kubernetes.io/uninitialized", "NoSchedule"),
    ("karpenter.sh/unregistered", "NoExecute"),
)
EPHEMERAL_FAMILY = "readiness.k8s.io/"


class Simulator:
    """What all simulations on one state at one instant share; each of them leaves it as it was."""

    def __init__(self, state: ClusterState, now: datetime, settings: Settings = DEFAULTS) -> None:
        self.state, self.now, self.settings = state, now, settings
        self.memory: Memory = {}
        self._asked: dict[t.Any, PodDemands] = {}
        self._zones: dict[str, str] = {}

    @cached_property
    def making(self) -> list[MakingPool]:
        """The pools that may make nodes, in the order in which they are tried. FleetError as of ``making_pools``."""
        return making_pools(self.state.pools.values())

    @cached_property
    def known(self) -> frozenset[str]:
        """Labels about which pods may ask although their pool does not speak of them: well-known ones, and those of
        instance types. FleetError as of ``making_pools``."""
        described = (key for each in self.making for kind in each.kinds for key in kind.type.labels)
        return WELL_KNOWN | frozenset(described)

    @cached_property
    def _templates(self) -> list[tuple[str, Template | None, bool]]:
        """Of each pool that may make nodes, in their order: its name, and what ``template`` gives. FleetError as of
        ``making_pools``."""
        return [(each.name, *template(each, self.state.daemons, self.known)) for each in self.making]

    @property
    def templates(self) -> list[Template]:
        """What the pools make nodes from, in their order, but those of ``without_types``. FleetError as of
        ``making_pools``."""
        return [found for _name, found, _short in self._templates if found is not None]

    @property
    def without_types(self) -> list[tuple[str, bool]]:
        """The names of the pools that can make nothing, in their order, each with whether ``minValues`` is why.
        FleetError as of ``making_pools``."""
        return [(name, short) for name, found, short in self._templates if found is None]

    @cached_property
    def soft_taints(self) -> bool:
        """Whether some pool that makes nodes has a soft taint, which pods may come to tolerate. FleetError as of
        ``making_pools``."""
        return any(taint.effect == SOFT for each in self.making for taint in each.taints)

    @cached_property
    def land(self) -> Landscape:
        """Nodes, pods and domains for constraints between pods, before anybody moves. FleetError as of
        ``making_pools``."""
        return landscape(self.state, possible_domains(self.making), self.settings)

    @cached_property
    def staying(self) -> list[StateNode]:
        """All nodes by name, NodeClaims without a Node included, but those on their way out."""
        return [each for each in self.state.nodes if not each.deleting]

    @cached_property
    def rooms(self) -> Rooms:
        """The nodes that stay, with what is free on them; each simulation leaves them as they were. Errors of
        ``simulate``."""
        return Rooms(self._room(each) for each in self.staying)

    @cached_property
    def _limits(self) -> Limits:
        """What the pools' limits leave beside all nodes that stay, by pool, negative where they are exceeded; pools
        without limits are not in it. FleetErrors of ``simulate``."""
        left = {each.name: dict(each.limits) for each in self.making if each.limits}
        for node in self.staying:
            _spend(left, node, -1)
        return left

    @cached_property
    def pending(self) -> list[Pod]:
        """Pods that wait for a node to be made, as of ``provisionable`` and ``acceptable``."""
        return [each for each in self.state.pending if provisionable(each) and acceptable(each)]

    @cached_property
    def leaving(self) -> list[StateNode]:
        """Nodes on their way out, by name; NodeClaims without a Node are left out."""
        return [each for each in self.state.nodes if each.deleting and each.node is not None]

    @cached_property
    def pods_leaving(self) -> list[tuple[Pod, StateNode]]:
        """Pods of nodes on their way out that need a place now, as of ``reschedulable_now``, each with its node."""
        limits = self.state.pod_budgets
        return [(pod, node) for node in self.leaving for pod in node.pods if limits.reschedulable_now(pod, self.now)]

    def simulate(self, going: t.Sequence[StateNode], consolidation: bool = False) -> Simulation:
        """What becomes of the pods of ``going`` and of nodes on their way out that need room at once
        (``reschedulable_now``), and of pods that wait (``pending``), if ``going`` were not there. FleetError
        ``undecodable``, ``invalid-quantity`` for pools and NodeClaims that cannot be read, ValueError for a
        ``consolidateAfter`` that is no duration.

        With ``consolidation`` pods that run move to no node whose ``consolidateAfter`` still runs, unless they come
        from a node on its way out; and, without constraints between pods, the first pod of a node that finds no place
        ends it, because that is all that is asked then.
        """
        names = frozenset(each.name for each in going)
        own = [
            (pod, each)
            for each in going
            for pod in each.pods
            if self.state.pod_budgets.reschedulable_now(pod, self.now)
        ]
        sources = {pod.key: node.name for pod, node in (*own, *self.pods_leaving)}
        asked = [self._demands_of(Wishes.of(each)) for each in self.pending]
        asked += [
            self._demands_of(Wishes.of(pod), node.labels.get(ZONE, "")) for pod, node in (*own, *self.pods_leaving)
        ]
        moving = frozenset(each.key for each in asked)
        work = SchedulingRun(
            rooms=self.rooms,
            templates=self.templates,
            topology=PodTopology(self.land, asked, names, moving),
            limits=self._without(going),
            known=self.known,
            memory=self.memory,
            ask=self._demands_of,
            soft_taints=self.soft_taints,
            old=frozenset(pod.key for pod, _node in self.pods_leaving),
            settled=consolidation,
        )
        self.rooms.leave_out(names)
        try:
            # Without constraints between pods nothing that comes later helps a pod for which there is no place now.
            work.solve(asked, (lambda one: one.key in sources and work.topology.idle) if consolidation else None)
            return self._outcome(work, sources)
        finally:
            self.rooms.undo()

    def _without(self, going: t.Iterable[StateNode]) -> Limits:
        """A copy of the limits that are left, with what the nodes ``going`` take given back. FleetErrors of
        ``simulate``."""
        left = {name: dict(amounts) for name, amounts in self._limits.items()}
        for node in going:
            _spend(left, node, 1)
        return left

    def _demands_of(self, wishes: Wishes, zone: str = "") -> PodDemands:
        """What a pod asks for, worked out once for each pod and what it has given up; a ``zone`` that was said once
        holds for it from then on."""
        lists = (wishes.terms, wishes.preferred_terms, wishes.spread, wishes.tolerations)
        key = (wishes.pod.key, *map(len, (*lists, wishes.preferred_affinity, wishes.preferred_anti_affinity)))
        found = self._asked.get(key)
        if found is None:
            zone = zone or self._zones.get(wishes.pod.key, "")
            self._zones.setdefault(wishes.pod.key, zone)
            found = self._asked[key] = PodDemands(wishes, self.settings.respect, zone)
        return found

    def _outcome(self, work: SchedulingRun, sources: t.Mapping[str, str]) -> Simulation:
        """What a run comes to; ``sources`` are the nodes that pods leave, by the pod's key."""
        misfits = {key: Misfit(key, why_unplaced(one, work)) for key, one in work.failed.items() if key in sources}
        moves, old = [], work.old
        for room in work.used:
            for one in room.pods:
                moves.append(Move(one.key, sources.get(one.key, ""), room.name))
                if not room.initialized and one.key not in old:
                    misfits[one.key] = Misfit(
                        one.key, f"pod {one.key} would go to {room.name}, which isn't initialized", room.name
                    )
        new: list[NewNode] = []
        for claim in work.claims:
            found = _finished(f"new-{len(new) + 1}", claim)
            if isinstance(found, str):
                misfits |= {one.key: Misfit(one.key, f"pod {one.key}: {found}") for one in claim.pods}
                continue
            new.append(found)
            moves += [Move(one.key, sources.get(one.key, ""), found.name) for one in claim.pods]
        binding = tuple(each for each in misfits.values() if each.pod in sources)
        return Simulation(tuple(moves), tuple(new), binding)

    def _room(self, node: StateNode) -> Room:
        """The node as a place for pods. Unless the setting ``upstream`` is on, soft taints do not count, and an
        initialized node that is not Ready takes no pod. Errors of ``simulate``."""
        labels = node.labels
        hostname = labels.get(HOSTNAME) or node.name
        requirements = of_labels(labels)
        requirements[HOSTNAME] = LabelRequirement(HOSTNAME, frozenset((hostname,)))
        taints = _effective_taints(node)
        if not self.settings.upstream:
            taints = tuple(each for each in taints if each.effect != SOFT)
        pool = self.state.pools.get(node.pool)
        waits = (
            pool is not None
            and node.claim is not None
            and any(pool is each.pool for each in self.making)
            and consolidation_eligibility(pool.pool, node, self.now).code == "waiting"
        )
        return Room(
            name=node.name,
            requirements=requirements,
            taints=taints,
            free=self._free(node, taints),
            ports={each.key: each.host_ports for each in node.pods if each.host_ports and not each.ended},
            initialized=node.claim is None or node.initialized,
            waits=waits,
            ready=self.settings.upstream or node.node is None or node.node.ready == "True" or not node.initialized,
        )

    def _free(self, node: StateNode, taints: tuple[Taint, ...]) -> dict[str, int]:
        """What pods leave of the node, less what DaemonSets will take that do not run there yet, in 10^-9 of each
        resource's unit; negative where they ask for more. Resources that it does not have are left out. FleetError
        ``invalid-quantity`` for a NodeClaim that cannot be read."""
        free = dict(node.allocatable)
        running: dict[str, int] = {}
        for pod in node.pods if node.node is not None else ():
            if pod.ended:
                continue
            for name, amount in pod.requests.items():
                if name in free:
                    free[name] -= amount
                if pod.daemon:
                    running[name] = running.get(name, 0) + amount
        labels = of_labels(node.labels)
        wanted = summed_requests([each for each in self.state.daemons if _comes(each, taints, labels)])
        for name, amount in wanted.items():
            missing = amount - running.get(name, 0)
            if missing > 0 and name in free:
                free[name] -= missing
        return free


def _effective_taints(node: StateNode) -> tuple[Taint, ...]:
    """The taints that will be there, of the NodeClaim until the node is registered: before it is initialized, those
    that go by themselves do not count."""
    claim = node.claim
    if node.node is None or (claim is not None and not node.registered):
        taints = claim.spec.taints if claim is not None else ()
    else:
        taints = node.node.taints
    if claim is None or node.initialized:
        return taints
    startup = {(each.key, each.effect) for each in claim.spec.startup_taints}
    return tuple(
        each
        for each in taints
        if (each.key, each.effect) not in EPHEMERAL
        and not each.key.startswith(EPHEMERAL_FAMILY)
        and (each.key, each.effect) not in startup
    )


def _comes(daemon: Pod, taints: tuple[Taint, ...], labels: dict[str, LabelRequirement]) -> bool:
    """Whether a DaemonSet's pod will run on a node with these taints and labels; of several alternatives of its node
    affinity only the first is asked, as upstream."""
    wishes = Wishes.of(daemon)
    return first_untolerated(taints, wishes.tolerations) is None and compatible(
        labels, wishes.requirements(wishes=False)
    )


def _spend(left: Limits, node: StateNode, sign: int) -> None:
    """Changes ``left``, in place, by what the node takes of its pool's limits: with sign -1 it takes it, with 1 it
    gives it back. FleetError ``invalid-quantity`` for a NodeClaim that cannot be read."""
    of_pool = left.get(node.pool)
    if of_pool is not None:
        capacity = {**node.capacity, NODES: NANO}
        for name in of_pool:
            of_pool[name] += sign * capacity.get(name, 0)


def _finished(name: str, claim: NewClaim) -> NewNode | str:
    """The node as it would be asked for, with the 600 cheapest types at most; or, in words, that these are too few for
    ``minValues``."""
    demands = claim.final_requirements()
    key = ("sorted", id(claim.kinds), frozenset(each.identity for each in demands.values()))
    kinds = claim.memory.get(key)
    if kinds is None:
        kinds = claim.memory[key] = by_price(claim.kinds, demands)[:MOST_TYPES]
        claim.memory[("kept", id(claim.kinds))] = claim.kinds
    short = types_for_min_values(kinds, demands)[1]
    if short is not None:
        return short.text
    return NewNode(name, claim.template.pool.name, demands, kinds)
