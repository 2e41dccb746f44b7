# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""``AuditEntry`` of ``gitops.fleet``: a lasting line that says who did what (actions such as ``GateApproved``), when
and why, on which members, by which revision and under which approved digest. It is written once; nothing is ever
decided by it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ...schema.meta import ObjectMeta
from ...schema.prop import prop
from ..api_groups import FLEET_API

APPLIED, REMOVED, ROLLED_BACK, EVICTED = "Applied", "Removed", "RolledBack", "Evicted"
EVACUATED, READMITTED = "Evacuated", "Readmitted"
JOINED, MEMBER_CHANGED, LEFT = "Joined", "MemberChanged", "Left"
RUN_DEFINED, RUN_STARTED, RUN_CONDUCTED = "RunDefined", "RunStarted", "RunConducted"
RUN_STOPPED, RUN_SKIPPED, RUN_DELETED = "RunStopped", "RunSkipped", "RunDeleted"
GATE_APPROVED, GATE_REFUSED, STAGE_APPROVED = "GateApproved", "GateRefused", "StageApproved"
APPROVAL_REFUSED = "ApprovalRefused"
ROTATION_CONDUCTED, ROTATION_STOPPED, ROTATION_DELETED = "RotationConducted", "RotationStopped", "RotationDeleted"
ROTATION_BEGUN = "RotationBegun"
NODES_DISRUPTED, NODES_MARKED = "NodesDisrupted", "NodesMarked"
POOL_DELETED, POOL_STOPPED, POOL_RELEASED, POOL_PATCHED = "PoolDeleted", "PoolStopped", "PoolReleased", "PoolPatched"
PROFILE_MADE_RUN, RECOVERED = "ProfileMadeRun", "Recovered"
MAINTENANCE_RECORDED, MAINTENANCE_DELETED = "MaintenanceRecorded", "MaintenanceDeleted"
ACTIONS = (
    *(APPLIED, REMOVED, ROLLED_BACK, EVICTED, EVACUATED, READMITTED, JOINED, MEMBER_CHANGED, LEFT),
    *(RUN_DEFINED, RUN_STARTED, RUN_CONDUCTED, RUN_STOPPED, RUN_SKIPPED, RUN_DELETED),
    *(GATE_APPROVED, GATE_REFUSED, STAGE_APPROVED, APPROVAL_REFUSED),
    *(ROTATION_BEGUN, ROTATION_CONDUCTED, ROTATION_STOPPED, ROTATION_DELETED),
    *(NODES_DISRUPTED, NODES_MARKED, POOL_DELETED, POOL_STOPPED, POOL_RELEASED, POOL_PATCHED),
    *(PROFILE_MADE_RUN, RECOVERED, MAINTENANCE_RECORDED, MAINTENANCE_DELETED),
)
BEGUN, ENDED = "Begun", "Ended"
DONE, WAITING, PARTIAL, FAILED = OUTCOMES = ("done", "waiting", "partial", "failed")
MOST_MEMBERS = 100
MOST_TEXT = 1000
_NAME = 253
DIGEST = r"^(sha256:)?[0-9a-f]{12,64}$"
REVISION = r"^[0-9a-f]{40}([0-9a-f]{24})?$"
ENTRY_NAME = r"^[0-9]{8}t[0-9]{6}z-[0-9]{4}-[0-9a-f]{8}$"
ENTRY_FORM = "an instant, a number and a mark, such as 20261125t201258z-0001-1a2b3c4d"
SPEC_RULES = (("self == oldSelf", "an entry stays as it was written"),)


@dataclass(frozen=True, kw_only=True)
class AuditedObject:
    kind: str = prop("Kind.", max_length=63)
    name: str = prop(
        "Name; empty where several of the kind are meant, which members names.", default="", max_length=253
    )
    namespace: str = prop("Namespace, for a kind that has one.", default="", max_length=63)


@dataclass(frozen=True, kw_only=True)
class AuditEntrySpec:
    """What one audit entry says. An act that goes on by steps has one when it begins and one when it ends, which names
    the first in ``entry``. What is empty, or 0, was not known, or has no meaning for the action."""

    at: datetime = prop("When it was written.")
    by: str = prop("Who did it, as the hub sees the account, or the user of the machine.", min_length=1, max_length=512)
    holder: str = prop("Process or job that did it, as it takes leases.", default="", max_length=512)
    action: str = prop("What was done.", enum=ACTIONS)
    phase: str = prop("Whether it begins or has ended, of an act by steps.", default="", enum=(BEGUN, ENDED))
    entry: str = prop(
        "Of one that has ended, the entry that says it has begun.",
        default="",
        pattern=ENTRY_NAME,
        form=ENTRY_FORM,
        max_length=40,
    )
    object: AuditedObject | None = prop("What it was done to.", default=None)
    members: tuple[str, ...] = prop(
        f"Members that it was done on, the first {MOST_MEMBERS} of them.",
        default=(),
        max_items=MOST_MEMBERS,
        max_length=_NAME,
    )
    member_count: int = prop("How many members that are.", default=0, minimum=0)
    versions: tuple[str, ...] = prop(
        "Of an upgrade, which version each of these members had before and after it, and the images of its node pools.",
        default=(),
        max_items=MOST_MEMBERS,
        max_length=MOST_TEXT,
    )
    digest: str = prop(
        "Digest of what was carried out.", default="", pattern=DIGEST, form="a digest, or its beginning", max_length=71
    )
    approved_digest: str = prop(
        "Digest that had been approved for it.",
        default="",
        pattern=DIGEST,
        form="a digest, or its beginning",
        max_length=71,
    )
    reason: str = prop("Why, in the words of who did it.", default="", max_length=MOST_TEXT)
    revision: str = prop(
        "Git revision that it came from.", default="", pattern=REVISION, form="a commit's whole name", max_length=64
    )
    outcome: str = prop("What it came to.", default="", enum=OUTCOMES)
    message: str = prop("What was done, in a sentence.", default="", max_length=MOST_TEXT)


@dataclass(frozen=True, kw_only=True)
class AuditEntry:
    api_version: str = prop("API version.", default=FLEET_API)
    kind: str = prop("Kind.", default="AuditEntry")
    metadata: ObjectMeta = prop("Object metadata; names begin with the instant, so that their order is that of time.")
    spec: AuditEntrySpec = prop("Who did what, and why.", rules=SPEC_RULES)

    @property
    def name(self) -> str:
        return self.metadata.name
