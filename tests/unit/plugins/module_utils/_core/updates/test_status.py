# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Each row of the three tables by its letter, and what else is derived of a run."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.facts import (
    GroupFacts,
    RunFacts,
    StageFacts,
    Tally,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.status import (
    GROUP_TABLE,
    RUN_TABLE,
    STAGE_TABLE,
    derive,
    row_of,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.values import update_states as states
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.update_states import (
    COMPLETED,
    FAILED,
    NOT_STARTED,
    PENDING,
    RUNNING,
    SKIPPED,
    STOPPED,
    STOPPING,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.made import (
    Play,
    at,
    changed,
    gate,
    laid,
    played,
)


def group(count: dict[str, int], **flags: bool) -> GroupFacts:
    """Of three members, unless told otherwise; those not counted are NotStarted."""
    zero = Tally(members=3, in_flight=0, failed=0, skipped=0, completed=0, pending=0, stopped=0)
    none = GroupFacts(
        count=replace(zero, **count),
        user_skipped=False,
        breached=False,
        stage_breached=False,
        stop=False,
        reached=True,
        stage_reached=True,
        before_pending=False,
        after_pending=False,
        after_unopened=False,
    )
    return replace(none, **flags)


def stage(*groups: str, **flags: object) -> StageFacts:
    """``breached_groups`` are those that are Failed, unless told otherwise."""
    none = StageFacts(
        new=False,
        stop=False,
        groups=groups,
        breached_groups=tuple(state == FAILED for state in groups),
        in_flight=0,
        failed=0,
        user_skipped=False,
        breached=False,
        reached=True,
        before_pending=False,
        after_pending=False,
        after_unopened=False,
        wait_running=False,
        wait_unopened=False,
    )
    return replace(none, **flags)


def run(*stages: str, **flags: object) -> RunFacts:
    return replace(RunFacts(new=False, stop=False, stages=stages, in_flight=0, latched=False), **flags)


ALL_DONE = {"completed": 2, "skipped": 1}


@pytest.mark.parametrize(
    ("facts", "letter", "state"),
    [
        (group({}, user_skipped=True), "G1", SKIPPED),
        (group({"failed": 1}, user_skipped=True, breached=True), "G4", FAILED),  # V6
        (group({"in_flight": 1}, user_skipped=True), "G3", RUNNING),  # U6
        (group({"in_flight": 1}, stop=True), "G2", STOPPING),
        (group({"in_flight": 1, "failed": 1}, breached=True), "G2", STOPPING),
        (group({"in_flight": 1}, stage_breached=True), "G2", STOPPING),
        (group({"in_flight": 1, "pending": 2}), "G3", RUNNING),
        (group({"failed": 3}, breached=True), "G4", FAILED),
        (group({"members": 0}), "G5", SKIPPED),
        (group({"members": 0}, stage_reached=False), "G6", NOT_STARTED),
        (group({"skipped": 3}), "G7", SKIPPED),
        (group(ALL_DONE, after_pending=True), "G8", PENDING),
        (group(ALL_DONE, after_pending=True, stop=True), "G8", STOPPED),  # V12
        (group(ALL_DONE, after_unopened=True), "G9", RUNNING),
        (group(ALL_DONE, after_unopened=True, stop=True), "G9", STOPPED),
        (group(ALL_DONE, after_unopened=True, stage_breached=True), "G9", STOPPED),
        (group(ALL_DONE), "G10", COMPLETED),
        (group({"failed": 3}), "G10", COMPLETED),
        (group(ALL_DONE, stop=True), "G10", COMPLETED),
        (group({}, reached=False), "G11", NOT_STARTED),
        (group({}, reached=False, stop=True), "G11", NOT_STARTED),  # U9
        (group({"completed": 1}, stop=True), "G12", STOPPED),
        (group({}, before_pending=True, stage_breached=True), "G12", STOPPED),  # V4
        (group({}, before_pending=True), "G13", PENDING),
        (group({"pending": 1, "completed": 1}), "G14", PENDING),  # D5
        (group({"completed": 1}), "G15", RUNNING),
    ],
)
def test_group_rows(facts, letter, state):
    assert row_of(GROUP_TABLE, facts) == (letter, state)


@pytest.mark.parametrize(
    ("facts", "letter", "state"),
    [
        (stage(SKIPPED, new=True, user_skipped=True), "T0", NOT_STARTED),  # V2
        (stage(SKIPPED, COMPLETED, user_skipped=True), "T1", SKIPPED),
        (stage(FAILED, SKIPPED, user_skipped=True), "T5", FAILED),  # V6
        (stage(RUNNING, in_flight=1, stop=True), "T2", STOPPING),
        (stage(STOPPING, in_flight=1, breached=True), "T2", STOPPING),
        (stage(STOPPING, COMPLETED, in_flight=1, breached_groups=(True, False)), "T2", STOPPING),  # V5
        (stage(FAILED, STOPPING, SKIPPED, in_flight=1, breached_groups=(True, True, False)), "T2", STOPPING),
        (stage(STOPPING, PENDING, in_flight=1, breached_groups=(True, False)), "T3", RUNNING),
        (stage(RUNNING, in_flight=1, user_skipped=True), "T3", RUNNING),  # V5, U6
        (stage(RUNNING, PENDING, in_flight=1), "T3", RUNNING),  # D3-55
        (stage(COMPLETED, breached=True), "T4", FAILED),
        (stage(FAILED, COMPLETED, SKIPPED), "T5", FAILED),
        (stage(FAILED, STOPPED, stop=True), "T12", STOPPED),  # V9
        (stage(FAILED, PENDING), "T14", PENDING),
        (stage(SKIPPED, SKIPPED, wait_unopened=True, after_unopened=True), "T6", SKIPPED),
        (stage(SKIPPED, reached=False), "T6", SKIPPED),
        (stage(COMPLETED, after_pending=True, wait_running=True), "T7", PENDING),  # U3
        (stage(COMPLETED, after_pending=True, stop=True), "T7", STOPPED),  # V12
        (stage(COMPLETED, SKIPPED, wait_running=True), "T8", RUNNING),
        (stage(COMPLETED, wait_running=True, stop=True), "T8", STOPPED),
        (stage(COMPLETED, wait_unopened=True), "T9", RUNNING),
        (stage(COMPLETED, after_unopened=True, stop=True), "T9", STOPPED),
        (stage(COMPLETED, SKIPPED), "T10", COMPLETED),
        (stage(COMPLETED, stop=True), "T10", COMPLETED),
        (stage(NOT_STARTED, reached=False), "T11", NOT_STARTED),
        (stage(NOT_STARTED, reached=False, stop=True), "T11", NOT_STARTED),
        (stage(NOT_STARTED, before_pending=True, stop=True), "T12", STOPPED),
        (stage(NOT_STARTED, before_pending=True), "T13", PENDING),
        (stage(PENDING, NOT_STARTED, COMPLETED), "T14", PENDING),
        (stage(PENDING, RUNNING), "T15", RUNNING),
    ],
)
def test_stage_rows(facts, letter, state):
    assert row_of(STAGE_TABLE, facts) == (letter, state)


@pytest.mark.parametrize(
    ("facts", "letter", "state"),
    [
        (run(NOT_STARTED, new=True), "R1", NOT_STARTED),
        (run(RUNNING, in_flight=1, stop=True), "R2", STOPPING),
        (run(STOPPING, in_flight=1), "R2", STOPPING),
        (run(RUNNING, in_flight=1), "R3", RUNNING),
        (run(RUNNING, NOT_STARTED), "R3", RUNNING),  # the wait counts
        (run(FAILED, NOT_STARTED), "R4", FAILED),
        (run(FAILED, NOT_STARTED, stop=True), "R4", FAILED),
        (run(STOPPED, NOT_STARTED, stop=True, latched=True), "R4", FAILED),  # V1, V6
        (run(PENDING, latched=True), "R8", PENDING),
        (run(SKIPPED, SKIPPED), "R5", SKIPPED),
        (run(COMPLETED, SKIPPED), "R6", COMPLETED),
        (run(COMPLETED, stop=True), "R6", COMPLETED),
        (run(COMPLETED, STOPPED, stop=True), "R7", STOPPED),
        (run(COMPLETED, PENDING, NOT_STARTED), "R8", PENDING),  # D3-56
        (run(COMPLETED, NOT_STARTED), "R9", RUNNING),
    ],
)
def test_run_rows(facts, letter, state):
    assert row_of(RUN_TABLE, facts) == (letter, state)


@pytest.mark.parametrize(
    ("table", "letter", "last"), [(GROUP_TABLE, "G", 15), (STAGE_TABLE, "T", 15), (RUN_TABLE, "R", 9)]
)
def test_rows_stand_in_order(table, letter, last):
    numbers = [int(re.fullmatch(f"{letter}(\\d+)", row[0])[1]) for row in table]
    assert numbers == sorted(numbers)
    assert {*range(1, last + 1)} <= {*numbers}


def test_a_failure_shows_before_its_latch_is_stored():  # the latch is the memory, the count is the news
    started = played("s{g:a,b}").start().run
    row = replace(started.stages[0].groups[0].members[0], state=FAILED)
    failed = changed(started, "g", members=(row, *started.stages[0].groups[0].members[1:]))
    assert derive(failed).state == FAILED
    assert not failed.stages[0].breached


def test_failures_of_what_a_user_skipped_count_but_breach_nothing():  # U8, V8
    run = played("s{g:a,b; h:c,d}").start().skip("Group:g")
    assert run.tree == "R[s R{g R:aR bK; h R:cR dN}]"
    run.fails("a").ends("c").ends("d")
    assert run.tree == "C[s C{g K:aF bK; h C:cC dC}]"
    assert (run.status.failure_count, run.status.outcome) == (1, states.WITH_FAILURES)


def test_outcome_waits_for_the_end():  # D3-78, U26
    run = played("s{g:a,b}").start()
    assert run.status.outcome == ""
    assert Play(run.run).fails("a").status.outcome == ""
    run.ends("a").ends("b", result=SKIPPED)
    assert run.status.outcome == states.WITH_SKIPS


def test_times_are_those_of_the_first_dispatch_and_the_last_end():  # U28
    run = played("s(60){g:a,b}, t{h:c}").wait(5).start().wait(5).fails("a")
    status = run.status.stages[0]
    assert (status.started, status.completed, run.run.started, run.run.completed) == (at(5), at(10), at(5), at(10))
    run.wait(10).start()
    assert (run.run.started, run.run.completed, run.status.stages[0].completed) == (at(5), None, None)
    run.wait(10).ends("a").wait(10).ends("b").wait(60)
    first, second = run.status.stages
    assert (first.started, first.completed) == (at(5), at(100))
    assert (first.groups[0].started, first.groups[0].completed) == (at(5), at(40))
    assert (second.started, second.completed) == (at(100), None)


def test_messages_say_what_is_waited_for():
    run = Play(changed(laid("s{g:a,b}"), "g", before_gates=gate("Q"))).start()
    assert run.status.message == "waits for gate Q"
    run.blocked("a").blocked("b").approve("Q")
    assert run.status.message == "waits for a: VersionNotAvailable, and for 1 more"
    assert run.sees("a", obstacles=()).status.message == ""
