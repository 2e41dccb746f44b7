# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The schema for API servers says what we refuse as what a server refuses."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import EMPTY
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.openapi import schema_of
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.prop import prop


@dataclass(frozen=True, kw_only=True)
class Listed:
    reasons: tuple[str, ...] = prop("Reasons.", default=(), enum=("Empty", "Drifted"), min_items=1, max_items=2)
    hours: tuple[int, ...] = prop("Hours.", default=(), minimum=0, maximum=23)
    marks: t.Mapping[str, str] = prop("Marks.", default=EMPTY, pattern="^[a-z]+$", max_length=5, max_items=3)


def test_what_limits_the_items_of_lists_and_maps_stands_with_them() -> None:
    properties = schema_of(Listed)["properties"]
    assert properties["reasons"] == {
        "description": "Reasons.",
        "type": "array",
        "items": {"type": "string", "enum": ["Empty", "Drifted"]},
        "minItems": 1,
        "maxItems": 2,
    }
    assert properties["hours"]["items"] == {"type": "integer", "format": "int64", "minimum": 0, "maximum": 23}
    assert properties["marks"]["additionalProperties"] == {"type": "string", "maxLength": 5, "pattern": "^[a-z]+$"}
    assert properties["marks"]["maxProperties"] == 3
