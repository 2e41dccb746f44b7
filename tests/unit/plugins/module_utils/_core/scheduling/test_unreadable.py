# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A holder that could not be read is told of as the plan decides it, whoever is asked (F2). What the plan decides of it
is in ``plan/losing/test_unreadable.py``."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.cluster_resource_placement import (
    ClusterResourcePlacement,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.matrix import (
    GAINS,
    HOLDS,
    LOSES,
    NOT_PICKED,
    OF_PLAN,
    decided_column,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.compose import (
    Facts,
    RecordedState,
    policy_snapshot_of,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.explain import explain_outcome, verdicts
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.unreadable import (
    Decided,
    schedule_keeping_unread,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.what_if.overlay import read_overlay
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.what_if.what_if import Differences, what_if
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan.made import (
    SILENT,
    cluster,
    facts,
    pick_all,
    pick_fixed,
    pick_n,
    placed,
    plan,
    require,
    wanted,
)

TOLERANT = {"tolerations": [{"operator": "Exists"}]}
# What was placed, on which clusters, and the policy as it is edited while c is silent.
EDITS = {
    "all": (pick_all(), "abc", pick_all(**TOLERANT)),
    "two": (pick_n(2), "bc", pick_n(2, affinity=require(nodes=1))),
    "fewer": (pick_n(3), "abc", pick_n(1, affinity=require(nodes=1))),
    "named": (pick_fixed("a", "c"), "abc", pick_fixed("b", "c")),
    "not named any more": (pick_fixed("a", "c"), "abc", pick_fixed("b")),
    "the same": (pick_n(2), "bc", pick_n(2)),
}


class Edited:
    """One edit, as it is decided."""

    def __init__(self, name: str) -> None:
        before, clusters, after = EDITS[name]
        self.known: RecordedState = placed(before, facts(*clusters))
        self.facts: Facts = facts("a", "b", cluster("c", heard=SILENT))
        self.wish = wanted(after)

    @property
    def asked(self) -> tuple[ClusterResourcePlacement, t.Any, t.Any, t.Any]:
        placement = self.wish.placement
        policy, _new = policy_snapshot_of(placement, self.known.policy_snapshot)
        return placement, policy, self.facts.index, self.known.bindings

    def decided(self) -> Decided:
        return schedule_keeping_unread(*self.asked)

    def supposed(self, overlay: t.Mapping[str, t.Any]) -> Differences:
        return what_if(*self.asked, read_overlay(overlay, self.facts.index.positions, "what_if"))


@pytest.mark.parametrize("name", EDITS)
def test_explanation_report_and_supposition_say_what_the_plan_says(name: str) -> None:
    edited = Edited(name)
    made, outcome = plan(edited.wish, edited.facts, edited.known), edited.decided().scheduled
    planned = {each.cluster: OF_PLAN[each.change] for each in made.clusters}
    told = {each.cluster: each for each in verdicts(outcome)}
    for each in "abc":
        explained = explain_outcome(outcome, each)
        assert explained.picked == told[each].picked == (planned.get(each) in (HOLDS, GAINS)), each
        assert explained.sentence == told[each].sentence
    for column in (decided_column(outcome), decided_column(outcome, made)):
        assert [one.state for one in column.cells] == [planned.get(each, NOT_PICKED) for each in "abc"]
        assert (column.count, column.wanted, column.fulfilled) == (made.picked, made.wanted, made.fulfilled)
        assert all(
            each.code != "kept-unreadable" or "kept-unreadable" in map(_code, made.findings) for each in column.findings
        )
        assert len(column.findings) == len(set(column.findings))
    nothing = edited.supposed({})
    assert set(nothing.kept) == {each for each, state in planned.items() if state != LOSES} and not nothing.moves


def _code(problem: t.Any) -> str:
    return str(problem.code)


def test_why_it_keeps_the_placement_is_said() -> None:
    outcome = Edited("all").decided().scheduled
    found = explain_outcome(outcome, "c")
    assert found.picked and found.refusal is None and found.change == ""
    assert found.sentence.startswith("c keeps the placement under its former policy, as ")
    assert found.would_refuse is not None and found.would_refuse.code == "heartbeat-too-old"
    assert [each.code for each in found.blockers] == ["heartbeat-too-old"]
    assert "kept-unreadable" in [each.code for each in found.findings]


def test_one_that_is_silent_in_a_supposed_fleet_only_keeps_it_too() -> None:
    """And one that is gone there loses it, read or not."""
    edited = Edited("all")
    assert edited.supposed({"gone": ["c"]}).lost == ("c",)
    assert edited.supposed({"gone": ["a"]}).kept == ("b", "c")
