# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""How far a placement is: a first version and one that takes the place of another are told in other words."""

from __future__ import annotations

from dataclasses import replace

from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import Problem
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.member import CREATE, UPDATE, MemberStep
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.outcome import MemberOutcome, ObjectFailure
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.reached import reached
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.availability import NOT_YET
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan.made import (
    CONFIG,
    NAMESPACE,
    facts,
    pick_all,
    placed,
    plan,
    rendered,
    wanted,
)

NEWER = (rendered(NAMESPACE), rendered(CONFIG, "2"))


def outcome(name: str, action: str, *, done: bool, late: bool = False) -> MemberOutcome:
    availability = {CONFIG: NOT_YET} if late else {CONFIG: "Available"}
    return MemberOutcome(
        cluster=name, done=done, steps=(MemberStep(id=CONFIG, action=action),), availability=availability
    )


def test_clusters_that_keep_the_old_version_are_no_outage() -> None:
    fleet = facts("a", "b", "c")
    made = plan(wanted(pick_all(), NEWER), fleet, placed(pick_all(), fleet))
    far = reached(
        made,
        {
            "a": outcome("a", UPDATE, done=True, late=True),
            "b": outcome("b", UPDATE, done=False),
            "c": outcome("c", UPDATE, done=False),
        },
    )
    assert far is not None and far.keeping == ("b", "c") and far.keeping_sentence == "2 keep the old one"
    assert far.sentence == "new version on 1 of 3 clusters, available on 0; 2 keep the old one"
    assert far.as_dict()["keeping"] == ["b", "c"]


def test_a_cluster_that_was_begun_or_did_not_answer_is_not_said_to_keep_it() -> None:
    fleet = facts("a", "b", "c")
    made = plan(wanted(pick_all(), NEWER), fleet, placed(pick_all(), fleet))
    refused = ObjectFailure(id=CONFIG, reason="Invalid", message="no")
    failed = replace(outcome("b", UPDATE, done=True), failures=(refused,))
    far = reached(
        made,
        {
            "a": outcome("a", UPDATE, done=True),
            "b": failed,
            "c": MemberOutcome(cluster="c", error=Problem("unreachable", "no route")),
        },
    )
    assert far is not None and far.sentence == "new version on 1 of 3 clusters, available on 1"


def test_a_first_version_is_told_as_it_was() -> None:
    made = plan(wanted(pick_all()), facts("a", "b"))
    far = reached(made, {"a": outcome("a", CREATE, done=True, late=True), "b": outcome("b", CREATE, done=False)})
    assert far is not None and far.sentence == "applied on 1 of 2 clusters, 0 of 2 available"
    assert far.keeping_sentence == ""
