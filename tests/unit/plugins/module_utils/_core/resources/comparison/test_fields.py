# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Values of fields as they are shown."""

from __future__ import annotations

import json
import typing as t

from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.comparison.fields import (
    ABSENT,
    is_masked,
    shown,
)


def test_a_value_is_shown_as_it_is() -> None:
    value = {"a": [1, None, True, "line\nline", {"b": 0.5}], "c": {}}
    assert shown(value, masked=False) == value
    assert shown(ABSENT, masked=False) is None


def test_a_secret_is_shown_by_its_length() -> None:
    assert shown({"a": "Y2FuYXJ5", "b": None}, masked=True) == {"a": "<masked, 6 bytes>", "b": None}
    deep: t.Any = "canary"
    for _level in range(600):
        deep = {"a": deep}
    assert "canary" not in str(shown(deep, masked=True))


def test_what_nobody_reads_is_left_out() -> None:
    """A member may put anything into the place of a field: its depth, its length and its size end."""
    deep: t.Any = "end"
    for _level in range(500):
        deep = [deep]
    wide = {str(number): [number] * 100 for number in range(10_000)}
    for value in (deep, wide, "x" * 10**7, [["x" * 10**6] * 3]):
        assert len(json.dumps(shown(value, masked=False))) < 300_000
    assert shown("x" * 10**7, masked=False).endswith(" more characters)")


def test_of_a_secret_only_its_type_and_whether_it_is_immutable_are_shown() -> None:
    secret: dict[str, t.Any] = {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "immutable": True}
    assert not is_masked("type", secret, secret) and not is_masked("immutable", secret, {"kind": "Secret"})
    assert is_masked("stringdata", {**secret, "stringdata": {"pw": "hunter2"}}, secret)
    assert is_masked("type", secret, {**secret, "type": ["hunter2"]})
    assert not is_masked("data", {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}}, {})
