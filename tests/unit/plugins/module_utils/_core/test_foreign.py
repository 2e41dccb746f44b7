# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What others wrote steers neither terminals nor CI runners."""

from __future__ import annotations

import json
import re
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core import foreign
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError, Problem
from ansible_collections.gitops.fleet.plugins.module_utils._core.foreign import (
    LINE,
    TEXT,
    in_data,
    in_document,
    in_line,
    in_lines,
    is_template,
    shown_value,
)
from hypothesis import given
from hypothesis import strategies as st

# Not \n, \t and \r\n, which data may hold.
UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]|\r(?!\n)")
COMMANDS = re.compile(r"^\s*::[a-z]+.*::|##\[|##vso\[|##teamcity\[", re.IGNORECASE | re.MULTILINE)
PIECES = st.sampled_from(
    ["::error::", "::add-mask::x", "##[error]", "##vso[task.x]", "##teamcity[x", "\x1b[2J", "\r", "\n", "\r\n", "\x85"]
    + ["\u2028", "\u202e", "\x9b31m", "\ud800", " ", "\t", ":", "#", "a", "all green", "\xa0", "[", "\x1f"]
)
HOSTILE = st.lists(PIECES | st.text(max_size=3), max_size=12).map("".join)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31mred\x9bm", r"a\x1b[31mred\x9bm"),
        ("one\r\ntwo\nthree\u2028four", "one two three four"),
        ("web\u202elive\u2066", r"web\u202elive\u2066"),
        ("\ud800 \U000e0041", r"\ud800 \U000e0041"),
        ("::error file=a::b", ": :error file=a::b"),
        ("ok ::Add-Mask::x", "ok : :Add-Mask::x"),
        ("a ##[error] ##vso[task] ##teamcity[m", "a # #[error] # #vso[task] # #teamcity[m"),
        ("a\tb\xa0c", "a b c"),
        ("größer, 集群, 🚀", "größer, 集群, 🚀"),
    ],
)
def test_a_part_of_a_line(text, shown):
    assert in_line(text) == shown


@pytest.mark.parametrize(
    "text", ["fd00::a:1", "::1", "::ffff:10.0.0.1", "arn:aws:iam::aws:policy/x", "## head", "A::B"]
)
def test_what_is_no_command_stays(text):
    assert in_line(text) == in_lines(text) == in_data(text) == text


def test_further_lines_are_marked():
    assert in_lines("webhook said:\nall green\n::error::x") == "webhook said:\n  | all green\n  | : :error::x"


def test_long_texts_are_cut():
    assert len(in_line("x" * 10**6)) <= LINE
    assert in_line("x" * 10**6).endswith(" more characters)")
    assert len(in_lines("x\n" * 10**6)) < TEXT
    assert in_lines("x\n" * 10**6).endswith(f"... ({10**6 - 59} more lines)"), "those beyond the characters, too"
    assert in_lines("\n" * 100).count("\n") == 60


@pytest.mark.parametrize("most", [24, 30, 40, 41, 60])
def test_of_long_texts_all_characters_are_shown_or_counted(most):
    shown, _dots, rest = in_line("a" * 61, most).partition("... (")
    assert len(shown) + int(rest.removesuffix(" more characters)")) == 61
    assert len(shown) == max(0, most - 40)


def test_data_keep_lines_tabs_and_length():
    script = "#!/bin/sh\r\n\techo 'a'\n" + "x" * 10**5
    assert in_data({"run.sh": [script, 1, None, True, 0.5]}) == {"run.sh": [script, 1, None, True, 0.5]}
    assert in_data({"k\x1b": "a\x1bb\n  ::error::x"}) == {r"k\x1b": "a\\x1bb\n  : :error::x"}


def test_data_without_end_in_depth_end():
    deep = []
    for _level in range(100_000):
        deep = [deep]
    assert str(in_data(deep)).count("[") == 200


@given(HOSTILE)
def test_nothing_unseen_and_no_command_is_left(text):
    for shown in (in_line(text), in_lines(text), in_data(text)):
        assert not UNSEEN.search(shown) and not COMMANDS.search(shown)
    assert in_line(text).isprintable()
    assert all(line.startswith("  | ") for line in in_lines(text).split("\n")[1:])


@given(HOSTILE | st.text(alphabet="ab\n", min_size=LINE, max_size=LINE + 99))
def test_what_is_clean_stays_as_it_is(text):
    for clean in (in_line, in_lines, in_data):
        assert clean(clean(text)) == clean(text)


def test_every_problem_and_error_is_fit_to_be_shown():
    problem = Problem("x", "a\n::error::b", "m1\x1b", "see\u202e")
    assert str(problem) == "m1\\x1b: a\n  | : :error::b [x] (see\\u202e)"
    error = FleetError("x", "a\x1b\nb", "w\nv")
    assert (error.message, error.where) == ("a\\x1b\n  | b", "w v")
    assert "\x1b" not in repr(error) + str(error.args) + str(error.problems[0].as_dict())


DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4) | HOSTILE,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3) | HOSTILE, inner, max_size=3),
    max_leaves=12,
)


@given(DOCUMENTS)
def test_a_whole_document_is_cleaned_as_each_of_its_texts_is(document: object) -> None:
    text = json.dumps(document, ensure_ascii=False)
    assert in_document(text) == in_data(json.loads(text))
    assert in_document(text, lambda each: each.replace("a", "-")) == in_data(
        json.loads(text), lambda each: each.replace("a", "-")
    )


@pytest.mark.parametrize("depth", [150, 199, 200, 201, 202, 400])
@pytest.mark.parametrize("kind", ["list", "map", "scalar"])
def test_a_document_that_is_too_deep_is_cut_though_its_texts_are_harmless(depth: int, kind: str) -> None:
    text = "[" * depth + {"list": "[]", "map": '{"a": 1}', "scalar": '"a"'}[kind] + "]" * depth
    assert in_document(text) == in_data(json.loads(text))


def test_the_texts_of_a_harmless_document_are_not_looked_at_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan of 50 placements for 1,000 members has 340,000."""
    looked: list[str] = []
    monkeypatch.setattr(foreign, "_kept", lambda text: looked.append(text) or text)
    document = {"plan": ["web: 3\n\tclusters", {"größe": 1.5}, [None, True]]}
    assert in_document(json.dumps(document, ensure_ascii=False)) == document
    assert not looked
    in_document(json.dumps(["::error::x", "a"]))
    assert len(looked) == 2


def test_a_value_of_any_type_can_be_shown_in_part() -> None:
    assert shown_value({"a": [1, None]}) == "{'a': [1, None]}" and shown_value("x" * 100, 10) == "'xxxxxxxxx"
    assert shown_value([16**6000]) == "(too large to be shown)"


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("{{ x }}", True),
        ("a {% b", True),
        ("{# c", True),
        ({"names": ["web", "#jinja2: x"]}, True),
        ("no #jinja2: here", False),
        ({"a": {"b": 1}}, False),
    ],
)
def test_what_ansible_takes_for_a_template_is_told(value: t.Any, wanted: bool) -> None:
    assert is_template(value) is wanted
