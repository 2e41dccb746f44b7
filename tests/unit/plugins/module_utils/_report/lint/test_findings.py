# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Findings as text that fits a terminal, as data, and as SARIF that code hosts accept."""

from __future__ import annotations

import json
import typing as t
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml
from ansible_collections.gitops.fleet.plugins.module_utils._core.lint.remark import LintProblem
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.lint import lint
from ansible_collections.gitops.fleet.plugins.module_utils._report.lint.findings import (
    findings_data,
    findings_text,
    yaml_lines,
)
from ansible_collections.gitops.fleet.plugins.module_utils._report.lint.sarif import sarif

SAMPLES = Path(__file__).resolve().parents[5] / "data" / "lint"
REMARK = LintProblem(
    code="wrong-type",
    level="error",
    message="3 is not text",
    path="spec.disruption.budgets[0].nodes",
    mended={"spec.disruption.budgets[0].nodes": "3", "spec.old": None},
    consent="this replaces nodes",
    object="NodePool/web",
    file="pools/web.yaml",
    line=12,
)


def test_a_finding_as_text():
    assert findings_text([REMARK], 1, 1) == [
        "pools/web.yaml:12: error wrong-type: NodePool/web",
        "  spec.disruption.budgets[0].nodes",
        "    3 is not text",
        "    mended:",
        '      spec.disruption.budgets[0].nodes: "3"',
        "      spec.old is taken away",
        "    careful: this replaces nodes",
        "1 error, 0 warnings, 0 notes in 1 document, 1 of them of kinds with rules",
    ]


def test_text_fits_eighty_columns_and_paths_break_before_dots():
    found = lint([str(SAMPLES)], datetime(2026, 11, 2, tzinfo=UTC))
    lines = findings_text(found.remarks, found.documents, found.checked)
    assert [line for line in lines if len(line) > 80] == []
    assert "      .preferredDuringSchedulingIgnoredDuringExecution[0].preference" in lines


@pytest.mark.parametrize(
    "value",
    [
        [{"nodes": "0", "schedule": "0 9 * * mon-fri", "reasons": ["Empty", "Drifted"]}, {"nodes": "10%"}],
        {"a": {"b": [], "c": {}}, "on": "yes", "n": None, "text": "a: b # c\\nd", "é": 1.5, "t": True, "empty": ""},
        [[1, 2], [[3]], [{"x": {"y": 1}}]],
        {
            "date": "2026-01-01",
            "octal": "0o17",
            "float": "1e3",
            "tilde": "~",
            "dash": "-",
            "dots": "...",
            "slash": "a/b",
        },
        "plain",
        "null",
    ],
)
def test_values_are_printed_as_yaml_that_reads_back(value: t.Any):
    assert yaml.safe_load("\n".join(yaml_lines(value))) == value


def test_data_has_all_of_it():
    data = json.loads(json.dumps(findings_data([REMARK], 3, 2)))
    assert data["counts"] == {"error": 1, "warning": 0, "note": 0}
    assert (data["documents"], data["checked"]) == (3, 2)
    assert data["findings"][0] == {
        "code": "wrong-type",
        "level": "error",
        "message": "3 is not text",
        "path": "spec.disruption.budgets[0].nodes",
        "mended": {"spec.disruption.budgets[0].nodes": "3", "spec.old": None},
        "consent": "this replaces nodes",
        "object": "NodePool/web",
        "file": "pools/web.yaml",
        "line": 12,
    }


def test_sarif_has_what_the_standard_demands():
    """SARIF 2.1.0, sections 3.13 (log), 3.14 (run), 3.19 (driver), 3.27 (result), 3.49 (rule), 3.29 (location)."""
    found = lint([str(SAMPLES), "/nowhere at all/ä.yaml"], datetime(2026, 11, 2, tzinfo=UTC))
    log = json.loads(json.dumps(sarif(found.remarks)))
    assert set(log) == {"$schema", "version", "runs"}
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"]
    ids = [rule["id"] for rule in driver["rules"]]
    assert len(set(ids)) == len(ids)
    assert all(rule["shortDescription"]["text"].endswith(".") for rule in driver["rules"])
    assert {rule["defaultConfiguration"]["level"] for rule in driver["rules"]} <= {"error", "warning", "note"}
    assert len(run["results"]) == len(found.remarks)
    for result in run["results"]:
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")
        assert result["message"]["text"]
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert place["region"]["startLine"] >= 1
        assert urlsplit(place["artifactLocation"]["uri"]).scheme in ("", "file")
        assert place["artifactLocation"]["uri"].isascii() and " " not in place["artifactLocation"]["uri"]


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("pools/web.yaml", "pools/web.yaml"),
        ("./pools/../web.yaml", "web.yaml"),
        ("/srv/a b.yaml", "file:///srv/a%20b.yaml"),
        ("a#b?.yaml", "a%23b%3F.yaml"),
        ("a:b.yaml", "a%3Ab.yaml"),
    ],
)
def test_paths_become_uri_references(file: str, uri: str):
    remark = LintProblem(code="x", level="note", message="m", file=file, line=1)
    place = sarif([remark])["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == uri
