# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The input of a rotation's step: one Node as it sees it, names over several clusters, who else has a node in hand,
windows (blocker ``window``), which nodes spend budgets, and what budgets still leave room for (blocker ``budget``)."""

from __future__ import annotations

import typing as t
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from ...cluster.facts.node import image_of
from ...cluster.pod import DO_NOT_DISRUPT, Pod
from ...cluster.pod_disruption_budget import PodDisruptionBudgets
from ...cluster.state_node import Node
from ...machine import Blocker
from ...objects.karpenter.node_pool import Budget
from ...schema.meta import EMPTY
from ...values.instants import write_time
from ...values.listed import number_of
from ...windows.fleet_windows import WindowAnswer
from ..budgets.budgets import Allowed, allowed, budget_limit_or_none
from ..budgets.closing import closed_words, opens_at
from ..origins import disrupted_by
from .state import WAITING, NodeProgress, RotationState


@dataclass(frozen=True, kw_only=True, slots=True)
class RotationNode:
    """A node as it is now. Over several clusters ``name`` and ``pool`` begin with the cluster, to be unique.

    ``deleting``: the Node or its NodeClaim goes, or a command of Karpenter has marked it; ``annotated``: its
    do-not-disrupt is ``true``; ``disruptor``: who of us empties it now, as of ``origins.disrupted_by``; ``version`` is
    its kubelet's. Without NodeClaims every node counts as initialized."""

    name: str
    uid: str = ""
    pool: str = ""
    cluster: str = ""
    ready: bool = True
    initialized: bool = True
    deleting: bool = False
    annotated: bool = False
    disruptor: str = ""
    created_at: datetime | None = None
    image: str = ""
    version: str = ""


@dataclass(frozen=True)
class BudgetScope:
    """Budgets, and the pools whose nodes they are over; None: those of all pools. ``more`` nodes besides count too,
    ``gone`` of which are disrupted."""

    name: str
    budgets: tuple[Budget, ...]
    pools: frozenset[str] | None = None
    more: int = 0
    gone: int = 0

    def covers_any(self, pools: set[str]) -> bool:
        """Whether the budgets are over all pools, or one of these at least."""
        return self.pools is None or not self.pools.isdisjoint(pools)


@dataclass(frozen=True)
class MemberScope:
    """A budget of the fleet over members: at most so many of these clusters have disrupted nodes at once. ``busy`` are
    those that have some, whoever disrupts them."""

    name: str
    most: int
    clusters: frozenset[str]
    busy: frozenset[str] = frozenset()


@dataclass(frozen=True)
class OtherNode:
    """A node that another rotation has in flight, and that may be gone already: its name and pool over several clusters
    (``member/node``), and the name of that rotation."""

    name: str
    pool: str
    rotation: str


@dataclass(frozen=True, kw_only=True)
class RotationInput:
    """What is known at one instant. ``pods`` are by their node's name, PodDisruptionBudgets (``limits``) and windows by
    cluster; ``scopes`` are all budgets over nodes, ``members`` those of the fleet over members. ``rotation`` is the one
    that looks: nodes that another one empties are left to it.

    ``failed`` says for nodes in flight why what was begun has failed. ``stop``: begin no more. ``unknown`` says of
    clusters that could not be read why: their nodes are not gone. ``left`` are clusters that are members of the fleet
    no more. ``wait`` says why nothing may begin at this instant, whatever the budgets allow.
    """

    nodes: tuple[RotationNode, ...]
    rotation: str = ""
    pods: t.Mapping[str, t.Sequence[Pod]] = field(default_factory=lambda: EMPTY, hash=False)
    scopes: tuple[BudgetScope, ...] = ()
    limits: t.Mapping[str, PodDisruptionBudgets] = field(default_factory=lambda: EMPTY, hash=False)
    windows: t.Mapping[str, WindowAnswer] = field(default_factory=lambda: EMPTY, hash=False)
    failed: t.Mapping[str, str] = field(default_factory=lambda: EMPTY, hash=False)
    unknown: t.Mapping[str, str] = field(default_factory=lambda: EMPTY, hash=False)
    left: frozenset[str] = frozenset()
    members: tuple[MemberScope, ...] = ()
    stop: bool = False
    wait: str = ""

    def by_another(self, node: RotationNode) -> bool:
        """Whether another rotation than the one that looks, or somebody by hand, has the node in hand."""
        return by_another(node, self.rotation)

    def window_open(self, cluster: str) -> bool:
        """Whether the cluster's window is open, by the answer that there is; True without one."""
        answer = self.windows.get(cluster)
        return answer is None or answer.open


def by_another(node: RotationNode, rotation: str) -> bool:
    """Whether another one of us than the rotation of that name, a person's verb included, has the node in hand."""
    return node.disruptor not in ("", rotation)


def spends_budgets(node: RotationNode, rotation: str) -> bool:
    """Whether the node spends budgets whatever the rotation does with it: it is not Ready, it is on its way out, or
    another one of us empties it."""
    return not node.ready or node.deleting or by_another(node, rotation)


# A pool of which only a part is selected is two for the sums: budgets of the pool are over both.
OTHERS = " (others)"


def whole_pool_name(pool: str) -> str:
    """The name of the whole pool, also of its part that a rotation does not select, whose name ends with `` (others)``:
    what comes for a node may lack the label by which that was selected."""
    return pool.removesuffix(OTHERS)


def cluster_in_name(name: str) -> str:
    """The cluster of a node or pool, which its name begins with where there are several; else empty."""
    return name.partition("/")[0] if "/" in name else ""


@dataclass
class ScopeLeft:
    """What a scope still has room for in this step, at the instant ``now``, and how that came about: ``disrupting``
    nodes were disrupted before it, ``taken`` are begun in it."""

    scope: BudgetScope
    answer: Allowed
    disrupting: int
    now: datetime
    taken: int = 0

    @property
    def left(self) -> int:
        """How many more nodes may be begun, negative where too many were; a number near ``UNLIMITED`` where nothing
        limits."""
        return self.answer.remaining_after(self.disrupting) - self.taken

    def count_begun(self) -> None:
        """Counts one node more that is begun under the budgets, without asking whether there is room."""
        self.taken += 1
        self.__dict__.pop("blocker", None)

    @property
    def closed(self) -> bool:
        """Whether budgets let no node go, also if none is disrupted."""
        return self.answer.limit <= 0

    @cached_property
    def opens(self) -> datetime | None:
        """When budgets of a scope that is ``closed`` let some node go; None if they do not within ``horizons``."""
        return opens_at(self.scope.budgets, self.now, self.answer.total, self.answer.reason)

    @cached_property
    def blocker(self) -> Blocker:
        """The blocker ``budget`` for a node that finds nothing left: which budgets are closed and until when, or the
        sum in words."""
        if self.closed:
            about = {"scope": self.scope.name, **({"until": write_time(self.opens)} if self.opens else {})}
            text = f"{self.scope.name}: {closed_words(self.answer, self.opens, self.now)}"
            return Blocker("budget", text, about=about)
        limit = budget_limit_or_none(self.answer.limit)
        how = "; ".join(text for index in self.answer.binding if (text := self._told(index)))
        begun = f" - {self.taken} begun now" if self.taken else ""
        text = (
            f"{self.scope.name}: {number_of(self.answer.total, 'node', 'counts', 'count')}, limit {limit} ({how}) "
            f"- {self.disrupting} disrupted{begun} = {self.left}"
        )
        return Blocker("budget", text, about={"scope": self.scope.name})

    def _told(self, index: int) -> str:
        """The arithmetic of the budget at a place, or why it cannot be evaluated."""
        budget = self.answer.budgets[index]
        return budget.arithmetic or budget.error


def rotation_node(
    node: Node, pool: str, cluster: str = "", *, initialized: bool = True, deleting: bool = False
) -> RotationNode:
    """What a rotation needs to know of a Node; with a ``cluster`` the names of node and pool begin with that and a
    slash. It is ``deleting`` also if the Node itself is."""
    before = f"{cluster}/" if cluster else ""
    return RotationNode(
        name=before + node.name,
        uid=node.uid,
        pool=before + pool,
        cluster=cluster,
        ready=node.ready == "True",
        initialized=initialized,
        deleting=node.deleting or deleting,
        annotated=node.annotations.get(DO_NOT_DISRUPT) == "true",
        disruptor=disrupted_by(node.annotations),
        created_at=node.created_at,
        image=image_of(node.labels, node.image),
        version=node.kubelet_version,
    )


def scopes_left(state: RotationState, sight: RotationInput, now: datetime) -> list[ScopeLeft]:
    """What each scope has room for at an aware instant, before the step begins any node, by name of the scope.

    The nodes are counted as places: one that is gone and awaits its replacement still counts, and is disrupted; a
    replacement beside its old node counts once. So does one that has come for a node which was let go, or that nobody
    asked for, while a node of its pool waits: that takes it as soon as it is begun, and budgets have to hold then, too.
    A new one spends budgets as any other does (``spends_budgets``). Everything begun is disrupted until it ends,
    whoever of us began it. Budgets that cannot be read leave no room.
    """
    places, disrupted = _places(state, sight)
    out = []
    for scope in sorted(sight.scopes, key=lambda one: one.name):
        pools = places if scope.pools is None else [name for name in scope.pools if name in places]
        total = sum(places[name] for name in pools) + scope.more
        answer = allowed(scope.budgets, now, total, state.settings.reason)
        out.append(ScopeLeft(scope, answer, sum(disrupted[name] for name in pools) + scope.gone, now))
    return out


def _places(state: RotationState, sight: RotationInput) -> tuple[dict[str, int], dict[str, int]]:
    """By pool: places of nodes, and how many of them are disrupted, counted as of ``scopes_left``."""
    places: dict[str, int] = defaultdict(int)
    disrupted: dict[str, int] = defaultdict(int)
    flying = {each.name: each for each in state.nodes if each.in_flight}
    there, known = {each.name for each in sight.nodes}, set(state.known)
    assigned = {each.replacement for each in state.nodes if each.replacement}
    early = Counter(whole_pool_name(each.pool) for each in state.nodes if _takes_one(each, there))
    beside = {each.replacement for each in flying.values() if each.name in there}
    for node in sight.nodes:
        if node.name in beside or not (node.initialized or node.name in flying):
            continue
        gone = spends_budgets(node, sight.rotation)
        if early[whole_pool_name(node.pool)] > 0 and not gone and node.name not in known and node.name not in assigned:
            early[whole_pool_name(node.pool)] -= 1  # comes in the place of one that has not gone yet
            continue
        places[node.pool] += 1
        disrupted[node.pool] += gone or node.name in flying
    for each in flying.values():
        if each.name not in there:
            places[each.pool] += 1
            disrupted[each.pool] += 1
    return places, disrupted


def _takes_one(node: NodeProgress, there: t.Container[str]) -> bool:
    """Whether the next new node of its pool is taken for this one: it waits, or is in flight, there and without a
    replacement."""
    return node.phase == WAITING or (node.in_flight and node.name in there and not node.replacement)


def window_blocker(sight: RotationInput, cluster: str) -> Blocker | None:
    """The blocker ``window`` of a cluster whose window, or a freeze, holds a rotation back, with its end where that is
    known; None if it is open or there is none."""
    answer = sight.windows.get(cluster)
    if answer is None or answer.open:
        return None
    until = f", until {write_time(answer.until)}" if answer.until else ""
    about = {"cluster": cluster, **({"until": write_time(answer.until)} if answer.until else {})}
    return Blocker("window", f"{answer.why}{until}", about=about)
