# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What may be disrupted on members, by pool and reason: the sum now, ``binding_budgets``, what ``blocks`` or is
``held`` by windows, freezes and budgets of the fleet, ``next_change``, ``openings``, ``closed_by_fleet``, and the
coming week."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from ...objects.clusters.fleet_maintenance import FleetMaintenance
from ...objects.clusters.node_rotation import NodeRotation
from ...objects.karpenter.node_pool import REASONS
from ...schema.meta import EMPTY
from ...updates.timing.maintenance import calendar
from ...values.instants import write_local, write_time
from ...values.listed import listed, number_of
from ...windows.fleet_windows import WindowAnswer
from ..budgets.budgets import UNLIMITED
from ..budgets.census import NodeCensus, PoolAllowance
from ..budgets.closing import horizons
from ..budgets.timeline import LimitChange, Opening, Timeline, now_and_next_change, timeline, with_closed_spans
from .fleet_limits import (
    FleetClosure,
    FleetLabels,
    FleetLimit,
    amount,
    fleet_closures,
    fleet_limits,
    unknown_limits,
    window_answer,
)
from .member_nodes import NODE_CLASS, MemberNodes
from .pools import BudgetedPool, budgeted_pools, member_census

A_WEEK, HALF_HOUR = timedelta(days=7), timedelta(minutes=30)


@dataclass(frozen=True, kw_only=True)
class PoolAnswer:
    """One pool of a member and one reason. ``change`` is the next one of the limit, or of ``error``; None if none comes
    within its ``horizons``. ``held`` is what keeps our own verbs back besides the pool's budgets, in words: window or
    freeze, kinds that could not be read, budgets of the fleet; ``week`` are the limits of the coming seven days by the
    budgets alone, ``closures`` when windows and freezes of the fleet close them to our own verbs."""

    pool: BudgetedPool
    reason: str
    allowance: PoolAllowance
    change: LimitChange | None
    week: Timeline
    held: tuple[str, ...]
    closures: tuple[FleetClosure, ...] = ()

    @property
    def allowed(self) -> int | None:
        """How many more nodes budgets let be disrupted now, never below 0, windows and freezes aside; None for no
        limit."""
        return None if self.allowance.answer.limit == UNLIMITED else self.allowance.allowed

    @property
    def openings(self) -> tuple[Opening, ...]:
        """The spans of the coming week in which the pool's budgets, windows and freezes let our verbs disrupt anything;
        budgets of the fleet are left aside, and nodes that are disrupted already not subtracted."""
        return with_closed_spans(self.week, ((each.start, each.end) for each in self.closures)).openings

    @property
    def closed_now(self) -> bool:
        """Whether a window or a freeze of the fleet, or not knowing these, keeps our verbs back at the instant of the
        answer."""
        return any(each.start <= self.week.start for each in self.closures)

    @property
    def blocks(self) -> tuple[str, ...]:
        """Why the pool's budgets let nothing be disrupted now, in words: the budgets that decide, counted from 1, then
        each node that is disrupted already, then that no node counts; empty if something may."""
        if self.allowed is None or self.allowed > 0:
            return ()
        answer, census = self.allowance.answer, self.allowance.census
        found = [
            f"budget {place + 1} ({_written(answer.budgets[place].budget.as_dict())}) "
            f"{answer.budgets[place].error or answer.budgets[place].arithmetic}: {answer.budgets[place].why}"
            for place in answer.binding
        ]
        found += [f"node {name} {why}" for name, why in census.disrupting.items()]
        if not census.total:
            found.append("the pool has no node that counts")
        return tuple(found)

    def as_dict(self, zone: tzinfo) -> dict[str, t.Any]:
        """As results have it: member, pool and kind, the allowance with ``binding`` as ``binding_budgets``, counted
        from 1; ``blocks``, ``held``; ``next_change``, None if none is near; ``openings`` for our verbs,
        ``budget_openings`` by budgets alone; closures as ``closed_by_fleet``. Instants are texts in UTC; in the zone's
        words too, but for the last, as ``local``, ``local_start`` and ``local_end``."""
        change = self.change
        told = {key: each for key, each in self.allowance.as_dict().items() if key != "binding"}
        return {
            "member": self.pool.member,
            "pool": self.pool.name,
            "kind": self.pool.kind,
            **told,
            "binding_budgets": [each + 1 for each in self.allowance.answer.binding],
            "blocks": list(self.blocks),
            "held": list(self.held),
            "next_change": change.as_dict() | {"local": write_local(change.at, zone)} if change else None,
            "openings": [_opening(each, zone) for each in self.openings],
            "budget_openings": [_opening(each, zone) for each in self.week.openings],
            "closed_by_fleet": [
                {"start": write_time(each.start), "end": write_time(each.end), "why": each.why}
                for each in self.closures
            ],
        }


@dataclass(frozen=True, kw_only=True)
class _Counted:
    """A budget of the fleet over members that were read: their nodes, how many of them are disrupted, and whose."""

    limit: FleetLimit
    nodes: int
    gone: int
    busy: tuple[str, ...]


def budget_answers(
    members: t.Iterable[MemberNodes],
    rotations: t.Iterable[NodeRotation],
    maintenance: t.Iterable[FleetMaintenance],
    now: datetime,
    reasons: t.Sequence[str] = REASONS,
    fleet: FleetLabels = EMPTY,
) -> tuple[PoolAnswer, ...]:
    """The answers at an aware instant, by ``members``, then by pools as of ``budgeted_pools``, then by ``reasons``;
    ``fleet`` as of ``fleet_limits``. A member of which nobody knows when it may be worked on is closed. ValueError for
    a selector, an amount, a zone or a date that is none."""
    given, windows = tuple(members), tuple(maintenance)
    wanted = tuple(rotations)
    censuses = {each.name: member_census(each) for each in given}
    times, limits = calendar(windows), [_counted(each, censuses) for each in fleet_limits(windows, given, fleet)]
    out = []
    for each in given:
        unread = (f"{kind} could not be read" for kind in each.missing if kind != NODE_CLASS)
        unknown = "; ".join(filter(None, (*unread, unknown_limits(windows, each))))
        held = tuple(_held(each.name, window_answer(times, each, now), unknown, limits))
        closures = fleet_closures(times, each, now, now + A_WEEK)
        for pool in budgeted_pools(each, wanted):
            out += [_answer(pool, reason, held, closures, now) for reason in reasons]
    return tuple(out)


def fleet_week(answer: PoolAnswer) -> Timeline:
    """When the fleet lets our verbs disrupt nodes in the coming week, whatever budgets say: limits of 1 and 0."""
    week = answer.week
    free = Timeline(week.start, week.end, (LimitChange(week.start, 1),))
    return with_closed_spans(free, ((each.start, each.end) for each in answer.closures))


def half_hours(week: Timeline, zone: tzinfo, day: datetime) -> list[int | None]:
    """The lowest limit of each of the 48 half hours of the day, from midnight on, as clocks of the zone show them
    (``UNLIMITED``: none), those that the clocks repeat in one; None for those outside of ``week``, and for those that
    the clocks skip."""
    at, end = (_midnight(day, days, zone) for days in (0, 1))
    found: list[int | None] = [None] * 48
    while at < end:
        local, lowest = at.astimezone(zone), _lowest(week, at, at + HALF_HOUR)
        cell = 2 * local.hour + local.minute // 30  # an hour that the clocks repeat is told as one
        known = found[cell]
        if lowest is not None:
            found[cell] = lowest if known is None else min(known, lowest)
        at += HALF_HOUR
    return found


def _midnight(day: datetime, days: int, zone: tzinfo) -> datetime:
    """The instant, in UTC, at which so many days after the date of ``day`` begin in the zone."""
    following = day.date() + timedelta(days=days)
    return datetime(following.year, following.month, following.day, tzinfo=zone).astimezone(UTC)


def _lowest(week: Timeline, start: datetime, end: datetime) -> int | None:
    """The lowest limit in [start, end), as far as ``week`` reaches; None if it does not."""
    begin, until = max(start, week.start), min(end, week.end)
    if begin >= until:
        return None
    ends = [each.at for each in week.changes[1:]] + [week.end]
    return min(
        (each.limit for each, last in zip(week.changes, ends, strict=True) if each.at < until and last > begin),
        default=None,
    )


def _answer(
    pool: BudgetedPool, reason: str, held: tuple[str, ...], closures: tuple[FleetClosure, ...], now: datetime
) -> PoolAnswer:
    """The answer for a pool and a reason. The next change is looked for in a week, then as far as the longer of
    ``horizons``."""
    total = pool.census.total
    answer, change = now_and_next_change(pool.budgets, now, total, reason, now + A_WEEK)
    if change is None:
        change = now_and_next_change(pool.budgets, now, total, reason, now + horizons(pool.budgets)[1])[1]
    week = timeline(pool.budgets, now, now + A_WEEK, total, reason)
    return PoolAnswer(
        pool=pool,
        reason=reason,
        allowance=PoolAllowance(pool.census, answer),
        change=change,
        week=week,
        held=held,
        closures=closures,
    )


def _counted(limit: FleetLimit, censuses: t.Mapping[str, NodeCensus]) -> _Counted:
    """The limit with the sums over those of its members that are in ``censuses``, of which ``busy`` are those with
    disrupted nodes, by name."""
    found = {each: censuses[each] for each in sorted(limit.over) if each in censuses}
    return _Counted(
        limit=limit,
        nodes=sum(each.total for each in found.values()),
        gone=sum(len(each.disrupting) for each in found.values()),
        busy=tuple(each for each, census in found.items() if census.disrupting),
    )


def _held(name: str, window: WindowAnswer | None, unknown: str, limits: t.Iterable[_Counted]) -> t.Iterator[str]:
    """What keeps our own verbs from disrupting a node of this member, in words: its window or a freeze, what
    is ``unknown`` of what it holds and of the budgets of the fleet that it is under, then those over it that are used
    up. ValueError as of ``amount``."""
    if window is not None and not window.open:
        yield window.why if window.until is None else f"{window.why}, until {write_time(window.until)}"
    if unknown:
        yield unknown
    for each in limits:
        limit = each.limit
        if name not in limit.over:
            continue
        if limit.nodes and each.gone >= (most := amount(limit.nodes, each.nodes)):
            gone = f"{each.gone} {'is' if each.gone == 1 else 'are'} disrupted"
            yield f"{limit.name}: {limit.nodes} of {number_of(each.nodes, 'node')} is {most}, and {gone}"
        if limit.most_members is not None and len({*each.busy, name}) > limit.most_members:
            yield (
                f"{limit.name}: {limit.members} of {number_of(len(limit.over), 'member')} is {limit.most_members}, "
                f"and nodes of {listed(each.busy) or 'none'} are disrupted"
            )


def _opening(each: Opening, zone: tzinfo) -> dict[str, t.Any]:
    """As ``Opening.as_dict``, with start and end in words of the zone beside it."""
    local = {"local_start": write_local(each.start, zone), "local_end": write_local(each.end, zone)}
    return each.as_dict() | local


def _written(budget: t.Mapping[str, t.Any]) -> str:
    """``nodes: 10%, schedule: 0 9 * * 1, reasons: Empty and Drifted``: the fields of a budget, for people."""
    told = {key: " and ".join(map(str, value)) if isinstance(value, list) else value for key, value in budget.items()}
    return ", ".join(f"{key}: {value}" for key, value in told.items())
