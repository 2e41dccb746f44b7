# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.marks import Marks
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.position import ALL_DONE, resume
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.world import RunContext, RunRefused
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.rollout.made import NOW, pick_n
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.rollout.staged_made import (
    ALL,
    Play,
    policy_snapshot,
    run,
    stage,
    strategy,
    world,
)


def at(game):
    return resume(RunContext(run=game.run, world=game.world, now=NOW, upstream=False))


def played():
    stages = [stage("one", {"wave": "1"}), stage("two", {"wave": "2"}, maxConcurrency=2)]
    labels = {"a": {"wave": "1"}, "b": {"wave": "2"}, "c": {"wave": "2"}}
    game = Play(world("abc", *stages, labels=labels), run())
    game.step()
    return game


def test_the_position_follows_from_the_record():
    game = played()
    assert at(game)[1] == 0
    game.report("a").step()
    assert at(game)[1] == 1
    game.steps()
    assert at(game)[1] == 1
    game.report("bc").step()
    assert at(game)[1] == 2
    game.steps()
    assert at(game)[1] == ALL_DONE


def test_a_placement_that_was_changed_and_not_applied_is_waited_for_and_upstream_ends_the_run():
    """What its last apply said of the clusters is of an older generation: another apply says it anew."""
    game = played()
    before, begun = game.world, game.run
    game.world = replace(before, policy_snapshots=(policy_snapshot(generation=2),))
    out = game.step()
    assert [one.code for each in out.waits for one in each.blockers] == ["not-scheduled-yet"]
    assert game.run == begun and not out.acts and out.state.failure is None
    game.world = before
    game.report("a").step()
    assert at(game)[1] == 1
    upstream = Play(replace(before, policy_snapshots=(policy_snapshot(generation=2),)), begun, upstream=True)
    failure = upstream.step().state.failure
    assert failure and failure.code == "not-fully-scheduled"


def tampered(game, index, change):
    status = game.run.status
    stages = list(status.stages_status)
    stages[index] = change(stages[index])
    game.run = replace(game.run, status=replace(status, stages_status=tuple(stages)))
    with pytest.raises(RunRefused) as error:
        at(game)
    return error.value.failure


MARKS = Marks(1, NOW)


@pytest.mark.parametrize(
    ("index", "change"),
    [
        (1, MARKS.stage_started),
        (1, lambda each: MARKS.stage_ended(each, "True", "StageUpdatingSucceeded", "")),
        (0, lambda each: MARKS.stage_ended(each, "True", "StageUpdatingSucceeded", "")),
    ],
)
def test_a_record_that_contradicts_itself_ends_the_run(index, change):
    assert tampered(played(), index, change).code == "contradiction"


def test_more_in_flight_than_allowed_contradicts_the_strategy():
    game = Play(world("ab", stage("all", ALL, maxConcurrency=2)), run())
    game.step()
    strategy = game.run.status.staged_update_strategy_snapshot
    narrower = replace(strategy, stages=(replace(strategy.stages[0], max_concurrency=1),))
    game.run = replace(game.run, status=replace(game.run.status, staged_update_strategy_snapshot=narrower))
    with pytest.raises(RunRefused) as error:
        at(game)
    assert error.value.failure.code == "contradiction"


@pytest.mark.parametrize(("upstream", "progress"), [(False, "Progressing"), (True, "Failed")])
def test_a_run_without_stages_goes_on_with_its_deletions_and_upstream_ends_it(upstream, progress):
    game = Play(replace(world("", gone="d"), strategy=strategy()), run(), upstream)
    game.step()
    game.step()
    assert game.progress == progress


@pytest.mark.parametrize("upstream", [False, True])
def test_a_record_without_its_resources_ends_the_run(upstream):
    """Upstream gives resources of index 0."""
    game = Play(world("ab", stage("all", ALL)), run(), upstream)
    game.step()
    game.run = replace(game.run, status=replace(game.run.status, resource_snapshot_index_used=""))
    failure = game.step().state.failure
    assert failure and failure.code == "contradiction"


def test_a_failed_stage_is_never_taken_up_again():
    assert tampered(played(), 0, lambda each: MARKS.stage_ended(each, "False", "StageUpdatingFailed", "")).code == (
        "stage-failed"
    )


def test_an_active_delete_stage_before_its_turn_contradicts_the_record():
    game = played()
    deletion = MARKS.stage_started(game.run.status.deletion_stage_status)
    game.run = replace(game.run, status=replace(game.run.status, deletion_stage_status=deletion))
    with pytest.raises(RunRefused) as error:
        at(game)
    assert error.value.failure.code == "contradiction"


def test_relabelled_clusters_are_named():
    game = played()
    moved = tuple(
        replace(each, metadata=replace(each.metadata, labels={"wave": "1"})) if each.metadata.name == "b" else each
        for each in game.world.clusters
    )
    game.world = replace(game.world, clusters=moved)
    with pytest.raises(RunRefused) as error:
        at(game)
    assert (error.value.failure.code, error.value.failure.shown) == ("clusters-changed", ("b",))


def test_another_number_of_clusters_ends_the_run():
    game = Play(replace(world("ab"), policy_snapshots=(policy_snapshot(pick_n(2), "2"),)), run())
    game.step()
    game.world = replace(game.world, policy_snapshots=(policy_snapshot(pick_n(3), "3"),))
    with pytest.raises(RunRefused) as error:
        at(game)
    assert error.value.failure.code == "cluster-count-changed"
