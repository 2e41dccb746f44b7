# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""JSON merge patches: the examples are of the rules in RFC 7396, and nothing that is given changes."""

from __future__ import annotations

import copy
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.merge_patch import merge_patched


@pytest.mark.parametrize(
    ("target", "patch", "expected"),
    [
        ({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"c": None, "e": 4}}, {"a": 1, "b": {"d": 3, "e": 4}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": "text"}, {"a": {"b": None, "c": 1}}, {"a": {"c": 1}}),
        ({}, {"a": {"b": {"c": None}}}, {"a": {"b": {}}}),
        ({"a": 1}, [2], [2]),
        (None, {"a": 1}, {"a": 1}),
        ({"a": 1}, {}, {"a": 1}),
    ],
)
def test_a_document_after_a_patch(target: t.Any, patch: t.Any, expected: t.Any) -> None:
    before = copy.deepcopy((target, patch))
    assert merge_patched(target, patch) == expected and (target, patch) == before
