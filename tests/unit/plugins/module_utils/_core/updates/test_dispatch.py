# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Slots, turns, and members that cannot start."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.decide import decide
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import Begin, MemberBlocker, UpdateSeen
from ansible_collections.gitops.fleet.plugins.module_utils._core.values import update_states as states
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.made import (
    Play,
    at,
    changed,
    laid,
    played,
)

HOUR = 3_600


def test_an_attempt_is_named_after_run_member_and_number():
    run = played("s{g:a}").start().fails("a").start()
    assert run.decided.acts == (Begin(stage="s", group="g", member="a", attempt=2, operation="r-0f8fad5b.a.2"),)
    assert run.member("a").operation == "r-0f8fad5b.a.2"


def test_a_pending_member_takes_no_slot():  # D3-39
    assert played("s{g:a,b,c}").blocked("a").blocked("b").start().begun == ["c"]


def test_without_a_slot_members_stay_as_they_are():  # V3, U12
    run = played("s{g:a,b}").start().sees("b", windows=((at(HOUR), at(2 * HOUR)),))
    assert run.member("b").state == states.NOT_STARTED
    assert run.ends("a").member("b").state == states.PENDING


def test_an_obstacle_gone_without_a_slot():  # V22
    run = played("s{g:a,b}").blocked("a").start()
    assert run.tree == "R[s R{g R:aP bR}]"
    run.wait(10).sees("a", obstacles=())
    row = run.member("a")
    assert (row.state, row.reason, row.pending_since) == (states.PENDING, states.WAITING_FOR_SLOT, at(10))
    assert run.ends("b").begun == ["a"]
    assert (run.member("a").reason, run.member("a").pending_since) == ("", None)


def test_another_obstacle_while_no_slot_is_free():
    run = played("s{g:a,b}").blocked("a").start()
    run.wait(60).blocked("a", states.OPERATION_IN_PROGRESS)
    assert (run.member("a").reason, run.member("a").pending_since) == (states.OPERATION_IN_PROGRESS, at(60))


def test_several_obstacles_the_closed_window_first():
    run = played("s{g:a}").sees("a", windows=((at(HOUR), at(5 * HOUR)),)).blocked("a", states.UNREACHABLE).start()
    assert run.member("a").reason == states.WINDOW_CLOSED
    assert run.member("a").message == "the maintenance window opens at 2026-08-17T01:00:00Z; Unreachable"
    assert run.wait(HOUR).member("a").reason == states.UNREACHABLE


def test_unreachable_for_too_long_is_skipped():  # U18
    run = played("s{g:a}, t{h:b}").blocked("a", states.UNREACHABLE).start()
    assert run.decided.wake_at == at(1_800)
    assert run.wait(1_799).tree == "P[s P{g P:aP}, t N{h N:bN}]"
    assert run.wait(1).tree == "R[s K{g K:aK}, t R{h R:bR}]"
    row = run.member("a")
    assert (row.skipped_by, row.reason, row.message) == (
        states.SYSTEM,
        states.UNREACHABLE,
        "unreachable for 30 minutes",
    )


def test_back_in_time_it_starts_and_the_clock_begins_anew():
    run = played("s{g:a,b}").blocked("a", states.UNREACHABLE).start().wait(1_700).sees("a", obstacles=())
    assert run.member("a").reason == states.WAITING_FOR_SLOT
    run.blocked("a", states.UNREACHABLE)
    assert run.wait(1_700).member("a").state == states.PENDING
    assert run.ends("b").wait(100).member("a").state == states.SKIPPED


def test_at_the_target_it_is_skipped_when_its_turn_comes():  # D3-61
    run = played("s{g:a,b}").sees("b", skip=MemberBlocker(reason="", message="already ahead")).start()
    assert run.member("b").state == states.NOT_STARTED
    assert run.ends("a").tree == "C[s C{g C:aC bK}]"
    assert (run.member("b").message, run.member("b").attempt) == ("already ahead", 0)


def test_a_failed_precondition_halts_as_any_failure():
    run = played("s{g:a,b; h:c}").sees("a", fail=MemberBlocker(reason=states.MINOR_GAP, message="two minors")).start()
    assert (run.tree, run.begun) == ("F[s F{g F:aF bN; h N:cN}]", [])
    assert (run.member("a").reason, run.member("a").attempt) == (states.MINOR_GAP, 0)
    assert run.sees("a", fail=None).start().member("a").attempt == 1


def test_a_failed_precondition_that_only_the_stage_cannot_bear_halts_at_once():
    run = Play(changed(laid("s{g:a,b; h:c}"), "g", max_allowed_failures=2))
    run.sees("a", fail=MemberBlocker(reason="")).start()
    assert (run.tree, run.begun) == ("F[s F{g St:aF bN; h N:cN}]", [])


def test_a_tolerated_failed_precondition_lets_the_next_try():
    tolerant = changed(changed(laid("s{g:a,b}"), "g", max_allowed_failures=1), "s", max_allowed_failures=1)
    run = Play(tolerant).sees("a", fail=MemberBlocker(reason="")).start()
    assert (run.tree, run.member("a").reason) == ("R[s R{g R:aF bR}]", states.PRECONDITION_FAILED)


def test_a_member_that_left():  # U15
    run = played("s{g:b,a,c; h:z}").blocked("b").start().leaves("b").leaves("c")
    assert run.tree == "R[s R{g R:bK aR cK; h R:zR}]"
    assert run.leaves("z").tree == "Sg[s Sg{g Sg:bK aR cK; h F:zF}]"
    assert (run.member("c").reason, run.member("c").message) == (states.MEMBER_GONE, "left the fleet")
    assert run.member("z").reason == states.MEMBER_GONE


def test_a_member_that_is_leaving_counts_as_gone():
    assert played("s{g:a,b}").sees("b", in_fleet=False).start().member("b").reason == states.MEMBER_GONE


def test_the_turn_goes_on_after_the_group_served_last_and_over_a_restart():  # U13, V10
    run = Play(changed(laid("s{A:a1,a2; B:b1,b2; C:c1}"), "s", max_concurrency=1)).start()
    assert run.tree == "R[s R{A R:a1R a2N; B N:b1N b2N; C N:c1N}]"  # V11
    assert run.ends("a1").begun == ["b1"]
    assert run.stop().ends("b1").start().begun == ["c1"]
    assert run.ends("c1").begun == ["a2"]


def test_order_is_worked_out_anew_each_time():  # D3-39
    run = played("s{g:a,b,c}").sees("c", windows=((at(100), at(20 * HOUR)),)).start()
    assert run.begun == ["a"]
    assert run.wait(100).ends("a").begun == ["c"]


def test_a_window_that_closes_interrupts_nothing():  # D3-42
    run = played("s{g:a}").sees("a", windows=((at(0), at(100)),)).start().wait(200)
    assert run.member("a").state == states.RUNNING


def test_it_wakes_when_an_obstacle_is_said_to_end_but_not_in_the_past():
    run = played("s{g:a}").blocked("a", until=at(50)).start()
    assert run.decided.wake_at == at(50)
    assert run.wait(60).decided.wake_at is None


def test_a_run_that_was_not_started_does_nothing():
    run = played("s{g:a}").leaves("a")
    assert (run.decided.acts, run.decided.wake_at, run.tree) == ((), None, "N[s N{g N:aN}]")


def test_the_timeout_is_the_runs_own():
    run = played("s{g:a}")
    run.run = type(run.run)(**{**vars(run.run), "unreachable_timeout": timedelta(seconds=5)})
    assert run.blocked("a", states.UNREACHABLE).start().wait(5).member("a").message == "unreachable for 5 seconds"


def test_an_obstacle_since_the_end_of_the_calendar_raises_nothing():
    run = played("s{g:a}").blocked("a", states.UNREACHABLE).start()
    last = datetime.max.replace(tzinfo=UTC)
    run.run = changed(run.run, "g", members=(replace(run.member("a"), pending_since=last),))
    assert decide(run.run, UpdateSeen(members=run.views), run.now).wake_at == last
