# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""``NodeRotation`` of ``gitops.fleet``: which nodes of which members are replaced (by age, version, image), how many at
once (budgets, waves), at which pace (timeouts, attempts), and how far it is.

Its nodes are a pool for budgets too, where no Karpenter has one: budgets have the form that NodePools have.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ...schema.meta import EMPTY, ObjectMeta
from ...schema.prop import prop
from ..api_groups import FLEET_API
from ..karpenter.node_pool import (
    DEFAULT_NODES,
    DRIFTED,
    MAX_BUDGETS,
    REASONS,
    Budget,
)
from ..updates.strategy import MemberSelector

# Whether a new node comes before the old one goes, after it, or not at all.
BEFORE, AFTER, NONE = "before", "after", "none"
# Who has a node in hand that a person's verb drains; a rotation is named there by its name.
BY_HAND = "by-hand"
COUNT = r"^((100|[0-9]{1,2})%|[0-9]{1,9})$"
SCHEDULE = r"^(@(annually|yearly|monthly|weekly|daily|midnight|hourly)|[^ ]+( [^ ]+){4})$"
HOURS = r"^([0-9]{1,6}[hm]|[0-9]{1,6}h[0-9]{1,6}m)(0s)?$"
AGE = r"^[0-9]{1,6}(h|m|s)$"
VERSION = r"^v?[0-9]{1,9}[.][0-9]{1,9}([.][0-9]{1,9})?([-+][0-9A-Za-z][0-9A-Za-z.+-]*)?$"
BUDGET_RULES = (("self.all(b, has(b.schedule) == has(b.duration))", "schedule and duration stand together"),)
A_YEAR = 366 * 86400


@dataclass(frozen=True, kw_only=True)
class RotatedNodes:
    by_label: str = prop("Kubernetes label selector over the nodes' labels.", min_length=1, max_length=512)


@dataclass(frozen=True, kw_only=True)
class DueNodes:
    """A node is due if any of the three that is not empty holds for it; if all are empty, every selected node that was
    there when the rotation began first."""

    older_than: str = prop(
        "Nodes that are so old or older, such as 720h.", default="", max_length=10, pattern=AGE, form="such as 720h"
    )
    version_other_than: str = prop(
        "Nodes with another kubelet version, such as v1.36.3.",
        default="",
        max_length=60,
        pattern=VERSION,
        form="a version such as v1.36.3",
    )
    image_other_than: str = prop("Nodes with another operating system image.", default="", min_length=1, max_length=200)


@dataclass(frozen=True, kw_only=True)
class RotationBudget:
    """A disruption budget as in a NodePool; times are in UTC. Without reasons it holds for all of them, without a
    schedule always."""

    nodes: str = prop(
        "How many nodes may be disrupted at once, number or percentage, rounded up.",
        default=DEFAULT_NODES,
        max_length=10,
        pattern=COUNT,
        form='a number or a percentage, such as "5" or "10%"',
        digits=True,
    )
    schedule: str = prop(
        "When the budget begins to hold, in UTC.",
        default="",
        max_length=100,
        pattern=SCHEDULE,
        form="five cron fields, or @daily, @hourly, @weekly, @monthly, @yearly",
    )
    duration: str = prop(
        "How long it holds from there.", default="", max_length=20, pattern=HOURS, form="hours and minutes such as 8h"
    )
    reasons: tuple[str, ...] = prop("What it holds back.", default=(), enum=REASONS, min_items=1, max_items=3)

    @property
    def budget(self) -> Budget:
        """The same as a budget of a NodePool; what is empty here is None there."""
        return Budget(self.nodes, self.schedule or None, self.duration or None, self.reasons or None)


@dataclass(frozen=True, kw_only=True)
class RotationSettings:
    """The pace of a rotation. Times are whole seconds; 0 means no limit, except for ``soak`` and ``retry_after``, where
    it is no pause. ``largest_wave`` 0 is no limit too; ``max_failures`` 0 lets no node be given up.

    A wave is ``growth`` times as large as the one before if that went well, up to ``largest_wave``, else it is the
    first size again.
    """

    replacement: str = prop("When a new node comes.", default=AFTER, enum=(BEFORE, AFTER, NONE))
    surge: int | str = prop("Most new nodes awaited at once, of the nodes of the rotation; rounded up.", default=1)
    first_wave: int = prop("Nodes of the first wave.", default=1, minimum=1, maximum=100000)
    growth: int = prop("How much larger the next wave is.", default=2, minimum=1, maximum=1000)
    largest_wave: int = prop("Most nodes of a wave, 0 for no limit.", default=0, minimum=0, maximum=100000)
    soak: int = prop("Pause after a wave, in seconds.", default=0, minimum=0, maximum=A_YEAR, json="soakSeconds")
    node_timeout: int = prop(
        "How long one stage of a node may take, in seconds; 0 for no limit.",
        default=3600,
        minimum=0,
        maximum=A_YEAR,
        json="nodeTimeoutSeconds",
    )
    grace_period: int = prop(
        "When a drain is so old pods are deleted, whatever holds them, in seconds; 0 for never.",
        default=0,
        minimum=0,
        maximum=A_YEAR,
        json="terminationGracePeriodSeconds",
    )
    attempts: int = prop("How often a node is tried.", default=1, minimum=1, maximum=1000)
    retry_after: int = prop(
        "Pause before a node is tried again, in seconds.",
        default=300,
        minimum=0,
        maximum=A_YEAR,
        json="retryAfterSeconds",
    )
    max_failures: int = prop(
        "Nodes that may be given up; one more ends the rotation.", default=0, minimum=0, maximum=100000
    )
    blocked_timeout: int = prop(
        "How long a node may be blocked while its window is open, in seconds; 0 for no limit.",
        default=0,
        minimum=0,
        maximum=A_YEAR,
        json="blockedTimeoutSeconds",
    )
    time_limit: int = prop(
        "How long nodes may be begun, in seconds; 0 for no limit.",
        default=0,
        minimum=0,
        maximum=A_YEAR,
        json="timeLimitSeconds",
    )
    reason: str = prop("Reason that budgets are asked for.", default=DRIFTED, enum=REASONS)


@dataclass(frozen=True, kw_only=True)
class NodeRotationSpec:
    member_selector: MemberSelector | None = prop("Members with these labels; all if absent.", default=None)
    members: tuple[str, ...] = prop("Only these members of them.", default=(), min_items=1, max_items=1000)
    nodes: RotatedNodes | None = prop("Their nodes with these labels; all if absent.", default=None)
    due: DueNodes = prop("Which of these nodes are to be replaced.", default=DueNodes())
    budgets: tuple[RotationBudget, ...] = prop(
        "How many of these nodes may be disrupted at once in each member; 10% if absent.",
        default=(),
        min_items=1,
        max_items=MAX_BUDGETS,
        rules=BUDGET_RULES,
    )
    pace: RotationSettings = prop("How nodes are replaced.", default=RotationSettings())


@dataclass(frozen=True, kw_only=True)
class NodeRotationStatus:
    phase: str = prop("Running, Waiting, Done or Stopped.", default="")
    rotated: int = prop("Nodes that were replaced.", default=0)
    left: int = prop("Nodes that are not done.", default=0)
    failed: int = prop("Nodes that were given up, or blocked to the end.", default=0)
    message: str = prop("What holds it up.", default="")
    stop_requested: bool = prop("Whether it is to begin no more nodes.", default=False)
    origin: str = prop("Who asked for it.", default="")
    epoch: int = prop("Epoch of the lease under which it was written.", default=0)
    state: t.Mapping[str, t.Any] = prop("Every node, and where it stands.", default=EMPTY, raw=True)


@dataclass(frozen=True, kw_only=True)
class NodeRotation:
    api_version: str = prop("API version.", default=FLEET_API)
    kind: str = prop("Kind.", default="NodeRotation")
    metadata: ObjectMeta = prop("Object metadata.")
    spec: NodeRotationSpec = prop("Which nodes, and how.")
    status: NodeRotationStatus = prop("How far it is.", default=NodeRotationStatus())

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def budgets(self) -> tuple[Budget, ...]:
        """The budgets of the spec as NodePools have them, in their order; without any, one of 10% that always holds,
        for all reasons."""
        return tuple(each.budget for each in self.spec.budgets) or (Budget(),)
