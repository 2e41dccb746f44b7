# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Canonical JSON."""

from __future__ import annotations

import datetime

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.canonical import canonical_json, digest_of


def test_equal_values_have_equal_bytes() -> None:
    assert canonical_json({"b": [1, "ü"], "a": None}) == '{"a":null,"b":[1,"ü"]}'.encode()
    assert digest_of({"a": 1, "b": 2}) == digest_of({"b": 2, "a": 1})
    assert digest_of([1, 2]) != digest_of([2, 1])


@pytest.mark.parametrize("value", [datetime.date(2026, 1, 1), float("nan"), {1: 2, "a": 3}])
def test_what_json_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises(FleetError) as refused:
        canonical_json({"at": value})
    assert refused.value.code == "not-json"
