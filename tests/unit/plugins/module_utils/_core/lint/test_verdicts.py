# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The linter against the verdicts of a real API server on which the published definitions are installed."""

from __future__ import annotations

import json
import typing as t
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from ansible_collections.gitops.fleet.plugins.module_utils._core.lint.document import judge_document, mend
from ansible_collections.gitops.fleet.plugins.module_utils._core.lint.remark import LintProblem
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.rules import REPAIR, RULE_OF

CORPUS = Path(__file__).resolve().parents[5] / "data" / "lint" / "corpus"
VERDICTS: dict[str, bool] = json.loads((CORPUS / "verdicts.json").read_text(encoding="utf-8"))
DOCUMENTS: dict[str, t.Any] = {
    f"{file.stem}[{index}]": document
    for file in sorted(CORPUS.glob("*.documents"))
    for index, document in enumerate(yaml.safe_load_all(file.read_text(encoding="utf-8")))
}
NOW = datetime(2026, 11, 2, tzinfo=UTC)
# What a server refuses and we read as what was meant, with a warning that has the mended form.
REPAIRED = {"expireAfter-misplaced", "version-not-served"} | {
    code for code, rule in RULE_OF.items() if rule.rule_class == REPAIR
}


def remarks(document: t.Any) -> tuple[LintProblem, ...]:
    return judge_document(document, NOW).remarks


def test_every_document_has_a_verdict():
    assert VERDICTS.keys() == DOCUMENTS.keys()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_verdict_is_that_of_the_server(name: str):
    found = remarks(DOCUMENTS[name])
    errors = [f"{each.code} {each.path}" for each in found if each.level == "error"]
    if VERDICTS[name]:
        assert errors == [], "a document that the server takes is called wrong"
    else:
        repaired = [each for each in found if each.code in REPAIRED and each.mended]
        assert errors or repaired, "a document that the server refuses is called right"


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if not VERDICTS[name]])
def test_one_fault_is_one_finding(name: str):
    errors = [each.path for each in remarks(DOCUMENTS[name]) if each.level == "error"]
    assert len(errors) <= {"pools[4]": 2}.get(name, 1), "two faults are in this one"


@pytest.mark.parametrize("name", ["pools[3]", "pools[29]", "pools[38]", "fleet[11]", "karpenter[28]"])
def test_what_is_mended_is_right(name: str):
    judged = judge_document(DOCUMENTS[name], NOW)
    mended = mend(judged, consent=True)
    assert mended is not None
    assert [each.code for each in remarks(mended) if each.level == "error" or each.code in REPAIRED] == []


def test_the_repaired_form_is_taken_by_the_server_d0_18():
    mended = mend(judge_document(DOCUMENTS["pools[26]"], NOW), consent=True)
    assert mended == DOCUMENTS["pools[47]"]
    assert (VERDICTS["pools[26]"], VERDICTS["pools[47]"]) == (False, True)


@pytest.mark.parametrize("name", ["pools[0]", "pools[46]"])
def test_the_server_takes_a_wait_with_either_policy_d0_12(name: str):
    assert "consolidateAfter" in DOCUMENTS[name]["spec"]["disruption"] and VERDICTS[name]


@pytest.mark.parametrize("name", ["pools[40]", "pools[48]"])
def test_the_server_refuses_one_half_without_the_other_d0_74(name: str):
    (budget,) = DOCUMENTS[name]["spec"]["disruption"]["budgets"]
    assert ("schedule" in budget) != ("duration" in budget) and not VERDICTS[name]
    (found,) = [each for each in remarks(DOCUMENTS[name]) if each.level == "error"]
    assert found.code == "schedule-without-duration"


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if name.startswith("pools") and not VERDICTS[name]])
def test_fragments_are_judged_like_the_whole(name: str):
    """Only what a fragment may leave out makes a difference."""
    spec = DOCUMENTS[name].get("spec")
    errors = [(each.code, each.path) for each in remarks(DOCUMENTS[name]) if each.level == "error"]
    inside = [each for each in errors if each[1].startswith("spec.") and each[0] not in ("missing-field", "patch-only")]
    if spec and "disruption" in spec:
        found = remarks({"spec": spec})
    else:
        found = remarks({"spec": {**(spec or {}), "disruption": {"consolidateAfter": "0s"}}})
    assert set(inside) <= {(each.code, each.path) for each in found if each.level == "error"}


def test_an_older_pool_moves_wholly_or_not_at_all():
    """Only expireAfter was moved, into a pool that v1beta1 does not know there."""
    older = DOCUMENTS["pools[29]"]
    mended = mend(judge_document(older, NOW), consent=True)
    assert mended["apiVersion"] == "karpenter.sh/v1"
    assert mended["spec"]["disruption"] == {"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "0s"}
    claim = mended["spec"]["template"]["spec"]
    assert (claim["expireAfter"], claim["nodeClassRef"]["group"]) == ("720h", "karpenter.k8s.aws")
    assert mend(judge_document(older, NOW)) is None, "nothing without consent"
    spec = older["spec"]
    template = {"spec": {**spec["template"]["spec"], "kubelet": {"maxPods": 5}}}
    kept = judge_document({**older, "spec": {**spec, "template": template}}, NOW)
    assert mend(kept, consent=True) is None, "nothing where a part has no place in v1"
    assert {"unsupported-version", "unknown-field"} <= {each.code for each in kept.remarks}
