# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Runs that are carried on elsewhere, where the clock says something else."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.rolling import after
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.world import BindCluster
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.rollout.made import NOW, held
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.rollout.staged_made import (
    ALL,
    Play,
    run,
    stage,
    world,
)


def test_a_cluster_that_was_given_its_content_is_not_given_it_again_by_a_clock_that_is_behind() -> None:
    """It was recorded as started ten minutes ahead, by a run that was killed before it bound the cluster."""
    game = Play(world("a"), run())
    unbound = game.world
    game.after(minutes=10).step()
    game.world = unbound
    assert [type(each) for each in game.after(minutes=-10).step().acts] == [BindCluster]
    game.ask("Stop")
    assert game.after(seconds=5).step().acts == ()
    game.report("a").step()
    assert (game.progress, game.states()) == ("Stopped", {"a": "done"})


def test_a_run_that_was_killed_goes_on_after_another_whose_clock_was_ahead() -> None:
    """Its cluster was begun four minutes ahead by the run before it, and nothing has begun there since."""
    game = Play(world("a"), run())
    game.world = replace(
        game.world, bindings=tuple(after.started_anew(each, NOW + timedelta(minutes=4)) for each in game.world.bindings)
    )
    unbound = game.world
    game.step()
    game.world = unbound
    out = game.after(seconds=20).step()
    assert ([type(each) for each in out.acts], out.state.failure) == ([BindCluster], None)
    assert game.after(seconds=5).step().acts == ()


def test_a_clock_that_was_far_ahead_hides_neither_another_run_nor_a_cluster_that_is_stuck() -> None:
    """The binding was begun by a runner whose clock was a day ahead."""

    def begun(game: Play, **later: float) -> None:
        at = game.now + timedelta(**later)
        game.world = replace(game.world, bindings=tuple(after.started_anew(each, at) for each in game.world.bindings))

    game = Play(world("a"), run())
    begun(game, days=1)
    game.step()
    out = game.after(seconds=5).step()
    assert out.wake_at is not None and out.wake_at - game.now <= timedelta(minutes=5)
    unlike = tuple(held(each.cluster) for each in game.world.bindings)  # what another run has bound since
    game.world = replace(game.world, bindings=unlike)
    begun(game, seconds=55)
    out = game.after(minutes=2).step()
    assert out.acts == () and out.state.failure is not None and out.state.failure.code == "pre-empted"


def test_nothing_starts_any_more_in_the_look_that_finds_a_failure() -> None:
    """A place is free, and somebody else has changed a cluster in flight. Upstream starts the next one all the same."""

    def taken(**more: bool) -> Play:
        game = Play(world("abc", stage("all", ALL, maxConcurrency=2)), run(), **more)
        game.steps()
        game.after(seconds=20).report("a")
        foreign = (
            after.started_anew(held(each.cluster), game.now) for each in game.world.bindings if each.cluster == "b"
        )
        others = (each for each in game.world.bindings if each.cluster != "b")
        game.world = replace(game.world, bindings=(*others, *foreign))
        return game

    game = taken()
    out = game.after(seconds=5).step()
    assert out.state.failure is not None and out.state.failure.code == "pre-empted"
    assert (out.acts, game.states()) == ((), {"a": "done", "b": "failed", "c": "waiting"})
    game = taken(upstream=True)
    assert [each.cluster for each in game.after(seconds=5).step().acts if isinstance(each, BindCluster)] == ["c"]
