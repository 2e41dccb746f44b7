# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""When members may be touched, as tables: one row for all members that have the same answer."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime, tzinfo

from ..._core.disruption.members.budget_answers import PoolAnswer
from ..._core.overview.openings import (
    CLOSED,
    HELD,
    IS_OPEN,
    NODES,
    UNKNOWN,
    UPGRADE,
    ClusterOpenings,
    OpenSpan,
    Permission,
)
from ..._core.values.instants import write_local
from ..._core.values.listed import listed
from ..nodes.budgets_text import budgets_text
from ..text import GAP, columns, folded, table_rows
from ..widths import columns_of, padded

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
    """Whether each cluster is open now, why, and its next opening; what changes against ``before``, if that is told;
    the openings of a few, and the budgets of pools."""
    works = _works(found)
    lines: list[str] = []
    for title, work in works:
        groups = _groups(found, work)
        lines += [*[""] * bool(lines), f"{title}, at {_minute(now)} UTC:", *_table(groups)]
        if before:
            lines += _changes(before, found, work)
    for title, work in works:
        groups = _groups(found, work)
        if len(groups) <= LISTED:
            told = [line for group in groups for line in _spans(group, title if len(works) > 1 else "", days)]
            lines += [*[""] * bool(told), *told]
    if any(len(_groups(found, work)) > LISTED for _title, work in works):
        lines += ["", *folded(f"ask for a few clusters by name to see their openings within {days} days")]
    away = [each.name for each in found if each.evacuated]
    if away:
        lines += folded(f"evacuated, placements leave and none come: {listed(away)}")
    return lines + (budgets_text(pools, UTC, week=False) if pools else [])


def _works(found: t.Sequence[ClusterOpenings]) -> list[tuple[str, str]]:
    """The kinds of work with their titles; a single one where all clusters have one answer for both."""
    if all(each.permissions[UPGRADE] == each.permissions[NODES] for each in found):
        return [(BOTH, UPGRADE)]
    return [(title, work) for work, title in WORDS.items()]


def _groups(found: t.Sequence[ClusterOpenings], work: str) -> list[Group]:
    """Clusters that have one answer, by the first of them."""
    groups: list[Group] = []
    known: dict[tuple[t.Any, ...], list[str]] = {}
    for each in found:
        this = each.permissions[work]
        key = (this.state, this.why, this.next, this.openings, str(this.clock))
        if key not in known:
            known[key] = []
            groups.append((known[key], this))
        known[key].append(each.name)
    return groups


def _table(groups: t.Sequence[Group]) -> list[str]:
    """A row for each group; what is to say of it stands below, over the whole width."""
    rows = [(names[0], each.state, _opens(each), _closes(each)) for names, each in groups[:SHOWN]]
    name = min(max(columns_of(row[0]) for row in (COLUMNS, *rows)), columns() - sum(GAP + width for width in WIDTHS))
    lines = _row(COLUMNS, name)
    for row, (names, each) in zip(rows, groups, strict=False):
        lines += _row(row, name)
        if len(names) > 1:
            lines.append(f"    {_others(names)}")
        lines += [line for why in each.why for line in folded(why, "    ")]
    if len(groups) > SHOWN:
        count = sum(len(names) for names, _each in groups[SHOWN:])
        lines.append(f"{count} more clusters with other answers; ask for them by name")
    return lines


def _row(cells: t.Sequence[str], name: int) -> list[str]:
    first, *others = cells
    rest = "".join(" " * GAP + padded(cell, width) for cell, width in zip(others, WIDTHS, strict=True)).rstrip()
    if columns_of(first) > name:
        return [*folded(first), " " * name + rest]
    return [padded(first, name) + rest]


def _named(names: t.Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _others(names: t.Sequence[str]) -> str:
    return f"and {len(names) - 1} more with the same answer"


def _opens(each: Permission) -> str:
    if each.state == IS_OPEN:
        return "now"
    if each.state == UNKNOWN:
        return "not known"
    if each.next is None:
        return "none in 13 months"
    if each.state == HELD:
        return "when that is over"
    return _minute(each.next.start)


def _closes(each: Permission) -> str:
    if each.next is None:
        return "-"
    return _minute(each.next.end) if each.next.end else "no end is known"


def _minute(at: datetime) -> str:
    """In UTC, ``Sat 2026-11-28 21:00``."""
    return write_local(at, UTC).removesuffix(" UTC")


def _spans(group: Group, title: str, days: int) -> list[str]:
    names, each = group
    if not each.openings or each.openings[0].end is None:
        return []
    told = f" for {title}" if title else ""
    head = folded(f"openings of {_named(names)}{told} within {days} days, by the clock of {each.clock}:")
    rows = [_local(one, each.clock) for one in each.openings[:SPANS]]
    more = [f"  and {len(each.openings) - SPANS} more"] if len(each.openings) > SPANS else []
    return [*head, *(f"  {row}" for row in rows), *more]


def _local(each: OpenSpan, clock: tzinfo) -> str:
    until = f"to {write_local(each.end, clock)}" if each.end else "on"
    return f"{write_local(each.start, clock)} {until}"


def _changes(before: t.Sequence[ClusterOpenings], found: t.Sequence[ClusterOpenings], work: str) -> list[str]:
    """Before and after side by side, of those that are other then."""
    rows: dict[tuple[str, str], list[str]] = {}
    for old, new in zip(before, found, strict=True):
        one, other = old.permissions[work], new.permissions[work]
        if (one.state, one.next, one.openings) != (other.state, other.next, other.openings):
            rows.setdefault((_short(one, other), _short(other, one)), []).append(old.name)
    if not rows:
        return ["what is supposed changes none of these"]
    told = [(names[0], one, other) for (one, other), names in rows.items()]
    lines, *parts = table_rows(("CLUSTER", "BY WHAT IS RECORDED", "BY WHAT IS SUPPOSED"), told[:SHOWN], "")
    for part, names in zip(parts, rows.values(), strict=False):
        lines += [*part, *[f"    {_others(names)}"] * (len(names) > 1)]
    left = sum(len(names) for names in list(rows.values())[SHOWN:])
    return [*lines, *[f"{left} more clusters change in other ways; ask for them by name"] * bool(left)]


def _short(each: Permission, other: Permission) -> str:
    """Now and next; of two that are the same in that, the first opening that the other one does not have."""
    if each.state == UNKNOWN:
        return UNKNOWN
    lone = next((one for one in each.openings if one not in other.openings), None)
    alike = (each.state, each.next) == (other.state, other.next)
    if alike and lone is not None:
        return f"opens {_minute(lone.start)}"
    if alike:
        return f"{len(each.openings)} openings"
    if each.state in (IS_OPEN, HELD):
        return f"{each.state}, closes {_closes(each)}" if each.next and each.next.end else each.state
    return f"opens {_opens(each)}" if each.next else f"{CLOSED}, {_opens(each)}"
