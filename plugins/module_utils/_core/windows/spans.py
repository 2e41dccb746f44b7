# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Spans of time, half open (the first instant belongs to one, the last does not): merged, joined in any order, cut out
of others, those that meet an interval, cut to it. Aware, or naive and then in UTC."""

from __future__ import annotations

import typing as t
from bisect import bisect_left, bisect_right
from datetime import datetime, timedelta
from operator import itemgetter

Span = tuple[datetime, datetime]
Spans = tuple[Span, ...]
"""In order, none touching another."""
Extent = t.TypeVar("Extent", datetime, timedelta)


def merged(spans: t.Iterable[tuple[Extent, Extent]]) -> list[tuple[Extent, Extent]]:
    """Spans that overlap or touch made one, of instants or of distances, in order. They must come in the order of their
    starts, none of them empty."""
    out: list[tuple[Extent, Extent]] = []
    for begin, until in spans:
        if out and begin <= out[-1][1]:
            if until > out[-1][1]:
                out[-1] = (out[-1][0], until)
        else:
            out.append((begin, until))
    return out


def joined(spans: t.Iterable[Span]) -> Spans:
    """As ``merged``, of spans in any order; empty and reversed ones are left out."""
    return tuple(merged(sorted(each for each in spans if each[0] < each[1])))


def without(spans: t.Sequence[Span], blocked: t.Sequence[Span]) -> Spans:
    """What is left of spans once those that are ``blocked`` are cut out; both must be in order and apart, and so is the
    rest."""
    found: list[Span] = []
    for begin, until in spans:
        at = bisect_right(blocked, begin, key=_until)
        for shut, again in blocked[at:]:
            if shut >= until:
                break
            if shut > begin:
                found.append((begin, shut))
            begin = again
        if begin < until:
            found.append((begin, until))
    return tuple(found)


def meeting(spans: t.Sequence[Span], start: datetime, end: datetime) -> t.Sequence[Span]:
    """Those spans that have an instant in [start, end), whole; they must be in order and apart, and ``start`` before
    ``end``."""
    return spans[bisect_right(spans, start, key=_until) : bisect_left(spans, end, key=_begin)]


def clipped(spans: t.Sequence[Span], start: datetime, end: datetime) -> list[Span]:
    """As ``meeting``, in a new list, with the first and the last of them cut to [start, end)."""
    kept = list(meeting(spans, start, end))
    if kept and kept[0][0] < start:
        kept[0] = (start, kept[0][1])
    if kept and kept[-1][1] > end:
        kept[-1] = (kept[-1][0], end)
    return kept


_begin, _until = itemgetter(0), itemgetter(1)
