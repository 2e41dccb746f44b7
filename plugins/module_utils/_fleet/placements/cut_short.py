# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Problems of a run that was interrupted or lost its records (``interrupted``, ``not-begun``): placements not begun or
cut short, which clusters are not done, and what was written on which members by then."""

from __future__ import annotations

import typing as t

from ..._core.errors import FleetError, Problem
from ..._core.plan.document import PlacementPlan
from ..keeping import INTERRUPTED, STOPS
from .look import Outcomes


def refuse_to_begin(came: str, left: str = "nothing was written") -> None:
    """FleetError ``interrupted`` where ``came`` says what has interrupted this run, nothing where it is empty; ``left``
    says how things stand."""
    if came:
        raise FleetError(INTERRUPTED, f"{came}; {left}", hint="run again")


def not_begun_problems(plans: t.Sequence[PlacementPlan]) -> list[Problem]:
    """One problem ``not-begun`` that names all these plans; none where there are none."""
    names = ", ".join(each.name for each in plans)
    return [Problem("not-begun", "these placements were not begun", names, "run again")] if plans else []


def records_behind_problem(name: str, error: FleetError, outcomes: Outcomes) -> Problem:
    """The problem, with the code of ``error``, that the records could not follow, and what this run has written on
    members."""
    hint = "run again: it looks at the members and takes up what stands there"
    message = f"the records were not brought up to date: {error.message}. On members this run has written"
    return Problem(error.code, f"{message} {_account(outcomes)}", name, hint)


def cut_short_problem(plan: PlacementPlan, came: str, outcomes: Outcomes) -> Problem:
    """The problem ``interrupted``, by what ``came``, with what was written, and which clusters of the plan are not
    done, but for those that left the fleet."""
    rest = _not_done(plan, outcomes) or "all its clusters are done"
    message = f"{came}; on members this run has written {_account(outcomes)}; {rest}"
    return Problem(INTERRUPTED, message, plan.name, "run again: it goes on from here")


def _not_done(plan: PlacementPlan, outcomes: Outcomes) -> str:
    """Clusters on which work was broken off, on which something failed, and which were not begun, each named once, in
    words; empty if all are done."""
    rest: dict[str, list[str]] = {"not done": [], "failed": [], "not begun": []}
    for cluster in sorted(each.cluster for each in plan.clusters if each.cause != "left-the-fleet"):
        found = outcomes.get(cluster)
        if found is None:
            rest["not begun"].append(cluster)
        elif found.error:
            rest["not done" if found.error.code in STOPS else "failed"].append(cluster)
        elif not found.holds_all:
            rest["failed" if found.done else "not begun"].append(cluster)
    return "; ".join(f"{why}: {', '.join(names)}" for why, names in rest.items() if names)


def _account(outcomes: Outcomes) -> str:
    """What was written, and what may have been, by cluster; clusters without any are left out, ``nothing`` if all
    are."""
    told = [f"{cluster}: {each.account}" for cluster, each in outcomes.items() if each.wrote or each.doubtful]
    return "; ".join(told) or "nothing"
