# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Recorded kind ``quantity``: two texts, what each is, how they compare, their sum and difference."""

from __future__ import annotations

import typing as t

from ansible_collections.gitops.fleet.plugins.module_utils._core.values.quantity import (
    Quantity,
    parse_quantity,
    read_quantity,
)


def answer(input: dict[str, t.Any]) -> dict[str, t.Any]:
    a, b = _parsed(input["a"]), _parsed(input["b"])
    out: dict[str, t.Any] = {"a": _described(input["a"], a), "b": _described(input["b"], b)}
    if a is None or b is None:
        return out | {"cmp": None, "sum": None, "difference": None}
    return out | {"cmp": (a > b) - (a < b), "sum": (a + b).canonical, "difference": (a - b).canonical}


def _described(text: str, quantity: Quantity | None) -> dict[str, t.Any]:
    if quantity is None:
        return {"ok": False, "json_ok": _readable(text)}
    return {
        "ok": True,
        "json_ok": _readable(text),
        "value": quantity.value,
        "canonical": quantity.canonical,
        "string": quantity.as_text,
        "format": quantity.format,
    }


def _parsed(text: str) -> Quantity | None:
    try:
        return parse_quantity(text)
    except ValueError:
        return None


def _readable(text: str) -> bool:
    try:
        return read_quantity(text) is not None
    except ValueError:
        return False
