# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Approvals that a run has taken, and has not answered yet."""

from __future__ import annotations

from dataclasses import replace

from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.world import AcceptApproval
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.rollout.staged_made import (
    ALL,
    APPROVAL,
    Play,
    run,
    stage,
    world,
)


def test_a_run_that_ends_answers_the_approval_that_it_took_before_it_was_killed() -> None:
    """Nobody conducts it once more: the request would look as if it was still waited for."""
    game = Play(world("a", stage("all", ALL, beforeStageTasks=[APPROVAL])), run())
    game.step()
    unanswered = game.approve("run-before-all").world
    game.step()
    game.world = replace(unanswered, placement=None)
    out = game.step()
    assert out.state.failure is not None and out.acts == (AcceptApproval(name="run-before-all"),)
