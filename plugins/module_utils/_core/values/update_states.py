# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The words of update runs (Azure Fleet Manager's): states of every level, outcomes, reasons why members wait, are
skipped or fail (``WindowClosed``, ``AlreadyAtTarget``), kinds of targets to skip."""

from __future__ import annotations

NOT_STARTED, RUNNING, STOPPING, STOPPED = "NotStarted", "Running", "Stopping", "Stopped"
SKIPPED, FAILED, PENDING, COMPLETED = "Skipped", "Failed", "Pending", "Completed"
STATES = (NOT_STARTED, RUNNING, STOPPING, STOPPED, SKIPPED, FAILED, PENDING, COMPLETED)
TERMINAL = frozenset({COMPLETED, SKIPPED, FAILED})

BEFORE, AFTER = "Before", "After"
USER, SYSTEM = "user", "system"
MEMBER, GROUP, STAGE, AFTER_STAGE_WAIT = "Member", "Group", "Stage", "AfterStageWait"
TARGET_TYPES = (MEMBER, GROUP, STAGE, AFTER_STAGE_WAIT)

WINDOW_CLOSED = "WindowClosed"
VERSION_NOT_AVAILABLE = "VersionNotAvailable"
IMAGE_NOT_AVAILABLE = "ImageNotAvailable"
IMAGE_EXPIRED = "ImageExpired"
OPERATION_IN_PROGRESS = "OperationInProgress"
UNREACHABLE = "Unreachable"
CLOCK_SKEW = "ClockSkew"
WAITING_FOR_SLOT = "WaitingForSlot"
ALREADY_AT_TARGET = "AlreadyAtTarget"
REQUESTED_BY_USER = "RequestedByUser"
LAST_STAGE = "LastStage"
MEMBER_GONE = "MemberGone"
MINOR_GAP = "MinorGap"
OUT_OF_SUPPORT = "OutOfSupport"
IMAGE_MISSING_FOR_POOL = "ImageMissingForPool"
PRECONDITION_FAILED = "PreconditionFailed"
UPGRADE_FAILED = "UpgradeFailed"
OPERATION_LOST = "OperationLost"

SUCCEEDED, WITH_FAILURES, WITH_SKIPS = "Succeeded", "CompletedWithFailures", "CompletedWithSkips"

# Phases of a run: made, or started at least once.
NEW, ACTIVE = "new", "active"
