# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What freezes take away of openings of windows: the spans that they close, and which freezes do so."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from datetime import datetime

from .spans import Span, joined, meeting


@dataclass(frozen=True)
class TakenSpan:
    """``span`` is what freezes close of the opening ``of``; ``freezes`` are their names, each once, in the order in
    which freezes were given."""

    span: Span
    of: Span
    freezes: tuple[str, ...]


def taken_spans(
    openings: t.Sequence[Span], freezes: t.Iterable[tuple[str, Span]], start: datetime, end: datetime
) -> t.Iterator[TakenSpan]:
    """What ``freezes``, each with its name, close of those openings that meet [start, end), in order of time; where
    several freezes meet or touch, once, and whole within the opening. What begins at ``end`` or later, or is over at
    ``start``, is left out. Openings must be in order and apart."""
    named = tuple(freezes)
    for begin, until in meeting(openings, start, end):
        met = [(name, span) for name, span in named if span[0] < until and span[1] > max(begin, start)]
        for taken in joined((max(span[0], begin), min(span[1], until)) for _name, span in met):
            if taken[0] < end:
                by = (name for name, span in met if span[0] < taken[1] and span[1] > taken[0])
                yield TakenSpan(taken, (begin, until), tuple(dict.fromkeys(by)))
