# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Names and reasons in letters of two columns stand in tables like all others."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._report.text import table
from ansible_collections.gitops.fleet.plugins.module_utils._report.widths import columns_of, padded, wrapped
from hypothesis import given
from hypothesis import strategies as st

MIXED = st.text(st.sampled_from("ab \u6771\u4eac\uff21\U0001f680e\u0301-"), max_size=200)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("web", 3),
        ("\u6771\u4eac", 4),
        ("\ud55c\uad6d", 4),
        ("\uff21", 2),
        ("\U0001f680", 2),
        ("e\u0301", 1),
        ("\u2764\ufe0f", 2),
        ("a\u200bb", 2),
        ("\u00e9\u00df", 2),
        ("", 0),
    ],
    ids=[
        "latin",
        "han",
        "hangul",
        "fullwidth",
        "emoji",
        "combining",
        "emoji by selector",
        "no width",
        "accents",
        "none",
    ],
)
def test_columns_are_those_of_a_terminal(text: str, columns: int) -> None:
    assert columns_of(text) == columns
    assert columns_of(padded(text, 10)) == 10


def test_the_columns_of_a_table_stand_below_each_other() -> None:
    rows = [("web", "kept", "reason"), ("\u6771\u4eac-1", "kept", "reason"), ("\U0001f680\U0001f680", "kept", "reason")]
    starts = {columns_of(line[: line.index("reason")]) for line in table(("name", "state", "reason"), rows)}
    assert len(starts) == 1


def test_a_wide_reason_is_wrapped_where_the_terminal_ends() -> None:
    lines = table(("name", "reason"), [("web", "\u6771" * 200)])
    assert len(lines) > 5 and max(map(columns_of, lines)) <= 80
    assert sum(line.count("\u6771") for line in lines) == 200


def test_a_wide_sign_is_not_parted_where_one_column_is_left() -> None:
    lines = wrapped("\u6771" * 120, 80, "x", "   ")
    assert max(map(columns_of, lines)) <= 80 and sum(line.count("\u6771") for line in lines) == 120


def test_a_path_without_room_is_broken_at_its_folders() -> None:
    path = "/home/somebody/.local/state/gitops-fleet/local"
    lines = wrapped(f"looked in {path}; nothing is there", 24)
    assert all(columns_of(line) <= 24 for line in lines)
    assert lines == ["looked in /home/", "somebody/.local/state/", "gitops-fleet/local;", "nothing is there"]
    assert wrapped(f"in {path}", 80) == [f"in {path}"]
    assert wrapped("a/b c/d", 4) == ["a/b", "c/d"]
    assert wrapped("ab/cd/ef gh", 8, "xxx") == ["xxxab/", "cd/ef gh"]


def test_the_name_of_a_field_without_room_is_broken_at_its_dots() -> None:
    field = "spec.template.spec.nodeClassRef.name"
    assert wrapped(f"{field} is another", 22) == ["spec.template.spec.", "nodeClassRef.name is", "another"]
    assert wrapped("see /home/.local/x", 10) == ["see /home/", ".local/x"]


def test_a_folder_without_room_is_broken_where_the_line_ends() -> None:
    lines = wrapped("see " + "x" * 12 + "/y", 8)
    assert all(columns_of(line) <= 8 for line in lines) and "".join(lines).replace(" ", "") == "see" + "x" * 12 + "/y"


@given(MIXED, st.integers(10, 80))
def test_no_line_is_wider_than_asked_and_nothing_is_lost(text: str, columns: int) -> None:
    lines = wrapped(text, columns, "  ", "    ")
    assert all(columns_of(line) <= columns for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())
