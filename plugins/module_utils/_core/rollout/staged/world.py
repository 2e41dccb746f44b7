# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a staged update run sees when it decides, its acts (bind, mark started, delete, ask for, accept or delete
approvals), why it ends or has to wait, what it gives a cluster, and the world once acts are done."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field, replace
from datetime import datetime

from ...errors import Problem
from ...objects.clusters.member_cluster import MemberCluster
from ...objects.placements.binding import BOUND
from ...objects.placements.cluster_resource_placement import ClusterResourcePlacement
from ...objects.placements.rollout_strategy import ApplyStrategy
from ...objects.placements.scheduling_policy_snapshot import ClusterSchedulingPolicySnapshot
from ...objects.staged.approval import (
    APPROVAL_ACCEPTED,
    RUN_LABEL,
    STAGE_LABEL,
    TASK_LABEL,
    ApprovalRequest,
    ApprovalRequestSpec,
    ClusterApprovalRequest,
)
from ...objects.staged.strategy import ClusterStagedUpdateStrategy
from ...objects.staged.update_run import ClusterStagedUpdateRun, ClusterUpdatingStatus, StagedUpdateRunStatus
from ...resources.snapshots import resource_snapshot_name
from ...schema.meta import Condition, ObjectMeta
from ...values.int_or_percent import int64
from ..conditions import TRUE, set_condition, status_is
from ..content import (
    Content,
    Overrides,
    OverridesByCluster,
    RolloutBinding,
    sorted_by_name,
)
from ..rolling import after

BEFORE_STAGE, AFTER_STAGE = "beforeStage", "afterStage"


@dataclass(frozen=True, kw_only=True)
class ObservedState:
    """Everything that belongs to the run's placement; ``placement`` and ``strategy`` are None where there is none of
    the name that the run has. ``resource_snapshots`` are the metadata of all parts, the one of the live resources among
    them and labelled latest. ``overrides`` are those that apply to the resources of this run. ``approvals`` are
    requests whose approvals, if they have one, count: whoever reads them has judged that. ``runs`` are the other runs.
    ``upstream`` brings back all that KubeFleet does by accident, its order of acting before recording, and its times of
    looking again."""

    placement: ClusterResourcePlacement | None
    strategy: ClusterStagedUpdateStrategy | None
    policy_snapshots: tuple[ClusterSchedulingPolicySnapshot, ...] = ()
    resource_snapshots: tuple[ObjectMeta, ...] = ()
    clusters: tuple[MemberCluster, ...] = ()
    bindings: tuple[RolloutBinding, ...] = ()
    overrides: OverridesByCluster = field(default_factory=dict)
    approvals: tuple[ClusterApprovalRequest, ...] = ()
    runs: tuple[ClusterStagedUpdateRun, ...] = ()
    upstream: bool = False


@dataclass(frozen=True, kw_only=True)
class ClusterInFlight:
    """The cluster's turn has begun in a stage, and is not over. Its name is that of the act that begins it."""

    stage: str
    cluster: str

    @property
    def operation(self) -> str:
        """``stage/cluster``."""
        return f"{self.stage}/{self.cluster}"


@dataclass(frozen=True, kw_only=True)
class BindCluster(ClusterInFlight):
    """Make the binding Bound to ``content`` under ``apply_strategy``; its RolloutStarted begins anew."""

    binding: str
    content: Content
    apply_strategy: ApplyStrategy | None


@dataclass(frozen=True, kw_only=True)
class MarkStarted(ClusterInFlight):
    """The binding holds the content already: only its RolloutStarted begins anew."""

    binding: str


@dataclass(frozen=True, kw_only=True)
class DeleteBinding(ClusterInFlight):
    """Delete the binding of a cluster that loses the placement."""

    binding: str


@dataclass(frozen=True, kw_only=True)
class RequestApproval:
    """Create the approval request ``name`` of a stage; ``task`` is beforeStage or afterStage."""

    name: str
    stage: str
    task: str

    @property
    def operation(self) -> str:
        """``request`` and the name."""
        return f"request {self.name}"


@dataclass(frozen=True, kw_only=True)
class AcceptApproval:
    """Set ApprovalAccepted on the approval request: the run has taken its approval, and a withdrawal has no effect from
    now on."""

    name: str

    @property
    def operation(self) -> str:
        """``accept`` and the name."""
        return f"accept {self.name}"


@dataclass(frozen=True, kw_only=True)
class DeleteApproval:
    """Delete an approval request of a run that is being deleted itself."""

    name: str

    @property
    def operation(self) -> str:
        """``delete`` and the name."""
        return f"delete {self.name}"


Action = (
    ClusterInFlight  # pylint: disable=unsupported-binary-operation  # Python 3.11 can
    | BindCluster
    | MarkStarted
    | DeleteBinding
    | RequestApproval
    | AcceptApproval
    | DeleteApproval
)


@dataclass(frozen=True, kw_only=True)
class RunFailure:
    """Why a run ended, as a code and as a sentence; ``total`` counts what ``shown`` shows some of."""

    code: str
    message: str
    total: int | None = None
    shown: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[str, t.Any]:
        """``total`` and ``shown``; empty where nothing was counted."""
        return {} if self.total is None else {"total": self.total, "shown": list(self.shown)}

    def as_dict(self) -> dict[str, t.Any]:
        """``code`` and ``message``, with ``total`` and ``shown`` where something was counted."""
        return {"code": self.code, "message": self.message} | self.counts


class RunRefused(Exception):
    """The staged update run cannot begin or go on, ever; ``failure`` says why. ``status`` is how far it got."""

    def __init__(self, failure: RunFailure, status: StagedUpdateRunStatus) -> None:
        """``status`` is that of the run as far as it got; the text is the failure's message."""
        super().__init__(failure.message)
        self.failure = failure
        self.status = status


class NotYet(Exception):
    """The staged update run cannot begin or go on now (``not-scheduled-yet``, ``not-rescheduled-yet``); ``problem``
    says what it waits for."""

    def __init__(self, problem: Problem) -> None:
        """The text is the problem's message."""
        super().__init__(problem.message)
        self.problem = problem


@dataclass(frozen=True, kw_only=True)
class RunContext:
    """A staged update run, its world and the instant; ``selected`` and ``leaving`` are the bindings to update and to
    delete, empty until ``with_bindings`` has found them."""

    run: ClusterStagedUpdateRun
    world: ObservedState
    now: datetime
    upstream: bool
    selected: tuple[RolloutBinding, ...] = ()
    leaving: tuple[RolloutBinding, ...] = ()

    @property
    def generation(self) -> int:
        """The run's present generation."""
        return self.run.metadata.generation

    @property
    def status(self) -> StagedUpdateRunStatus:
        """The run's status, as far as this step has brought it."""
        return self.run.status

    def has_status(self, conditions: tuple[Condition, ...], kind: str, status: str = TRUE) -> bool:
        """Whether the first condition of the type has this status at the run's present generation; False without
        one."""
        return status_is(conditions, kind, self.generation, status)

    def content(self, cluster: ClusterUpdatingStatus) -> Content:
        """What the cluster is to hold: the resources that the run has recorded, with the overrides that were resolved
        when it began."""
        return given_content(self.run, cluster)

    def binding_names_content(self, held: RolloutBinding, cluster: ClusterUpdatingStatus) -> bool:
        """Whether the binding names what the run wants there, and its apply strategy; not whether it is Bound and has
        begun."""
        strategy = held.binding.spec.apply_strategy
        return held.content == self.content(cluster) and strategy == self.status.applied_strategy

    def is_bound(self, held: RolloutBinding) -> bool:
        """Whether the state of the binding is Bound, to whatever content."""
        return held.state == BOUND


def given_content(run: ClusterStagedUpdateRun, cluster: ClusterUpdatingStatus) -> Content:
    """What the run gives the cluster, whether it has come to it or not; of index 0 where it has recorded no
    resources."""
    index = int64(run.status.resource_snapshot_index_used) or 0
    return Content(
        resource_snapshot=resource_snapshot_name(run.spec.placement_name, index),
        overrides=Overrides(
            cluster=cluster.cluster_resource_override_snapshots, namespaced=cluster.resource_override_snapshots
        ),
    )


def carried_out(
    run: ClusterStagedUpdateRun, world: ObservedState, actions: t.Iterable[Action], now: datetime
) -> ObservedState:
    """The world once the actions are done at ``now``, as an executor leaves it and a forecast assumes it; bindings by
    name. A request that is there already is not made anew. KeyError for a binding, or a request to be accepted, that
    there is not."""
    held = {each.name: each for each in world.bindings}
    approvals = {each.name: each for each in world.approvals}
    for action in actions:
        if isinstance(action, BindCluster):
            held[action.binding] = after.bound(held[action.binding], action.content, action.apply_strategy, now)
        elif isinstance(action, MarkStarted):
            held[action.binding] = after.started_anew(held[action.binding], now)
        elif isinstance(action, DeleteBinding):
            held[action.binding] = after.marked_for_deletion(held[action.binding], now)
        elif isinstance(action, RequestApproval):
            approvals.setdefault(action.name, approval_request(run, action))
        elif isinstance(action, AcceptApproval):
            approvals[action.name] = accepted(approvals[action.name], now)
        elif isinstance(action, DeleteApproval):
            approvals.pop(action.name, None)
    return replace(world, bindings=tuple(sorted_by_name(held.values())), approvals=tuple(approvals.values()))


def approval_request(run: ClusterStagedUpdateRun, action: RequestApproval) -> ClusterApprovalRequest:
    """The approval request of a stage, without a status: people approve it by its condition Approved. It is an
    ApprovalRequest for a run with a namespace."""
    made = ApprovalRequest if run.key.namespace else ClusterApprovalRequest
    return made(
        api_version=run.api_version,
        metadata=ObjectMeta(
            name=action.name,
            namespace=run.key.namespace,
            generation=1,
            labels={RUN_LABEL: run.name, STAGE_LABEL: action.stage, TASK_LABEL: action.task},
        ),
        spec=ApprovalRequestSpec(parent_stage_rollout=run.name, target_stage=action.stage),
    )


def accepted(request: ClusterApprovalRequest, now: datetime) -> ClusterApprovalRequest:
    """The approval request with ApprovalAccepted True for its present generation, since ``now`` unless it was True
    before."""
    row = (TRUE, "ApprovalRequestApprovalAccepted", "the run took the approval, which can no longer be withdrawn")
    conditions = set_condition(request.status.conditions, APPROVAL_ACCEPTED, row, request.metadata.generation, now)
    return replace(request, status=replace(request.status, conditions=conditions))
