# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What users hand to filters and tests, odd numbers among it: Python writes none of thousands of digits."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.templates.given import (
    is_list,
    objects,
    one_of,
    whole_number,
)

HUGE = 10**5_000


@pytest.mark.parametrize(
    ("value", "listed"),
    [
        ({"kind": "PodList", "items": []}, True),
        ({"kind": "PodList", "items": {}}, False),
        ({"kind": HUGE, "items": []}, False),
        ({"kind": None, "items": []}, False),
        ({"items": []}, False),
        ([], False),
    ],
)
def test_a_list_has_a_kind_that_says_so(value: t.Any, listed: bool) -> None:
    assert is_list(value) is listed


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: objects(HUGE, "pods"),
        lambda: one_of(HUGE, ("Node",), "type"),
        lambda: whole_number(HUGE, "count"),
    ],
)
def test_a_number_that_cannot_be_written_is_refused_by_name(wrong: t.Callable[[], t.Any]) -> None:
    with pytest.raises(FleetError) as refused:
        wrong()
    assert refused.value.code == "bad-argument" and refused.value.where in ("pods", "type", "count")
