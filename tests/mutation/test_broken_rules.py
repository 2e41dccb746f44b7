# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Tests that pass whatever the code does show nothing: each named one fails when its rule is broken.

The rules are broken in a copy; nothing in the checkout is changed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.tests.mutation.broken_rules import BROKEN, Broken

ROOT = Path(__file__).resolve().parents[2]
CORE = Path("plugins", "module_utils", "_core")
TESTS = Path("tests", "unit", CORE)
PASSED, FAILED = 0, 1


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The code and its tests, in which every named test passes."""
    tree = tmp_path_factory.mktemp("mutation") / "ansible_collections" / "gitops" / "fleet"
    tree.mkdir(parents=True)
    for folder in ("plugins", "tests", "tools"):
        shutil.copytree(ROOT / folder, tree / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tree)
    done = run(tree, sorted({one.test for one in BROKEN}))
    assert done.returncode == PASSED, done.stdout
    return tree


@pytest.mark.parametrize("one", BROKEN, ids=[each.rule for each in BROKEN])
def test_a_broken_rule_is_noticed(copy: Path, one: Broken) -> None:
    file = copy / CORE / one.file
    text = file.read_text(encoding="utf-8")
    assert text.count(one.right) == 1, f"{one.file} has changed: {one.right}"
    file.write_text(text.replace(one.right, one.wrong), encoding="utf-8")
    try:
        done = run(copy, [one.test])
    finally:
        file.write_text(text, encoding="utf-8")
    assert done.returncode == FAILED, done.stdout


def run(tree: Path, tests: list[str]) -> subprocess.CompletedProcess[str]:
    """Without compiled files: two versions of a file within a second would be taken for one."""
    named = [str(TESTS / test) for test in tests]
    command = [sys.executable, "-B", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *named]
    return subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
