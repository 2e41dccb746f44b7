# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Status of an ``UpdateRun``: the tree of Azure Fleet's update runs (stages, groups, members, gates, waits), and beside
it what a resume needs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ...schema.meta import Condition
from ...schema.prop import prop
from ...values.update_states import (
    ACTIVE,
    NEW,
    NOT_STARTED,
    STATES,
    SYSTEM,
    TARGET_TYPES,
    USER,
)
from .forms import digest_prop
from .strategy import (
    GATE_TYPES,
    MAX_GATES,
    MAX_GROUPS,
    MAX_STAGES,
    MAX_WAIT_SECONDS,
    ScheduledStartConfiguration,
    UpdateRunStrategy,
)


@dataclass(frozen=True, kw_only=True)
class UpdateError:
    code: str = prop("Machine-readable cause.")
    message: str = prop("Text for people.", default="")


@dataclass(frozen=True, kw_only=True)
class UpdateStatus:
    """The record that every node of the tree carries."""

    start_time: datetime | None = prop("Instant of the first dispatch.", default=None)
    completed_time: datetime | None = prop("Instant of the end.", default=None)
    state: str = prop("State of the node.", default=NOT_STARTED, enum=STATES)
    error: UpdateError | None = prop("Why it failed, or what it waits for.", default=None)


@dataclass(frozen=True, kw_only=True)
class UpdateRunGateStatus:
    """One gate. ``gate_id`` stays empty until the Gate object exists; ``id`` is known from the beginning."""

    display_name: str = prop("Name that people see.", default="")
    gate_id: str = prop("Name of the Gate object, once there is one.", default="")
    status: UpdateStatus = prop("State and times.", default=UpdateStatus())
    id: str = prop("Name that the Gate object has or will have.", default="")
    type: str = prop("Who opens the gate.", enum=GATE_TYPES)
    schedule: ScheduledStartConfiguration | None = prop("When a ScheduledStart completes itself.", default=None)
    due: datetime | None = prop("Instant at which it completes itself, fixed when it opens.", default=None)
    by: str = prop("Who completed it; empty for the clock.", default="")
    verified: bool = prop("Whether the hub vouched for that name.", default=False)
    refused: str = prop("Who refused to open it, and why, while that holds.", default="")


@dataclass(frozen=True, kw_only=True)
class WaitStatus:
    """The wait after a stage."""

    status: UpdateStatus = prop("State and times.", default=UpdateStatus())
    wait_duration_in_seconds: int = prop("Length of the wait.", minimum=0, maximum=MAX_WAIT_SECONDS)
    reason: str = prop("Why it was not served.", default="")
    ends: datetime | None = prop("Instant of its end, fixed when it begins.", default=None)


@dataclass(frozen=True, kw_only=True)
class MemberUpdateStatus:
    """One member. ``operation_id`` names the latest attempt, ``reference`` is how its driver finds it again."""

    name: str = prop("Name of the member.")
    cluster_resource_id: str = prop("Identity of the cluster at its platform.", default="")
    operation_id: str = prop("Name of the latest attempt.", default="")
    message: str = prop("What happened, or what it waits for.", default="")
    status: UpdateStatus = prop("State and times.", default=UpdateStatus())
    attempt: int = prop("Number of attempts so far.", default=0, minimum=0)
    reference: str = prop("What the driver gave back to find the operation again.", default="")
    version_before: str = prop("Version before the upgrade.", default="")
    version_after: str = prop("Version after the upgrade.", default="")
    node_images: tuple[str, ...] = prop("Images that nodes of its pools had at the end, each once.", default=())
    reason: str = prop("Machine-readable cause of the state.", default="")
    skipped_by: str = prop("Who skipped it.", default="", enum=(USER, SYSTEM))
    skipped_via: str = prop("Kind of target that was skipped.", default="", enum=TARGET_TYPES)
    pending_since: datetime | None = prop("Instant since which the obstacle holds.", default=None)


@dataclass(frozen=True, kw_only=True)
class UpdateGroupStatus:
    """One group; limits are resolved numbers."""

    name: str = prop("Name of the group.", default="")
    status: UpdateStatus = prop("State and times.", default=UpdateStatus())
    message: str = prop("What the group waits for, or why it failed.", default="")
    members: tuple[MemberUpdateStatus, ...] = prop("Members, in the order in which they were found.", default=())
    before_gates: tuple[UpdateRunGateStatus, ...] = prop("Gates before it.", default=(), max_items=MAX_GATES)
    after_gates: tuple[UpdateRunGateStatus, ...] = prop("Gates after it.", default=(), max_items=MAX_GATES)
    max_concurrency: int = prop("Members updated at once.", minimum=0)
    max_allowed_failures: int = prop("Failures that are tolerated.", minimum=0)
    failure_count: int = prop("Members that failed.", default=0, minimum=0)
    user_skipped: bool = prop("Somebody skipped the group.", default=False)
    breached: bool = prop("More failed than is tolerated; only a start clears it.", default=False)
    reached: bool = prop("A gate was opened or a member was tried.", default=False)


@dataclass(frozen=True, kw_only=True)
class UpdateStageStatus:
    """One stage; limits are resolved numbers."""

    name: str = prop("Name of the stage.", default="")
    status: UpdateStatus = prop("State and times.", default=UpdateStatus())
    message: str = prop("What the stage waits for, or why it failed.", default="")
    groups: tuple[UpdateGroupStatus, ...] = prop("Groups, updated side by side.", default=(), max_items=MAX_GROUPS)
    before_gates: tuple[UpdateRunGateStatus, ...] = prop("Gates before it.", default=(), max_items=MAX_GATES)
    after_gates: tuple[UpdateRunGateStatus, ...] = prop("Gates after it.", default=(), max_items=MAX_GATES)
    after_stage_wait_status: WaitStatus | None = prop("The wait after it.", default=None)
    max_concurrency: int = prop("Members updated at once.", minimum=0)
    max_allowed_failures: int = prop("Failures that are tolerated.", minimum=0)
    failure_count: int = prop("Members that failed.", default=0, minimum=0)
    user_skipped: bool = prop("Somebody skipped the stage.", default=False)
    breached: bool = prop("More failed than is tolerated; only a start clears it.", default=False)
    reached: bool = prop("The run came to this stage.", default=False)
    next_group: int = prop("Index of the group that is served next.", default=0, minimum=0)


@dataclass(frozen=True, kw_only=True)
class SelectedNodeImageVersion:
    version: str = prop("Version of a node image.")


@dataclass(frozen=True, kw_only=True)
class NodeImageSelectionStatus:
    selected_node_image_versions: tuple[SelectedNodeImageVersion, ...] = prop("Images fixed for the run.", default=())


@dataclass(frozen=True, kw_only=True)
class UpdateRunStatus:
    """What is recorded of a run. ``strategy`` is the copy that was made when the run was created."""

    status: UpdateStatus = prop("State and times.", default=UpdateStatus())
    stages: tuple[UpdateStageStatus, ...] = prop("Stages, one after another.", default=(), max_items=MAX_STAGES)
    node_image_selection: NodeImageSelectionStatus | None = prop("Images fixed for the run.", default=None)
    failure_count: int = prop("Members that failed.", default=0, minimum=0)
    outcome: str = prop("How it ended, once it did.", default="")
    message: str = prop("What the run waits for, or why it failed.", default="")
    progress: str = prop("Members done of all, in words.", default="")
    phase: str = prop("Whether it was ever started.", default=NEW, enum=(NEW, ACTIVE))
    stop_requested: bool = prop("Somebody asked it to stop.", default=False)
    started_by: str = prop("Who started it.", default="")
    strategy: UpdateRunStrategy | None = prop("The sequence as it was at creation.", default=None)
    target_version: str = prop("Kubernetes version that members get.", default="")
    digest: str = digest_prop("Digest of what the run will do.")
    epoch: int = prop("Number of the conductor that wrote last.", default=0, minimum=0)
    uncovered_members: tuple[str, ...] = prop("Members that no group has.", default=())
    observed_generation: int = prop("Generation of the spec that the tree was made from.", default=0, minimum=0)
    conditions: tuple[Condition, ...] = prop("StatusTrimmed.", default=())

    @property
    def members(self) -> tuple[MemberUpdateStatus, ...]:
        """The members of all groups of all stages, in their order; empty before the stages are resolved."""
        return tuple(row for stage in self.stages for group in stage.groups for row in group.members)
