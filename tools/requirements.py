# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tests that documents name: docs/requirements.md as data, and which tests are not there or did not run."""

from __future__ import annotations

import ast
import re
import typing as t
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "docs" / "requirements.md"
PAGES = (ROOT / "docs" / "security.md", ROOT / "docs" / "reliability.md")
LAST = {"D0": 98, "D1": 49, "D2": 7, "D3": 114, "D4": 104}
IDS = [f"{section}-{number:02}" for section, last in LAST.items() for number in range(1, last + 1)]
MOLECULE = "extensions/molecule/"

_ROW = re.compile(r"\| (D\d-\d+) \| (.+?) \| (.*) \|")
_TEST = re.compile(r"`([^`]+)`")
_NAMED = re.compile(r"(?P<path>[^:]+\.py)::(?P<function>test_\w+)(\[(?P<case>.+)\])?")


@dataclass(frozen=True)
class Named:
    """A test as the table names it: the file below tests/, the function and, if given, one of its cases.

    A molecule scenario is a file below the root, without a function.
    """

    path: str
    function: str = ""
    case: str = ""

    @property
    def file(self) -> Path:
        return ROOT / self.path if self.path.startswith(MOLECULE) else ROOT / "tests" / self.path

    def __str__(self) -> str:
        case = f"[{self.case}]" if self.case else ""
        return f"{self.path}::{self.function}{case}" if self.function else self.path


@dataclass(frozen=True)
class Row:
    """One requirement; ``later`` says what is missing, beside the tests or in place of them."""

    id: str
    text: str
    tests: tuple[Named, ...]
    later: str


def rows(text: str) -> list[Row]:
    """All rows of the tables in ``text``; ValueError on a cell that is neither tests nor ``later: ...``."""
    return [_row(*match.groups()) for match in _ROW.finditer(text)]


def _row(name: str, text: str, cell: str) -> Row:
    tests, _later, later = cell.partition("later: ")
    rest = _TEST.sub("", tests).replace(",", "").strip()
    row = Row(name, text, tuple(map(_named, _TEST.findall(tests))), later.strip())
    if rest or not (row.tests or row.later):
        raise ValueError(f"{name}: {cell!r} is neither tests nor 'later: ...'")
    return row


def _named(text: str) -> Named:
    if text.startswith(MOLECULE):
        return Named(text)
    match = _NAMED.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not <path below tests/>.py::test_name")
    return Named(match["path"], match["function"], match["case"] or "")


def named_in(text: str) -> tuple[Named, ...]:
    """Every test that a page names, in tables and sentences; ValueError on what only looks like one."""
    return tuple(_named(each) for each in _TEST.findall(text) if "::" in each)


@cache
def functions(file: Path) -> set[str]:
    """Those that a file of tests defines, outside of classes."""
    body = ast.parse(file.read_text(encoding="utf-8")).body
    return {each.name for each in body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}


def is_there(test: Named) -> bool:
    return test.file.is_file() and (not test.function or test.function in functions(test.file))


def not_run(reports: t.Iterable[Path], tests: t.Iterable[Named], left: t.Container[str] = ()) -> list[str]:
    """Tests of which no report of pytest has a case that ran, but for those ``left`` to a longer run; scenarios of
    molecule are not looked for."""
    ran: set[str] = set()
    for case in (case for report in reports for case in ET.parse(report).getroot().iter("testcase")):
        if case.find("skipped") is None:
            path = case.get("classname", "").removeprefix("tests.").replace(".", "/")
            name = f"{path}.py::{case.get('name')}"
            ran |= {name, name.partition("[")[0]}
    return sorted({str(each) for each in tests if each.function and str(each) not in ran and str(each) not in left})
