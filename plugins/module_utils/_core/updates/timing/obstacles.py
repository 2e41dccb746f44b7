# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What keeps a member of an update run from starting when its turn comes (closed window, unreachable, others), and what
becomes of it: Pending with a reason, Failed, or Skipped when it was unreachable for too long; when time alone changes
that."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from ...values.instants import write_local, write_time
from ...values.listed import number_of
from ...values.update_states import (
    FAILED,
    PENDING,
    SKIPPED,
    SYSTEM,
    UNREACHABLE,
    WAITING_FOR_SLOT,
    WINDOW_CLOSED,
)
from ...windows.clocks import shifted
from ..run import (
    MemberBlocker,
    MemberRow,
    MemberView,
    RunState,
)
from .member_order import NEVER, changes_at, closed_until

NO_SLOT = MemberBlocker(reason=WAITING_FOR_SLOT, message="could start, but no slot is free")
NO_REASON = MemberBlocker(reason="")


def obstacle(view: MemberView, now: datetime) -> MemberBlocker | None:
    """Why the member cannot start now: the first reason, with its end and the messages of all; None if it can.

    The closed window comes first, so that an unreachable member has its whole window to come back, then that it is
    unreachable, then the others in order.
    """
    found = list(view.obstacles)
    if len(found) > 1:
        found.sort(key=lambda each: each.reason != UNREACHABLE)
    opens = closed_until(view, now)
    if opens is not None:
        found.insert(0, _closed(opens, view, now))
    if len(found) < 2:
        return found[0] if found else None
    return replace(found[0], message="; ".join(each.message or each.reason for each in found))


def _closed(opens: datetime, view: MemberView, now: datetime) -> MemberBlocker:
    """The obstacle of closed windows: when they open (``opens`` as of ``closed_until``), who closes them now, and the
    first opening before that which a coming freeze takes."""
    whose = f", closed now by {' and by '.join(view.shut)}" if view.shut else ""
    # Of a freeze that holds already there is an obstacle of its own.
    taken = [each for each in view.closed if now < each.since and each.start < opens]
    if taken:
        whose += f"; the opening {write_local(taken[0].start, UTC)} is closed by {taken[0].by}"
    if opens == NEVER:
        return MemberBlocker(reason=WINDOW_CLOSED, message=f"no maintenance window is known to open{whose}")
    return MemberBlocker(
        reason=WINDOW_CLOSED, message=f"the maintenance window opens at {write_time(opens)}{whose}", until=opens
    )


def pending(row: MemberRow, why: MemberBlocker, now: datetime) -> MemberRow:
    """The member's row, Pending for that reason; the same object if it was so before. ``pending_since`` does not move
    on with the message alone."""
    if row.state == PENDING and row.reason == why.reason and row.message == why.message:
        return row
    since = row.pending_since if row.state == PENDING and row.reason == why.reason else now
    return replace(row, state=PENDING, reason=why.reason, message=why.message, pending_since=since)


def held_or_skipped(row: MemberRow, why: MemberBlocker, run: RunState, now: datetime) -> MemberRow:
    """The member's row, Pending for that reason as of ``pending``, or Skipped by the system once ``Unreachable`` has
    been its reason for the run's ``unreachable_timeout``."""
    row = pending(row, why, now)
    if row.reason != UNREACHABLE or row.pending_since is None or now - row.pending_since < run.unreachable_timeout:
        return row
    seconds = round(run.unreachable_timeout.total_seconds())
    span = number_of(seconds, "second") if seconds % 60 else number_of(seconds // 60, "minute")
    return skipped(row, MemberBlocker(reason=UNREACHABLE, message=f"unreachable for {span}"), now)


def skipped(row: MemberRow, why: MemberBlocker, now: datetime) -> MemberRow:
    """The member's row, Skipped by the system for that reason, ended at ``now``."""
    return replace(
        row,
        state=SKIPPED,
        skipped_by=SYSTEM,
        reason=why.reason,
        message=why.message,
        completed=now,
        pending_since=None,
    )


def failed(row: MemberRow, why: MemberBlocker, now: datetime) -> MemberRow:
    """The member's row, Failed for that reason, ended at ``now``."""
    return replace(row, state=FAILED, reason=why.reason, message=why.message, completed=now, pending_since=None)


def _may_start(view: MemberView, now: datetime) -> datetime | None:
    """When a member may start whose obstacles all end by the clock: with a window open then; None if that is now, or no
    such window is known."""
    at = max((each.until for each in view.obstacles if each.until is not None), default=now)
    opens = closed_until(view, max(at, now))
    at = max(at, opens or now)
    return None if at <= now or at == NEVER else at


def wakes_at(row: MemberRow, view: MemberView, run: RunState, now: datetime) -> list[datetime]:
    """Instants later than ``now``, in no order, at which time alone changes something for a member whose ``row`` is
    Pending: all that keeps it is over and a window is open, or, if time does not bring that, some of it is over, or a
    window opens or closes; or it is skipped as ``Unreachable``."""
    until = [each.until for each in view.obstacles if each.until is not None]
    starts = _may_start(view, now) if len(until) == len(view.obstacles) else None
    change = starts or changes_at(view, now)
    found = [*([] if starts else until), *([change] if change else [])]
    if row.reason == UNREACHABLE and row.pending_since is not None:
        found.append(shifted(row.pending_since, run.unreachable_timeout))
    return [each for each in found if each > now]
