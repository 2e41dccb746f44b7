# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Recorded kind ``intstr``: an integer or percentage, scaled."""

from __future__ import annotations

import typing as t

from ansible_collections.gitops.fleet.plugins.module_utils._core.values.int_or_percent import is_int_or_text, scaled


def answer(input: dict[str, t.Any]) -> dict[str, t.Any]:
    fits = is_int_or_text(input["value"])
    try:
        return {"decodes": fits, "error": False, "result": scaled(input["value"], input["total"], input["round_up"])}
    except ValueError:
        return {"decodes": fits, "error": True, "result": None}
