# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What runs need that are not over: a person, or time."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.run_status import UpdateStatus
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.run_needs import run_needs
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.runs import (
    ROTATION,
    STAGED_RUN,
    UPDATE_RUN,
    Bar,
    RunChart,
)

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)


def line(what: str, state: str, why: str = "", due: datetime | None = None) -> Bar:
    return Bar(what=what, name="x", depth=1, status=UpdateStatus(state=state), why=why, due=due)


def chart(state: str, *bars: Bar, kind: str = UPDATE_RUN, name: str = "r", over: bool = False) -> RunChart:
    return RunChart(
        kind=kind, name=name, state=state, outcome="", target="", message="", progress="", over=over, bars=bars
    )


CLOSED = "WindowClosed: the maintenance window opens at 2026-03-05T21:00:00Z"
APPROVED = replace(line("gate", "Pending", "approved by anna; taken up when the run is carried on"), approved=True)
HELD = replace(line("node", "Waiting", "blocked since 2026-03-02T08:00:00Z"), blocked=True)
GATE, DUE = line("gate", "Pending", "approve g"), line("gate", "Pending", due=NOW)
LOST = line("member", "Pending", "Unreachable: connection refused")
BUSY, SHUT, PAUSE = line("member", "Running"), line("member", "Pending", CLOSED), line("wait", "Pending")


@pytest.mark.parametrize(
    ("found", "needs"),
    [
        (chart("Failed", GATE), ["failed"]),
        (chart("Stuck", BUSY, kind=STAGED_RUN), ["stuck"]),
        (chart("Running", BUSY, GATE), ["approval"]),
        (chart("Waiting", GATE, kind=STAGED_RUN), ["approval"]),
        (chart("Pending", APPROVED, SHUT), ["approved"]),
        (chart("Running", APPROVED, GATE), ["approval"]),
        (chart("Running", APPROVED, BUSY), []),
        (chart("Pending", SHUT, PAUSE), ["window"]),
        (chart("Running", SHUT, BUSY), []),
        (chart("Pending", SHUT, LOST), ["unreachable"]),
        (chart("Running", LOST, BUSY), []),
        (chart("Pending", GATE, LOST), ["approval"]),
        (chart("Stopped", LOST), []),
        (chart("Pending", line("member", "Skipped", "Unreachable: unreachable for 30 minutes"), SHUT), ["window"]),
        (chart("Running", PAUSE), ["pause"]),
        (chart("Pending", DUE), ["pause"]),
        (chart("Waiting", line("node", "Waiting"), kind=ROTATION), ["nodes"]),
        (chart("Waiting", line("node", "Rotated"), HELD, kind=ROTATION), ["blocked"]),
        (chart("Waiting", line("node", "Waiting"), HELD, kind=ROTATION), ["nodes"]),
        (chart("Running", line("node", "Draining"), HELD, kind=ROTATION), []),
        (chart("Waiting", line("wait", "Pending"), HELD, kind=ROTATION), ["pause"]),
        (chart("Running", line("wait", "Pending"), line("node", "Waiting"), kind=ROTATION), ["pause"]),
        (chart("Running", line("node", "Draining"), line("wait", "Pending"), kind=ROTATION), []),
        (chart("Stopped", GATE), []),
        (chart("NotStarted", GATE), []),
        (chart("Completed", over=True), []),
        (chart("Running", line("member", "Pending", "WaitingForSlot: later")), []),
    ],
)
def test_a_run_needs_a_person_or_time_or_nothing(found: RunChart, needs: list[str]):
    assert [each.needs for each in run_needs([found])] == needs


def test_what_is_under_way_and_conducted_by_nobody_needs_a_conductor():
    going, pausing, good = chart("Running", BUSY), chart("Running", PAUSE, name="p"), chart("Running", BUSY, name="g")
    left = {(UPDATE_RUN, "r"): NOW, (UPDATE_RUN, "p"): NOW}
    assert [each.as_dict() for each in run_needs([going, pausing, good], left)] == [
        {"kind": "update run", "name": "r", "needs": "conductor", "since": "2026-03-02T09:00:00Z"},
        {"kind": "update run", "name": "p", "needs": "pause"},
    ]


def test_runs_keep_their_order_and_are_plain_data():
    found = run_needs([chart("Pending", SHUT, name="b"), chart("Running", name="c"), chart("Failed", name="a")])
    assert [each.as_dict() for each in found] == [
        {"kind": "update run", "name": "b", "needs": "window"},
        {"kind": "update run", "name": "a", "needs": "failed"},
    ]
