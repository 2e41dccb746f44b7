# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Problems of a run that was interrupted or lost its records: placements not begun or cut short, and what was written
on which members by then."""

from __future__ import annotations

import typing as t

from ..._core.errors import FleetError, Problem
from ..._core.plan.document import PlacementPlan
from ..keeping import INTERRUPTED, STOPS
from .look import Outcomes


def refuse_to_begin(came: str) -> None:
    """FleetError ``interrupted`` where ``came`` says what has interrupted this run."""
    if came:
        raise FleetError(INTERRUPTED, f"{came}; nothing was written", hint="run again")


def not_begun(plans: t.Sequence[PlacementPlan]) -> list[Problem]:
    """One problem ``not-begun`` that names all these plans; none where there are none."""
    names = ", ".join(each.name for each in plans)
    return [Problem("not-begun", "these placements were not begun", names, "run again")] if plans else []


def unrecorded(name: str, error: FleetError, outcomes: Outcomes) -> Problem:
    """The problem, with the code of ``error``, that members were written (it says which objects) and the records could
    not follow: they are lost to another run, or out of reach."""
    hint = "run again: it looks at the members and takes up what stands there"
    message = f"the records were not brought up to date: {error.message}. On members this run has written"
    return Problem(error.code, f"{message} {_account(outcomes)}", name, hint)


def cut_short(name: str, came: str, outcomes: Outcomes) -> Problem:
    """The problem ``interrupted``, by what ``came``: what was written, and on which clusters work was broken off.
    Clusters that were not begun are not named."""
    left = sorted(cluster for cluster, each in outcomes.items() if each.error and each.error.code in STOPS)
    rest = f"not done: {', '.join(left)}" if left else "all its clusters are done"
    message = f"{came}; on members this run has written {_account(outcomes)}; {rest}"
    return Problem(INTERRUPTED, message, name, "run again: it goes on from here")


def _account(outcomes: Outcomes) -> str:
    """What was written, and what may have been, by cluster; clusters without any are left out, ``nothing`` if all
    are."""
    told = [f"{cluster}: {each.account}" for cluster, each in outcomes.items() if each.wrote or each.doubtful]
    return "; ".join(told) or "nothing"
