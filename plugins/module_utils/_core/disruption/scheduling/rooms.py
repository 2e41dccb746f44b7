# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Nodes that are there, with what is free on them and host ports taken, while pods are put on the first that takes them
in thought, and taken back (Karpenter, ``scheduling/existingnode.go``).

What a simulation changes is taken back after it, so that thousands of simulations cost what they change and not what
there is.
"""

from __future__ import annotations

import typing as t

from ...cluster.pod import HostPort
from ...objects.clusters.member_cluster import Taint
from ...objects.clusters.tolerations import first_untolerated
from .free_tree import NONE, Free, FreeTree
from .requirement import Requirements, compatible, intersected
from .topology import PodTopology
from .wishes import PodDemands

Ports = dict[str, tuple[HostPort, ...]]
ALL_ADDRESSES = ("", "0.0.0.0", "::")  # addresses in a manifest, nothing is bound to them


class Room:
    """One node that stays, as a place for pods. ``requirements`` are its labels, narrowed by pods put on it; ``free``
    is in 10^-9 of each resource's unit, ``ports`` are by pod; ``pods`` are those put on it in thought. ``waits``: its
    ``consolidateAfter`` still runs. ``place`` is its rank among ``Rooms``."""

    __slots__ = (
        "free", "initialized", "name", "place", "pods", "ports", "ready", "requirements", "taints", "waits",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        requirements: Requirements,
        taints: tuple[Taint, ...],
        free: dict[str, int],
        ports: Ports,
        initialized: bool = True,
        waits: bool = False,
        ready: bool = True,
    ) -> None:
        self.name, self.requirements, self.taints, self.free, self.ports = name, requirements, taints, free, ports
        self.initialized, self.waits, self.ready = initialized, waits, ready
        self.place = -1
        self.pods: list[PodDemands] = []

    @property
    def row(self) -> Free:
        """Free CPU, memory and pods in 10^-9 of their units; ``NONE`` if it is not ready, or some amount is
        negative."""
        if not self.ready or any(amount < 0 for amount in self.free.values()):
            return NONE
        return self.free.get("cpu", 0), self.free.get("memory", 0), self.free.get("pods", 0)


class Rooms:
    """All nodes that stay, initialized ones first, then by name: the order in which pods look for a place."""

    def __init__(self, rooms: t.Iterable[Room]) -> None:
        """Sorts the nodes, and writes into each its ``place``."""
        self.all = sorted(rooms, key=lambda one: (not one.initialized, one.name))
        for place, each in enumerate(self.all):
            each.place = place
        self.by_name = {each.name: each for each in self.all}
        self._tree = FreeTree([each.row for each in self.all])
        self._fits: dict[t.Any, dict[int, bool]] = {}
        self._before: dict[int, tuple[Requirements, dict[str, int], Ports]] = {}
        self._out: list[Room] = []

    def leave_out(self, names: t.Iterable[str]) -> None:
        """Lets nodes of these names take no pod until the next ``undo``; unknown names are passed over."""
        for name in names:
            room = self.by_name.get(name)
            if room is not None:
                self._out.append(room)
                self._tree.set(room.place, NONE)

    def undo(self) -> None:
        """Takes back all pods that were put on nodes, and lets nodes in again that were left out; what a
        ``PodTopology`` has counted stays."""
        for place, (requirements, free, ports) in self._before.items():
            room = self.all[place]
            room.requirements, room.free, room.ports = requirements, free, ports
            room.pods = []
            self._tree.set(place, room.row)
        for room in self._out:
            self._tree.set(room.place, room.row)
        self._before.clear()
        self._out.clear()

    @property
    def not_left_out(self) -> list[Room]:
        """The nodes that are not left out, in the order of the search."""
        out = {each.name for each in self._out}
        return [each for each in self.all if each.name not in out]

    @property
    def used(self) -> list[Room]:
        """The nodes that have got pods, in the order of the search."""
        return [self.all[place] for place in sorted(self._before)]

    def put_on_first(self, asked: PodDemands, topology: PodTopology, moves_only_to_settled: bool) -> Room | None:
        """Puts a pod on the first node that takes it, and counts it in ``topology``; None if none does.
        ``moves_only_to_settled``: none whose ``consolidateAfter`` still runs."""
        fits = self._fits.setdefault(asked.shape, {})
        place = self._tree.first(0, asked.amounts)
        while place >= 0:
            room = self.all[place]
            if not (moves_only_to_settled and room.waits) and self._tolerated_and_selected(asked, room, fits):
                found = self._takes(asked, room, topology)
                if found is not None:
                    self._put(asked, room, found, topology)
                    return room
            place = self._tree.first(place + 1, asked.amounts)
        return None

    def _tolerated_and_selected(self, asked: PodDemands, room: Room, fits: dict[int, bool]) -> bool:
        """Whether the pod tolerates the node's taints, and the node's labels are such as it asks for; kept in ``fits``,
        by place, for all pods that ask the same, of a node that nothing has changed yet."""
        changed = room.place in self._before
        known = None if changed else fits.get(room.place)
        if known is None:
            known = first_untolerated(room.taints, asked.wishes.tolerations) is None and compatible(
                room.requirements, asked.requirements
            )
            if not changed:
                fits[room.place] = known
        return known

    def _takes(self, asked: PodDemands, room: Room, topology: PodTopology) -> Requirements | None:
        """What the node is held to once it has the pod; None if resources, host ports, volumes or constraints between
        pods refuse it. Taints are not asked."""
        free = room.free
        if any(amount > free.get(name, 0) for name, amount in asked.requests.items()):
            return None
        if asked.ports and port_clash(asked, room.ports):
            return None
        volumes = asked.volumes
        node = intersected(room.requirements, asked.requirements)
        if volumes:
            if not compatible(node, volumes):
                return None
            node = intersected(node, volumes)
        demands = topology.demands(asked, room.taints, node)
        if demands is None or not compatible(node, demands):
            return None
        return intersected(node, demands)

    def _put(self, asked: PodDemands, room: Room, requirements: Requirements, topology: PodTopology) -> None:
        """Puts the pod on the node, which is held to ``requirements`` then, and counts it in ``topology``; ``undo``
        takes it back, but for the count."""
        if room.place not in self._before:
            self._before[room.place] = (room.requirements, room.free, room.ports)
            room.free = dict(room.free)
        for name, amount in asked.requests.items():
            room.free[name] = room.free.get(name, 0) - amount
        room.requirements = requirements
        if asked.ports:
            room.ports = {**room.ports, asked.key: asked.ports}
        room.pods.append(asked)
        self._tree.set(room.place, room.row)
        topology.record(asked, room.taints, requirements)


def port_clash(asked: PodDemands, ports: Ports) -> bool:
    """Whether a pod other than the one that asks, of those whose ``ports`` are given by key, has one of its host
    ports."""
    return any(
        key != asked.key and _clash(own, other) for key, rows in ports.items() for other in rows for own in asked.ports
    )


def _clash(one: HostPort, other: HostPort) -> bool:
    """Whether two host ports clash: port and protocol are equal, and so are the addresses, or one of them is any."""
    if one[:2] != other[:2]:
        return False
    here, there = (row[2] if len(row) > 2 else "" for row in (one, other))
    return here == there or here in ALL_ADDRESSES or there in ALL_ADDRESSES
