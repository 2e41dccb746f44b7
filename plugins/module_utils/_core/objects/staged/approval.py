# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""``ClusterApprovalRequest`` and ``ApprovalRequest``: what a stage of a staged update run waits for, approved by a
person (``Approved``) and taken up by the run (``ApprovalAccepted``; KubeFleet)."""

from __future__ import annotations

from dataclasses import dataclass

from ...schema.meta import Condition, ObjectMeta
from ...schema.prop import prop
from ..api_groups import PLACEMENT_API

APPROVED, APPROVAL_ACCEPTED = "Approved", "ApprovalAccepted"
RUN_LABEL = "kubernetes-fleet.io/targetUpdateRun"
STAGE_LABEL = "kubernetes-fleet.io/targetUpdatingStage"
TASK_LABEL = "kubernetes-fleet.io/taskType"
SPEC_RULES = (("self == oldSelf", "the spec of an approval request cannot be changed"),)


@dataclass(frozen=True, kw_only=True)
class ApprovalRequestSpec:
    parent_stage_rollout: str = prop("Name of the run.")
    target_stage: str = prop("Name of the stage.")


@dataclass(frozen=True, kw_only=True)
class ApprovalRequestStatus:
    conditions: tuple[Condition, ...] = prop("Approved (by a person), ApprovalAccepted (by the run).", default=())


@dataclass(frozen=True, kw_only=True)
class ClusterApprovalRequest:
    api_version: str = prop("API version.", default=PLACEMENT_API)
    kind: str = prop("Kind.", default="ClusterApprovalRequest")
    metadata: ObjectMeta = prop("Object metadata.")
    spec: ApprovalRequestSpec = prop("What is to be approved.", rules=SPEC_RULES)
    status: ApprovalRequestStatus = prop("Whether it is.", default=ApprovalRequestStatus())

    @property
    def name(self) -> str:
        return self.metadata.name


@dataclass(frozen=True, kw_only=True)
class ApprovalRequest(ClusterApprovalRequest):
    kind: str = prop("Kind.", default="ApprovalRequest")
