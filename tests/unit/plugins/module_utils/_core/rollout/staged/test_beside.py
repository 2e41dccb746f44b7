# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Two staged runs of one placement: the older one ends where the newer one has taken a cluster from it."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.staged.update_run import ClusterStagedUpdateRun
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.beside import open_beside
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.standing import begun_at
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.rollout.staged_made import (
    ALL,
    Play,
    resources,
    run,
    stage,
    strategy,
    world,
)

STAGES = (stage("us", {"at": "us"}), stage("eu", {"at": "eu"}, beforeStageTasks=[{"type": "Approval"}]))
LABELS = {"a": {"at": "us"}, "b": {"at": "eu"}, "c": {"at": "eu"}}
AT_ONCE = strategy(stage("all", ALL, maxConcurrency="100%"))
SAID = "run newer of the same placement has begun since, and gave snapshot 2 to a, b, c; make a new run"


def older(upstream: bool = False) -> Play:
    """It has begun cluster a."""
    game = Play(world("abc", *STAGES, labels=LABELS), run(metadata={"name": "older"}), upstream)
    game.steps()
    return game


def waiting(upstream: bool = False) -> Play:
    """It has given its content to cluster a, and waits for an approval."""
    game = older(upstream).report("a")
    game.steps()
    assert game.states() == {"a": "done", "b": "waiting", "c": "waiting"}
    return game


def beside(game: Play, index: str = "2", **minutes: int) -> Play:
    """A newer run in the same world: it goes everywhere at once."""
    newer = Play(
        replace(
            game.world,
            strategy=AT_ONCE,
            resource_snapshots=(resources(1), resources(2, latest=True)),
            runs=(game.run,),
        ),
        run(metadata={"name": "newer"}, resourceSnapshotIndex=index),
        game.upstream,
    )
    newer.now = game.now
    newer.after(**(minutes or {"minutes": 1})).steps()
    game.now = newer.now
    game.world = replace(game.world, bindings=newer.world.bindings, runs=(newer.run,))
    return newer


def ended_by(newer: Play, game: Play) -> Play:
    """The newer run at its end, as the other sees it."""
    newer.report("abc").steps()
    assert newer.succeeded == "True"
    game.world = replace(game.world, bindings=newer.world.bindings, runs=(newer.run,))
    return game.after(minutes=1)


def test_a_run_whose_cluster_a_newer_one_has_given_other_content_gives_nothing_more() -> None:
    game = waiting()
    ended_by(beside(game), game).approve("older-before-eu")
    out = game.steps()
    assert out.acts == () and out.state.failure is not None
    assert (out.state.failure.code, out.state.failure.message) == ("superseded", SAID)
    assert (game.succeeded, game.states()) == ("False", {"a": "done", "b": "waiting", "c": "waiting"})


@pytest.mark.parametrize("behind", [{"minutes": 5}, {"hours": 2}], ids=str)
def test_the_newer_one_counts_although_the_clock_of_who_carries_it_on_is_behind(behind: dict[str, int]) -> None:
    """The older one is carried on by somebody whose clock is ahead, and had begun a cluster by it."""
    game = waiting()
    ahead = game.now
    game.now -= timedelta(**behind)
    newer = beside(game)
    began = begun_at(newer.run)
    assert began is not None and newer.now < ahead < began
    ended_by(newer, game).approve("older-before-eu")
    game.now = ahead + timedelta(minutes=2)
    out = game.steps()
    assert out.acts == () and out.state.failure is not None and out.state.failure.message == SAID
    assert game.states() == {"a": "done", "b": "waiting", "c": "waiting"}


def test_as_upstream_it_goes_on_and_takes_them_back() -> None:
    game = waiting(upstream=True)
    ended_by(beside(game), game).approve("older-before-eu")
    game.step()
    assert game.states()["b"] == "started" and not game.succeeded


def test_a_run_that_was_only_laid_out_before_a_newer_one_began_gives_nothing_at_all() -> None:
    game = Play(world("abc", *STAGES, labels=LABELS), run("Initialize", metadata={"name": "older"}))
    game.steps()
    ended_by(beside(game), game).ask("Run")
    out = game.steps()
    assert out.acts == () and out.state.failure is not None and out.state.failure.message == SAID
    assert (game.succeeded, set(game.states().values())) == ("False", {"waiting"})


def test_a_cluster_that_was_taken_in_flight_has_failed() -> None:
    game = older()
    beside(game)
    out = game.after(minutes=1).steps()
    assert out.state.failure is not None and out.state.failure.message == SAID
    assert game.states() == {"a": "failed", "b": "waiting", "c": "waiting"}


def test_a_newer_run_with_the_same_content_or_that_has_begun_no_cluster_changes_nothing() -> None:
    same = waiting()
    ended_by(beside(same, index="1"), same).approve("older-before-eu")
    same.steps()
    assert same.succeeded == "True"
    idle = waiting()
    newer = beside(idle)
    untouched = [
        replace(each, clusters=tuple(replace(one, conditions=()) for one in each.clusters))
        for each in newer.run.status.stages_status
    ]
    fresh = replace(newer.run, status=replace(newer.run.status, stages_status=tuple(untouched)))
    idle.world = replace(waiting().world, runs=(fresh,))
    idle.approve("older-before-eu").steps()
    assert idle.states()["b"] == "started"


def test_a_run_that_another_one_takes_a_cluster_from_is_told_which_it_was() -> None:
    """The older one is carried on as KubeFleet does it."""
    game = Play(world("abc", *STAGES, labels=LABELS), run("Initialize", metadata={"name": "older"}), upstream=True)
    game.steps()
    newer = beside(game)
    game.ask("Run").after(minutes=1).steps()
    assert game.states()["a"] == "started"
    newer.world = replace(newer.world, bindings=game.world.bindings, runs=(game.run,))
    newer.now = game.now
    out = newer.after(minutes=1).step()
    assert out.state.failure is not None and out.state.failure.code == "pre-empted"
    assert out.state.failure.message.endswith("; run older of the same placement has taken it")


def test_a_new_run_is_told_of_the_open_one_beside_it() -> None:
    game = waiting()
    (said,) = open_beside(run(metadata={"name": "newer"}), (game.run,))
    assert said.code == "run-beside" and said.message.startswith("staged run older of the same placement has begun")
    newer = beside(game)
    assert open_beside(newer.run, (game.run,)) == ()
    ended = ended_by(newer, game)
    assert open_beside(run(metadata={"name": "third"}), (newer.run, run(metadata={"name": "idle"}))) == ()
    ended.steps()
    assert open_beside(run(metadata={"name": "third"}), (ended.run,)) == ()


class Looked:
    """A run that counts how often its clusters are gone through."""

    def __init__(self, of: ClusterStagedUpdateRun) -> None:
        self.of, self.times = of, 0

    def __getattr__(self, name: str) -> t.Any:
        return getattr(self.of, name)

    @property
    def status(self) -> t.Any:
        found, looked = self.of.status, self

        class Counting:
            conditions = found.conditions
            resource_snapshot_index_used = found.resource_snapshot_index_used

            @property
            def stages_status(self) -> t.Any:
                looked.times += 1
                return found.stages_status

        return Counting()


def test_a_look_goes_once_through_each_newer_run_and_through_no_older_one() -> None:
    """A placement has many runs behind it, each with as many clusters: every look at this one would go through all."""
    game = waiting()
    newer, older_one = Looked(beside(game).run), Looked(older().run)
    earlier = tuple(
        replace(each, last_transition_time=game.now - timedelta(days=1)) for each in older_one.of.status.conditions
    )
    older_one.of = replace(older_one.of, status=replace(older_one.of.status, conditions=earlier))
    game.world = replace(game.world, runs=(newer, older_one))
    assert game.step().state.failure is not None
    assert (newer.times, older_one.times) == (1, 0)
