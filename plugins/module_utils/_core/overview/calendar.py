# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What the disruption budgets of a NodePool permit over a year: the limit of nodes for each reason and when it changes,
which budgets close the pool; freezes of its clusters beside them, a budget in words."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ..disruption.budgets.budgets import budget_limit_or_none
from ..disruption.budgets.lint import Lint
from ..disruption.budgets.timeline import answers_over
from ..disruption.lint_pool import lint_node_pool
from ..objects.karpenter.node_pool import REASONS, Budget
from ..objects.karpenter.reading import examine
from ..updates.timing.maintenance import NamedFreeze
from ..values.field_path import field
from ..values.instants import SECONDS, write_time

YEAR = timedelta(days=366)
# Of a budget that opens and closes each quarter of an hour so many changes are half a year.
MOST_CHANGES = 40_000
# Where no cluster says how many nodes a pool has, budgets in percent read as they stand.
ASSUMED_NODES = 100


@dataclass(frozen=True)
class PoolChange:
    """From ``at`` on so many nodes of the pool may be disrupted, None for any number; ``budgets`` are the places, from
    0, of those that set a limit of 0."""

    at: datetime
    limit: int | None
    budgets: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PoolReason:
    """Reasons with the same limits at all times, closed by the same budgets."""

    reasons: tuple[str, ...]
    changes: tuple[PoolChange, ...]


@dataclass(frozen=True, kw_only=True)
class PoolFreeze:
    """A freeze of the fleet, in words, on those ``clusters``: our own verbs begin no upgrade and no disruption of nodes
    there from ``start`` to ``end``, whatever budgets say. Karpenter knows nothing of it."""

    what: str
    start: datetime
    end: datetime
    clusters: tuple[str, ...]

    def as_dict(self) -> dict[str, t.Any]:
        """The freeze as reports have it; ``start`` and ``end`` in RFC 3339, cut to whole seconds."""
        return {
            "what": self.what,
            "start": write_time(self.start, SECONDS),
            "end": write_time(self.end, SECONDS),
            "clusters": list(self.clusters),
        }


@dataclass(frozen=True, kw_only=True)
class PoolCalendar:
    """A pool with so many ``nodes``, on the clusters that have it with that many (none: the number is assumed).
    ``until`` is the end of what is worked out, ``where`` the manifest is. ``findings`` are the linter's, ``freezes`` as
    of ``with_freezes``. ``problems`` say why a pool cannot be read; then it has no reasons."""

    name: str
    where: str
    nodes: int
    clusters: tuple[str, ...]
    start: datetime
    until: datetime
    budgets: tuple[Budget, ...] = ()
    reasons: tuple[PoolReason, ...] = ()
    findings: tuple[Lint, ...] = ()
    problems: tuple[str, ...] = ()
    freezes: tuple[PoolFreeze, ...] = ()

    def as_dict(self) -> dict[str, t.Any]:
        """The calendar as reports have it: budgets as ``budget_sentence`` writes them; of each change a list of the
        whole minutes since ``start``, the limit, and, where budgets close the pool, a list of their places, from 0;
        instants in RFC 3339, cut to whole seconds."""
        return {
            "name": self.name,
            "where": self.where,
            "nodes": self.nodes,
            "clusters": list(self.clusters),
            "start": write_time(self.start, SECONDS),
            "until": write_time(self.until, SECONDS),
            "budgets": [budget_sentence(each) for each in self.budgets],
            "reasons": [
                {"reasons": list(each.reasons), "changes": [_row(one, self.start) for one in each.changes]}
                for each in self.reasons
            ],
            "findings": [{"level": each.level, "path": each.path, "message": each.message} for each in self.findings],
            "problems": list(self.problems),
            "freezes": [each.as_dict() for each in self.freezes],
        }


def pool_calendar(
    document: t.Any, where: str, start: datetime, nodes: int | None, clusters: t.Sequence[str] = ()
) -> PoolCalendar:
    """The 366 days from ``start``, an aware instant, on for a pool's manifest; fewer where its budgets change more than
    ``MOST_CHANGES`` times. ``nodes`` None: ``ASSUMED_NODES`` for the limits, and not known for ``findings``, which are
    those of ``lint_node_pool``. Where the budgets cannot be read the calendar has ``problems`` and no ``findings``, and
    ends where it starts. Nothing is raised for what the manifest holds."""
    examined, size = examine(document), ASSUMED_NODES if nodes is None else nodes
    name = str(field(document, "metadata.name") or "")
    if examined.budgets is None:
        return PoolCalendar(
            name=name, where=where, nodes=size, clusters=tuple(clusters), start=start, until=start,
            problems=tuple(f"{each.path}: {each.message}".removeprefix(": ") for each in examined.problems),
        )  # fmt: skip
    budgets, until, kinds = tuple(examined.budgets), start + YEAR, dict[tuple[PoolChange, ...], list[str]]()
    alike: dict[tuple[bool, ...], list[str]] = {}
    for reason in REASONS:
        alike.setdefault(tuple([each.covers(reason) for each in budgets]), []).append(reason)
    found = {tuple(names): _changes(budgets, start, until, size, names[0]) for names in alike.values()}
    for changes in found.values():
        if len(changes) > MOST_CHANGES:
            until = min(until, changes[MOST_CHANGES].at)
    for names, changes in found.items():
        kinds.setdefault(tuple([each for each in changes if each.at < until]), []).extend(names)
    return PoolCalendar(
        name=name,
        where=where,
        nodes=size,
        clusters=tuple(clusters),
        start=start,
        until=until,
        budgets=budgets,
        reasons=tuple(
            PoolReason(reasons=tuple(sorted(names, key=REASONS.index)), changes=changes)
            for changes, names in kinds.items()
        ),
        findings=lint_node_pool(document, start, nodes),
    )


def with_freezes(found: PoolCalendar, freezes: t.Mapping[str, t.Sequence[NamedFreeze]]) -> PoolCalendar:
    """The calendar with those freezes of its clusters that meet its time, by start, in place of those that it had;
    ``freezes`` are by cluster. One that several clusters share, with the same words and span, is there once. A pool
    that is on no cluster has those of all clusters."""
    shared: dict[tuple[datetime, datetime, str], list[str]] = {}
    for name in found.clusters or sorted(freezes):
        for each in freezes.get(name, ()):
            if each.span[0] < found.until and each.span[1] > found.start:
                shared.setdefault((*each.span, each.words), []).append(name)
    rows = sorted(shared.items())
    told = (PoolFreeze(what=what, start=start, end=end, clusters=tuple(names)) for (start, end, what), names in rows)
    return replace(found, freezes=tuple(told))


def budget_sentence(budget: Budget) -> str:
    """A budget in words: ``at most 10% of its nodes for Drifted, from "0 9 * * 1-5" (UTC) on for 8h``, without reasons
    or schedule where it has none; ``for no reason`` is one with an empty list."""
    share = "of its nodes" if budget.nodes.endswith("%") else "nodes"
    text = f"at most {budget.nodes} {share}"
    if budget.reasons is not None:
        text += f" for {', '.join(budget.reasons) or 'no reason'}"
    if budget.schedule is not None:
        text += f', from "{budget.schedule}" (UTC) on for {budget.duration}'
    return text


def _changes(budgets: t.Sequence[Budget], start: datetime, end: datetime, nodes: int, reason: str) -> list[PoolChange]:
    """The limit for ``reason`` at ``start`` and each change of it before ``end``, in order; with the places, from 0, of
    the budgets that set a limit of 0 (or, where a number wraps, less). That others close the pool is a change too."""
    found: list[PoolChange] = []
    for at, answer in answers_over(budgets, start, end, nodes, reason):
        limit, closing = budget_limit_or_none(answer.limit), () if answer.limit > 0 else answer.binding
        if not found or (found[-1].limit, found[-1].budgets) != (limit, closing):
            found.append(PoolChange(at, limit, closing))
    return found


def _row(change: PoolChange, start: datetime) -> list[t.Any]:
    """Whole minutes from ``start`` on, limit, and the list of budgets, which is left out where there are none."""
    minutes = int((change.at - start).total_seconds()) // 60
    return [minutes, change.limit, *([list(change.budgets)] if change.budgets else [])]
