# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/security.md and docs/reliability.md are true: every row names a test, and every test that they name is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.tools.requirements import PAGES, is_there, named_in

SECURITY, RELIABILITY = PAGES
ROWS = re.compile(r"\| test \|\n\| --- .*\n((?:\|.*\n)+)")
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


def rows_of(page: Path) -> list[str]:
    return [row for table in ROWS.findall(page.read_text(encoding="utf-8")) for row in table.splitlines()]


@each_page
def test_every_named_test_is_there(page: Path) -> None:
    assert [str(each) for each in named_in(page.read_text(encoding="utf-8")) if not is_there(each)] == []


@each_page
def test_every_row_names_a_test_or_what_it_waits_for(page: Path) -> None:
    rows = rows_of(page)
    assert len(rows) >= 30
    cells = [(row, row.removesuffix(" |").rpartition(" | ")[2]) for row in rows]
    assert [row for row, cell in cells if not named_in(cell) and "not yet" not in row.lower()] == []


def test_every_fault_has_one_row() -> None:
    numbered = [row.split(" | ")[0] for row in rows_of(RELIABILITY) if row.startswith("| F")]
    assert numbered == [f"| F{number}" for number in range(1, 31)]


def test_every_role_says_what_it_cannot_do() -> None:
    sections = SECURITY.read_text(encoding="utf-8").split("\n## ")[1:]
    assert len(sections) >= 8 and all(ROWS.search(section + "\n") for section in sections)
