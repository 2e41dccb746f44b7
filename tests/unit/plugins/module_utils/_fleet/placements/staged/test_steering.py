# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""When a staged run looks at the clusters in flight, and which it writes again; tests/simulation drives the whole of
it."""

from __future__ import annotations

import typing as t
from datetime import timedelta
from types import SimpleNamespace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.outcome import MemberOutcome
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.content import RolloutBinding
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.decide import StagedState
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.look import Outcomes
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.steering import StagedSteering
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan import made
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.rollout.made import NOW, held
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.rollout.staged_made import Play, run, world

NOTHING = t.cast(t.Any, None)


def bindings_of(*held: RolloutBinding) -> t.Any:
    return SimpleNamespace(state=SimpleNamespace(bindings=held))


def test_a_cluster_in_flight_is_looked_at_every_2_s_also_where_the_clock_is_set_back() -> None:
    looked: list[int] = []
    game = Play(world("a"), run())
    game.step()
    state, turn = StagedState(run=game.run), 0

    def reach(_clusters: t.Container[str], write: bool) -> Outcomes:
        assert not write
        looked.append(turn)
        return {}

    outcomes = {"a": MemberOutcome(cluster="a", done=True)}
    plan = made.plan(made.wanted(), made.facts("a"))
    steering = StagedSteering(plan, bindings_of(), NOTHING, NOTHING, reach, outcomes, lambda: "ended", NOW)
    for turn in range(20):
        back = timedelta(hours=1) if turn >= 10 else timedelta(0)
        steering.keep(state, NOW + timedelta(seconds=turn) - back)
        steering.wait(0)
    assert looked == list(range(2, 20, 2))


@pytest.mark.parametrize("theirs", [False, True])
def test_a_cluster_in_flight_that_others_have_given_something_else_is_not_written_again(theirs: bool) -> None:
    """A run that stops lets it be: whether its binding names the run's content is not asked then, as in KubeFleet."""
    writes: list[bool] = []
    game = Play(world("a"), run())
    game.step()
    plan = made.plan(made.wanted(), made.facts("a"))
    bound = held("a", content="theirs" if theirs else plan.content.content_on("a").resource_snapshot)

    def reach(_clusters: t.Container[str], write: bool) -> Outcomes:
        writes.append(write)
        return {}

    steering = StagedSteering(plan, bindings_of(bound), NOTHING, NOTHING, reach, {}, lambda: "ended", NOW)
    for seconds in range(12):
        steering.keep(StagedState(run=game.run), NOW + timedelta(seconds=seconds))
        steering.wait(0)
    assert any(writes) != theirs
