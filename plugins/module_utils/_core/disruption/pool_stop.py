# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A NodePool stopped by a budget of 0, which touches no node, and released again: the merge patches, its budgets of
before in ``gitops.fleet/budgets-before`` (``budgets-unknown``), and whether others have edited its budgets since."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Mapping

from ..errors import FleetError

# What its budgets were before it was stopped, as JSON; null where it had none of its own.
BEFORE = "gitops.fleet/budgets-before"
STOP = [{"nodes": "0"}]
Document = dict[str, t.Any]


def is_stopped(pool: Mapping[str, t.Any]) -> bool:
    """Whether we have stopped the pool, a manifest: its budgets of before are kept in an annotation, also where others
    have edited them since."""
    return BEFORE in ((pool.get("metadata") or {}).get("annotations") or {})


def stop_patch(pool: Mapping[str, t.Any]) -> Document | None:
    """The merge patch that stops a pool; None if it is stopped, its one budget being 0; one whose own budget is that is
    marked as stopped all the same. Where others have changed its budgets since it was, it is stopped again, and what is
    kept are the budgets of before the first time."""
    if is_stopped(pool) and _budgets(pool) == STOP:
        return None
    before = {} if is_stopped(pool) else {BEFORE: json.dumps(_budgets(pool), sort_keys=True)}
    patch: Document = {"spec": {"disruption": {"budgets": STOP}}}
    return {**patch, "metadata": {"annotations": before}} if before else patch


def budgets_edited_since(pool: Mapping[str, t.Any]) -> str | None:
    """The budgets that others have written into a pool since it was stopped, as JSON, ``null`` if they took them out:
    stopped again or released, it has them no more. None if there are none, or it is not stopped."""
    return json.dumps(_budgets(pool)) if is_stopped(pool) and _budgets(pool) != STOP else None


def release_patch(pool: Mapping[str, t.Any]) -> Document | None:
    """The merge patch that gives a pool its budgets back, or takes them out if it had none, whatever others have
    written since (``budgets_edited_since``); None if it is not stopped.

    FleetError ``budgets-unknown`` if what they were is no list and not null; what is in the list is left to the server.
    """
    if not is_stopped(pool):
        return None
    name = str((pool.get("metadata") or {}).get("name", ""))
    try:
        before = json.loads(pool["metadata"]["annotations"][BEFORE])
    except (TypeError, ValueError, RecursionError):
        before = 0
    if before is not None and not isinstance(before, list):
        hint = "write its budgets by state patched, then delete the annotation"
        raise FleetError("budgets-unknown", f"the annotation {BEFORE} cannot be read", f"NodePool/{name}", hint)
    return {"metadata": {"annotations": {BEFORE: None}}, "spec": {"disruption": {"budgets": before}}}


def _budgets(pool: Mapping[str, t.Any]) -> t.Any:
    """``spec.disruption.budgets`` as they are written; None where they are missing."""
    return ((pool.get("spec") or {}).get("disruption") or {}).get("budgets")
