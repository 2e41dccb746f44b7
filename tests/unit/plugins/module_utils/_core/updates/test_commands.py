# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Start, stop, and results of attempts: what is allowed when, and what it does."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.commands import (
    held_up,
    put_back,
    skip,
    start,
    stop,
    with_attempt_end,
    with_reference,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import MemberBlocker
from ansible_collections.gitops.fleet.plugins.module_utils._core.values import update_states as states
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.made import (
    T0,
    Play,
    changed,
    laid,
    played,
)

NOT_STARTED, RUNNING, PENDING, STOPPING = states.NOT_STARTED, states.RUNNING, states.PENDING, states.STOPPING
STOPPED, FAILED, SKIPPED, COMPLETED = states.STOPPED, states.FAILED, states.SKIPPED, states.COMPLETED
IN = {
    NOT_STARTED: lambda: played("s{g:a,b}"),
    RUNNING: lambda: played("s{g:a,b}").start(),
    PENDING: lambda: played("s{g:a,b}").blocked("a").blocked("b").start(),
    STOPPING: lambda: played("s{g:a,b}").start().stop(),
    STOPPED: lambda: played("s{g:a,b}").start().stop().ends("a"),
    FAILED: lambda: played("s{g:a,b}").start().fails("a"),
    SKIPPED: lambda: played("s{g:a}").sees("a", skip=MemberBlocker(reason="")).start(),
    COMPLETED: lambda: played("s{g:a}").start().ends("a"),
}
ALLOWED = {
    "start": {NOT_STARTED, STOPPED, FAILED},  # D13
    "stop": {RUNNING, PENDING},  # D14
    "skip": {NOT_STARTED, RUNNING, PENDING, STOPPED, FAILED},
}
WITHOUT_EFFECT = {"start": set(), "stop": {STOPPING, STOPPED, SKIPPED}, "skip": set()}  # D15


@pytest.mark.parametrize("verb", ALLOWED)
@pytest.mark.parametrize("state", IN)
def test_admission(verb, state):
    run = IN[state]().run
    verbs = {
        "start": lambda: start(run, T0),
        "stop": lambda: stop(run),
        "skip": lambda: skip(run, [], T0),
    }
    assert played_state(run) == state
    if state in ALLOWED[verb]:
        verbs[verb]()
    elif state in WITHOUT_EFFECT[verb]:
        assert verbs[verb]() is run
    else:
        with pytest.raises(FleetError) as refused:
            verbs[verb]()
        assert refused.value.code == "conflict-state"
        assert f"state {state}" in refused.value.message


def played_state(run):
    return Play(run).status.state


def test_start_keeps_what_ended_and_retries_what_failed():  # D3-80
    run = played("s{g:a,b,c; h:d,e}").skip("Member:c").start().ends("a").fails("b").ends("d")
    assert run.tree == "F[s F{g F:aC bF cK; h St:dC eN}]"
    assert run.start().tree == "R[s R{g R:aC bR cK; h R:dC eR}]"
    assert [run.member(name).attempt for name in "abcde"] == [1, 2, 0, 1, 1]


def test_start_leaves_tolerated_failures_of_done_stages():  # V7
    tolerant = changed(changed(laid("s{g:a}, t{h:b}"), "g", max_allowed_failures=1), "s", max_allowed_failures=1)
    run = Play(tolerant).start().fails("a").stop().ends("b")
    assert run.tree == "C[s C{g C:aF}, t C{h C:bC}]"
    again = Play(tolerant).start().fails("a").fails("b").start()
    assert again.tree == "R[s C{g C:aF}, t R{h R:bR}]"


def test_start_retries_tolerated_failures_of_a_stage_that_goes_on():  # V7
    tolerant = changed(changed(laid("s{g:a; h:b,c}"), "g", max_allowed_failures=1), "s", max_allowed_failures=1)
    run = Play(tolerant).start().fails("a").stop().ends("b")
    assert run.tree == "St[s St{g C:aF; h St:bC cN}]"  # V1
    assert run.start().tree == "R[s R{g R:aR; h R:bC cR}]"


def test_start_leaves_failures_of_what_was_skipped():  # V8, V6
    run = played("s{g:a,b}, t{h:c}").start().fails("a").skip("Group:g")
    assert run.tree == "F[s F{g F:aF bK}, t N{h N:cN}]"
    assert run.start().tree == "R[s K{g K:aF bK}, t R{h R:cR}]"


def test_stop_of_a_pending_run():  # U5
    run = IN[PENDING]().stop()
    assert run.tree == "St[s St{g St:aSt bSt}]"
    assert (run.member("a").reason, run.member("a").pending_since) == ("", None)
    assert run.start().tree == "P[s P{g P:aP bP}]"


def test_stop_with_a_breached_group_and_one_to_go_on():  # V1, V9
    run = changed(laid("s{g:a,b; h:c,d}"), "s", max_allowed_failures=2)
    play = Play(run).start().stop().fails("a").ends("c")
    assert play.tree == "F[s St{g F:aF bN; h St:cC dN}]"
    assert play.start().tree == "R[s R{g R:aR bN; h R:cC dR}]"


def test_record_takes_result_message_and_versions():
    run = played("s{g:a,b}").start().run
    done = with_attempt_end(
        run, "r-0f8fad5b.a.1", COMPLETED, T0, "two pools left out", "", "1.35.4", "1.36.3", ("Linux-2",)
    )
    row = Play(done).member("a")
    assert row.node_images == ("Linux-2",)
    assert (row.state, row.message, row.version_before, row.version_after) == (
        COMPLETED,
        "two pools left out",
        "1.35.4",
        "1.36.3",
    )


@pytest.mark.parametrize(
    ("result", "reason", "by"),
    [(COMPLETED, "", ""), (FAILED, states.UPGRADE_FAILED, ""), (SKIPPED, states.ALREADY_AT_TARGET, states.SYSTEM)],
)
def test_record_has_a_reason_for_each_result(result, reason, by):
    row = Play(with_attempt_end(IN[RUNNING]().run, "r-0f8fad5b.a.1", result, T0)).member("a")
    assert (row.state, row.reason, row.skipped_by, row.completed) == (result, reason, by, T0)
    assert (
        Play(with_attempt_end(IN[RUNNING]().run, "r-0f8fad5b.a.1", result, T0, reason="Own")).member("a").reason
        == "Own"
    )


@pytest.mark.parametrize("operation", ["r-0f8fad5b.a.1", "r-0f8fad5b.b.1", "r-0f8fad5b.a.3", "other.a.2", ""])
def test_record_of_anything_but_the_attempt_in_flight_changes_nothing(operation):
    run = played("s{g:a,b}").start().fails("a").start().run
    assert with_attempt_end(run, operation, COMPLETED, T0) is run
    assert with_reference(run, operation, "x") is run


def test_record_twice_changes_nothing():
    once = with_attempt_end(IN[RUNNING]().run, "r-0f8fad5b.a.1", FAILED, T0)
    assert with_attempt_end(once, "r-0f8fad5b.a.1", COMPLETED, T0) is once


def test_record_of_an_unknown_result_is_an_error_of_the_program():
    with pytest.raises(ValueError, match="no end of an attempt"):
        with_attempt_end(IN[RUNNING]().run, "r-0f8fad5b.a.1", PENDING, T0)


def test_a_recorded_failure_is_latched_at_once():
    run = with_attempt_end(IN[RUNNING]().run, "r-0f8fad5b.a.1", FAILED, T0)
    assert (run.stages[0].breached, run.stages[0].groups[0].breached) == (True, True)


def test_a_reference_is_kept_until_the_next_attempt():
    run = played("s{g:a}").start()
    run.run = with_reference(run.run, "r-0f8fad5b.a.1", "pid 7")
    assert run.fails("a").member("a").reference == "pid 7"
    assert run.start().member("a").reference == ""


@pytest.mark.parametrize("verb", [lambda run: start(run, T0), lambda run: skip(run, [], T0)], ids=["start", "skip"])
def test_the_way_out_of_a_run_that_is_stopping_can_be_typed(verb):
    with pytest.raises(FleetError) as refused:
        verb(IN[STOPPING]().run)
    assert refused.value.code == "conflict-state"
    assert "while the run is carried on: ansible-playbook gitops.fleet.update -e run=r" in refused.value.hint


def test_what_an_upgrade_in_flight_waits_for_is_kept_until_it_goes_on_or_ends():
    run = played("s{g:a}").start().run
    (row,) = run.members
    held = held_up(run, row.operation, "pool batch waits: pdb night/nightly allows 0 disruptions")
    assert held.members[0].message.startswith("pool batch waits") and held.members[0].state == RUNNING
    assert held_up(held, row.operation, held.members[0].message) is held
    assert held_up(held, row.operation, "") == run
    assert held_up(run, "elsewhere", "x") is run


FROZEN = MemberBlocker(reason=states.WINDOW_CLOSED, message="freeze sales")


def test_what_was_meant_and_not_begun_waits_anew_without_a_slot():  # U12
    play = played("s{g:a,b}").start()
    run = with_reference(play.run, "r-0f8fad5b.a.1", "process:here")
    play.blocked("a", states.WINDOW_CLOSED)
    play._then(put_back(run, "r-0f8fad5b.a.1", FROZEN, play.now))
    row = play.member("a")
    assert (row.state, row.reason, row.pending_since) == (PENDING, states.WINDOW_CLOSED, play.now)
    assert (row.attempt, row.operation, row.reference, row.started) == (0, "", "", None)
    assert play.begun == ["b"] and play.tree == "R[s R{g R:aP bR}]"
    play.sees("a", obstacles=()).ends("b")
    assert play.begun == ["a"] and play.member("a").operation == "r-0f8fad5b.a.1", "found by its name, if it came up"


def test_an_attempt_that_is_put_back_leaves_the_ones_before():
    run = played("s{g:a}").start().fails("a").start()
    first = run.member("a").started
    row = Play(put_back(run.run, "r-0f8fad5b.a.2", FROZEN, T0)).member("a")
    assert (row.attempt, row.operation, row.started) == (1, "r-0f8fad5b.a.1", first)
    assert put_back(run.run, "r-0f8fad5b.a.1", FROZEN, T0) is run.run, "it is not in flight"


def test_what_is_put_back_is_as_people_have_said_meanwhile():
    stopped = played("s{g:a,b}").start().stop()
    assert stopped._then(put_back(stopped.run, "r-0f8fad5b.a.1", FROZEN, T0)).tree == "St[s St{g St:aSt bN}]"
    skipped = played("s{g:a,b; h:c}").start().skip("Group:g")
    skipped._then(put_back(skipped.run, "r-0f8fad5b.a.1", FROZEN, T0))
    assert skipped.tree == "R[s R{g K:aK bK; h R:cR}]"
    assert (skipped.member("a").skipped_by, skipped.member("a").skipped_via) == (states.USER, states.GROUP)
