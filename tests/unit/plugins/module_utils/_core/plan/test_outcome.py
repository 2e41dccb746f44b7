# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import json

from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import Problem
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.member import (
    CREATE,
    DIFFERS,
    PRUNE,
    REFUSED,
    REPAIR,
    UNCHANGED,
    MemberStep,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.outcome import MemberOutcome, ObjectFailure
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.comparison.ownership import FieldDrift
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan.made import CONFIG, EXTRA, NAMESPACE

DRIFT = FieldDrift("data.a", "1", "2", ("kubectl-edit",))
STEPS = (
    MemberStep(id=NAMESPACE, action=UNCHANGED),
    MemberStep(id=CONFIG, action=REPAIR, drifts=(DRIFT,)),
    MemberStep(id=EXTRA, action=REFUSED, reason="NotTakenOver", message="exists already"),
    MemberStep(id=EXTRA, action=DIFFERS, missing=True),
    MemberStep(id=CONFIG, action=CREATE, missing=True),
    MemberStep(id=NAMESPACE, action=PRUNE),
)


def test_only_writes_are_changes() -> None:
    assert [each.action for each in MemberOutcome(cluster="a", steps=STEPS).changes] == [REPAIR, CREATE, PRUNE]


def test_edited_and_missing_objects_drifted() -> None:
    assert [each.action for each in MemberOutcome(cluster="a", steps=STEPS).drifted] == [REPAIR, DIFFERS, CREATE]


def test_a_cluster_on_which_nothing_is_due_holds_all_though_it_was_not_written() -> None:
    assert MemberOutcome(cluster="a", steps=STEPS[:1]).holds_all and MemberOutcome(cluster="a", done=True).holds_all
    assert not MemberOutcome(cluster="a", steps=STEPS).holds_all
    assert not MemberOutcome(cluster="a", error=Problem("unreachable", "m")).holds_all


def test_applied_is_done_without_a_failure() -> None:
    assert MemberOutcome(cluster="a", done=True).applied
    assert not MemberOutcome(cluster="a").applied
    assert not MemberOutcome(cluster="a", done=True, error=Problem("unreachable", "m")).applied
    failure = ObjectFailure(id=CONFIG, reason="ManifestApplyFailed", message="m")
    assert not MemberOutcome(cluster="a", done=True, failures=(failure,)).applied


def test_it_is_plain_json_with_unchanged_objects_counted() -> None:
    failure = ObjectFailure(id=CONFIG, reason="ManifestApplyFailed", message="quota exceeded")
    outcome = MemberOutcome(cluster="a", steps=STEPS, failures=(failure,), error=Problem("unreachable", "no route"))
    row = json.loads(json.dumps(outcome.as_dict()))
    assert row["unchanged"] == 1 and len(row["steps"]) == 5
    assert row["steps"][0] == {
        "object": "ConfigMap test/test-1",
        "action": "repair",
        "drifts": [{"path": "data.a", "valueInHub": "1", "valueInMember": "2", "managers": ["kubectl-edit"]}],
    }
    assert row["failures"] == [
        {"object": "ConfigMap test/test-1", "reason": "ManifestApplyFailed", "message": "quota exceeded"}
    ]
    assert row["error"]["code"] == "unreachable"
    assert MemberOutcome(cluster="a").as_dict() == {"steps": [], "unchanged": 0}


def test_what_is_still_there_is_told_apart_from_what_could_not_be_written() -> None:
    stuck = ObjectFailure(id=NAMESPACE, reason="NotGoneYet", message="m")
    broken = ObjectFailure(id=CONFIG, reason="ManifestApplyFailed", message="m")
    assert MemberOutcome(cluster="a", done=True, steps=STEPS, failures=(stuck, broken)).unremoved == (NAMESPACE,)


def test_what_was_written_is_told_whether_the_member_failed_or_not() -> None:
    failed = ObjectFailure(id=NAMESPACE, reason="NotGoneYet", message="m")
    done = MemberOutcome(cluster="a", done=True, steps=STEPS[:2] + STEPS[5:], failures=(failed,))
    assert done.wrote == (CONFIG,) and done.account == "ConfigMap test/test-1"
    assert MemberOutcome(cluster="a", steps=STEPS).wrote == ()
    cut = MemberOutcome(cluster="a", error=Problem("unreachable", "m"), written=(NAMESPACE,), doubtful=CONFIG)
    assert cut.account == "Namespace test (ConfigMap test/test-1 was on its way)"
    assert (cut.as_dict()["written"], cut.as_dict()["doubtful"]) == (["Namespace test"], "ConfigMap test/test-1")
    assert MemberOutcome(cluster="a").account == "nothing"
