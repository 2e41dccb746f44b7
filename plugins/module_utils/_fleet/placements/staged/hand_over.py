# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What an apply leaves to staged update runs (strategy ``External``): which clusters wait for one, which are looked at
and repaired, and what is recorded."""

from __future__ import annotations

import typing as t
from datetime import datetime

from ...._core.objects.placements.cluster_resource_placement import PlacementStatus
from ...._core.plan.document import PlacementPlan
from ...._core.plan.status import NotBegun, placement_status
from ...._core.rollout.content import RolloutBinding
from ...keeping import Keeper
from ..binding_journal import BindingJournal
from ..binding_news import holds_wanted
from ..look import Outcomes
from ..recorded import Document
from ..rollout import Reach
from ..write_records import Writer

WAITS = "it waits for a staged update run"


def held_back(plan: PlacementPlan) -> dict[str, NotBegun]:
    """Clusters that hold something else than they shall, or nothing, by name; none where no run is waited for."""
    if not plan.by_run:
        return {}
    return not_begun(plan, (RolloutBinding(binding=each) for each in plan.bindings))


def not_begun(plan: PlacementPlan, bindings: t.Iterable[RolloutBinding]) -> dict[str, NotBegun]:
    """Clusters whose binding, of those given, holds something else than it shall, or nothing, by name."""
    return {
        each.cluster: NotBegun(each.binding.held_snapshot, WAITS) for each in bindings if not holds_wanted(plan, each)
    }


def clusters_to_look_at(plan: PlacementPlan) -> frozenset[str] | None:
    """The clusters that tell how the placement is: those that hold what they shall; None for all of them."""
    return frozenset(each.cluster for each in plan.clusters) - held_back(plan).keys() if plan.by_run else None


def repaired(plan: PlacementPlan, looked: Outcomes, reach: Reach) -> Outcomes:
    """The outcomes of a look, with those of clusters where what a run gave them is applied once more, as it was changed
    or is missing there. KubeFleet's member agents do so whatever the strategy."""
    drifted = {name for name, each in looked.items() if each.changes}
    return {**looked, **reach(drifted, True)} if drifted else looked


def hand_over(
    writer: Writer, placement: Document, keeper: Keeper, outcomes: Outcomes, now: datetime
) -> PlacementStatus:
    """Records which clusters are picked and which are to lose it, as the next run finds them, and the status,
    which it gives. FleetError ``lease-lost``."""
    plan = writer.plan
    journal = BindingJournal(writer.records, writer.lease, keeper.check_leases, plan, writer.recorded.bindings)
    journal.store(journal.state, in_flight=False)
    generation = placement["metadata"]["generation"]
    status = placement_status(plan, outcomes, plan.placement.status, generation, now, held_back(plan))
    keeper.check_leases()
    writer.status(placement, status)
    return status
