# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The harness for recorded answers sees every kind of difference, and says where it is."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from types import SimpleNamespace

import pytest
from ansible_collections.gitops.fleet.tests.conformance import recorded


@pytest.mark.parametrize(
    ("expected", "got", "text"),
    [
        ({"a": 1}, {"a": 1.0}, None),
        ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}, None),
        ({"a": 1}, {"a": True}, "a: expected 1, got true"),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}, "a.b[1]: expected 2, got 3"),
        ({"a": 1}, {}, "a: expected 1, got nothing"),
        ({}, {"a": None}, "a: expected nothing, got null"),
        ({"a": [1]}, {"a": [1, 2]}, "a[1]: expected nothing, got 2"),
        ({"a": []}, {"a": {}}, "a: expected [], got {}"),
        (1, 2, "answer: expected 1, got 2"),
    ],
)
def test_first_difference(expected, got, text):
    assert recorded.first_difference(expected, got) == text


def test_a_case_that_raises_is_a_failure_of_that_case():
    asked = SimpleNamespace(answer=lambda given: {"x": given["x"]})
    assert recorded.difference(asked, {"input": {}, "expected": {}}) == "raised KeyError: 'x'"


def test_an_adapter_may_compare_by_itself():
    asked = SimpleNamespace(answer=lambda given: {}, same=lambda expected, got: "not the same set")
    assert recorded.difference(asked, {"input": {}, "expected": {}}) == "not the same set"


def run(folder, *cases):
    with gzip.open(folder / "named.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(case) + "\n" for case in cases)
    command = [sys.executable, str(recorded.HERE / "run.py"), str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


INTSTR = {"name": "half", "kind": "intstr", "input": {"value": "50%", "total": 10, "round_up": False}}


def test_the_closing_line_counts(tmp_path):
    right = INTSTR | {"expected": {"decodes": True, "error": False, "result": 5}}
    wrong = INTSTR | {"name": "wrong", "expected": {"decodes": True, "error": False, "result": 6}}
    unbuilt = {"name": "later", "kind": "no_such_kind", "input": {}, "expected": {}}
    done = run(tmp_path, right, wrong, unbuilt)
    assert done.stdout.splitlines()[-1] == "1 passed, 1 failed, 1 skipped"
    assert "wrong (named.jsonl.gz): result: expected 6, got 5" in done.stdout
    assert "not built yet: no_such_kind (1)" in done.stdout
    assert done.returncode == 1


def test_an_empty_folder_is_not_a_success(tmp_path):
    done = subprocess.run(
        [sys.executable, str(recorded.HERE / "run.py"), str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
