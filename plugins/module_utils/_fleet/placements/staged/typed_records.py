# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Records of a staged update run (the run, its strategy, its approval requests) as objects of its kinds; FleetError
``record-damaged`` where one is none."""

from __future__ import annotations

from ...._core.objects.staged.approval import ApprovalRequest, ClusterApprovalRequest
from ...._core.objects.staged.key import RunKey
from ...._core.objects.staged.strategy import ClusterStagedUpdateStrategy, StagedUpdateStrategy
from ...._core.objects.staged.update_run import ClusterStagedUpdateRun, StagedUpdateRun
from ...._store.records import Record
from ...recorded import recorded


def recorded_run(key: RunKey, document: Record) -> ClusterStagedUpdateRun:
    """The run itself, of the kind that the key says. FleetError ``record-damaged``."""
    return recorded(StagedUpdateRun if key.namespace else ClusterStagedUpdateRun, document)


def recorded_strategy(key: RunKey, document: Record) -> ClusterStagedUpdateStrategy:
    """The strategy of such a run, of the kind that the key says. FleetError ``record-damaged``."""
    return recorded(StagedUpdateStrategy if key.namespace else ClusterStagedUpdateStrategy, document)


def recorded_request(key: RunKey, document: Record) -> ClusterApprovalRequest:
    """An approval request, of the kind that runs in the key's namespace have. FleetError ``record-damaged``."""
    return recorded(ApprovalRequest if key.namespace else ClusterApprovalRequest, document)
