# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which waiting nodes a rotation may begin in a step, and what refuses others (``wait``, ``window``, ``retry``,
``soak``, ``wave``, ``surge``, ``budget``, ``fleet-members``, ``pdb-shared``); which wave it is in, and how large that
is (``growth``, ``largestWave``)."""

from __future__ import annotations

import dataclasses
import typing as t
from collections import defaultdict
from datetime import datetime

from ...cluster.pod_disruption import evictable
from ...cluster.pod_disruption_budget import PodDisruptionBudget, PodDisruptionBudgets
from ...machine import Blocker
from ...objects.clusters.node_rotation import BEFORE
from ...values.instants import write_time
from ...values.int_or_percent import scaled
from ...values.listed import listed, number_of
from .input import (
    RotationInput,
    RotationNode,
    ScopeLeft,
    cluster_in_name,
    window_blocker,
)
from .state import (
    DRAINING,
    GIVEN_UP,
    SURGING,
    WAITING,
    NodeProgress,
    RotationState,
    Wave,
    limit_end,
)

NO_LIMITS = PodDisruptionBudgets(())
Needs = list[tuple[str, PodDisruptionBudget, int]]


class Admission:
    """Which nodes of a rotation may begin in this step, asked in their order; each one that is begun takes its share.
    ``wave`` is the wave with these counted, ``scopes`` what budgets leave."""

    def __init__(self, state: RotationState, sight: RotationInput, scopes: list[ScopeLeft], now: datetime) -> None:
        """Takes stock of what nodes in flight take already; ``scopes`` is kept, and what begins is counted in it.
        ValueError for a surge that is no amount."""
        self._settings, self._sight, self._now = state.settings, sight, now
        self.scopes = scopes
        self._by_pool: dict[str, list[ScopeLeft]] = {}
        self._over_all = [place for place, each in enumerate(scopes) if each.scope.pools is None]
        self._own: dict[str, list[int]] = defaultdict(list)
        for place, left in enumerate(scopes):
            for pool in left.scope.pools or ():
                self._own[pool].append(place)
        self.wave = present_wave(state, now)
        self._surging = state.count(SURGING)
        self._most_surging = scaled(state.settings.surge, len(state.nodes), round_up=True)
        self._flying = sum(each.in_flight for each in state.nodes)
        self._clusters = {cluster_in_name(each.name) for each in state.nodes if each.in_flight}
        self._windows = {cluster: window_blocker(sight, cluster) for cluster in sight.windows}
        self._reserved: dict[tuple[str, str], int] = defaultdict(int)
        there = {each.name: each for each in sight.nodes}
        for each in state.nodes:
            if each.phase in (SURGING, DRAINING) and each.name in there:
                self._reserve(self._needs(there[each.name]))
        self._wave_full = self._full_wave()

    def refusals(self, node: NodeProgress, seen: RotationNode) -> tuple[Blocker, ...]:
        """Everything but the node itself that speaks against beginning it now, in this order: ``wait``, ``window``,
        ``retry``, ``soak`` or ``wave``, ``surge``, ``budget`` for each scope, by name, ``fleet-members``; or else
        ``pdb-shared``: PodDisruptionBudgets that nodes in flight use up."""
        found = [
            Blocker("wait", self._sight.wait) if self._sight.wait else None,
            self._windows.get(seen.cluster),
            self._pause(node),
            self._wave_full,
            self._surge_full(),
            *(each.blocker for each in self._over(node.pool) if each.left <= 0),
            *self._members_full(seen.cluster),
        ]
        why = tuple(each for each in found if each is not None)
        return why or self._shared(self._needs(seen))

    def begin(self, node: NodeProgress, seen: RotationNode) -> NodeProgress:
        """Begins the waiting node, which nothing refuses (not asked again), and gives it as it is then: ``Surging`` if
        its replacement comes before, else ``Draining``; what it takes of wave, surge, budgets, members and
        PodDisruptionBudgets is no longer there for others. Of budgets it takes one also where it is disrupted already
        (not Ready), and so twice in this step. What is left of its last try (reason, pause, time of being blocked,
        ``release``) is forgotten."""
        first = SURGING if self._settings.replacement == BEFORE else DRAINING
        self._surging += first == SURGING
        self._flying += 1
        self._clusters.add(seen.cluster)
        self.wave = dataclasses.replace(self.wave, begun=self.wave.begun + 1)
        for each in self._over(node.pool):
            each.count_begun()
        self._reserve(self._needs(seen))
        self._wave_full = self._full_wave()
        return dataclasses.replace(
            node,
            phase=first,
            wave=self.wave.number,
            attempts=node.attempts + 1,
            begun_at=node.begun_at or self._now,
            since=self._now,
            not_before=None,
            blocked_since=None,
            blocked_before=0,
            release="",
            code="",
            text="",
        )

    def _over(self, pool: str) -> list[ScopeLeft]:
        """The scopes that a pool is under, in the order of all."""
        found = self._by_pool.get(pool)
        if found is None:
            places = sorted([*self._own.get(pool, ()), *self._over_all])
            found = self._by_pool[pool] = [self.scopes[place] for place in places]
        return found

    def _pause(self, node: NodeProgress) -> Blocker | None:
        """The blocker ``retry`` until a node that was tried before may be tried again; None from then on."""
        if node.not_before is None or self._now >= node.not_before:
            return None
        return Blocker(
            "retry", f"tried {number_of(node.attempts, 'time')}, again from {write_time(node.not_before)}: {node.text}"
        )

    def _full_wave(self) -> Blocker | None:
        """The blocker ``soak`` while the pause after a wave runs, or else ``wave`` while it may begin no more; None
        while it may."""
        wave = self.wave
        if wave.begun < wave.size:
            return None
        until = limit_end(wave.ended_at, self._settings.soak)
        if until is not None:
            return Blocker("soak", f"wave {wave.number} has ended, the next one begins at {write_time(until)}")
        return Blocker(
            "wave", f"wave {wave.number} has begun its {number_of(wave.size, 'node')}, {self._flying} in flight"
        )

    def _surge_full(self) -> Blocker | None:
        """The blocker ``surge`` if as many new nodes are awaited as may be; None else, and where replacements do not
        come before."""
        if self._settings.replacement != BEFORE or self._surging < self._most_surging:
            return None
        return Blocker(
            "surge",
            f"{number_of(self._surging, 'new node', 'is', 'are')} awaited, and {self._most_surging} may be",
        )

    def _members_full(self, cluster: str) -> t.Iterator[Blocker]:
        """The blocker ``fleet-members`` of each budget by which more members than may be would have disrupted nodes if
        a node of this cluster were begun."""
        for each in self._sight.members:
            busy = sorted((self._clusters | each.busy) & each.clusters)
            if cluster in each.clusters and len({*busy, cluster}) > each.most:
                have = f", and {listed(busy)} have" if busy else ""
                text = f"{each.name}: {number_of(each.most, 'member')} may have nodes in flight{have}"
                yield Blocker("fleet-members", text, about={"scope": each.name})

    def _needs(self, node: RotationNode) -> Needs:
        """The cluster, the PodDisruptionBudget and how many pods of the node a drain would evict under it, by the
        budget's key; pods that it lets through as unhealthy are not counted."""
        limits = self._sight.limits.get(node.cluster, NO_LIMITS)
        counts: dict[str, tuple[str, PodDisruptionBudget, int]] = {}
        for pod in self._sight.pods.get(node.name, ()):
            for each in limits.covering(pod):
                if evictable(pod, self._now) and not each.lets_through(pod):
                    counts[each.key] = (node.cluster, each, counts.get(each.key, ("", each, 0))[2] + 1)
        return [counts[key] for key in sorted(counts)]

    def _shared(self, needs: Needs) -> tuple[Blocker, ...]:
        """The blocker ``pdb-shared`` of each PodDisruptionBudget that nodes in flight and this one would need more of
        than it allows; not of one that only this node needs, which may go on bit by bit."""
        return tuple(
            Blocker(
                "pdb-shared",
                f"pdb {each.key} allows {number_of(each.allowed, 'disruption')}, nodes in flight need {taken},"
                f" this one {count}",
                about={"pdb": each.key, "allowed": each.allowed},
            )
            for cluster, each, count in needs
            if (taken := self._reserved[cluster, each.key]) and taken + count > each.allowed
        )

    def _reserve(self, needs: Needs) -> None:
        """Notes that a node in flight needs so much of PodDisruptionBudgets."""
        for cluster, each, count in needs:
            self._reserved[cluster, each.key] += count


def present_wave(state: RotationState, now: datetime) -> Wave:
    """The wave that nodes are begun in at an aware instant: the last one while it may begin more, has nodes in flight
    or its pause runs (then with ``ended_at``), and then the next. A wave is ``growth`` times as large as the last one,
    and as the first if a node of that was given up, or is to be tried again; never more than ``largest_wave`` (0: no
    such limit), or all nodes."""
    wave, settings = state.wave, state.settings
    if wave.number and (wave.begun < wave.size or any(each.in_flight for each in state.nodes)):
        return wave
    ended = wave.ended_at or now
    until = limit_end(ended, settings.soak) if wave.number else None
    if until is not None and now < until:
        return dataclasses.replace(wave, ended_at=ended)
    return Wave(number=wave.number + 1, size=_next_size(state))


def _next_size(state: RotationState) -> int:
    """How many nodes the wave after the present one may begin, as of ``present_wave``."""
    wave, settings = state.wave, state.settings
    failed = any(each.wave == wave.number and each.phase in (GIVEN_UP, WAITING) for each in state.nodes)
    size = settings.first_wave if failed or not wave.number else wave.size * settings.growth
    return min(size, settings.largest_wave or size, max(len(state.nodes), 1))
