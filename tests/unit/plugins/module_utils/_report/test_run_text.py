# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

from dataclasses import fields, replace
from datetime import UTC, datetime

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.reading import read
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.run_status import UpdateRunStatus
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.update_run import UpdateRun
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.approvals import as_answered
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.commands import with_attempt_end
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.record.run_state import status_of
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.releases.targets import UpgradeStep
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import Approval, with_members_changed
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.status import derive
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.update_states import COMPLETED
from ansible_collections.gitops.fleet.plugins.module_utils._report.run_text import (
    brief_text,
    run_text,
    unconducted_text,
    waits_for,
)
from ansible_collections.gitops.fleet.tests.data.update_parts import update_run
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.made import (
    Play,
    at,
    changed,
    gate,
    laid,
    played,
)


def run(play: Play, **status: object) -> UpdateRun:
    """The run as it is recorded, towards 1.28.3."""
    made = read(update_run({"type": "Full", "kubernetesVersion": "1.28.3"})).object
    assert isinstance(made, UpdateRun)
    known = replace(UpdateRunStatus(target_version="1.28.3", digest="sha256:0"), **status)  # type: ignore[arg-type]
    return replace(made, status=status_of(play.run, derive(play.run), known))


def lines(play: Play, **status: object) -> list[str]:
    """The tree below the goal, without the heads of its columns and what fills them up."""
    return [" ".join(line.split()) for line in run_text(run(play, **status))[3:]]


def test_one_goal_for_all_members_d3_02() -> None:
    text = run_text(run(played("s{g:a,b}")))
    assert text[0] == "run release-7: Full to 1.28.3, own sequence"
    assert not [line for line in text[1:] if "1.28" in line], "no member has a goal of its own"


def test_a_run_that_has_ended_fits_one_line() -> None:
    play = played("s{g:a,b}").start().ends("a")
    assert brief_text(run(play)) == run_text(run(play)), "it goes on"
    ended = run(play.ends("b"))
    assert brief_text(ended) == ["run release-7: Full to 1.28.3: Completed, 2/2 done, 2026-08-17T00:00:00Z"]
    wide = brief_text(replace(ended, status=replace(ended.status, outcome="CompletedWithFailures")))
    assert "Completed (CompletedWithFailures)" in wide[0] and all(len(each) <= 80 for each in wide)


def test_a_run_that_ended_before_it_began_by_another_clock_took_no_time() -> None:
    ended = run(played("s{g:a}").start().ends("a"))
    (stage,) = ended.status.stages
    (group,) = stage.groups
    (member,) = group.members
    crossed = replace(member, status=replace(member.status, start_time=at(5), completed_time=at(0)))
    stages = (replace(stage, groups=(replace(group, members=(crossed,)),)),)
    told = run_text(replace(ended, status=replace(ended.status, stages=stages)))
    assert [" ".join(line.split()) for line in told if line.strip().startswith("a ")] == ["a Completed 0 s"]


def test_every_node_has_its_state_and_a_failure_its_cause_d3_74() -> None:
    assert lines(played("s{g:a,b}").start().fails("a", message="etcd is down")) == [
        "release-7 Failed 0/2 done (1 failed: a)",
        "s Failed 0/2 done (1 failed: a)",
        "g Failed 0/2 done (1 failed: a); 1 at once",
        "a Failed UpgradeFailed; etcd is down",
        "b NotStarted",
    ]


def test_why_a_member_failed_stands_at_the_member_alone_and_without_its_name() -> None:
    text = "\n".join(lines(played("s{g:a,b}").start().fails("a", message="a: etcd is down [busy]")))
    assert text.count("etcd is down") == 1 and "a Failed UpgradeFailed; etcd is down [busy]" in text


def test_of_many_that_failed_the_first_are_named_above_them() -> None:
    limits = changed(laid("s{g:a,b,c,d}"), "g", max_concurrency=4, max_allowed_failures=1)
    play = Play(limits).start()
    for name in "abcd":
        play = play.fails(name)
    assert "s Failed 0/4 done (4 failed: a, b, c and 1 more)" in lines(play)


def test_what_check_mode_would_begin_does_not_run() -> None:
    begun = run(played("s{g:a}").start())
    assert any("Running" in line for line in run_text(begun))
    told = "\n".join(run_text(begun, begun=False))
    assert "Running" not in told and "would begin" in told


def test_the_images_that_a_member_got_are_told_d3_32() -> None:
    play = played("s{g:a}").start()
    done = with_attempt_end(
        play.run, play.member("a").operation, COMPLETED, play.now, node_images=("Linux-2", "Windows-7")
    )
    assert any("Linux-2, Windows-7" in line for line in lines(Play(done)))


def test_a_version_that_stays_is_not_told_where_nodes_got_images() -> None:
    done = Play(laid("s{g:a}")).start()
    ended = with_attempt_end(
        done.run, done.member("a").operation, COMPLETED, done.now, version_after="v1.36.3", node_images=("Linux-2",)
    )
    begun = changed(ended, "s")
    rows = [replace(each, version_before="v1.36.3") for each in begun.members]
    told = lines(Play(changed(begun, "g", members=tuple(rows))))
    assert "a Completed Linux-2; 0 s" in told


def test_what_is_noted_of_several_members_stands_once() -> None:
    play, words = played("s{g:a,b,c}").start(), "pool p: no catalogue tells of its images"
    told = lines(play.ends("a", message=words).ends("b", message=words).ends("c", message="well"))
    assert told[-1] == f"note a, b: {words}" and sum(words in line for line in told) == 1
    assert any(line.startswith("c Completed") and line.endswith("well") for line in told)


def test_limits_are_printed_as_the_numbers_they_came_to_d3_79() -> None:
    limits = changed(laid("s{g:a,b,c}"), "g", max_concurrency=2, max_allowed_failures=1)
    assert "g NotStarted 0/3 done; 2 at once, 1 may fail" in lines(Play(limits))


def test_members_that_no_group_takes_are_shown_d3_16() -> None:
    assert lines(played("s{g:a}"), uncovered_members=("x", "y"))[-1] == "not covered x, y"


def test_who_skipped_a_member_d3_58() -> None:
    run = played("s{g:a,b}").skip("Member:b").start().run
    assert "b Skipped skipped by user" in lines(Play(run))
    told = with_members_changed(run.stages[0], lambda row: replace(row, message="skipped on request: it is sold"))
    assert "b Skipped skipped by user; it is sold" in lines(Play(replace(run, stages=(told,))))


def test_no_cost_of_images_is_claimed_d3_112() -> None:
    """What images cost in storage is between people and their platform."""
    told = "\n".join(run_text(run(played("s{g:a}").start().ends("a")))).lower()
    assert not any(word in told for word in ("cost", "price", "$"))
    assert not any(word in field.name for field in fields(UpgradeStep) for word in ("cost", "price"))


def test_everything_that_a_run_waits_for_is_told_d3_48() -> None:
    gated = changed(laid("s(60){g:a; h:b}"), "h", before_gates=gate("ticket"))
    play = Play(gated).sees("a", windows=((at(600), at(6000)),)).start()
    assert [(each["type"], each["where"]) for each in waits_for(run(play))] == [
        ("gate", "before s/h"),
        ("member", "a"),
    ]
    assert waits_for(run(play))[1]["message"] == "the maintenance window opens at 2026-08-17T00:10:00Z"
    waiting = played("s(60){g:a}, t{h:b}").start().ends("a")
    assert waits_for(run(waiting)) == [{"type": "wait", "where": "s", "until": "2026-08-17T00:01:00Z", "message": ""}]


def test_a_gate_that_was_approved_is_not_to_be_approved_until_the_run_is_carried_on() -> None:
    play = Play(changed(laid("s{g:a}"), "s", before_gates=gate("ticket"))).start()
    shown = as_answered(run(play), {"id-ticket": Approval(gate="id-ticket", by="carol", at=at(5))})
    told = " ".join(" ".join(run_text(shown)).split())
    assert "gate before Pending ticket; approved by carol, unverified; taken up when the run is carried on" in told
    assert "waits for gate ticket (approved by carol, unverified)" in told and "approve id-" not in told
    (row,) = waits_for(shown)
    assert row["message"] == "approved by carol, unverified; taken up when the run is carried on"


def test_an_open_gate_is_named_by_its_id_only_where_another_one_stands_there() -> None:
    alone = changed(laid("s{g:a}"), "s", before_gates=gate("ticket"))
    assert "gate before Pending ticket; to be approved" in lines(Play(alone).start())
    two = changed(laid("s{g:a}"), "s", before_gates=(*gate("ticket"), *gate("tests")))
    assert "gate before Pending ticket; approve id-ticket" in lines(Play(two).start())


def test_a_gate_that_was_refused_meanwhile_says_so() -> None:
    play = Play(changed(laid("s{g:a}"), "s", before_gates=gate("ticket"))).start()
    shown = as_answered(run(play), {"id-ticket": "bob: not on a Friday"})
    assert "refused by bob: not on a Friday" in " ".join("\n".join(run_text(shown)).split())


def test_what_nobody_conducts_is_told_with_since_when_and_what_a_retry_made_good() -> None:
    since = datetime(2026, 3, 1, 9, tzinfo=UTC)
    going = run(played("s{g:a,b}").start())
    assert unconducted_text(going, since, "") == ["nobody seems to conduct run release-7 since 2026-03-01T09:00:00Z"]
    assert unconducted_text(going, None, "") == []
    ended = run(played("s{g:a}").start().ends("a"))
    assert unconducted_text(ended, since, "") == []
    assert unconducted_text(ended, None, "release-7-retry") == [
        "what run release-7 left, run release-7-retry has made good"
    ]
