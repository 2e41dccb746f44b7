# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What FleetMaintenance objects say of disruptions of nodes: windows of members, freezes, budgets of the whole fleet.

Karpenter knows none of them: they hold back what is done by our own verbs. The windows are those for node images.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from datetime import datetime, timedelta

from ...objects.clusters.fleet_maintenance import FleetMaintenance
from ...objects.updates.update_run import NODE_IMAGE_ONLY
from ...schema.meta import EMPTY
from ...updates.timing.maintenance import Calendar, MaintainedMember
from ...values.int_or_percent import int64, scaled
from ...values.selector import compile_selector
from ...values.selector_text import parse_selector
from ...windows.fleet_windows import WindowAnswer
from .member_nodes import MemberNodes

AHEAD = timedelta(days=400)
# By name of a member.
FleetLabels = t.Mapping[str, t.Mapping[str, str]]


@dataclass(frozen=True, kw_only=True)
class FleetLimit:
    """A budget of a FleetMaintenance: the members that it is over, and how many members and nodes of them at once.

    The amounts are a number or a percentage, which is rounded up, empty for no limit.
    """

    name: str
    over: frozenset[str]
    members: str = ""
    nodes: str = ""

    @property
    def most_members(self) -> int | None:
        """None: no limit."""
        return amount(self.members, len(self.over)) if self.members else None


def amount(text: str, total: int) -> int:
    """What a checked number or percentage comes to, rounded up."""
    number = int64(text)
    return scaled(text if number is None else number, total, round_up=True)


def fleet_limits(
    objects: t.Iterable[FleetMaintenance], members: t.Iterable[MemberNodes], fleet: FleetLabels = EMPTY
) -> tuple[FleetLimit, ...]:
    """Every budget of these objects, by name of the object, with the members that it is over: those that were read, and
    of ``fleet``, the labels of all that are recorded, the others too. ValueError for a selector that is none."""
    labels = {**fleet, **{each.name: each.labels for each in members}}
    found = []
    for each in sorted(objects, key=lambda one: one.name):
        for budget in each.spec.budgets:
            selector = budget.member_selector
            holds = None if selector is None else compile_selector(parse_selector(selector.by_label))
            over = frozenset(name for name, each in labels.items() if holds is None or holds(each))
            name = f"budget {budget.name} of FleetMaintenance {each.name}"
            found.append(FleetLimit(name=name, over=over, members=budget.members, nodes=budget.nodes))
    return tuple(found)


def window_answer(
    times: Calendar, member: MemberNodes, now: datetime, kind: str = NODE_IMAGE_ONLY
) -> WindowAnswer | None:
    """Whether nodes of the member may be disrupted by our verbs at an aware instant; None without windows and freezes.
    ``kind`` is the type of run whose windows these are.

    FleetError ``no-such-maintenance``.
    """
    site = MaintainedMember(
        name=member.name, labels=member.labels, maintenance=member.maintenance, own=member.own_maintenance
    )
    spans = times.open(site, kind, now, now + AHEAD)
    if spans is None:
        return None
    frozen = times.frozen(site, now)
    if spans and spans[0][0] <= now:
        end = spans[0][1]
        return WindowAnswer(True, "in its maintenance window", end if end < now + AHEAD else None)
    by = times.shut(site, kind, now)
    outside = "outside its maintenance windows" + (f", closed now by {' and by '.join(by)}" if by else "")
    why = frozen.message if frozen else outside
    return WindowAnswer(False, why, spans[0][0] if spans else None)
