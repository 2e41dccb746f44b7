# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Recorded kind ``budget``: what a list of budgets allows at an instant."""

from __future__ import annotations

import typing as t

from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.budgets.budgets import allowed
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.node_pool import decode_budgets
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.instants import parse_time


def answer(input: dict[str, t.Any]) -> dict[str, t.Any]:
    try:
        budgets = decode_budgets(input["budgets"])
    except FleetError:
        return {"decodes": False}
    got = allowed(budgets, parse_time(input["now"]), input["nodes"], input["reason"])
    rows = [{"active": each.active, "value": each.value, "error": bool(each.error)} for each in got.budgets]
    return {"decodes": True, "allowed": got.limit, "error": got.error, "budgets": rows}
