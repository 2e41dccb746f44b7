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
from ansible_collections.gitops.fleet.plugins.module_utils._core.lint.remark import Remark
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.rules import REPAIR, RULE_OF

CORPUS = Path(__file__).resolve().parents[5] / "data" / "lint" / "corpus"
VERDICTS: dict[str, bool] = json.loads((CORPUS / "verdicts.json").read_text(encoding="utf-8"))
DOCUMENTS: dict[str, t.Any] = {
    f"{file.stem}[{index}]": document
    for file in sorted(CORPUS.glob("*.yml"))
    for index, document in enumerate(yaml.safe_load_all(file.read_text(encoding="utf-8")))
}
NOW = datetime(2026, 11, 2, tzinfo=UTC)
# What a server refuses and we read as what was meant, with a warning that has the mended form.
REPAIRED = {"expireAfter-misplaced", "version-not-served"} | {
    code for code, rule in RULE_OF.items() if rule.rule_class == REPAIR
}


def remarks(document: t.Any) -> tuple[Remark, ...]:
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
    assert len(errors) <= {"pools[4]": 2, "karpenter[16]": 2}.get(name, 1), "two faults are in each of these"


@pytest.mark.parametrize("name", ["pools[3]", "pools[29]", "pools[38]", "fleet[11]", "karpenter[28]"])
def test_what_is_mended_is_right(name: str):
    judged = judge_document(DOCUMENTS[name], NOW)
    mended = mend(judged, consent=True)
    assert mended is not None
    assert [each.code for each in remarks(mended) if each.level == "error" or each.code in REPAIRED] == []
