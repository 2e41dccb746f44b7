# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a fleet plan would do on the members, object by object. Reads only."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace
from functools import partial

from .._core.errors import FleetError
from .._core.objects.rollout_strategy import ApplyStrategy
from .._core.plan.document import LOST, ClusterPlan, PlacementPlan
from .._core.plan.outcome import MemberOutcome
from .._core.resources.applyset import ApplySet
from .._kube.parallel import in_parallel
from .member_apply import MemberTask, run_on_member
from .members import Clients

Outcomes = dict[str, MemberOutcome]


@dataclass(frozen=True, kw_only=True)
class Ways:
    """How members are treated. ``prune_kinds`` are kinds that are deleted although they may hold more than ours."""

    prune_kinds: tuple[str, ...] = ()
    validate: bool = False
    threads: int = 16
    deadline: float | None = None


def on_members(
    plan: PlacementPlan, uid: str, clients: Clients, ways: Ways, write: bool, looked: Outcomes | None = None
) -> Outcomes:
    """Outcome by cluster, in the plan's order. A member that cannot be reached hides no other. What an earlier look
    (``looked``) found something to do on is held before it is looked at again."""
    due = {name for name, each in (looked or {}).items() if each.changes}
    work = {
        each.cluster: _work(clients, replace(_task(plan, each, uid, ways, write), due=each.cluster in due))
        for each in plan.clusters
        if each.cause != "left-the-fleet"
    }
    answers = in_parallel(work, threads=ways.threads, deadline=ways.deadline)
    return {name: _settled(name, answer) for name, answer in answers.items()}


def _task(plan: PlacementPlan, cluster: ClusterPlan, uid: str, ways: Ways, write: bool) -> MemberTask:
    identity = ApplySet(
        placement=plan.name,
        uid=uid,
        generation=plan.placement.metadata.generation,
        policy_snapshot=plan.policy_snapshot.name,
        policy_hash=plan.policy_snapshot.spec.policy_hash,
        resource_snapshot=plan.resource_snapshot,
        resource_hash=plan.resource_hash,
        decision={"affinityScore": cluster.affinity_score, "priorityScore": cluster.spread_score},
    )
    strategy = plan.placement.spec.strategy
    leaving = cluster.change == LOST
    abandon = strategy.delete_strategy is not None and strategy.delete_strategy.propagation_policy == "Abandon"
    return MemberTask(
        cluster=cluster.cluster,
        identity=identity,
        desired=() if leaving else plan.objects,
        strategy=strategy.apply_strategy or ApplyStrategy(),
        leaving=leaving,
        abandon=plan.deleting and abandon,
        prune_kinds=ways.prune_kinds,
        write=write,
        validate=ways.validate,
    )


def _work(clients: Clients, task: MemberTask) -> t.Callable[[], MemberOutcome]:
    holding = partial(clients.holding, task.cluster, f"placement/{task.placement}")
    return lambda: run_on_member(clients.get(task.cluster), task, holding)


def _settled(name: str, answer: MemberOutcome | FleetError) -> MemberOutcome:
    if isinstance(answer, FleetError):
        return MemberOutcome(cluster=name, error=answer.problems[0])
    return answer
