# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Clock skew: how far another machine's clock may be from ours (5 minutes); what is due again after a span, also where
our own clock was set back."""

from __future__ import annotations

from datetime import datetime, timedelta

CLOCK_SKEW = timedelta(minutes=5)


def is_ahead(at: datetime, now: datetime) -> bool:
    """Whether ``at`` is later than ``now``, both aware, by more than the 5 minutes that two clocks may differ."""
    return at - now > CLOCK_SKEW


def clock_skew_words(ahead: timedelta) -> str:
    """Why no window, freeze or wait can be judged by our clock: those of the clusters are ``ahead`` by more than 5
    minutes, or behind (negative). Empty up to that."""
    if abs(ahead) <= CLOCK_SKEW:
        return ""
    where = "ahead of" if ahead < timedelta(0) else "behind"
    minutes = abs(ahead) // timedelta(minutes=1)
    words = f"our clock is {minutes} min {where} those of the clusters, so that no window, freeze or wait can be judged"
    return f"{words}; set the runner's clock"


def is_due_again(since: datetime | None, span: timedelta, now: datetime) -> bool:
    """Whether what was last done at ``since`` is due again: a ``span`` or more has gone by, or ``since`` is later than
    ``now`` (our clock was set back), or is None (never). Both are aware, and of one clock."""
    return since is None or not timedelta(0) <= now - since < span


def is_due(at: datetime, span: timedelta, now: datetime) -> bool:
    """Whether the instant ``at``, which was set a ``span`` ahead, has come; also where it is more than that ahead, as
    our clock was set back meanwhile. Both are aware."""
    return is_due_again(at - span, span, now)
