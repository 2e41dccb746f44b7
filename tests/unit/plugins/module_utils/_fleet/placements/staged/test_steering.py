# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""When a staged run looks at the clusters in flight; tests/simulation drives the whole of it."""

from __future__ import annotations

import typing as t
from datetime import timedelta

from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.outcome import MemberOutcome
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.decide import StagedState
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.look import Outcomes
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.steering import StagedSteering
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan import made
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.rollout.made import NOW
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.rollout.staged_made import Play, run, world

NOTHING = t.cast(t.Any, None)


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
    steering = StagedSteering(plan, NOTHING, NOTHING, NOTHING, reach, outcomes, lambda: "ended", NOW)
    for turn in range(20):
        back = timedelta(hours=1) if turn >= 10 else timedelta(0)
        steering.keep(state, NOW + timedelta(seconds=turn) - back)
        steering.wait(0)
    assert looked == list(range(2, 20, 2))
