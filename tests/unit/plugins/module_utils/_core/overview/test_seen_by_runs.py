# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What update runs tell of members: upgraded, missed, or waited for because they are not reached."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.run_status import UpdateStatus
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.runs import (
    STAGED_RUN,
    UPDATE_RUN,
    Bar,
    RunChart,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.seen_by_runs import SeenByRun, seen_by_runs

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
REFUSED = "Unreachable: connection refused"


def member(state: str, why: str = "", since: datetime | None = None, ended: datetime | None = None) -> Bar:
    status = UpdateStatus(state=state, completed_time=ended)
    return Bar(what="member", name="east", depth=3, status=status, why=why, since=since)


def chart(*bars: Bar, name: str = "r", kind: str = UPDATE_RUN, state: str = "Pending") -> RunChart:
    return RunChart(
        kind=kind, name=name, state=state, outcome="", target="", message="", progress="", over=False, bars=bars
    )


def test_a_member_that_is_pending_only_because_it_is_not_reached_is_told_with_the_run_and_since_when() -> None:
    """F22: unreachable is not absent."""
    found = seen_by_runs([chart(member("Pending", REFUSED, since=NOW))])
    assert found == {"east": SeenByRun(run="r", at=NOW, upgraded=False, waits=True)}
    assert found["east"].sentence == "run r waits for it, and has not reached it since 2026-03-02T09:00:00Z"


@pytest.mark.parametrize(
    "other",
    [
        chart(member("Pending", "WindowClosed: it opens later; connection refused", since=NOW)),
        chart(member("Pending", REFUSED)),
        chart(member("Pending", REFUSED, since=NOW), state="Stopped"),
        chart(member("Pending", REFUSED, since=NOW), kind=STAGED_RUN),
        chart(member("Failed", "UpgradeFailed: x", ended=NOW), state="Failed"),
    ],
)
def test_who_waits_for_something_else_or_for_a_run_that_stands_still_is_not_missed(other: RunChart) -> None:
    assert seen_by_runs([other]) == {}


def test_what_was_seen_last_counts() -> None:
    waits = chart(member("Pending", REFUSED, since=NOW), name="new")
    upgraded = chart(member("Completed", ended=NOW - timedelta(hours=1)), name="old", state="Completed")
    missed = chart(member("Skipped", REFUSED, ended=NOW + timedelta(hours=1)), name="last")
    assert seen_by_runs([waits, upgraded])["east"].run == "new"
    assert seen_by_runs([waits, upgraded, missed])["east"] == SeenByRun(
        run="last", at=NOW + timedelta(hours=1), upgraded=False
    )
