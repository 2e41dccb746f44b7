# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What FleetMaintenance objects say of disruptions of nodes: whether a member's window is open, freezes and closed
spans, budgets of the whole fleet over members and nodes, and why these cannot be told.

Karpenter knows none of them: they hold back what is done by our own verbs.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from datetime import datetime, timedelta

from ...errors import FleetError
from ...objects.clusters.fleet_maintenance import FleetMaintenance
from ...objects.updates.update_run import NODE_IMAGE_ONLY
from ...schema.meta import EMPTY
from ...updates.timing.maintenance import Calendar, MaintainedMember
from ...values.int_or_percent import int64, scaled
from ...values.selector import compile_selector
from ...values.selector_text import parse_selector
from ...windows.fleet_windows import WindowAnswer
from ...windows.spans import clipped, joined, without
from .member_nodes import MemberNodes

AHEAD = timedelta(days=400)
# By name of a member.
FleetLabels = t.Mapping[str, t.Mapping[str, str]]


@dataclass(frozen=True, kw_only=True)
class FleetLimit:
    """A budget of a FleetMaintenance: its name in words, the members that it is ``over``, and how many ``members`` of
    these may have disrupted nodes, and how many ``nodes`` of them be disrupted, at once: a number or a percentage,
    which is rounded up, empty for no limit."""

    name: str
    over: frozenset[str]
    members: str = ""
    nodes: str = ""

    @property
    def most_members(self) -> int | None:
        """How many of the members may have disrupted nodes at once; None: no limit. ValueError as of ``amount``."""
        return amount(self.members, len(self.over)) if self.members else None


@dataclass(frozen=True, order=True)
class FleetClosure:
    """A span in which no verb of ours begins to disrupt nodes of a member, its end not in it, and why: a freeze, closed
    windows, or why nobody knows when it may be worked on."""

    start: datetime
    end: datetime
    why: str


def amount(text: str, total: int) -> int:
    """How many of ``total`` members or nodes an amount of a budget is, a 32-bit number as it stands, or a percentage,
    rounded up. ValueError for another text."""
    number = int64(text)
    return scaled(text if number is None else number, total, round_up=True)


def fleet_limits(
    objects: t.Iterable[FleetMaintenance], members: t.Iterable[MemberNodes], fleet: FleetLabels = EMPTY
) -> tuple[FleetLimit, ...]:
    """Every budget of these objects, by name of the object and then as written there, with the members that it is over:
    those that its selector holds for, without one all, of those that were read (``members``), and else of those that
    are recorded (``fleet``, labels by name); unknown labels count as none (``unknown_limits`` tells of it). ValueError
    for a selector that is none."""
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


def unknown_limits(objects: t.Iterable[FleetMaintenance], member: MemberNodes) -> str:
    """Why nobody can tell which budgets of these objects the member is under, in words: some choose by labels, and its
    labels are not known; else empty."""
    by_labels = (each.name for each in objects for budget in each.spec.budgets if budget.member_selector is not None)
    names = () if member.labels_known else sorted(set(by_labels))
    if not names:
        return ""
    return (
        f"it has no MemberCluster, so that nobody knows which budgets of FleetMaintenance {' and '.join(names)} hold "
        "for it; join it again with its labels (gitops.fleet.join), or let it go (gitops.fleet.leave)"
    )


def window_answer(
    times: Calendar, member: MemberNodes, now: datetime, kind: str = NODE_IMAGE_ONLY
) -> WindowAnswer | None:
    """Whether nodes of the member may be disrupted by our verbs at an aware instant, with why, budgets left aside; None
    if it has no windows, and no freeze in the next 400 days: they may at any time. ``kind`` is the type of run whose
    windows count. ``until`` is when that turns, None if not within 400 days. A freeze is told before a closed window.
    Closed without end where nobody knows when the member may be worked on. KeyError for an unknown ``kind``, ValueError
    for a zone, a date or a selector that is none."""
    site = _site(member)
    try:
        spans = times.startable_spans(site, kind, now, now + AHEAD)
    except FleetError as error:
        return WindowAnswer(False, error.message, None)
    if spans is None:
        return None
    frozen = times.freeze_blocker(site, now)
    if spans and spans[0][0] <= now:
        end = spans[0][1]
        return WindowAnswer(True, "in its maintenance window", end if end < now + AHEAD else None)
    by = times.shut_by(site, kind, now)
    outside = "outside its maintenance windows" + (f", closed now by {' and by '.join(by)}" if by else "")
    why = frozen.message if frozen else outside
    return WindowAnswer(False, why, spans[0][0] if spans else None)


def fleet_closures(times: Calendar, member: MemberNodes, start: datetime, end: datetime) -> tuple[FleetClosure, ...]:
    """When in [start, end) freezes and closed windows for node images keep our verbs from the member, cut to it, by
    start. Freezes, a row each, may overlap; closed windows are told where no freeze is. One row of all of it where
    ``window_answer`` is closed for want of knowledge. ValueError for a zone, a date or a selector that is none."""
    site = _site(member)
    try:
        spans = times.startable_spans(site, NODE_IMAGE_ONLY, start, end)
    except FleetError as error:
        return (FleetClosure(start, end, error.message),)
    if spans is None:
        return ()
    freezes = [(each.words, part) for each in times.named_freezes(site) for part in clipped([each.span], start, end)]
    shut = without(without(((start, end),), spans), joined(span for _words, span in freezes))
    outside = " and of ".join(each.words for each in times.sides(site, NODE_IMAGE_ONLY, start))
    found = [FleetClosure(*span, words) for words, span in freezes]
    return tuple(sorted([*found, *(FleetClosure(*span, f"outside the windows of {outside}") for span in shut)]))


def _site(member: MemberNodes) -> MaintainedMember:
    """The member as calendars of maintenance ask for it."""
    return MaintainedMember(
        name=member.name,
        labels=member.known_labels,
        maintenance=member.maintenance,
        own=member.own_maintenance,
    )
