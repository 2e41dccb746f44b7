# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Update runs from the first event to the last, as trees. Numbers are those of the scenarios."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.strategy import (
    UpdateGroup,
    UpdateRunStrategy,
    UpdateStage,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import MemberBlocker, RunState, Schedule
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.strategy import Candidate, resolve
from ansible_collections.gitops.fleet.plugins.module_utils._core.values import update_states as states
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.made import (
    T0,
    UID,
    Play,
    at,
    changed,
    gate,
    laid,
    played,
)

HOUR = 3_600


def test_01_default_is_one_by_one():  # D3-03, D3-13
    fleet = [Candidate(name=name) for name in "abc"]
    run = Play(RunState(name="r", uid=UID, stages=resolve(None, fleet, UID).stages))
    assert run.tree == "N[default N{default N:aN bN cN}]"  # D3-46
    assert run.start().tree == "R[default R{default R:aR bN cN}]"
    assert run.ends("a").tree == "R[default R{default R:aC bR cN}]"
    assert run.ends("b").ends("c").tree == "C[default C{default C:aC bC cC}]"
    assert run.status.outcome == states.SUCCEEDED


def test_02_groups_side_by_side_members_and_stages_in_order():  # D3-06, D3-12
    run = played("s1{g1:a,b; g2:c,d}, s2{g3:e}").start()
    assert run.tree == "R[s1 R{g1 R:aR bN; g2 R:cR dN}, s2 N{g3 N:eN}]"
    run.ends("a").ends("b").ends("c")
    assert run.tree == "R[s1 R{g1 C:aC bC; g2 R:cC dR}, s2 N{g3 N:eN}]"
    assert run.ends("d").tree == "R[s1 C{g1 C:aC bC; g2 C:cC dC}, s2 R{g3 R:eR}]"


def test_d2_03_without_a_wait_the_next_stage_begins_at_once():
    run = played("s1{g:a}, s2{h:b}").start()
    run.wait(100).ends("a")
    assert run.begun == ["b"]
    assert run.status.stages[0].completed == run.status.stages[1].started == at(100)


def test_d3_09_two_stages_of_two_groups_of_two_with_a_wait_between():
    run = played("s1(3600){g1:a,b; g2:c,d}, s2{g3:e,f; g4:g,h}").start()
    assert run.tree == "R[s1 R{g1 R:aR bN; g2 R:cR dN}, s2 N{g3 N:eN fN; g4 N:gN hN}]"
    run.ends("a").ends("c")
    assert run.tree == "R[s1 R{g1 R:aC bR; g2 R:cC dR}, s2 N{g3 N:eN fN; g4 N:gN hN}]"
    run.ends("b").ends("d").wait(3_599)
    assert run.tree == "R[s1 R{g1 C:aC bC; g2 C:cC dC}, s2 N{g3 N:eN fN; g4 N:gN hN}]"
    assert run.wait(1).tree == "R[s1 C{g1 C:aC bC; g2 C:cC dC}, s2 R{g3 R:eR fN; g4 R:gR hN}]"


def test_03_empty_group_and_skip_before_the_start():  # D3-17, D3-59
    run = played("s1(3600){g1:; g2:x}")
    skipped = played("s1(3600){g1:; g2:x}").skip("Group:g2")
    assert skipped.tree == "N[s1 N{g1 N:; g2 K:xK}]"
    assert skipped.member("x").reason == states.REQUESTED_BY_USER
    assert run.start().tree == "R[s1 R{g1 K:; g2 R:xR}]"
    assert run.state_of_wait() == "N"
    empty = run.status.stages[0].groups[0]
    assert (empty.started, empty.completed) == (None, None)


def failed_fast() -> Play:
    return played("s1{g1:a,b; g2:c,d}, s2{g3:e}").start().fails("a", message="etcd is down")


def test_04_fail_fast_across_groups():  # D3-72..D3-76
    run = failed_fast()
    assert run.tree == "Sg[s1 Sg{g1 F:aF bN; g2 Sg:cR dN}, s2 N{g3 N:eN}]"
    run.ends("c")
    assert run.tree == "F[s1 F{g1 F:aF bN; g2 St:cC dN}, s2 N{g3 N:eN}]"
    status = run.status
    assert {status.message, status.stages[0].message, status.stages[0].groups[0].message} == {"a: etcd is down"}


def test_05_restart_after_a_failure():  # D3-80
    run = failed_fast().ends("c").start()
    assert run.tree == "R[s1 R{g1 R:aR bN; g2 R:cC dR}, s2 N{g3 N:eN}]"
    assert (run.member("a").attempt, run.member("c").attempt, run.member("d").attempt) == (2, 1, 1)
    assert run.status.failure_count == 0


def test_06_a_skip_of_the_failed_member_does_not_resume():  # D3-82
    run = played("s{g:a,b}").start().fails("a").skip("Member:a")
    assert run.tree == "F[s F{g F:aK bN}]"
    assert run.status.message == "more members failed than allowed"
    assert run.start().tree == "R[s R{g R:aK bR}]"
    assert run.ends("b").tree == "C[s C{g C:aK bC}]"
    assert run.status.outcome == states.WITH_SKIPS


def test_07_stop_drains():  # D3-04, D3-69..D3-71
    run = played("s{g:a,b}, s2{h:z}").start().stop()
    assert run.tree == "Sg[s Sg{g Sg:aR bN}, s2 N{h N:zN}]"
    assert run.ends("a").tree == "St[s St{g St:aC bN}, s2 N{h N:zN}]"
    assert run.start().tree == "R[s R{g R:aC bR}, s2 N{h N:zN}]"
    assert run.member("a").attempt == 1


def test_08_stop_then_a_failure_in_flight():
    run = played("s{g:a,b}").start().stop().fails("a")
    assert run.tree == "F[s F{g F:aF bN}]"


def test_09_a_closed_window_passes_the_turn():  # D3-39, D3-48, D3-52
    run = played("s{g:a,b}").sees("a", windows=((at(600), at(6_000)),)).start()
    assert run.begun == ["b"]
    run.ends("b")
    assert run.tree == "P[s P{g P:aP bC}]"
    assert run.member("a").reason == states.WINDOW_CLOSED
    assert run.member("a").message == "the maintenance window opens at 2026-08-17T00:10:00Z"
    assert run.decided.wake_at == at(600)  # D3-40
    assert run.wait(600).tree == "R[s R{g R:aR bC}]"  # D3-57


def test_10_order_of_window_classes():  # D3-37, U10
    run = played("s{g:closed1,none1,soon1,open1}")
    run.sees("closed1", windows=((at(10 * HOUR), at(12 * HOUR)),))
    run.sees("soon1", windows=((at(2 * HOUR), at(4 * HOUR)),))
    run.sees("open1", windows=((at(-HOUR), at(HOUR)),))
    assert run.start().begun == ["open1"]
    assert run.ends("open1").begun == ["none1"]
    assert run.member("soon1").state == states.PENDING
    run.ends("none1")
    assert run.tree == "P[s P{g P:closed1P none1C soon1P open1C}]"
    assert run.wait(2 * HOUR).begun == ["soon1"]


def test_11_a_finished_sibling_does_not_hide_pending():  # D3-53
    run = played("prod{canary:w1,w2; apac:c1}").sees("c1", windows=((at(HOUR), at(2 * HOUR)),)).start()
    run.ends("w1").ends("w2")
    assert run.tree == "P[prod P{canary C:w1C w2C; apac P:c1P}]"


def test_12_pending_blocks_the_next_stage():  # D2-02, D3-54, D3-55
    run = played("s1{g1:a; g2:b}, s2{g3:e}").blocked("a").start().ends("b")
    assert run.tree == "P[s1 P{g1 P:aP; g2 C:bC}, s2 N{g3 N:eN}]"
    assert run.skip("Member:a").tree == "R[s1 C{g1 K:aK; g2 C:bC}, s2 R{g3 R:eR}]"


def test_13_version_missing_in_one_region():  # D3-49
    run = played("s{g:a,b}").sees(
        "a", obstacles=(MemberBlocker(reason=states.VERSION_NOT_AVAILABLE, message="1.34.5 in r1"),)
    )
    run.start().ends("b")
    assert run.tree == "P[s P{g P:aP bC}]"
    assert (run.member("a").reason, run.member("a").message) == (states.VERSION_NOT_AVAILABLE, "1.34.5 in r1")
    assert run.sees("a", obstacles=()).begun == ["a"]


def test_15_all_skipped_climbs_to_the_run():  # D3-64..D3-66
    run = played("s1(600){g1:a}, s2{g2:b}")
    for name in "ab":
        run.sees(name, skip=MemberBlocker(reason=""))
    assert run.start().tree == "K[s1 K{g1 K:aK}, s2 K{g2 K:bK}]"
    assert run.state_of_wait() == "K"
    assert (run.member("a").skipped_by, run.member("a").reason) == (states.SYSTEM, states.ALREADY_AT_TARGET)
    assert run.run.started is None and run.run.completed == T0


def test_17_after_stage_wait():  # D3-08
    run = played("s1(600){g:a}, s2{h:b}").start().ends("a")
    assert run.tree == "R[s1 R{g C:aC}, s2 N{h N:bN}]"
    assert run.state_of_wait() == "R"
    assert run.status.message == "waits until 2026-08-17T00:10:00Z"
    assert run.decided.wake_at == at(600)
    assert run.wait(599).begun == []
    assert run.wait(1).begun == ["b"]
    assert (run.state_of_wait(), run.tree) == ("C", "R[s1 C{g C:aC}, s2 R{h R:bR}]")


def test_17_skip_of_the_wait():  # D3-60
    run = played("s1(600){g:a}, s2{h:b}").start().ends("a").wait(10).skip("AfterStageWait:s1")
    assert (run.state_of_wait(), run.begun) == ("K", ["b"])


def test_18_wait_and_after_gate_together():
    laid_out = changed(laid("s1(600){g:a}, s2{h:b}"), "s1", after_gates=gate("X"))
    run = Play(changed(laid_out, "s2", before_gates=gate("Y"))).start().approve("X", "Y").ends("a")
    assert (run.gate("X").state, run.state_of_wait()) == (states.PENDING, "R")
    assert run.tree == "P[s1 P{g C:aC}, s2 N{h N:bN}]"
    assert run.status.message == "waits for gate X, and waits until 2026-08-17T00:10:00Z"
    assert run.wait(600).tree == "P[s1 P{g C:aC}, s2 N{h N:bN}]"
    assert run.approve("X").tree == "P[s1 C{g C:aC}, s2 P{h N:bN}]"
    assert [each.gate.name for each in run.decided.acts] == ["Y"]
    assert run.approve("Y").begun == ["b"]
    assert run.gate("Y").by == "anna"


def test_19_a_group_gate_blocks_only_its_group():
    run = Play(changed(laid("s{g1:a; g2:b}"), "g1", before_gates=gate("Q"))).start()
    assert run.tree == "R[s R{g1 P:aN; g2 R:bR}]"
    assert run.ends("b").tree == "P[s P{g1 P:aN; g2 C:bC}]"
    skipped = Play(run.run, run.now).skip("Group:g1")
    assert (skipped.gate("Q").state, skipped.tree) == (states.SKIPPED, "C[s C{g1 K:aK; g2 C:bC}]")
    assert run.approve("Q").tree == "R[s R{g1 R:aR; g2 C:bC}]"


def test_20_scheduled_start():
    wednesday = Schedule(day="Wednesday", time="02:00", utc_offset="+00:00")
    run = Play(changed(laid("s{g:a}"), "s", before_gates=gate("W", schedule=wednesday)))
    run.sees("a", windows=((T0 + timedelta(days=2, hours=6), T0 + timedelta(days=2, hours=10)),))
    run.wait(9 * HOUR).start()
    assert (run.tree, run.decided.wake_at) == ("P[s P{g N:aN}]", T0 + timedelta(days=2, hours=2))
    run.wait(41 * HOUR)
    assert (run.gate("W").state, run.gate("W").by, run.tree) == (states.COMPLETED, "", "P[s P{g P:aP}]")
    assert run.wait(4 * HOUR).begun == ["a"]


def test_21_completed_though_all_failed():  # D3-77, D3-78
    run = changed(laid("s{g:a,b,c,d}, s2{h:e}"), "g", max_allowed_failures=4, max_concurrency=4)
    tolerant = Play(changed(run, "s", max_allowed_failures=4)).start().fails(*"abcd")
    assert tolerant.tree == "R[s C{g C:aF bF cF dF}, s2 R{h R:eR}]"
    assert tolerant.ends("e").status.outcome == states.WITH_FAILURES
    assert (tolerant.status.failure_count, tolerant.status.stages[0].groups[0].failure_count) == (4, 4)
    strict = Play(changed(run, "s", max_allowed_failures=3)).start().fails(*"abc")
    assert strict.tree.startswith("R[s R{g R:aF bF cF dR}")
    assert strict.fails("d").tree == "F[s F{g C:aF bF cF dF}, s2 N{h N:eN}]"


def test_22_failures_may_exceed_the_limit():
    run = changed(laid("s{g:a,b,c,d,e,f,g1,h}"), "g", max_allowed_failures=1, max_concurrency=4)
    play = Play(changed(run, "s", max_allowed_failures=1)).start().fails("a")
    assert play.begun == ["e"]
    assert play.fails("b").tree == "Sg[s Sg{g Sg:aF bF cR dR eR fN g1N hN}]"
    play.fails("c").ends("d", "e")
    assert play.tree == "F[s F{g F:aF bF cF dC eC fN g1N hN}]"
    assert play.status.failure_count == 3
    assert play.status.message == "a: broken, and 2 more failed"


def test_23_segments_are_judged_apart():
    run = changed(laid("s{A:a,b; B:c,d}, s2{C:e}"), "B", max_allowed_failures=2)
    play = Play(changed(run, "s", max_allowed_failures=2)).start().fails("a")
    assert play.tree == "R[s R{A F:aF bN; B R:cR dN}, s2 N{C N:eN}]"
    assert play.ends("c").ends("d").tree == "F[s F{A F:aF bN; B C:cC dC}, s2 N{C N:eN}]"


def test_24a_stage_ceiling():  # U13
    run = laid("s{A:a1,a2,a3,a4,a5; B:b1,b2,b3,b4,b5}")
    for name in "AB":
        run = changed(run, name, max_concurrency=2)
    play = Play(changed(run, "s", max_concurrency=2)).start()
    order = play.begun
    while play.running:
        assert len(play.running) <= 2
        play.ends(next(name for name in order if name in play.running))
        order += play.begun
    assert order == ["a1", "b1", "a2", "b2", "a3", "b3", "a4", "b4", "a5", "b5"]


def test_24b_snapshot():  # D3-19, U16
    members = [Candidate(name="a", group="g"), Candidate(name="b", group="other")]
    before = UpdateRunStrategy(stages=(UpdateStage(name="s", groups=(UpdateGroup(name="g"),)),))
    run = RunState(name="r", uid=UID, stages=resolve(before, members, UID).stages)
    after = UpdateRunStrategy(stages=(*before.stages, UpdateStage(name="s2", groups=(UpdateGroup(name="other"),))))
    relabelled = [replace(member, group="g") for member in members]
    play = Play(run).start()
    assert play.tree == "R[s R{g R:aR}]"
    new = RunState(name="r2", uid=UID, stages=resolve(after, relabelled, UID).stages)
    assert Play(new).start().tree == "R[s R{g R:aR bN}, s2 N{other N:}]"
