# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Approvals that a run has taken and has not answered yet, requests that belong to others, and waits that are over."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.world import (
    AcceptApproval,
    RequestApproval,
    approval_request,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.rollout.staged_made import (
    ALL,
    APPROVAL,
    WAIT,
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


def test_a_run_that_ends_at_a_request_of_another_keeps_what_it_has_done_until_then() -> None:
    """The approval before the stage is answered, and clusters that are done are not left as if they were in flight."""
    game = Play(world("ab", stage("all", ALL, beforeStageTasks=[APPROVAL], afterStageTasks=[APPROVAL])), run())
    game.step()
    theirs = approval_request(run(), RequestApproval(name="run-after-all", stage="other", task="afterStage"))
    game.approve("run-before-all").steps()
    game.report("a").steps()
    game.report("b")
    game.world = replace(game.world, approvals=(*game.world.approvals, theirs))
    failure = game.steps().state.failure
    assert failure is not None and failure.code == "approval-request-taken"
    assert (game.states(), game.stage(0), game.succeeded) == (dict.fromkeys("ab", "done"), "Failed", "False")


@pytest.mark.parametrize(("upstream", "succeeded"), [(False, "True"), (True, "")])
def test_a_wait_that_is_over_stays_over_when_the_run_is_stopped(upstream: bool, succeeded: str) -> None:
    game = Play(world("a", stage("all", ALL, afterStageTasks=[WAIT, APPROVAL])), run(), upstream)
    game.step()
    game.report("a").step()
    game.after(minutes=10).step()
    game.ask("Stop").step()
    game.ask("Run").approve("run-after-all").steps()
    assert game.succeeded == succeeded
