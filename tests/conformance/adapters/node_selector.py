# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Recorded kind ``node_selector``: a node selector against a node."""

from __future__ import annotations

import typing as t

from ansible_collections.gitops.fleet.plugins.module_utils._core.values.node_selector import (
    check_node_selector,
    node_selector,
    selects,
)


def answer(input: dict[str, t.Any]) -> dict[str, t.Any]:
    selector = node_selector(input["node_selector"])
    invalid = bool(check_node_selector(selector))
    try:
        matches = selects(selector, input["labels"] or {}, input["node_name"])
    except ValueError:
        return {"error": True, "invalid": invalid, "matches": None}
    return {"error": False, "invalid": invalid, "matches": matches}
