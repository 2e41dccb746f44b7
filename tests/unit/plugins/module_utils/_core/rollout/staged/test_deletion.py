# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The delete stage where it is less simple than mostly: two bindings of one cluster, a record that contradicts."""

from __future__ import annotations

from dataclasses import replace

from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.content import RolloutBinding
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.marks import (
    CLUSTER_DONE,
    PROGRESSING,
    Marks,
    run_stuck,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.world import DeleteBinding
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.rollout.made import NOW
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.rollout.staged_made import (
    Play,
    run,
    strategy,
    world,
)


def leaving(names: str, state: str = "Run") -> Play:
    return Play(replace(world("", gone=names), strategy=strategy()), run(state))


def renamed(each: RolloutBinding, name: str) -> RolloutBinding:
    metadata = replace(each.binding.metadata, name=name)
    return replace(each, binding=replace(each.binding, metadata=metadata))


def test_two_bindings_of_one_cluster_are_deleted_one_after_another() -> None:
    game = leaving("d")
    game.world = replace(game.world, bindings=(*game.world.bindings, renamed(game.world.bindings[0], "second")))
    deleted: list[str] = []
    while not game.succeeded and len(deleted) < 3:
        deleted += [each.binding for each in game.step().acts if isinstance(each, DeleteBinding)]
        game.vanish("d")
    assert (deleted, game.world.bindings, game.succeeded) == (["web-d", "second"], (), "True")


def test_a_deletion_that_contradicts_the_record_ends_the_run_before_any_binding_is_deleted() -> None:
    game = leaving("de", "Initialize")
    game.step()
    deletion = game.run.status.deletion_stage_status
    assert deletion is not None
    done = Marks(1, NOW).on_cluster(deletion.clusters[1], "Succeeded", CLUSTER_DONE)
    deletion = replace(deletion, clusters=(deletion.clusters[0], done))
    game.run = replace(game.run, status=replace(game.run.status, deletion_stage_status=deletion))
    out = game.ask("Run").step()
    assert out.state.failure is not None and out.state.failure.code == "contradiction"
    assert (out.acts, game.succeeded) == ((), "False")
    ended = game.run.status.deletion_stage_status
    assert ended is not None and (ended.start_time, ended.end_time) == (NOW, NOW)


def test_a_run_that_deletes_is_not_stuck_whatever_its_record_says() -> None:
    game = leaving("d", "Initialize")
    game.step()
    stuck = Marks(1, NOW).on_run(game.run.status, PROGRESSING, run_stuck("all", ["a"]))
    game.run = replace(game.run, status=stuck)
    game.ask("Run").step()
    assert game.progress == "Progressing"
