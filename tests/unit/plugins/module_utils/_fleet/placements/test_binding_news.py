# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What becomes of bindings by what their clusters tell."""

from __future__ import annotations

from datetime import timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.outcome import MemberOutcome
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.content import RolloutBinding
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.clock_skew import CLOCK_SKEW
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.binding_news import after_look
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan import made
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.rollout.made import NOW


@pytest.mark.parametrize(
    ("ahead", "since"), [(CLOCK_SKEW, NOW + CLOCK_SKEW), (timedelta(minutes=6), NOW), (timedelta(days=1), NOW)]
)
def test_what_was_seen_by_a_clock_that_is_far_ahead_holds_others_up_for_a_period_from_now(
    ahead: timedelta, since: object
) -> None:
    plan = made.plan(made.wanted(), made.facts("a"))
    seen = MemberOutcome(cluster="a", done=True)
    before = after_look(plan, RolloutBinding(binding=plan.bindings[0]), seen, NOW + ahead)
    found = after_look(plan, before, seen, NOW).binding.status.conditions
    times = {each.type: each.last_transition_time for each in found}
    assert (times["Applied"], times["Available"]) == (since, since)
