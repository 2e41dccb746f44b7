# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Node selectors: the recorded answers hold the breadth, these are the rules."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.node_selector import (
    check_node_selector,
    node_selector,
    requirement_matches,
    requirements,
    selects,
)

GPU = {"gpu": "8", "zone": "a"}


def term(*expressions: tuple[str, str, list[str]]) -> dict[str, object]:
    return {"matchExpressions": [{"key": key, "operator": how, "values": values} for key, how, values in expressions]}


def matches(*terms: object, name: str = "node-1") -> bool:
    return selects(node_selector({"nodeSelectorTerms": list(terms)}), GPU, name)


def test_terms_are_alternatives_and_their_expressions_are_not() -> None:
    assert matches(term(("gpu", "In", ["4"])), term(("zone", "In", ["a"])))
    assert not matches(term(("gpu", "In", ["4"]), ("zone", "In", ["a"])))


def test_nothing_asked_for_is_nothing_found() -> None:
    assert not matches()
    assert not matches({})


@pytest.mark.parametrize(
    ("key", "how", "values", "expected"),
    [
        ("gpu", "Gt", ["7"], True),
        ("gpu", "Lt", ["7"], False),
        ("zone", "Gt", ["7"], False),
        ("absent", "NotIn", ["x"], True),
        ("absent", "DoesNotExist", [], True),
        ("absent", "In", ["x"], False),
        ("absent", "Lt", ["7"], False),
        ("gpu", "Exists", [], True),
    ],
)
def test_operators(key: str, how: str, values: list[str], expected: bool) -> None:
    assert matches(term((key, how, values))) is expected


def test_a_node_without_a_name_is_asked_for_no_field() -> None:
    other = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-2"]}]}
    assert matches(other, name="")
    assert not matches(other)
    assert not matches(other | term(("gpu", "In", ["4"])), name="")


def test_the_name_of_the_node_is_a_field() -> None:
    named = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]}
    assert matches(named)
    assert not matches(named, name="node-2")


@pytest.mark.parametrize(
    "bad", [("gpu", "Gt", ["x"]), ("gpu", "Gt", []), ("gpu", "In", []), ("gpu", "Is", ["8"]), ("a b", "Exists", [])]
)
def test_a_malformed_term_is_an_error_only_if_no_term_matches(bad: tuple[str, str, list[str]]) -> None:
    selector = node_selector({"nodeSelectorTerms": [term(bad)]})
    assert [path for path, _message in check_node_selector(selector)] == ["nodeSelectorTerms[0].matchExpressions[0]"]
    with pytest.raises(ValueError, match=r"matchExpressions\[0\]"):
        selects(selector, GPU, "node-1")
    assert matches(term(("zone", "Exists", [])), term(bad))


@pytest.mark.parametrize(("bound", "expected"), [("0" * 5000 + "7", True), ("9" * 5000, False)])
def test_numbers_of_very_many_digits_are_compared_or_match_nothing(bound: str, expected: bool) -> None:
    (requirement,) = requirements([{"key": "gpu", "operator": "Gt", "values": [bound]}])
    assert requirement_matches(requirement, GPU) is expected
    selector = node_selector({"nodeSelectorTerms": [term(("gpu", "Gt", [bound]))]})
    assert check_node_selector(selector), "no label value is so long"
