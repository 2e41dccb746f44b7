# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What an apply leaves to staged update runs (strategy ``External``): which clusters wait for one, which are looked at
and repaired where they have drifted, and which bindings and status are recorded."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ...._core.errors import FleetError, Problem
from ...._core.objects.placements.binding import HELD_BEFORE
from ...._core.objects.placements.cluster_resource_placement import PlacementStatus
from ...._core.objects.placements.rollout_strategy import with_apply_defaults
from ...._core.plan.document import PlacementPlan
from ...._core.plan.status import NotBegun, placement_status
from ...._core.rollout.content import RolloutBinding
from ...keeping import INTERRUPTED, Keeper
from ...session import Session
from ..binding_journal import BindingJournal
from ..binding_news import says_wanted
from ..cut_short import cut_short_problem, records_behind_problem
from ..look import Outcomes
from ..recorded import Document
from ..reported.in_namespace import StatusInNamespace
from ..rollout import Reach
from ..write_records import Writer

WAITS = "it waits for a staged update run"


@dataclass(frozen=True, kw_only=True)
class HandOver:
    """What an apply came to: ``outcomes`` by cluster, of the look where nothing was repaired, and what failed beside
    them (``problems``). ``status`` is None where it could not be recorded; ``ended`` is the code of what cut it short,
    empty for nothing."""

    outcomes: Outcomes
    status: PlacementStatus | None = None
    problems: tuple[Problem, ...] = ()
    ended: str = ""


def awaiting_staged_run(plan: PlacementPlan) -> dict[str, NotBegun]:
    """The clusters of the plan's bindings that wait for a staged run, by name, as of ``clusters_awaiting_run``; none
    where no staged runs change the placement."""
    if not plan.is_by_staged_runs:
        return {}
    return clusters_awaiting_run(plan, (RolloutBinding(binding=each) for each in plan.bindings))


def clusters_awaiting_run(plan: PlacementPlan, bindings: t.Iterable[RolloutBinding]) -> dict[str, NotBegun]:
    """Clusters whose binding, of those given, does not hold what it shall, by name; also where that was only begun to
    be written, or is to be applied by another apply strategy."""
    return {
        each.cluster: NotBegun(each.binding.held_snapshot, WAITS)
        for each in bindings
        if not (says_wanted(plan, each) and _was_given(plan, each))
    }


def _was_given(plan: PlacementPlan, each: RolloutBinding) -> bool:
    """Whether what the binding says was written to the end, and by the placement's apply strategy."""
    wanted = with_apply_defaults(plan.placement.spec.strategy.apply_strategy)
    begun = HELD_BEFORE in each.binding.metadata.annotations
    return not begun and with_apply_defaults(each.binding.spec.apply_strategy) == wanted


def clusters_to_look_at(plan: PlacementPlan) -> frozenset[str] | None:
    """The clusters that tell how the placement is: where staged runs change it those that hold what they shall, else
    None for all."""
    return (
        frozenset(each.cluster for each in plan.clusters) - awaiting_staged_run(plan).keys()
        if plan.is_by_staged_runs
        else None
    )


def repair_drifted(plan: PlacementPlan, looked: Outcomes, reach: Reach) -> Outcomes:
    """The outcomes of a look; where what a run gave a cluster was changed or is missing there, it is applied once more,
    as KubeFleet's member agents do whatever the strategy. The very ``looked`` where there is no such cluster.

    The look may be older than the ``plan``: a cluster that a run has given something else since is left alone. What
    ``reach`` raises is raised.
    """
    still = clusters_to_look_at(plan) or frozenset()
    drifted = {name for name, each in looked.items() if each.changes and name in still}
    return {**looked, **reach(drifted, True)} if drifted else looked


def hand_over(
    session: Session,
    writer: Writer,
    placement: Document,
    keeper: Keeper,
    looked: Outcomes,
    reach: Reach,
    told: t.Callable[[], str],
) -> HandOver:
    """Repairs what runs have given; records which clusters are picked and which are to lose the placement, as the next
    run finds them, and the status. ``told`` says why this apply is to end; it is asked at the end, where something was
    repaired. FleetError ``lease-lost`` and those of the records, if no member was written (else they are among the
    problems); and what ``reach`` raises."""
    plan = writer.plan
    outcomes = repair_drifted(plan, looked, reach)
    wrote = any(each.wrote or each.doubtful for each in outcomes.values())
    try:
        status, failed = _record_bindings(session, writer, placement, keeper, outcomes)
    except FleetError as error:
        if not wrote:
            raise
        return HandOver(
            outcomes=outcomes, problems=(records_behind_problem(plan.name, error, outcomes),), ended=error.code
        )
    problems, came = failed.problems if failed else (), told() if outcomes is not looked else ""
    if came:
        problems = (*problems, cut_short_problem(plan, came, outcomes))
    return HandOver(outcomes=outcomes, status=status, problems=problems, ended=INTERRUPTED if came else "")


def _record_bindings(
    session: Session, writer: Writer, placement: Document, keeper: Keeper, outcomes: Outcomes
) -> tuple[PlacementStatus, FleetError | None]:
    """Stores bindings and status; the status, and why it could not be written into its namespace, None if it could.
    FleetError of the records, ``lease-lost`` among them."""
    plan, generation, now = writer.plan, placement["metadata"]["generation"], session.clock()
    copy = StatusInNamespace.of(writer.records, session.hub is not None, plan.placement)
    journal = BindingJournal(writer.records, writer.lease, keeper.check_leases, plan, writer.recorded.bindings)
    journal.store(journal.state, in_flight=False)
    previous = plan.placement.status
    status = placement_status(plan, outcomes, previous, generation, now, awaiting_staged_run(plan))
    keeper.check_leases()
    status, failed = copy.write(status, previous, generation, now, writer.lease)
    writer.write_status(placement, status)
    return status, failed
