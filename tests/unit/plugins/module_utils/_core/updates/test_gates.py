# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Gates and waits."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.decide import decide
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.gates import (
    next_occurrence,
    with_gates_changed,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import (
    GateRow,
    MemberBlocker,
    OpenGate,
    Schedule,
    UpdateSeen,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.update_states import (
    COMPLETED,
    LAST_STAGE,
    NOT_STARTED,
    PENDING,
    REQUESTED_BY_USER,
    SKIPPED,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.made import (
    T0,
    Play,
    at,
    changed,
    gate,
    laid,
    played,
)

NOTHING = MemberBlocker(reason="")


def test_gates_are_changed_wherever_they_stand():
    one, two = GateRow(name="x", id="1"), GateRow(name="y", id="2")
    state = changed(changed(laid("s{g:a}, t{h:b}"), "s", before_gates=(one,)), "h", after_gates=(two,))
    assert with_gates_changed(state, lambda row: row) is state
    named = with_gates_changed(state, lambda row: replace(row, by="anna"))
    assert named.stages[0].before_gates[0].by == named.stages[1].groups[0].after_gates[0].by == "anna"


@pytest.mark.parametrize(
    ("after", "schedule", "expected"),
    [
        ("2026-08-17T09:00", ("Wednesday", "02:00", "+00:00"), "2026-08-19T02:00"),
        ("2026-08-19T03:00", ("Wednesday", "02:00", "+00:00"), "2026-08-26T02:00"),
        ("2026-08-19T02:00", ("Wednesday", "02:00", "+00:00"), "2026-08-26T02:00"),
        ("2026-08-19T01:59", ("Wednesday", "02:00", "+00:00"), "2026-08-19T02:00"),
        ("2026-08-17T00:00", ("Monday", "22:30", "-05:30"), "2026-08-18T04:00"),
        ("2026-08-17T00:00", ("Monday", "01:00", "+02:00"), "2026-08-23T23:00"),
        ("2026-08-17T00:00", ("Monday", "14:00", "+14:00"), "2026-08-24T00:00"),
        ("2026-12-31T12:00", ("Friday", "00:00", "+00:00"), "2027-01-01T00:00"),
    ],
)
def test_next_occurrence(after, schedule, expected):
    day, time, offset = schedule
    found = next_occurrence(
        Schedule(day=day, time=time, utc_offset=offset), datetime.fromisoformat(after).replace(tzinfo=UTC)
    )
    assert found == datetime.fromisoformat(expected).replace(tzinfo=UTC)


def test_all_gates_of_a_place_open_together_and_all_count():  # U23
    run = Play(changed(laid("s{g:a}"), "g", before_gates=gate("X") + gate("Y"))).start()
    opened = [action for action in run.decided.acts if isinstance(action, OpenGate)]
    assert [(each.stage, each.group, each.timing, each.gate.name) for each in opened] == [
        ("s", "g", "Before", "X"),
        ("s", "g", "Before", "Y"),
    ]
    assert run.approve("X").begun == []
    assert run.approve("Y").begun == ["a"]


def test_gates_of_groups_wait_for_those_of_the_stage():
    both = changed(changed(laid("s{g:a}"), "s", before_gates=gate("X")), "g", before_gates=gate("Y"))
    run = Play(both).start()
    assert run.gate("Y").state == NOT_STARTED
    assert run.approve("X").gate("Y").state == PENDING
    assert run.approve("Y").begun == ["a"]


def test_gates_of_what_is_skipped_are_never_opened():  # U2, U23, V15
    gated = changed(changed(laid("s(60){g:a}, t{h:b}"), "g", after_gates=gate("X")), "s", after_gates=gate("Y"))
    run = Play(gated).sees("a", skip=NOTHING).start()
    assert (run.gate("X").state, run.gate("Y").state, run.state_of_wait(), run.begun) == (SKIPPED, SKIPPED, "K", ["b"])


def test_a_skipped_stage_that_drains_closes_its_gates_at_once():
    run = Play(changed(laid("s(60){g:a,b}, t{h:c}"), "s", after_gates=gate("X"))).start().skip("Stage:s")
    assert run.tree == "R[s R{g R:aR bK}, t N{h N:cN}]"
    assert (run.gate("X").state, run.run.stages[0].wait.reason) == (SKIPPED, REQUESTED_BY_USER)
    assert run.ends("a").tree == "R[s K{g K:aC bK}, t R{h R:cR}]"


def test_the_wait_of_the_last_stage_is_not_served():  # U1
    run = played("s(60){g:a}").start().ends("a")
    wait = run.run.stages[0].wait
    assert (wait.state, wait.reason, run.tree) == (SKIPPED, LAST_STAGE, "C[s C{g C:aC}]")


def test_not_even_under_a_stop():  # V14
    run = Play(changed(laid("s(60){g:a}"), "s", after_gates=gate("X"))).start().stop().ends("a")
    assert (run.run.stages[0].wait.reason, run.gate("X").state) == (LAST_STAGE, NOT_STARTED)
    assert run.tree == "St[s St{g C:aC}]"
    assert run.start().gate("X").state == PENDING


def test_the_wait_runs_on_while_stopped():  # U4
    run = played("s(60){g:a}, t{h:b}").start().ends("a").stop()
    assert (run.tree, run.decided.wake_at) == ("St[s St{g C:aC}, t N{h N:bN}]", at(60))
    assert run.wait(100).tree == "St[s C{g C:aC}, t N{h N:bN}]"
    assert run.run.stages[0].wait.completed == at(60)
    assert run.start().begun == ["b"]


def test_an_approval_while_stopped_counts_after_the_start():  # U24
    run = Play(changed(laid("s{g:a}"), "g", before_gates=gate("X"))).start().stop().approve("X")
    assert (run.gate("X").state, run.tree) == (COMPLETED, "St[s St{g St:aN}]")
    assert run.start().begun == ["a"]


def test_an_after_gate_approved_while_stopped_completes_at_once():  # V13
    run = Play(changed(laid("s{g:a}, t{h:b}"), "s", after_gates=gate("X"))).start().ends("a").stop().approve("X")
    assert run.tree == "St[s C{g C:aC}, t N{h N:bN}]"
    assert run.start().begun == ["b"]


def test_an_approval_while_failed_is_kept():  # V20
    run = Play(changed(laid("s{g:a; h:b}"), "h", before_gates=gate("X"))).start().fails("a")
    assert run.tree == "F[s F{g F:aF; h St:bN}]"
    assert run.approve("X").tree == "F[s F{g F:aF; h St:bN}]"
    assert sorted(run.start().begun) == ["a", "b"]


def test_a_scheduled_gate_may_be_completed_early_and_needs_no_one():
    friday = Schedule(day="Friday", time="00:00", utc_offset="+00:00")
    run = Play(changed(laid("s{g:a}"), "s", before_gates=gate("F", schedule=friday))).start()
    due = run.gate("F").due
    early = Play(run.run, run.now).approve("F")
    assert (early.begun, early.gate("F").completed, early.gate("F").by) == (["a"], T0, "anna")
    assert run.wait(5 * 86_400).begun == ["a"]
    assert (run.gate("F").completed, run.gate("F").by) == (due, "")


def test_nothing_opens_after_a_breach():
    gated = changed(laid("s{g:a; h:b}, t{i:c}"), "h", after_gates=gate("X"))
    run = Play(changed(gated, "s", after_gates=gate("Y"))).start().fails("a").ends("b")
    assert run.tree == "F[s F{g F:aF; h St:bC}, t N{i N:cN}]"
    assert (run.gate("X").state, run.gate("Y").state) == (NOT_STARTED, NOT_STARTED)


class TestRefused:
    """A gate that somebody refused to pass stops the run until it is approved."""

    def refused(self, run: Play, name: str) -> Play:
        gates = {run.gate(name).id: replace(run.gate(name), refused="ann: too slow")}
        run.decided = decide(run.run, UpdateSeen(members=run.views, gates=gates), run.now)
        run.run = run.decided.state
        return run

    def test_what_is_in_flight_ends_and_nothing_begins(self):
        run = self.refused(Play(changed(laid("s{g:a,b;h:c}"), "h", before_gates=gate("X"))).start(), "X")
        assert (run.status.state, run.begun) == ("Stopping", [])
        run.ends("a")
        assert run.tree == "St[s St{g St:aC bN; h St:cN}]"
        assert run.status.message == "gate X was refused by ann: too slow"

    def test_started_again_it_stops_again_until_it_is_approved(self):
        run = self.refused(Play(changed(laid("s{g:a}"), "s", before_gates=gate("X"))).start(), "X")
        assert run.status.state == "Stopped" and run.start().status.state == "Stopped"
        assert run.approve("X").begun == [], "an approval alone starts nothing"
        assert run.start().begun == ["a"] and run.gate("X").refused == ""

    def test_its_time_does_not_open_a_gate_that_was_refused(self):
        wednesday = Schedule(day="Wednesday", time="02:00", utc_offset="+00:00")
        run = Play(changed(laid("s{g:a}"), "s", before_gates=gate("X", schedule=wednesday))).start()
        assert run.decided.wake_at is not None
        run = self.refused(run, "X")
        assert run.decided.wake_at is None and run.wait(7 * 86400).gate("X").state == PENDING
