# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/compatibility.md is true: every difference of a decision names a test, and every named test is there."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8")
TESTS = ROOT / "tests"
BELOW = TESTS / "unit" / "plugins" / "module_utils" / "_core"
NAMED = re.findall(r"`([^`\s]+\.py)::(\w+)(?:\[[^`]*\])?`", PAGE)


@cache
def functions(path: str) -> set[str]:
    file = (TESTS if path.startswith(("integration/", "unit/")) else BELOW) / path
    body = ast.parse(file.read_text(encoding="utf-8")).body if file.is_file() else []
    return {each.name for each in body if isinstance(each, ast.FunctionDef)}


def test_every_named_test_is_there():
    assert [f"{path}::{name}" for path, name in NAMED if name not in functions(path)] == []


def test_every_row_of_a_table_with_tests_names_one():
    assert len(NAMED) > 50
    tables = re.findall(r"\| test \|\n\| --- .*\n((?:\|.*\n)+)", PAGE)
    assert [row for table in tables for row in table.splitlines() if ".py::test_" not in row.split(" | ")[-1]] == []
