# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""How far the clock of another machine may be from ours (5 minutes), before what it says of the time is refused, or
nothing begins by ours; what is due again after a span, also where our own clock is set back."""

from __future__ import annotations

from datetime import datetime, timedelta

CLOCK_SKEW = timedelta(minutes=5)


def is_ahead(at: datetime, now: datetime) -> bool:
    """Whether the instant, which was to be past, is later than ``now`` by more than the 5 minutes that the clocks of
    two machines may differ. Both are aware."""
    return at - now > CLOCK_SKEW


def clock_skew_words(ahead: timedelta) -> str:
    """Why nothing may begin where our clock is more than 5 minutes off, empty else: by such a clock nothing can be said
    of windows, freezes and waits. ``ahead`` is how far those of the clusters are ahead of ours."""
    if abs(ahead) <= CLOCK_SKEW:
        return ""
    where = "ahead of" if ahead < timedelta(0) else "behind"
    minutes = abs(ahead) // timedelta(minutes=1)
    words = f"our clock is {minutes} min {where} those of the clusters, so that no window, freeze or wait can be judged"
    return f"{words}; set the runner's clock"


def is_due_again(since: datetime | None, span: timedelta, now: datetime) -> bool:
    """Whether a ``span`` or more has gone by ``since`` something was done last, so that it is due again; also where
    that is ahead of ``now``, as the clock was set back meanwhile, which is to delay nothing, and where it never was
    done (None). Both instants are aware, and of one clock."""
    return since is None or not timedelta(0) <= now - since < span


def is_due(at: datetime, span: timedelta, now: datetime) -> bool:
    """Whether the instant ``at`` has come (``now`` is it, or later) that was set a ``span`` ahead; also where it is
    more than that ahead, as the clock was set back meanwhile. Both instants are aware."""
    return is_due_again(at - span, span, now)
