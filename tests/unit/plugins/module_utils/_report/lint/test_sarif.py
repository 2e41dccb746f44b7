# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Paths of findings as URI references of SARIF."""

from __future__ import annotations

import os

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.lint.remark import LintProblem
from ansible_collections.gitops.fleet.plugins.module_utils._report.lint.sarif import sarif


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("./a/b.yaml", "a/b.yaml"),
        ("/a b.yaml", "file:///a%20b.yaml"),
        ("ä.yaml", "%C3%A4.yaml"),
        (os.fsdecode(b"\xff.yaml"), "%FF.yaml"),
        ("\ud800.yaml", "%5Cud800.yaml"),
    ],
)
def test_a_path_becomes_a_uri_whatever_its_bytes_are(file: str, uri: str) -> None:
    (run,) = sarif([LintProblem(code="bad-yaml", level="error", message="not YAML", file=file)])["runs"]
    (result,) = run["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri
