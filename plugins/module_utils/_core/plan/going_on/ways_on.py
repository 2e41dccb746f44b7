# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What can be done next once placements were applied: roll back from a version that does not become available and holds
its own rollout up, begin a staged run that clusters wait for, wait until all is available."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ...rollout.rolling.waiting import FAILED, MAX_SURGE, MAX_UNAVAILABLE, NOT_READY, BindingWait
from ...rollout.staged.next_run import NextRun
from ..document import PlacementPlan
from ..outcome import MemberOutcome
from ..reached import reached, waits_for_availability

HOLDING_UP = (MAX_UNAVAILABLE, MAX_SURGE, NOT_READY, FAILED)


@dataclass(frozen=True, kw_only=True)
class WaysOn:
    """``back`` are names of placements whose new version holds its own rollout up; ``with_secrets``: Secrets are among
    what they place, which a roll back reads again from Git. ``staged``: clusters wait for a staged run, ``runs`` are
    these, as far as they are known; ``late``: something was applied and is not available yet, though nobody waits for
    it."""

    back: tuple[str, ...] = ()
    with_secrets: bool = False
    staged: bool = False
    runs: tuple[NextRun, ...] = ()
    late: bool = False


def ways_on(
    plans: t.Sequence[PlacementPlan],
    outcomes: t.Mapping[str, t.Mapping[str, MemberOutcome]],
    waits: t.Mapping[str, t.Iterable[BindingWait]],
) -> WaysOn:
    """The ways on after ``plans`` were written: by what was seen of the members, ``outcomes`` by placement and cluster,
    and by the bindings that wait, ``waits`` by placement, without those that nobody waits for. ``runs`` is left to the
    caller."""
    stuck = [each for each in plans if _is_stuck(each, outcomes.get(each.name, {}), waits.get(each.name, ()))]
    return WaysOn(
        back=tuple(each.name for each in stuck),
        with_secrets=any(one.id.kind == "Secret" for each in stuck for one in each.objects),
        staged=bool(left_to_a_run(plans)),
        late=any(waits_for_availability(each, outcomes.get(each.name, {})) for each in plans if each.name not in waits),
    )


def left_to_a_run(plans: t.Iterable[PlacementPlan]) -> list[PlacementPlan]:
    """Those of the plans whose clusters wait for a staged run: of strategy External, not ending, with any cluster that
    does not just stay as it is."""
    return [each for each in plans if each.is_by_staged_runs and not all(row.stays for row in each.clusters)]


def _is_stuck(plan: PlacementPlan, outcomes: t.Mapping[str, MemberOutcome], waits: t.Iterable[BindingWait]) -> bool:
    """Whether clusters that have the new version and are not available with it, or where objects failed, are what holds
    the rollout up, with no end in time. False for a placement that replaces no old version, is rolled back already, or
    ends, and where nobody has looked."""
    far = reached(plan, outcomes)
    if far is None or not far.replacing or plan.rolled_back or plan.deleting:
        return False
    bad = far.waiting.keys() | {name for name, each in outcomes.items() if each.failures}
    holding_up = {
        name
        for each in waits
        if each.reason in HOLDING_UP and each.until is None
        for name in (each.blockers if each.wants else (each.cluster,))
    }
    return not bad.isdisjoint(holding_up)
