# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""How far the clock of an API server is from ours, by the Date of its answers (RFC 9110, in whole seconds), in words,
and the median of many."""

from __future__ import annotations

import statistics
import typing as t
from datetime import datetime, timedelta

# What people are told from; leases and facts bear more.
TOLD = timedelta(seconds=30)
_RESOLUTION = timedelta(seconds=1)


def ahead(date: datetime, asked: datetime, answered: datetime) -> timedelta:
    """How far the server's ``date`` (whole seconds) is ahead of our clock, negative if behind; zero where the second
    that it names meets the span from when we ``asked`` to when we had ``answered``. All three are aware."""
    if date > answered:
        return date - answered
    return min(date + _RESOLUTION - asked, timedelta(0))


def difference_words(difference: timedelta) -> str:
    """The difference in words for people, to the second below two minutes, else in whole minutes; empty below 30 s
    (``TOLD``), either way. A positive one is ahead of ours."""
    if abs(difference) < TOLD:
        return ""
    seconds = round(abs(difference).total_seconds())
    size = f"{seconds} s" if seconds < 120 else f"{seconds // 60} min"
    return f"its clock is {size} {'ahead of' if difference > timedelta(0) else 'behind'} ours"


def usual_difference(differences: t.Iterable[timedelta]) -> timedelta:
    """The median, of an even number the lower one of the middle two, so that one wrong clock among three or more does
    not decide; 0 without any."""
    found = sorted(differences)
    return statistics.median_low(found) if found else timedelta(0)
