# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Going to the members of a plan, side by side, to see object by object what it would do or to do it: by whose threads,
with which options (``ApplyOptions``), from which look of before (not older than 60 s); clusters whose labels are not
known (``record-missing``)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial

from ..._core.errors import FleetError, Problem
from ..._core.objects.clusters.missing_record import RECORD_MISSING, lacks_record, record_missing_problem
from ..._core.objects.placements.rollout_strategy import ApplyStrategy
from ..._core.plan.document import LOST, NO_MOVES, ClusterPlan, PlacementPlan
from ..._core.plan.member import Deletable, abandons
from ..._core.plan.outcome import MemberOutcome
from ..._core.plan.reported.mirror import wants_mirror
from ..._core.resources.applyset import ApplySet
from ..._kube.parallel import WorkPool
from ..keeping import running_time
from ..members.members import Clients
from ..permits import NO_WINDOW, PermitWindow
from .on_member.member_apply import (
    MemberProgress,
    MemberTask,
    always,
    run_on_member,
    unsaid,
)

Outcomes = dict[str, MemberOutcome]
# For so many seconds after a look its sights are written on.
SIGHT_SECONDS = 60.0


@dataclass(frozen=True, kw_only=True)
class RolloutOptions:
    """``time_limit`` and ``max_idle`` are as of ``conductor.loop.RunLimits``. ``applied_only``: a cluster is ready once
    everything is applied there and the waiting period is over; ``to_the_end``: clusters that were changed last are
    waited for, too."""

    time_limit: timedelta | None = None
    max_idle: timedelta = timedelta(minutes=2)
    applied_only: bool = False
    to_the_end: bool = False


@dataclass(frozen=True, kw_only=True)
class ApplyOptions:
    """How members are treated. ``prune_kinds`` are kinds that are deleted although they may hold more than ours.
    ``unplanned`` is how much a member may lose in all where something goes that no plan names, a number or a percentage
    of its objects; None: nothing that no plan names. ``patience``: seconds to wait until deleted objects are gone.
    ``shows`` asks for the fields that change, ``diagnoses`` for the trouble of pods, ``validate`` for a dry run where
    nothing is written. ``threads`` are those of each of the ``workers``, which are processes; 1 is this one."""

    prune_kinds: tuple[str, ...] = ()
    unplanned: int | str | None = "30%"
    patience: float = 60.0
    validate: bool = False
    shows: bool = False
    diagnoses: bool = False
    threads: int = 16
    workers: int = 1
    rollout: RolloutOptions = RolloutOptions()


@dataclass(frozen=True, kw_only=True)
class Writing:
    """``permit`` raises where there is to be no further write, ``window`` tells other processes until when there may
    be. ``say`` tells people a line. ``barred`` are clusters that must not be written to, each with the reason."""

    permit: t.Callable[[], None] = always
    window: PermitWindow | None = None
    say: t.Callable[[str], None] = unsaid
    barred: t.Mapping[str, Problem] = field(default_factory=dict)


def no_window() -> PermitWindow | None:
    """None: there is no other process to share permits with."""
    return None


@dataclass(frozen=True, kw_only=True)
class MemberRunners:
    """Who goes to members: the threads of ``pool``, or other processes on their behalf through ``does``, which takes
    the number of a window. ``window`` gives a new window for each set of leases. ``threads`` is how many work at once,
    in all processes."""

    pool: WorkPool
    threads: int
    does: t.Callable[[MemberTask, int], MemberOutcome] | None = None
    window: t.Callable[[], PermitWindow | None] = no_window


def in_threads(threads: int, told: t.Callable[[], str] = str) -> MemberRunners:
    """Runners that are so many threads of this process; ``told`` as in ``WorkPool``."""
    return MemberRunners(pool=WorkPool(threads, told), threads=threads)


def on_members(
    plan: PlacementPlan,
    uid: str,
    clients: Clients,
    ways: ApplyOptions,
    writing: Writing | None = None,
    due: t.Container[str] = (),
    seen: dict[str, MemberProgress] | None = None,
    only: t.Container[str] | None = None,
    runners: MemberRunners | None = None,
) -> Outcomes:
    """Outcome by cluster, in the plan's order; nothing is written without ``writing``. Its ``error`` is what went wrong
    on the member, or why it is barred or of ``unknown_labels``; clusters that left the fleet have no outcome. ``uid``
    is that of the placement's record, empty for none; ``only`` are the clusters to go to, None for all; ``runners``
    None: threads of its own.

    On clusters in ``due`` something is surely to be written: a look passes over them, and they are held before they are
    looked at. What a look saw of others is kept in ``seen``, for one write within ``SIGHT_SECONDS``. FleetError
    ``no-workers``.
    """
    how = writing or Writing()
    barred = {**unknown_labels(plan), **how.barred}
    sights = {} if seen is None else seen
    progress: dict[str, MemberProgress] = {}
    work: dict[str, t.Callable[[], MemberOutcome]] = {}
    for each in plan.clusters:
        surely = each.cluster in due
        if only is not None and each.cluster not in only:
            continue
        if each.cause == "left-the-fleet" or each.cluster in barred or (surely and writing is None):
            continue
        note = progress.setdefault(each.cluster, MemberProgress())
        task = replace(_task(plan, each, uid, ways), write=writing is not None, due=surely)
        sight = sights.pop(each.cluster, MemberProgress())
        if running_time() - sight.looked > SIGHT_SECONDS:
            sight = MemberProgress()
        task = replace(task, progress=note, permit=how.permit, say=how.say, seen=sight.seen, elsewhere=sight.elsewhere)
        task = replace(task, followed=seen is not None and writing is None)
        work[each.cluster] = _work(clients, task, how, runners)
    answers = (runners or in_threads(ways.threads)).pool.run(work)
    if seen is not None and writing is None:
        now = running_time()
        for one in progress.values():
            one.looked = now  # the end of the look: how long one of all members takes is no reason to do it twice
        seen |= {name: each for name, each in progress.items() if each.seen or each.elsewhere}
    found = {
        name: MemberOutcome(cluster=name, error=why) for name, why in barred.items() if only is None or name in only
    }
    found |= {name: outcome_of_answer(name, answer, progress[name]) for name, answer in answers.items()}
    return {each.cluster: found[each.cluster] for each in plan.clusters if each.cluster in found}


def unknown_labels(plan: PlacementPlan) -> dict[str, Problem]:
    """Clusters of the plan that are to hold the placement and whose MemberCluster is missing, each with that problem:
    nobody knows which overrides are for them. None of a plan that was not scheduled."""
    if plan.scheduled is None:
        return {}
    index = plan.scheduled.asked.index
    lacking = index.where_cached(RECORD_MISSING, lacks_record)
    return {
        each.cluster: record_missing_problem(each.cluster)
        for each in (plan.clusters if lacking else ())
        if each.change != LOST and lacking >> index.positions[each.cluster] & 1
    }


def _task(plan: PlacementPlan, cluster: ClusterPlan, uid: str, ways: ApplyOptions) -> MemberTask:
    """What one cluster of the plan is to hold, as a task that only looks."""
    moves = plan.moves.get(cluster.cluster, NO_MOVES)
    identity = ApplySet(
        placement=plan.name,
        uid=uid,
        generation=plan.placement.metadata.generation,
        policy_snapshot=plan.policy_snapshot.name,
        policy_hash=plan.policy_snapshot.spec.policy_hash,
        resource_snapshot=plan.resource_snapshot,
        resource_hash=plan.resource_hash,
        decision={"affinityScore": cluster.affinity_score, "priorityScore": cluster.spread_score},
        originals=moves.originals,
    )
    leaving = cluster.change == LOST
    return MemberTask(
        cluster=cluster.cluster,
        identity=identity,
        desired=() if leaving else plan.objects_on(cluster.cluster),
        strategy=plan.placement.spec.strategy.apply_strategy or ApplyStrategy(),
        leaving=leaving,
        abandon=abandons(plan.placement, plan.deleting),
        prune_kinds=ways.prune_kinds,
        deletable=Deletable(
            named=frozenset(each.key for each in cluster.leaving),
            counted=0 if leaving else cluster.counted,
            limit=ways.unplanned,
        ),
        moves=moves,
        patience=ways.patience,
        validate=ways.validate,
        shows=ways.shows,
        diagnoses=ways.diagnoses,
        mirrors=wants_mirror(plan.placement),
    )


def _work(
    clients: Clients, task: MemberTask, how: Writing, runners: MemberRunners | None
) -> t.Callable[[], MemberOutcome]:
    """What does the task when called: by itself, or, where ``runners`` say so, in another process."""
    if runners is None or runners.does is None:
        return partial(on_one_member, clients, task)
    return partial(runners.does, task, how.window.number if how.window else NO_WINDOW)


def on_one_member(clients: Clients, task: MemberTask) -> MemberOutcome:
    """Does the task on its member, or tells what it would do. FleetError as of ``Clients.get`` and ``run_on_member``,
    and what the task's ``permit`` raises."""
    if task.write:
        task.permit()  # whoever has not begun begins nothing
    holding = partial(clients.holding, task.cluster, f"placement/{task.placement}")
    return run_on_member(clients.get(task.cluster), task, holding)


def outcome_of_answer(name: str, answer: MemberOutcome | FleetError, progress: MemberProgress) -> MemberOutcome:
    """The answer of a member as an outcome; a FleetError becomes one with its first problem, and with what was written
    there before (``progress``)."""
    if isinstance(answer, FleetError):
        error, written = answer.problems[0], tuple(progress.written)
        return MemberOutcome(cluster=name, error=error, written=written, doubtful=progress.underway)
    return answer
