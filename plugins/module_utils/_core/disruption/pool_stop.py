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
    """Whether we have stopped the pool of this manifest: an annotation keeps its budgets of before."""
    return BEFORE in ((pool.get("metadata") or {}).get("annotations") or {})


def stop_patch(pool: Mapping[str, t.Any]) -> Document | None:
    """The merge patch that stops a pool; None if it is stopped and its budgets are still the one of 0. A pool whose own
    budget is that is marked all the same. The budgets that are kept are those of before the first stop."""
    if is_stopped(pool) and _budgets(pool) == STOP:
        return None
    before = {} if is_stopped(pool) else {BEFORE: json.dumps(_budgets(pool), sort_keys=True)}
    patch: Document = {"spec": {"disruption": {"budgets": STOP}}}
    return {**patch, "metadata": {"annotations": before}} if before else patch


def budgets_edited_since(pool: Mapping[str, t.Any]) -> str | None:
    """The budgets that others have written into a pool since it was stopped, as JSON (``null`` if they took them out).
    None if there are none, or it is not stopped."""
    return json.dumps(_budgets(pool)) if is_stopped(pool) and _budgets(pool) != STOP else None


def release_patch(pool: Mapping[str, t.Any]) -> Document | None:
    """The merge patch that gives a pool its budgets of before back, or takes them out if it had none, whatever others
    have written since; None if it is not stopped. FleetError ``budgets-unknown`` if the annotation is no JSON list and
    not null."""
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
