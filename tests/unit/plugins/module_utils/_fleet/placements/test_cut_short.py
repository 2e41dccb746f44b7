# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What an interrupted apply says of its clusters: which are done, broken off, failed, not begun."""

from __future__ import annotations

from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import Problem
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.member import UPDATE, MemberStep
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.outcome import MemberOutcome, ObjectFailure
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.cut_short import cut_short_problem
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan.made import CONFIG, facts, plan, wanted

DUE = (MemberStep(id=CONFIG, action=UPDATE),)
FAILURE = (ObjectFailure(id=CONFIG, reason="ManifestApplyFailed", message="no"),)


def rest_of(names: str, *outcomes: MemberOutcome) -> str:
    """What is said last, of a placement on the clusters of these names."""
    told = cut_short_problem(plan(wanted(), facts(*names)), "SIGTERM", {each.cluster: each for each in outcomes})
    assert (told.code, told.where) == ("interrupted", "web")
    begin = "SIGTERM; on members this run has written nothing; "
    assert told.message.startswith(begin)
    return told.message.removeprefix(begin)


def done(cluster: str) -> MemberOutcome:
    return MemberOutcome(cluster=cluster, done=True)


def error(cluster: str, code: str) -> MemberOutcome:
    return MemberOutcome(cluster=cluster, error=Problem(code, "no"))


def test_all_are_done_only_where_all_of_the_plan_are() -> None:
    assert rest_of("ab", done("a"), done("b")) == "all its clusters are done"
    assert rest_of("ab", done("a"), MemberOutcome(cluster="b")) == "all its clusters are done"


def test_clusters_of_later_waves_are_not_begun_whether_they_were_looked_at_or_not() -> None:
    assert rest_of("abc", done("a"), MemberOutcome(cluster="b", steps=DUE)) == "not begun: b, c"


def test_what_failed_is_not_done() -> None:
    failing = MemberOutcome(cluster="b", done=True, steps=DUE, failures=FAILURE)
    assert rest_of("abc", done("a"), failing, error("c", "unreachable")) == "failed: b, c"


def test_each_cluster_is_named_once_and_what_was_broken_off_first() -> None:
    told = rest_of("abcd", done("a"), error("d", "interrupted"), error("b", "forbidden"))
    assert told == "not done: d; failed: b; not begun: c"
