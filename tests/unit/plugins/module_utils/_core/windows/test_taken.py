# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What freezes take away of openings."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from ansible_collections.gitops.fleet.plugins.module_utils._core.windows.spans import Span
from ansible_collections.gitops.fleet.plugins.module_utils._core.windows.taken import TakenSpan, taken_spans

NOW = datetime(2026, 8, 17, tzinfo=UTC)


def span(start: int, end: int) -> Span:
    """Hours from NOW on."""
    return NOW + timedelta(hours=start), NOW + timedelta(hours=end)


def taken(*freezes: tuple[str, Span], openings: tuple[Span, ...] = (span(2, 6), span(26, 30))) -> list[TakenSpan]:
    return list(taken_spans(openings, freezes, *span(0, 48)))


def test_an_opening_is_closed_wholly_or_in_part() -> None:
    assert taken(("f", span(0, 28))) == [
        TakenSpan(span(2, 6), span(2, 6), ("f",)),
        TakenSpan(span(26, 28), span(26, 30), ("f",)),
    ]


def test_freezes_that_meet_close_it_once_and_are_all_named() -> None:
    assert taken(("f", span(3, 4)), ("g", span(4, 5)), ("g", span(4, 5))) == [
        TakenSpan(span(3, 5), span(2, 6), ("f", "g"))
    ]
    assert [each.freezes for each in taken(("f", span(2, 3)), ("g", span(5, 7)))] == [("f",), ("g",)]


def test_what_lies_outside_of_openings_and_of_the_time_asked_for_is_not_told() -> None:
    assert taken(("f", span(6, 26)), ("g", span(100, 200))) == []
    assert taken(("f", span(49, 50)), openings=(span(40, 60),)) == []
    assert list(taken_spans((span(2, 6),), (("f", span(2, 4)),), *span(4, 48))) == [], "it is over"
