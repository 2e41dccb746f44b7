# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Random staged runs: failing members, stops, crashes before the record, time that jumps. What holds at every step."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.staged.update_run import ClusterStagedUpdateRun
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.decide import StagedState, decide
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.layout import most_in_flight
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.world import BindCluster, DeleteBinding
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode, encode
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.rollout.made import NEW
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.rollout.staged_made import (
    APPROVAL,
    WAIT,
    Play,
    run,
    stage,
    world,
)

NAMES = "abcdefgh"


def drawn(draw: random.Random) -> Play:
    names = NAMES[: draw.randrange(1, len(NAMES) + 1)]
    waves = [str(number) for number in range(draw.randrange(1, 4))]
    stages = [
        stage(
            f"s{wave}",
            {"wave": wave},
            maxConcurrency=draw.choice([1, 2, "25%", "50%", "100%"]),
            beforeStageTasks=[APPROVAL] if draw.random() < 0.3 else [],
            afterStageTasks=draw.choice([[], [], [WAIT], [APPROVAL], [WAIT, APPROVAL]]),
        )
        for wave in waves
    ]
    labels = {name: {"wave": draw.choice(waves)} for name in names}
    return Play(world(names, *stages, gone=draw.choice(["", "", "x", "xy"]), labels=labels), run())


def disturb(draw: random.Random, game: Play) -> None:
    """Something happens in the world, or to what is wanted."""
    name, kind = draw.choice(NAMES), draw.random()
    if kind < 0.35:
        game.report(name)
    elif kind < 0.45:
        game.report(name, "False", "NotAllWorkHaveBeenApplied", "Applied")
    elif kind < 0.55:
        game.report(name, "False", "NotAllWorkAreAvailable")
    elif kind < 0.65:
        game.vanish(draw.choice("xy"))
    elif kind < 0.75:
        for request in game.world.approvals:
            game.approve(request.name)
    elif kind < 0.9:
        game.after(minutes=draw.choice([1, 4, 11]))
    else:
        game.ask(draw.choice(["Run", "Run", "Stop"]))


def check(game: Play, out) -> None:
    assert out.state.failure is None
    states, status = game.states(), game.run.status
    stages = [[states[each.cluster_name] for each in one.clusters] for one in status.stages_status]
    configs = status.staged_update_strategy_snapshot.stages
    for index, row in enumerate(stages):
        assert row.count("started") <= most_in_flight(configs[index], len(row))
        if set(row) - {"waiting"}:
            assert all(each == "done" for earlier in stages[:index] for each in earlier)
    if any(isinstance(each, DeleteBinding) for each in out.acts):
        assert all(each == "done" for row in stages for each in row)
    if game.run.spec.state == "Stop":
        assert not [each for each in out.acts if isinstance(each, (BindCluster, DeleteBinding))]
    assert out.wake_at is None or out.wake_at >= game.now


def step(draw: random.Random, game: Play) -> None:
    """One step; sometimes the process dies after it has acted and before it could record that."""
    before = game.run
    mixed = replace(
        game.world,
        bindings=tuple(draw.sample(game.world.bindings, len(game.world.bindings))),
        clusters=tuple(draw.sample(game.world.clusters, len(game.world.clusters))),
        approvals=tuple(draw.sample(game.world.approvals, len(game.world.approvals))),
    )
    expected = decide(StagedState(run=game.run), mixed, game.now)
    out = game.step()
    assert out == expected
    check(game, out)
    if draw.random() < 0.15:
        game.run = before


@pytest.mark.parametrize("seed", range(40))
def test_whatever_happens_a_run_keeps_its_limits_and_ends(seed):
    draw = random.Random(seed)
    game = drawn(draw)
    for _event in range(60):
        step(draw, game)
        disturb(draw, game)
    for _event in range(60):
        if game.succeeded:
            break
        game.ask("Run").report(NAMES).vanish("xy").after(minutes=11)
        for request in game.world.approvals:
            game.approve(request.name)
        game.steps()
    assert (game.progress, game.succeeded) == ("Succeeded", "True")
    assert {each.content.resource_snapshot for each in game.world.bindings} == {NEW}
    assert set(game.states().values()) == {"done"}


@pytest.mark.parametrize("seed", range(20))
def test_time_and_events_are_all_it_waits_for(seed):
    """With members that come up at once, following ``wake_at`` and approving is enough."""
    game = drawn(random.Random(seed))
    for _look in range(200):
        out = game.steps()
        if game.succeeded:
            break
        game.report(NAMES).vanish("xy")
        for request in game.world.approvals:
            game.approve(request.name)
        game.now = max(game.now, out.wake_at) if out.wake_at else game.now
    assert game.succeeded == "True"


JUNK = [None, "", "x", "-1", "999999999999999999999", 0, -1, 7, True, [], {}, "True", "False", "Unknown"]


def spoiled(draw: random.Random, value):
    """The document with some of its parts left out, repeated or replaced."""
    if draw.random() < 0.03:
        return draw.choice(JUNK)
    if isinstance(value, dict):
        return {key: spoiled(draw, each) for key, each in value.items() if draw.random() > 0.03}
    if isinstance(value, list):
        kept = [spoiled(draw, each) for each in value if draw.random() > 0.03]
        return kept + kept[:1] if draw.random() < 0.03 else kept
    return value


@pytest.mark.parametrize("seed", range(60))
def test_a_spoiled_record_ends_the_run_and_raises_nothing(seed):
    draw = random.Random(seed)
    game = drawn(draw)
    for _event in range(draw.randrange(0, 12)):
        game.step()
        disturb(draw, game)
    document = encode(game.run)
    for _try in range(10):
        try:
            run = decode(ClusterStagedUpdateRun, spoiled(draw, document))
        except (ValueError, TypeError):
            continue
        out = decide(StagedState(run=run), game.world, game.now)
        assert decide(StagedState(run=run), game.world, game.now) == out
        encode(out.state.run)
