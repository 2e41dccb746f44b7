# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Members that join and leave, as text: who, at which version, and what becomes of what was placed there; and what is
rebuilt of lost records by what members hold."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from .._core.objects.identity import ObjectId
from .._core.plan.outcome import MemberOutcome
from .._core.values.listed import listed
from .text import first_rows, folded, member_lines, table


def joined_text(
    joined: t.Sequence[str], changed: t.Sequence[str], unchanged: t.Sequence[str], versions: t.Mapping[str, str]
) -> list[str]:
    """A table with a row for each member, by name: that it joins, was changed or is as it was, and the version that its
    API server tells (``-`` if none is known); one that is in several lists counts by the first of them. No lines
    without members."""
    words = dict.fromkeys(unchanged, "as it was") | dict.fromkeys(changed, "changed") | dict.fromkeys(joined, "joins")
    rows = [(name, words[name], versions.get(name, "-")) for name in sorted(words)]
    return table(["CLUSTER", "MEMBER", "VERSION"], first_rows(rows)) if rows else []


def recovered_text(
    recovered: t.Mapping[str, t.Sequence[str]], unknown: t.Mapping[str, t.Sequence[str]], written: bool
) -> list[str]:
    """A table with a row for each placement, by name, and clusters that hold it: those ``recovered``, or which would be
    where nothing is ``written``, then those ``unknown`` to all manifests; a sentence where there are none."""
    told = {"are rebuilt" if written else "would be rebuilt": recovered, "no manifest describes it": unknown}
    rows = [
        row
        for words, found in told.items()
        for row in first_rows([(name, words, listed(clusters)) for name, clusters in sorted(found.items())])
    ]
    if not rows:
        return folded("no member holds a placement of which records are lost")
    return table(["PLACEMENT", "ITS RECORDS", "HELD BY"], rows)


def without_driver_text(names: t.Sequence[str]) -> list[str]:
    """That these members have no driver, in lines that fit the terminal; none without such members."""
    return folded(f"without a driver, which update runs need: {listed(names)}") if names else []


def strangers_text(names: t.Sequence[str]) -> list[str]:
    """That these are no members and nothing was done for them, in lines that fit the terminal; none without such
    names."""
    return folded(f"no member of the fleet, and passed over: {listed(names)}") if names else []


def left_text(
    left: t.Collection[str],
    outcomes: t.Mapping[str, t.Mapping[str, MemberOutcome]],
    unreachable: t.Container[str],
    doubles: t.Container[str],
    others: t.Mapping[str, t.Sequence[str]],
    written: bool = True,
) -> list[str]:
    """Each member that leaves, or would where nothing is ``written``, by name, with what is deleted or released there,
    placement by placement; ``outcomes`` are by member and placement. ``unreachable`` are not asked, ``doubles`` are
    members whose cluster stays one under another name, ``others`` names by member what other records hold there."""
    lines: list[str] = []
    leaves = "leaves" if written else "would leave"
    for name in sorted(left):
        placed = outcomes.get(name, {})
        if name in unreachable:
            lines += folded(f"{name} {leaves} unasked; what lies there stays")
        elif name in doubles:
            lines += folded(f"{name} {leaves}; its cluster stays a member under another name, with all that is placed")
        elif not placed:
            lines.append(f"{name} {leaves}, and holds nothing that was placed")
        else:
            lines += folded(f"{name} {leaves}, and holds {listed(sorted(placed))}")
        told: set[tuple[str, ObjectId]] = set()
        for placement in sorted(placed):
            fresh = tuple(each for each in placed[placement].steps if (each.action, each.id) not in told)
            told |= {(each.action, each.id) for each in fresh}
            lines += member_lines(placement, replace(placed[placement], steps=fresh))
        if others.get(name):
            lines += folded(f"left alone there, as they are of other records: {listed(sorted(others[name]))}", "  ")
    return lines
