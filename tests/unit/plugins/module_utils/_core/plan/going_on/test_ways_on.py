# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What can be done after placements were written."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.document import PlacementPlan
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.going_on.ways_on import WaysOn, ways_on
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.member import UPDATE, MemberStep
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.outcome import MemberOutcome, ObjectFailure
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.availability import NOT_YET
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.history import RolledBack
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.rolling.waiting import (
    LEAVING,
    MAX_UNAVAILABLE,
    NOT_READY,
    BindingWait,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan.made import (
    CONFIG,
    NAMESPACE,
    NOW,
    facts,
    pick_all,
    placed,
    plan,
    rendered,
    wanted,
)

FLEET = facts("a", "b")
NEWER = (rendered(NAMESPACE), rendered(CONFIG, "2"))
OLD = MemberOutcome(cluster="b", steps=(MemberStep(id=CONFIG, action=UPDATE),))
LATE = replace(OLD, cluster="a", done=True, availability={CONFIG: NOT_YET})
HELD_UP = BindingWait(
    binding="web-b", cluster="b", wants="update", reason=MAX_UNAVAILABLE, message="1 of 2", blockers=("a",)
)


def renewed() -> PlacementPlan:
    return plan(wanted(pick_all(), NEWER), FLEET, placed(pick_all(), FLEET))


def ways(made: PlacementPlan, first: MemberOutcome = LATE, *waits: BindingWait) -> WaysOn:
    return ways_on([made], {"web": {"a": first, "b": OLD}}, {"web": waits} if waits else {})


def test_a_new_version_that_spends_the_budget_can_be_gone_back_from() -> None:
    assert ways(renewed(), LATE, HELD_UP) == WaysOn(back=("web",))
    refused = ObjectFailure(id=CONFIG, reason="Invalid", message="no")
    assert ways(renewed(), replace(LATE, availability={}, failures=(refused,)), HELD_UP).back == ("web",)
    last = BindingWait(binding="web-a", cluster="a", wants="", reason=NOT_READY, message="it is not available yet")
    assert ways(renewed(), LATE, last).back == ("web",)


@pytest.mark.parametrize(
    "wait",
    [
        replace(HELD_UP, until=NOW),
        replace(HELD_UP, blockers=("b",)),
        replace(HELD_UP, wants="", cluster="a", reason=LEAVING),
    ],
)
def test_who_waits_for_time_or_for_others_is_not_stuck_by_the_version(wait: BindingWait) -> None:
    assert ways(renewed(), LATE, wait).back == ()


def test_a_first_version_and_a_roll_back_have_nothing_to_go_back_to() -> None:
    assert ways(plan(wanted(pick_all()), FLEET), LATE, HELD_UP).back == ()
    assert ways(replace(renewed(), rolled_back=RolledBack(index=0)), LATE, HELD_UP).back == ()


def test_secrets_are_named_where_a_roll_back_has_to_read_them() -> None:
    secret = rendered(replace(CONFIG, kind="Secret"))
    made = plan(wanted(pick_all(), (*NEWER, secret)), FLEET, placed(pick_all(), FLEET))
    assert ways(made, LATE, HELD_UP).with_secrets


def test_what_is_late_while_nobody_waits_is_told() -> None:
    assert ways(renewed()) == WaysOn(late=True)
    assert ways(renewed(), replace(LATE, availability={CONFIG: "Available"})) == WaysOn()


def test_clusters_of_an_external_placement_wait_for_a_staged_run() -> None:
    made = renewed()
    strategy = replace(made.placement.spec.strategy, type="External")
    external = replace(made, placement=replace(made.placement, spec=replace(made.placement.spec, strategy=strategy)))
    assert ways(external) == WaysOn(staged=True)
    unchanged = replace(
        external, clusters=tuple(replace(each, change="kept", outdated=False) for each in external.clusters)
    )
    assert ways(unchanged) == WaysOn()
