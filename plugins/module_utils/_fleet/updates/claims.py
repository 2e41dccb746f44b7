# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""One operation at a time on a member: a lease while it is begun, and a mark on the FleetMember until it has ended.

The lease keeps two conductors from beginning at the same instant. The mark (``status.operation``) has no end of its
own: it stands for as long as its run says that the operation is in flight, however long nobody conducts that run.
"""

from __future__ import annotations

from ..._core.errors import FleetError
from ..._core.objects.updates.update_run import UpdateRun
from ..._core.updates.run import MemberBlocker
from ..._core.values.update_states import OPERATION_IN_PROGRESS, RUNNING
from ..._store.records import Lease, Record, Records, replaced
from ..recorded import recorded

KIND = "UpdateRun"
LEASE_SECONDS = 300
_ATTEMPTS = 5


def claim(records: Records, member: str, operation: str, holder: str) -> Lease | MemberBlocker:
    """Takes the lease on the member and marks it as worked on by this operation. The lease; or the obstacle if another
    one has it, with nothing held. Repeating is harmless."""
    try:
        lease = records.acquire(lease_name(member), holder, LEASE_SECONDS)
    except FleetError as error:
        if error.code != "lease-held":
            raise
        return _held(records, member)
    found = _mark(records, member, operation)
    if found is None:
        return lease
    records.release(lease)
    return found


def unclaim(records: Records, member: str, operation: str, lease: Lease | None) -> None:
    """Undoes ``claim``: takes the mark of this operation off the member, if it still bears it, and gives the lease up,
    if there is one and it was not lost.

    A mark that others' writing keeps there is stale once the operation is over. An empty ``operation``: only the lease.
    """
    for _attempt in range(_ATTEMPTS):
        document = records.get("FleetMember", member)
        if document is None or mark_of(document) != operation or _marked(records, document, ""):
            break
    if lease is not None:
        try:
            records.release(lease)
        except FleetError as error:
            if error.code != "lease-lost":
                raise


def busy(records: Records, document: Record) -> str:
    """The operation in flight on a FleetMember, or nothing. A mark that no run stands for is stale."""
    operation = mark_of(document)
    return operation if operation and _in_flight(records, document["metadata"]["name"], operation) else ""


def _held(records: Records, member: str) -> MemberBlocker:
    """Said in words that stay the same from look to look, or every look would be news."""
    document = records.get("FleetMember", member)
    other = busy(records, document) if document else ""
    message = f"{other} is in flight" if other else "another run is about to begin something on it"
    return MemberBlocker(reason=OPERATION_IN_PROGRESS, message=message)


def _mark(records: Records, member: str, operation: str) -> MemberBlocker | None:
    for _attempt in range(_ATTEMPTS):
        document = records.get("FleetMember", member)
        if document is None:
            return MemberBlocker(reason=OPERATION_IN_PROGRESS, message="it is leaving the fleet")
        if mark_of(document) == operation:
            return None
        other = busy(records, document)
        if other:
            return MemberBlocker(reason=OPERATION_IN_PROGRESS, message=f"{other} is in flight")
        if _marked(records, document, operation):
            return None
    return MemberBlocker(reason=OPERATION_IN_PROGRESS, message="somebody else keeps writing its record")


def lease_name(member: str) -> str:
    """The name of the lease in the records under which something is begun on the member."""
    return f"member/{member}"


def mark_of(document: Record) -> str:
    """The operation that a FleetMember is marked with, or nothing."""
    status = document.get("status")
    return str(status.get("operation", "")) if isinstance(status, dict) else ""


def _marked(records: Records, document: Record, operation: str) -> bool:
    status = {key: value for key, value in (document.get("status") or {}).items() if key != "operation"}
    if operation:
        status["operation"] = operation
    return replaced(records, {**document, "status": status}) is not None


def _in_flight(records: Records, member: str, operation: str) -> bool:
    """Whether the run that the operation belongs to still says so; a mark that nobody stands for is stale. A run that
    cannot be read may say so."""
    document = records.get(KIND, run_name(operation, member))
    if document is None:
        return False
    try:
        run = recorded(UpdateRun, document)
    except FleetError:
        return True
    rows = run.status.members
    return any(row.operation_id == operation and row.status.state == RUNNING for row in rows)


def run_name(operation: str, member: str) -> str:
    """The run in ``<run>-<uid8>.<member>.<attempt>``; a name that no run has if it is no such name."""
    before_attempt = operation.rpartition(".")[0]
    return before_attempt.removesuffix(f".{member}")[:-9]
