# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Canonical JSON."""

from __future__ import annotations

import datetime
import json
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.canonical import (
    canonical_json,
    digest_of,
    json_by_lines,
)


def test_equal_values_have_equal_bytes() -> None:
    assert canonical_json({"b": [1, "ü"], "a": None}) == '{"a":null,"b":[1,"ü"]}'.encode()
    assert digest_of({"a": 1, "b": 2}) == digest_of({"b": 2, "a": 1})
    assert digest_of([1, 2]) != digest_of([2, 1])


@pytest.mark.parametrize("value", [datetime.date(2026, 1, 1), float("nan"), {1: 2, "a": 3}])
def test_what_json_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises(FleetError) as refused:
        canonical_json({"at": value})
    assert refused.value.code == "not-json"


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"schema": 1, "members": [], "nodes": {}, "failed": None},
        {"b": [{"z": 1, "a": "é\n\u2028"}, 2, None], "a": {"y": [1], 'x"': {"k": [True]}}},
    ],
)
def test_json_by_lines_is_the_same_document(document: dict[str, t.Any]) -> None:
    text = json_by_lines(document)
    assert json.loads(text) == document and text.endswith("}\n")
    assert text == json_by_lines(dict(reversed(document.items())))


def test_json_by_lines_has_a_line_for_each_entry() -> None:
    text = json_by_lines({"b": [{"z": 1, "a": 2}, 3], "a": {"y": 1, "x": [2, 3]}})
    assert text == '{\n"a": {\n "x": [2, 3],\n "y": 1\n},\n"b": [\n {"a": 2, "z": 1},\n 3\n]\n}\n'
