# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a look comes to in one line: where something drifted, where something is due, who was not looked at and why."""

from __future__ import annotations

from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import Problem
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.looked import Looked, looked_at
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.member import (
    CREATE,
    REPAIR,
    UNCHANGED,
    MemberStep,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.outcome import MemberOutcome
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.comparison.ownership import FieldDrift
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan.made import CONFIG, EXTRA

DRIFTS = (FieldDrift("data.a", "1", "2", ("kubectl-edit",)),)
EDITED = MemberStep(id=CONFIG, action=REPAIR, drifts=DRIFTS)
DELETED = MemberStep(id=CONFIG, action=CREATE, missing=True)
NEW = MemberStep(id=EXTRA, action=CREATE)
SAME = MemberStep(id=CONFIG, action=UNCHANGED)
WRONG = Problem("certificate", "its certificate is not trusted", "us (web)", "join it again")


def outcome(*steps: MemberStep, error: Problem | None = None) -> MemberOutcome:
    return MemberOutcome(cluster="x", steps=steps, error=error)


def test_what_drifted_is_told_with_who_was_not_looked_at() -> None:
    found = looked_at({"web": {"eu-2": outcome(EDITED), "eu-1": outcome(DELETED, SAME), "us": outcome(error=WRONG)}})
    assert (found.drifted, found.due, list(found.unseen)) == (("eu-1", "eu-2"), (), ["us"])
    assert found.sentence == (
        "2 clusters drifted (eu-1, eu-2); us was not looked at: its certificate is not trusted [certificate]"
    )
    assert found.hints == ["us: join it again"]
    other = Problem("partly-read", "its pods were not read", "eu-1")
    assert found.message([WRONG, other]) == f"{found.sentence}\nus: join it again\n{other}"
    assert looked_at({}).message([other]) == str(other)


def test_what_is_due_is_no_drift() -> None:
    found = looked_at({"web": {"a": outcome(NEW)}, "api": {"a": outcome(EDITED), "b": outcome(SAME)}})
    assert found.sentence == "1 cluster drifted (a); something is due on 1 cluster (a)"
    assert looked_at({"web": {"b": outcome(SAME)}}).sentence == "" == looked_at({}).sentence


def test_that_all_is_as_it_was_placed_is_told_of_those_that_were_looked_at() -> None:
    same = {"a": outcome(SAME), "b": outcome(SAME)}
    assert (
        looked_at({"web": same, "api": {"a": outcome()}}).all_clear
        == "nothing has drifted, and nothing is due, on 2 clusters"
    )
    assert looked_at({}).all_clear == looked_at({"web": {**same, "c": outcome(EDITED)}}).all_clear == ""
    assert looked_at({"web": {**same, "c": outcome(error=WRONG)}}).all_clear == ""


def test_those_with_one_reason_are_told_together_and_of_many_reasons_the_first() -> None:
    alike = {f"c{at}": WRONG for at in range(9)}
    assert Looked(unseen=alike).sentence == (
        "c0, c1, c2, c3, c4, c5 and 3 more were not looked at: its certificate is not trusted [certificate]"
    )
    assert Looked(unseen=alike).hints == ["c0, c1, c2, c3, c4, c5 and 3 more: join it again"]
    various = {f"c{at}": Problem("unreachable", f"no route to 10.0.0.{at}") for at in range(5)}
    assert Looked(unseen=various).sentence.endswith(
        "; 2 clusters more were not looked at, for 2 other reasons (c3, c4)"
    )
    fourth = {"c3": Problem("forbidden", "no"), "c4": Problem("forbidden", "no")}
    assert Looked(unseen={**various, **fourth}).sentence.endswith(
        "; 2 clusters more were not looked at, for another reason (c3, c4)"
    )


def test_that_an_expected_one_cannot_be_looked_at_is_not_told() -> None:
    found = looked_at({"web": {"us": outcome(error=WRONG)}, "api": {"us": outcome(error=WRONG)}}, {("web", "us")})
    assert list(found.unseen) == ["us"]
    assert not looked_at({"web": {"us": outcome(error=WRONG)}}, {("web", "us")}).unseen


def test_a_reason_of_many_lines_stays_one_line() -> None:
    told = Looked(unseen={"a": Problem("unreachable", "one\ntwo \x1b[2J" + "x" * 5_000)}).sentence
    assert told.isprintable() and len(told) < 400
