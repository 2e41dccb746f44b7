# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/requirements.md is true: every requirement stands there once, and every test that it names is there."""

from __future__ import annotations

import re

import pytest
from ansible_collections.gitops.fleet.tools.requirements import IDS, ROOT, TABLE, functions, is_there, not_run, rows

ROWS = rows(TABLE.read_text(encoding="utf-8"))
NAMED = [(row.id, test) for row in ROWS for test in row.tests]
# D1-07 in comments, d1_07 and D1_07 in names of tests. Rulings of other numbers (D7, V3) are another matter.
CITED = re.compile(r"\bD([0-4])-(\d{2,3})\b|(?<=_)[dD]([0-4])_(\d{2,3})(?=_|\b)")
TESTS = sorted(file for file in (ROOT / "tests").rglob("*.py") if "conformance" not in file.parts)


def test_every_requirement_stands_there_once_and_in_order():
    assert [row.id for row in ROWS] == IDS
    assert len(IDS) == 372


def test_every_test_that_is_named_is_there():
    assert [f"{row}: {test}" for row, test in NAMED if not is_there(test)] == []


def cited(text: str) -> set[str]:
    return {f"D{a or c}-{b or d}" for a, b, c, d in CITED.findall(text)}


def test_whatever_is_cited_is_a_requirement():
    """In names, comments and tables of tests."""
    found = {str(file.relative_to(ROOT)): cited(file.read_text(encoding="utf-8")) - set(IDS) for file in TESTS}
    assert {file: ids for file, ids in found.items() if ids} == {}


def test_a_test_named_after_a_requirement_is_no_secret():
    """Where a test has the number in its name, the table does not say that nothing shows it."""
    shown = {row.id for row in ROWS if row.tests}
    names = {name for file in TESTS if file.name.startswith("test_") for name in functions(file)}
    assert {each for name in names for each in cited(name)} - shown == set()


@pytest.mark.parametrize(
    "cell", ["", "soon", "`unit/test_a.py`", "`unit/test_a.py::helper`", "`test_a`", "see `unit/test_a.py::test_b`"]
)
def test_a_cell_is_tests_or_says_what_is_missing(cell):
    with pytest.raises(ValueError, match="is n"):
        rows(f"| D0-01 | Something. | {cell} |")


def test_what_ran_is_read_from_the_report(tmp_path):
    report = tmp_path / "junit.xml"
    report.write_text(
        """<testsuites><testsuite>
        <testcase classname="tests.unit.a.test_b" name="test_ran" />
        <testcase classname="tests.unit.a.test_b" name="test_cases[one]" />
        <testcase classname="tests.unit.a.test_b" name="test_cases[two]"><skipped /></testcase>
        <testcase classname="tests.unit.a.test_b" name="test_skipped"><skipped /></testcase>
        </testsuite></testsuites>"""
    )
    cell = "`unit/a/test_b.py::test_ran`, `unit/a/test_b.py::test_cases`, `unit/a/test_b.py::test_cases[one]`, "
    gone = ["unit/a/test_b.py::test_cases[two]", "unit/a/test_b.py::test_other", "unit/a/test_b.py::test_skipped"]
    cell += ", ".join(f"`{each}`" for each in (*gone, "extensions/molecule/update/verify.yml")) + ", later: the rest"
    (row,) = rows(f"| D0-01 | Something. | {cell} |")
    assert (len(row.tests), row.later) == (7, "the rest")
    assert not_run([report], row.tests) == gone
    assert not_run([report], row.tests, left={gone[1]}) == [gone[0], gone[2]]
