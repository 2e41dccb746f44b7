# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a user skips."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.skipping import SkipTarget, skip, with_skips_of
from ansible_collections.gitops.fleet.plugins.module_utils._core.values import update_states as states
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.made import (
    T0,
    Play,
    at,
    changed,
    gate,
    laid,
    played,
)


def test_the_record_says_who_and_by_which_target():  # D2-04, D3-58
    run = played("s{g:a; h:b,c}, t{i:d}").skip("Member:a", "Group:h", "Stage:t")
    rows = [run.member(name) for name in "abcd"]
    assert {(row.state, row.skipped_by) for row in rows} == {(states.SKIPPED, states.USER)}
    assert [row.skipped_via for row in rows] == ["Member", "Group", "Group", "Stage"]
    assert rows[0].reason == states.REQUESTED_BY_USER


def test_before_the_start_stages_and_run_stay_not_started():  # V2, D3-59
    run = Play(changed(laid("s(60){g:a}, t{h:b}"), "s", before_gates=gate("X"))).skip("Stage:s")
    assert run.tree == "N[s N{g K:aK}, t N{h N:bN}]"
    assert (run.gate("X").state, run.state_of_wait()) == (states.SKIPPED, "K")
    assert run.start().tree == "R[s K{g K:aK}, t R{h R:bR}]"


def test_a_stage_with_its_open_gate_and_its_wait():  # D3-60
    run = Play(changed(laid("s(60){g:a}, t{h:b}"), "s", after_gates=gate("X"))).start().ends("a").skip("Stage:s")
    assert run.tree == "R[s K{g K:aC}, t R{h R:bR}]"
    assert (run.gate("X").state, run.state_of_wait()) == (states.SKIPPED, "K")


@pytest.mark.parametrize(
    ("target", "tree"),
    [
        ("Member:a", "R[s R{g R:aK bR; h R:cR}, t N{i N:dN}]"),
        ("Group:g", "R[s R{g K:aK bK; h R:cR}, t N{i N:dN}]"),
        ("Stage:s", "R[s K{g K:aK bK; h K:cK}, t R{i R:dR}]"),
    ],
)
def test_siblings_of_what_is_skipped_go_on(target, tree):  # D3-59
    assert played("s(60){g:a,b; h:c}, t{i:d}").skip(target).start().tree == tree


def test_a_wait_may_be_skipped_before_it_begins():
    run = played("s(60){g:a}, t{h:b}").start().skip("AfterStageWait:s").ends("a")
    assert (run.state_of_wait(), run.begun) == ("K", ["b"])


def test_a_skipped_wait_leaves_gates_closed():
    run = Play(changed(laid("s(60){g:a}, t{h:b}"), "s", after_gates=gate("X"))).start().ends("a")
    assert run.skip("AfterStageWait:s").begun == []
    assert run.approve("X").begun == ["b"]


def refused(run: Play, *targets: str) -> FleetError:
    before = run.run
    with pytest.raises(FleetError) as error:
        run.skip(*targets)
    assert run.run is before
    return error.value


def test_a_member_in_flight_is_refused_its_group_is_not():  # U6, D3-67
    run = played("s{g:a,b; h:c}").start()
    error = refused(run, "Member:a")
    assert (error.code, error.message) == ("conflict-state", "Member:a is Running")
    assert run.skip("Group:g").tree == "R[s R{g R:aR bK; h R:cR}]"
    assert run.ends("a").tree == "R[s R{g K:aC bK; h R:cR}]"


def test_a_failed_member_only_when_the_run_is_failed_or_stopped():  # U7, V18
    tolerant = changed(changed(laid("s{g:a,b,c}"), "g", max_allowed_failures=1), "s", max_allowed_failures=1)
    run = Play(tolerant).start().fails("a")
    assert refused(run, "Member:a").message == "Member:a is Failed while the run is Running"
    run.stop().ends("b")
    assert run.skip("Member:a").tree == "St[s St{g St:aK bC cN}]"


def test_a_stopped_member_can_be_skipped():  # V18
    run = played("s{g:a}").blocked("a").start().stop()
    assert run.tree == "St[s St{g St:aSt}]"
    assert run.skip("Member:a").tree == "K[s K{g K:aK}]"


def test_all_targets_or_none_and_all_problems_at_once():  # V21
    run = played("s{g:a,b}").start()
    error = refused(run, "Member:b", "Member:a", "Group:nope", "Planet:earth")
    assert [problem.code for problem in error.problems] == ["conflict-state", "unknown-target", "unknown-target"]
    assert error.problems[1].hint == "there are: g"
    assert error.problems[2].hint == "types are Member, Group, Stage, AfterStageWait"


def test_a_wait_that_is_not_there_is_no_target():
    error = refused(played("s(60){g:a}, t{h:b}"), "AfterStageWait:t")
    assert (error.code, error.hint) == ("unknown-target", "there are: s")


def test_there_is_no_skip_of_a_run():  # D3-66
    assert refused(played("s{g:a}"), "Run:r").code == "unknown-target"


def test_what_is_finished_stays_so():  # V20, V19
    run = played("s(60){g:a,b}, t{h:c}").start().ends("a", "b")
    before = run.run
    run.skip("Member:a", "Group:g")
    assert run.run == before


def test_ended_members_of_a_skipped_group_keep_their_state():  # V19
    run = played("s{g:a,b,c; h:d}").start().ends("a").skip("Group:g").fails("b").ends("d")
    assert run.tree == "C[s C{g K:aC bF cK; h C:dC}]"


def test_a_breached_segment_stays_failed_until_the_start():  # V6
    run = changed(laid("s{g:a,b; h:c}, t{i:d}"), "s", max_allowed_failures=1)
    play = Play(run).start().fails("a").skip("Stage:s")
    assert play.tree == "R[s R{g F:aF bK; h R:cR}, t N{i N:dN}]"
    assert play.ends("c").tree == "F[s F{g F:aF bK; h K:cC}, t N{i N:dN}]"
    assert play.start().tree == "R[s K{g K:aF bK; h K:cC}, t R{i R:dR}]"


def test_a_skip_of_a_pending_member_lets_the_run_go_on():  # F: the documented way out
    run = played("s{g:a}, t{h:b}").blocked("a").start()
    assert run.skip("Member:a").begun == ["b"]


@pytest.mark.parametrize(
    ("target", "reason", "words"),
    [
        (SkipTarget("Member", "a"), "it is sold", "skipped on request: it is sold"),
        (SkipTarget("Stage", "s"), "it is sold", "skipped on request: it is sold"),
        (SkipTarget("Member", "a"), "", "skipped on request"),
    ],
)
def test_members_say_why_they_were_left_out(target: SkipTarget, reason: str, words: str):
    assert skip(played("s{g:a}").run, [target], T0, reason).members[0].message == words


@pytest.mark.parametrize(
    ("before", "targets", "after", "tree"),
    [
        ("s{g:a}, t{h:b}", ["Member:a"], "s{g:a,c}, t{h:b}", "N[s N{g N:aK cN}, t N{h N:bN}]"),
        ("s{g:a}, t{h:b}", ["Group:g"], "s{g:a,c}, t{h:b}", "N[s N{g K:aK cK}, t N{h N:bN}]"),
        ("s{g:a}, t{h:b}", ["Group:g"], "s{g:c}, t{h:b,a}", "N[s N{g K:cK}, t N{h N:bN aN}]"),
        ("s{g:a}, t{h:b}", ["Group:g"], "s{e:a,c}, t{h:b}", "N[s N{e N:aK cN}, t N{h N:bN}]"),
        ("s(60){g:a}, t{h:b}", ["Stage:s"], "s(60){e:a,c}, t{h:b}", "N[s N{e K:aK cK}, t N{h N:bN}]"),
        ("s(60){g:a}, t{h:b}", ["Stage:s"], "u(60){g:a}, t{h:b}", "N[u N{g K:aK}, t N{h N:bN}]"),
        ("s{g:a}, t{h:b}", ["Member:a"], "t{h:b}", "N[t N{h N:bN}]"),
        ("s{g:a}, t{h:b}", [], "s{g:a,c}, t{h:b}", "N[s N{g N:aN cN}, t N{h N:bN}]"),
    ],
)
def test_a_run_that_is_laid_out_anew_keeps_what_was_skipped(
    before: str, targets: list[str], after: str, tree: str
):  # D3-59
    """By name; members that were skipped with what there is no more are so by themselves."""
    skipped = [SkipTarget(*each.split(":")) for each in targets]
    kept = with_skips_of(laid(after), skip(laid(before), skipped, T0, "a fair"), at(60))
    assert Play(kept).tree == tree
    rows = {row.name: row for row in kept.members if row.state == states.SKIPPED}
    if "a" in rows:
        assert (rows["a"].message, rows["a"].completed) == ("skipped on request: a fair", T0)


def test_a_run_that_is_laid_out_anew_keeps_a_skipped_wait():
    before = skip(laid("s(60){g:a}, t{h:b}"), [SkipTarget("AfterStageWait", "s")], T0)
    run = Play(with_skips_of(laid("s(600){g:a,c}, t{h:b}"), before, T0))
    assert run.state_of_wait() == "K"
