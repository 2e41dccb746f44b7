# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Recorded kind ``selector``: a label selector against labels."""

from __future__ import annotations

import typing as t

from ansible_collections.gitops.fleet.plugins.module_utils._core.values.selector import compile_selector, label_selector


def answer(input: dict[str, t.Any]) -> dict[str, t.Any]:
    raw = input["selector"]
    try:
        matcher = compile_selector(None if raw is None else label_selector(raw))
    except ValueError:
        return {"error": True, "matches": None}
    return {"error": False, "matches": matcher(input["labels"] or {})}
