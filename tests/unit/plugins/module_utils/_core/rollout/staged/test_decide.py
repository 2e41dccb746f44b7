# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.decide import (
    acts_in_flight,
    has_ended_or_stopped,
    is_over,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.world import (
    AcceptApproval,
    BindCluster,
    DeleteApproval,
    DeleteBinding,
    RequestApproval,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.rollout.made import NEW, condition, held
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.rollout.staged_made import (
    ALL,
    APPROVAL,
    WAIT,
    Play,
    cluster,
    external,
    policy_snapshot,
    run,
    stage,
    strategy,
    world,
)


def play(names="abc", *stages, state="Run", upstream=False, **more):
    return Play(world(names, *stages, **more), run(state), upstream)


def minutes(play, out):
    return (out.wake_at - play.now).total_seconds() / 60


def test_a_run_begins_and_waits_to_be_told():
    game = play(state="Initialize")
    out = game.step()
    assert (out.acts, out.wake_at) == ((), None)
    assert game.states() == dict.fromkeys("abc", "waiting")
    assert (game.run.status.policy_observed_cluster_count, game.run.status.resource_snapshot_index_used) == (3, "1")
    assert game.ask("Run").step().acts


def test_a_whole_run():
    game = play("abc", stage("first", {"wave": "1"}), stage("rest", {"wave": "2"}, maxConcurrency=2), gone="d",
                labels={"a": {"wave": "1"}, "b": {"wave": "2"}, "c": {"wave": "2"}})  # fmt: skip
    out = game.steps()
    assert [(type(each), each.cluster, each.content.resource_snapshot) for each in out.acts] == [
        (BindCluster, "a", NEW)
    ]
    assert (game.progress, game.stage(0), game.stage(1)) == ("Progressing", "Started", "")
    out = game.report("a").steps()
    assert game.states() == {"a": "done", "b": "started", "c": "started", "d": "waiting"}
    out = game.report("bc").steps()
    assert [type(each) for each in out.acts] == [DeleteBinding]
    assert game.states()["d"] == "started"
    game.vanish("d").steps()
    assert (game.progress, game.succeeded) == ("Succeeded", "True")
    assert [game.stage(index) for index in range(3)] == ["Succeeded"] * 3
    assert {each.content.resource_snapshot for each in game.world.bindings} == {NEW}
    finished = game.run
    assert game.after(days=1).step().state.run == finished


def test_clusters_in_flight_keep_to_the_concurrency():
    game = play("abcd", stage("all", ALL, maxConcurrency=2))
    game.step()
    assert game.states() == {"a": "started", "b": "started", "c": "waiting", "d": "waiting"}
    game.report("b").step()
    assert game.states() == {"a": "started", "b": "done", "c": "started", "d": "waiting"}


def test_a_stage_without_clusters_is_skipped_at_once():
    game = play("a", stage("none"), stage("all", ALL))
    out = game.step()
    assert (game.stage(0), out.wake_at, out.acts) == ("SkippedNoClusters", game.now, ())
    assert game.step().acts


def test_a_strategy_without_stages_only_deletes():
    game = Play(replace(world("", gone="d"), strategy=strategy()), run())
    assert [type(each) for each in game.step().acts] == [DeleteBinding]
    game.vanish("d").step()
    assert game.succeeded == "True"


def test_upstream_fails_a_run_that_has_deleted_all_there_was():
    game = play("", gone="d", upstream=True)
    game.steps()
    assert game.vanish("d").step().state.failure.code == "no-bindings"


def test_an_approval_before_a_stage():
    game = play("a", stage("all", ALL, beforeStageTasks=[APPROVAL]))
    out = game.step()
    assert out.acts == (RequestApproval(name="run-before-all", stage="all", task="beforeStage"),)
    assert (game.progress, game.stage(0), out.wake_at) == ("Waiting", "Waiting", None)
    assert game.step().acts == ()
    out = game.approve("run-before-all").step()
    assert [type(each) for each in out.acts] == [AcceptApproval, BindCluster]
    assert game.progress == "Progressing"


def test_an_approval_of_another_generation_is_none():
    game = play("a", stage("all", ALL, beforeStageTasks=[APPROVAL]))
    game.step()
    request = game.world.approvals[0]
    edited = replace(request, metadata=replace(request.metadata, generation=2))
    game.world = replace(game.world, approvals=(edited,))
    assert game.approve("run-before-all").step().acts == ()


def test_an_accepted_approval_cannot_be_withdrawn_and_a_deleted_request_comes_again():
    game = play("a", stage("all", ALL, afterStageTasks=[APPROVAL]))
    game.steps()
    game.report("a").step()
    game.world = replace(game.world, approvals=())
    assert [type(each) for each in game.step().acts] == [RequestApproval]
    game.approve("run-after-all").step()
    game.world = replace(game.world, approvals=())
    assert game.steps().state.failure is None
    assert game.succeeded == "True"


def test_a_taken_name_of_an_approval_request_ends_the_run():
    game = play("a", stage("all", ALL, beforeStageTasks=[APPROVAL]))
    game.step()
    request = game.world.approvals[0]
    other = replace(request, spec=replace(request.spec, parent_stage_rollout="other"))
    game.world = replace(game.world, approvals=(other,))
    assert game.step().state.failure.code == "approval-request-taken"
    assert (game.progress, game.succeeded, game.stage(0)) == ("Failed", "False", "Failed")


def test_wait_and_approval_after_a_stage_run_side_by_side():
    game = play("a", stage("all", ALL, afterStageTasks=[WAIT, APPROVAL]))
    game.steps()
    out = game.report("a").step()
    assert (game.progress, game.stage(0), minutes(game, out)) == ("Waiting", "Waiting", 10)
    game.approve("run-after-all")
    assert minutes(game, game.after(minutes=4).step()) == 6
    game.after(minutes=6).steps()
    assert game.succeeded == "True"


@pytest.mark.parametrize(("upstream", "left"), [(False, 4), (True, 10)])
def test_a_stop_does_not_begin_the_wait_anew(upstream, left):
    game = play("a", stage("all", ALL, afterStageTasks=[WAIT]), upstream=upstream)
    game.step()
    game.report("a").step()
    game.after(minutes=6).ask("Stop").step()
    assert game.progress == "Stopped"
    assert minutes(game, game.ask("Run").step()) == left


def test_a_cluster_that_fails_makes_the_run_stuck_and_never_fails_it():
    game = play("ab", stage("all", ALL, maxConcurrency=1))
    out = game.step()
    assert minutes(game, out) == 5
    game.report("a", "False", "NotAllWorkHaveBeenApplied", "Applied")
    out = game.after(minutes=1).step()
    assert [one.code for each in out.waits for one in each.blockers] == ["cluster-troubled"]
    assert (game.progress, out.state.failure, minutes(game, out)) == ("Progressing", None, 4)
    game.after(minutes=5).step()
    assert game.progress == "Stuck"
    message = next(each.message for each in game.run.status.conditions if each.type == "Progressing")
    assert message.endswith("for a")
    game.report("a").step()
    assert (game.progress, game.states()) == ("Progressing", {"a": "done", "b": "started"})


def test_clusters_that_hold_the_content_already_take_no_place():
    game = play("abc", stage("all", ALL, maxConcurrency=1))
    game.world = replace(game.world, bindings=(*(held(name, content=NEW) for name in "ab"), held("c")))
    for name in "ab":
        game.report(name)
    game.step()
    assert game.states() == {"a": "started", "b": "waiting", "c": "waiting"}
    game.report("ab")
    game.step()
    assert game.states() == {"a": "done", "b": "started", "c": "waiting"}


@pytest.mark.parametrize(("upstream", "last"), [(False, "done"), (True, "waiting")])
def test_a_cluster_that_is_done_already_frees_its_place_in_the_same_look(upstream, last):
    game = play("ab", stage("all", ALL, maxConcurrency=1), upstream=upstream)
    for name in "ab":
        game.steps()
        game.report(name)
    again = Play(game.world, run(), upstream)
    again.step()
    assert again.states() == {"a": "done", "b": last}


def test_a_failed_cluster_that_holds_the_content_already_can_become_stuck():
    def troubled(upstream):
        game = play("a", upstream=upstream)
        game.steps()
        fresh = Play(game.world, run(), upstream)
        fresh.report("a", "False", "SyncWorkFailed", "WorkSynchronized").step()
        return fresh.after(minutes=6)

    game = troubled(upstream=False)
    game.step()
    assert (game.states(), game.progress) == ({"a": "started"}, "Stuck")
    game = troubled(upstream=True)
    game.step()
    assert (game.states(), game.progress) == ({"a": "waiting"}, "Progressing")


def test_a_cluster_that_another_run_takes_ends_the_run():
    game = play("a")
    game.step()
    theirs = held("a", condition("RolloutStarted", seconds=0), content="web-0-snapshot")
    game.world = replace(game.world, bindings=(theirs,))
    out = game.step()
    assert (out.state.failure.code, game.states(), game.progress) == ("pre-empted", {"a": "failed"}, "Failed")
    assert (game.stage(0), game.succeeded) == ("Failed", "False")


@pytest.mark.parametrize("upstream", [False, True])
def test_a_run_that_stops_does_not_ask_what_a_cluster_in_flight_was_given_by_others(upstream):
    """As in KubeFleet. That a newer run of ours has taken it ends the run all the same (``test_beside``)."""
    game = play("a", upstream=upstream)
    game.step()
    theirs = held("a", condition("RolloutStarted", seconds=0), condition("Available"), content="web-0-snapshot")
    game.world = replace(game.world, bindings=(theirs,))
    game.ask("Stop").step()
    assert (game.states(), game.progress) == ({"a": "done"}, "Stopped")


def test_stop_lets_what_is_in_flight_finish():
    game = play("abc", stage("all", ALL, maxConcurrency=2))
    game.step()
    out = game.ask("Stop").step()
    assert (game.progress, game.stage(0), out.acts) == ("Stopping", "Stopping", ())
    game.report("a").step()
    assert (game.progress, game.states()) == ("Stopping", {"a": "done", "b": "started", "c": "waiting"})
    game.report("b").step()
    assert (game.progress, game.stage(0)) == ("Stopped", "Stopped")
    stopped = game.run
    assert game.after(minutes=1).step().state.run == stopped
    game.ask("Run").step()
    assert (game.progress, game.stage(0), game.states()["c"]) == ("Progressing", "Started", "started")


@pytest.mark.parametrize(("upstream", "ends"), [(False, "Stopped"), (True, "Stopping")])
def test_stop_does_not_wait_for_a_cluster_in_trouble(upstream, ends):
    game = play("ab", upstream=upstream)
    game.step()
    game.report("a").report("b", "False", "NotAllWorkHaveBeenApplied", "Applied").ask("Stop").step()
    assert (game.progress, game.states()) == (ends, {"a": "done", "b": "started"})
    game.report("b").ask("Run").steps()
    assert game.succeeded == "True"


def test_stop_does_not_wait_for_a_stuck_cluster():
    game = play("a")
    game.step()
    game.ask("Stop").step()
    assert game.progress == "Stopping"
    game.after(minutes=6).step()
    assert game.progress == "Stopped"


@pytest.mark.parametrize(("upstream", "ends"), [(False, "Stopped"), (True, "Stopping")])
def test_stop_before_the_delete_stage_deletes_nothing(upstream, ends):
    game = play("a", gone="d", upstream=upstream)
    game.step()
    game.report("a").step()
    out = game.ask("Stop").step()
    assert (game.progress, out.acts, game.states()["d"]) == (ends, (), "waiting")


def test_stop_in_the_delete_stage_lets_deletions_finish():
    game = play("", gone="d")
    game.steps()
    game.ask("Stop").step()
    assert (game.progress, game.stage(1)) == ("Stopping", "Stopping")
    game.vanish("d").step()
    assert game.progress == "Stopped"
    game.ask("Run").step()
    assert game.succeeded == "True"


def test_editing_the_wanted_state_keeps_what_was_recorded():
    game = play("ab", stage("all", ALL))
    game.step()
    game.report("a").step()
    game.ask("Run").step()
    assert game.states() == {"a": "done", "b": "started"}
    assert {each.observed_generation for each in game.run.status.conditions} == {2}


def test_what_cannot_begin_is_over():
    game = Play(replace(world(), placement=None), run())
    out = game.step()
    assert (out.state.failure.code, game.progress) == ("placement-not-found", "")
    assert [(each.type, each.status, each.reason) for each in game.run.status.conditions] == [
        ("Initialized", "False", "UpdateRunInitializedFailed")
    ]
    game.world = world()
    assert game.ask("Run").step().state.run.status.conditions[0].status == "False"


def test_a_run_that_has_ended_is_over_at_any_generation():
    """Its wanted state is edited and nobody has decided on it since: all its conditions count for the present."""
    done, unfit = play("a"), Play(replace(world(), placement=None), run())
    done.steps()
    done.report("a").steps()
    unfit.step()
    for game in (done, unfit):
        game.ask("Run")
        assert is_over(game.run) and has_ended_or_stopped(game.step().state) and is_over(game.run)


def test_a_placement_that_is_being_rescheduled_is_tried_again():
    before = world()
    moved = held("c")
    moved = replace(
        moved,
        binding=replace(moved.binding, spec=replace(moved.binding.spec, scheduling_policy_snapshot_name="web-9")),
    )
    game = Play(replace(before, bindings=(*before.bindings[:2], moved)), run())
    out = game.step()
    assert ([one.code for each in out.waits for one in each.blockers], game.run.status) == (
        ["not-rescheduled-yet"],
        run().status,
    )
    game.world = before
    assert game.step().acts


def test_a_run_without_an_index_takes_the_latest_resources():
    game = Play(world("a"), run(resourceSnapshotIndex=""))
    game.step()
    assert game.run.status.resource_snapshot_index_used == "1"


def test_an_older_index_brings_its_content_back_D4_61():
    game = Play(world("a"), run(resourceSnapshotIndex="0"))
    game.world = replace(game.world, bindings=(held("a", content=NEW),))
    assert game.step().acts[0].content.resource_snapshot == "web-0-snapshot"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"clusters": tuple(cluster(name) for name in "ab")}, "clusters-not-in-any-stage"),
        ({"bindings": (held("a"), held("b"))}, "clusters-changed"),
        ({"bindings": (*(held(name) for name in "abc"), held("d", state="Unscheduled"))}, "clusters-changed"),
        ({"policy_snapshots": (policy_snapshot(labels={"kubernetes-fleet.io/policy-index": "1"}),)}, "policy-changed"),
        ({"placement": external(applyStrategy={"type": "ReportDiff"})}, "apply-strategy-changed"),
        ({"placement": external(type="RollingUpdate")}, "strategy-not-external"),
        ({"placement": None}, "placement-not-found"),
    ],
)
def test_any_change_of_the_fleet_ends_the_run(change, code):
    game = play("abc", state="Initialize")
    game.step()
    game.world = replace(game.world, **change)
    out = game.step()
    assert out.state.failure.code == code
    assert (game.progress, game.succeeded, out.acts) == ("Failed", "False", ())


def test_many_clusters_that_changed_are_counted_and_some_named():
    """The message is kept in a condition, in each of a run's records."""
    game = play("abc", state="Initialize")
    game.step()
    strangers = [held(f"x{number:04}", state="Unscheduled") for number in range(400)]
    game.world = replace(game.world, bindings=(*(held(name) for name in "abc"), *strangers))
    failure = game.step().state.failure
    assert (failure.code, failure.total, len(failure.shown)) == ("clusters-changed", 400, 10)
    assert failure.message.startswith("x0000, x0001, ") and "and 390 more lost the placement" in failure.message


def test_many_clusters_that_came_or_went_are_counted_too():
    names = [f"c{number:04}" for number in range(300)]
    game = Play(world(names), run("Initialize"))
    game.step()
    game.world = replace(game.world, bindings=tuple(held(name) for name in names[::2]))
    failure = game.step().state.failure
    assert failure.code == "clusters-changed" and failure.total == 150 and len(failure.message) < 300


def test_editing_or_deleting_the_strategy_changes_nothing():
    game = play("abc", state="Initialize")
    game.step()
    game.world = replace(game.world, strategy=None)
    assert game.ask("Run").step().acts


def test_a_deleted_run_takes_its_approval_requests_along():
    game = play("a", stage("all", ALL, beforeStageTasks=[APPROVAL]))
    game.step()
    metadata = replace(game.run.metadata, deletion_timestamp=game.now)
    game.run = replace(game.run, metadata=metadata)
    assert game.step().acts == (DeleteApproval(name="run-before-all"),)


def test_a_crash_between_actions_and_record_repeats_nothing():
    game = play("ab", stage("all", ALL, beforeStageTasks=[APPROVAL]), gone="d")
    game.step()
    game.approve("run-before-all")
    before = game.run
    game.step()
    after_actions = game.world
    game.run = before
    again = game.step()
    assert not [each for each in again.acts if isinstance(each, (BindCluster, RequestApproval))]
    assert game.world.bindings == after_actions.bindings
    assert game.states()["a"] == "started"


def test_a_crash_between_record_and_acts_loses_nothing():
    """What is stored first is decided again until it is seen done, a stop or not."""
    game = play("a", stage("all", ALL, beforeStageTasks=[APPROVAL]), gone="d")
    game.step()
    requested = replace(game.world, approvals=())
    game.world = requested
    assert [type(each) for each in game.step().acts] == [RequestApproval]
    before = game.approve("run-before-all").after(minutes=1).world
    first = game.step()
    done = game.world
    assert [type(each) for each in first.acts] == [AcceptApproval, BindCluster]
    assert [each.operation for each in acts_in_flight(first.state)] == [first.acts[1].operation] == ["all/a"]
    game.world = before
    again = game.after(minutes=1).step()
    assert (again.acts, again.state, game.states()) == (first.acts, first.state, {"a": "started", "d": "waiting"})
    game.world = before
    assert game.ask("Stop").step().acts == first.acts
    assert [each.name for each in done.bindings] == [each.name for each in game.world.bindings]


@pytest.mark.parametrize("state", ["Initialize", "Run", "Stop"])
def test_what_is_owed_to_an_approval_is_done_whatever_is_wanted_of_the_run(state):
    game = play("a", stage("all", ALL, beforeStageTasks=[APPROVAL]))
    game.step()
    before = game.approve("run-before-all").world
    game.step()
    game.world = before
    assert AcceptApproval(name="run-before-all") in game.ask(state).step().acts


def test_a_crash_before_deletion_deletes_later():
    game = play("a", gone="d")
    game.steps()
    before = game.report("a").world
    first = game.steps()
    assert [type(each) for each in first.acts] == [DeleteBinding]
    game.world = before
    assert game.ask("Stop").step().acts == first.acts
    game.vanish("d")
    assert game.step().acts == () and game.progress == "Stopped"
