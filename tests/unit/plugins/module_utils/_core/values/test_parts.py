# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Parts of documents that others wrote."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.values import parts

GOOD = {"text": "a", "name": "b", "number": 3, "mapping": {"c": 1}, "texts": {"d": "e"}, "rows": [{"f": 1}]}
READERS = {each: getattr(parts, each) for each in GOOD}


@pytest.mark.parametrize("kind", GOOD)
def test_a_part_of_the_type_that_is_wanted(kind: str) -> None:
    assert READERS[kind](GOOD, kind) == GOOD[kind]


@pytest.mark.parametrize("absent", [{}, {"x": None}])
@pytest.mark.parametrize(("kind", "empty"), [("text", ""), ("number", 0), ("mapping", {}), ("texts", {}), ("rows", [])])
def test_null_is_absent(kind: str, empty: object, absent: dict) -> None:
    assert READERS[kind](absent, "x") == empty


@pytest.mark.parametrize(
    ("kind", "value"),
    [(kind, value) for kind, good in GOOD.items() for value in GOOD.values() if type(value) is not type(good)]
    + [("number", True), ("number", 1.5), ("texts", {"a": 1}), ("texts", {"a": None}), ("rows", [1]), ("rows", [None])]
    + [("name", ""), ("name", None)],
)
def test_another_type_is_told_without_its_value(kind: str, value: object) -> None:
    with pytest.raises(ValueError, match="^canary is ") as caught:
        READERS[kind]({"canary": value}, "canary")
    assert "[" not in str(caught.value) and "{" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (True, "true or false"),
        (1, "a whole number"),
        (1.5, "a number"),
        ("canary", "a text"),
        (["canary"], "a list"),
        ({"canary": 1}, "a map"),
        (None, "null"),
        (object(), "no JSON"),
    ],
)
def test_a_type_is_told_in_words(value: object, words: str) -> None:
    assert parts.type_words(value) == words
