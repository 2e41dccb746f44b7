# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""When members may be touched by windows and freezes, as tables: one row for all members that have the same answer;
which kinds of work (upgrades, nodes) are told apart."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime

from ..._core.disruption.members.budget_answers import PoolAnswer
from ..._core.overview.openings import (
    NODES,
    UNKNOWN,
    UPGRADE,
    ClusterOpenings,
    Permission,
)
from ..._core.values.instants import write_local
from ..._core.values.listed import listed, number_of
from ..nodes.budgets_text import budgets_text
from ..text import GAP, folded
from ..widths import columns, columns_of, padded
from .openings_words import (
    against_words,
    closing_text,
    minute_text,
    moved_lines,
    opening_text,
    others_counted,
    span_rows,
)

SHOWN, LISTED, SPANS = 40, 3, 8
WORDS: t.Mapping[str, str] = {UPGRADE: "upgrades", NODES: "disruption of nodes"}
BOTH = " and ".join(WORDS.values())
COLUMNS = ("CLUSTER", "NOW", "NEXT OPENING (UTC)", "CLOSES (UTC)")
WIDTHS = (7, 20, 20)
Group = tuple[list[str], Permission]


def openings_text(
    found: t.Sequence[ClusterOpenings],
    before: t.Sequence[ClusterOpenings],
    pools: t.Sequence[PoolAnswer],
    now: datetime,
    days: int,
) -> list[str]:
    """For each kind of work, as of ``works_told``, a table at ``now``: whether each cluster is open, why, and its next
    opening; below it what changes against ``before``, the same clusters by what is recorded alone, unless that is
    empty. Then the openings within ``days``, unless answers differ much; clusters that are evacuated; and the budgets
    of ``pools``. Instants are in UTC, openings by the clock of the windows."""
    works = works_told(found)
    lines: list[str] = []
    for title, work in works:
        groups = _groups(found, work)
        lines += [*[""] * bool(lines), f"{title}, at {minute_text(now)} UTC:", *_table(groups)]
        if before:
            heads = ("CLUSTER", "BY WHAT IS RECORDED", "BY WHAT IS SUPPOSED")
            lines += moved_lines(before, found, work, heads) or ["what is supposed changes none of these"]
    for title, work in works:
        groups = _groups(found, work)
        if len(groups) <= LISTED:
            told = [line for group in groups for line in _spans(group, title, len(works) > 1, days)]
            lines += [*[""] * bool(told), *told]
    if any(len(_groups(found, work)) > LISTED for _title, work in works):
        lines += ["", *folded(f"ask for a few clusters by name to see their openings within {number_of(days, 'day')}")]
    away = [each.name for each in found if each.evacuated]
    if away:
        lines += folded(f"evacuated, placements leave and none come: {listed(away)}")
    return lines + (budgets_text(pools, UTC, week=False) if pools else [])


def works_told(found: t.Sequence[ClusterOpenings]) -> list[tuple[str, str]]:
    """Pairs of a title and the kind of work whose permissions are told below it: one pair, titled with both, if each
    cluster has the same answer for both, else one for each kind."""
    if all(each.permissions[UPGRADE] == each.permissions[NODES] for each in found):
        return [(BOTH, UPGRADE)]
    return [(title, work) for work, title in WORDS.items()]


def _groups(found: t.Sequence[ClusterOpenings], work: str) -> list[Group]:
    """The clusters parted by their answer: names, and the answer of the first of them; in the order in which these
    come."""
    groups: list[Group] = []
    known: dict[tuple[t.Any, ...], list[str]] = {}
    for each in found:
        this = each.permissions[work]
        key = (this.state, this.why, this.next, this.openings, this.closed, str(this.clock))
        if key not in known:
            known[key] = []
            groups.append((known[key], this))
        known[key].append(each.name)
    return groups


def _table(groups: t.Sequence[Group]) -> list[str]:
    """A header and a row for each of the first ``SHOWN`` groups, named by its first cluster, with what is to be said of
    it below, over the whole width; then how many clusters are left."""
    rows = [(names[0], each.state, opening_text(each), closing_text(each)) for names, each in groups[:SHOWN]]
    name = min(max(columns_of(row[0]) for row in (COLUMNS, *rows)), columns() - sum(GAP + width for width in WIDTHS))
    lines = _row(COLUMNS, name)
    for row, (names, each) in zip(rows, groups, strict=False):
        lines += _row(row, name)
        lines += others_counted(names)
        lines += [line for why in against_words(each) for line in folded(why, "    ")]
    if len(groups) > SHOWN:
        count = sum(len(names) for names, _each in groups[SHOWN:])
        lines.append(f"{number_of(count, 'more cluster')} with other answers; ask for them by name")
    return lines


def _row(cells: t.Sequence[str], name: int) -> list[str]:
    """The line of one row, its first cell ``name`` columns wide; one that is wider has a line of its own before the
    others."""
    first, *others = cells
    rest = "".join(" " * GAP + padded(cell, width) for cell, width in zip(others, WIDTHS, strict=True)).rstrip()
    if columns_of(first) > name:
        return [*folded(first), " " * name + rest]
    return [padded(first, name) + rest]


def _named(names: t.Sequence[str]) -> str:
    """``a``, or ``a and 2 more``."""
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _spans(group: Group, title: str, apart: bool, days: int) -> list[str]:
    """The first ``SPANS`` openings of the group by the clock of the windows, and how many more; if there is none, when
    the next is. Nothing where openings are not known, or the first has no end. ``apart``: the other work has other
    ones, and the title is named."""
    names, each = group
    if each.state == UNKNOWN or (each.openings and each.openings[0].end is None):
        return []
    told, clock = f" for {title}" if apart else "", each.clock
    if not each.openings:
        return folded(f"no opening of {_named(names)} for {title} within {number_of(days, 'day')}; {_after(each)}")
    head = folded(f"openings of {_named(names)}{told} within {number_of(days, 'day')}, by the clock of {clock}:")
    rows = span_rows(each.openings, clock)
    more = [f"  and {len(rows) - SPANS} more"] if len(rows) > SPANS else []
    return [*head, *(f"  {row}" for row in rows[:SPANS]), *more]


def _after(each: Permission) -> str:
    """When the next opening is, by the clock of the windows, or that none is known in 13 months."""
    return f"the next is {write_local(each.next.start, each.clock)}" if each.next else "none is known in 13 months"
