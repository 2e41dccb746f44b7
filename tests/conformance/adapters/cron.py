# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Recorded kind ``cron``: whether an expression parses, and the five activations after an instant."""

from __future__ import annotations

import typing as t

from ansible_collections.gitops.fleet.plugins.module_utils._core.values.instants import parse_time, write_time
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.schedules.cron import parse_cron


def answer(input: dict[str, t.Any]) -> dict[str, t.Any]:
    try:
        schedule = parse_cron(input["expr"])
    except ValueError:
        return {"valid": False, "next": []}
    at, found = parse_time(input["after"]), []
    for _time in range(5):
        at = schedule.next(at)
        found.append(at and write_time(at))
        if at is None:
            break
    return {"valid": True, "next": found}


def same(expected: dict[str, t.Any], got: dict[str, t.Any]) -> str | None:
    """A parser that crashes accepts nothing either; which of the two it was is not told."""
    wanted = {key: value for key, value in expected.items() if key != "panics"}
    return None if wanted == got else f"expected {wanted}, got {got}"
