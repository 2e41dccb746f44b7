# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Claims in the records, so that one operation at a time is on a member: a lease while it begins, a mark
(``status.operation``) on the FleetMember until it has ended; which operations are in flight, and the run that the name
of an operation tells.

The lease keeps two conductors from beginning at the same instant. The mark does not expire: it counts for as long as
its run says that the operation is in flight.
"""

from __future__ import annotations

import typing as t

from ..._core.errors import FleetError
from ..._core.objects.updates.update_run import UpdateRun
from ..._core.updates.run import MemberBlocker
from ..._core.values.update_states import OPERATION_IN_PROGRESS, RUNNING
from ..._store.records import Lease, Record, Records, replace_unless_moved
from ..recorded import recorded

KIND = "UpdateRun"
LEASE_SECONDS = 300
_ATTEMPTS = 5


def claim(records: Records, member: str, operation: str, holder: str) -> Lease | MemberBlocker:
    """Takes the records' lease on the member, for ``LEASE_SECONDS``, and marks its FleetMember as worked on by this
    operation. The lease; or, with nothing held, the obstacle (OperationInProgress): another holder or operation has it,
    it is leaving the fleet, or others keep writing it. A mark of an operation that is over is replaced. Repeated by the
    same ``holder`` it gives another lease, and the first is lost. FleetErrors of the records, after which the lease may
    be held."""
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
    if there is one and it was not lost. Where others keep writing the record the mark stays; it is stale once the
    operation is over. With an empty ``operation`` the record is not looked at. FleetErrors of the records, after which
    the lease may be held."""
    for _attempt in range(_ATTEMPTS if operation else 0):
        document = records.get("FleetMember", member)
        if document is None or mark_of(document) != operation or _write_mark(records, document, ""):
            break
    if lease is not None:
        try:
            records.release(lease)
        except FleetError as error:
            if error.code != "lease-lost":
                raise


def operations_in_flight(records: Records, members: t.Iterable[Record]) -> dict[str, str]:
    """The operations in flight on these FleetMembers, by name of the member; those without one are left out. A mark
    counts while its update run says that this operation is running; a run that cannot be read stands for any.
    FleetErrors of the records."""
    runs: dict[str, t.Container[str]] = {}
    found = {}
    for document in members:
        name, operation = document["metadata"]["name"], mark_of(document)
        run = run_of_operation(operation, name)
        if operation and run not in runs:
            runs[run] = _operations_of(records, run)
        if operation and operation in runs[run]:
            found[name] = operation
    return found


def operation_in_flight(records: Records, document: Record) -> str:
    """The operation in flight on one FleetMember, given by its record; empty if there is none. FleetErrors of the
    records."""
    return next(iter(operations_in_flight(records, (document,)).values()), "")


def _held(records: Records, member: str) -> MemberBlocker:
    """The obstacle for a member whose lease another one has, in words that stay the same from look to look, or every
    look would be news. FleetErrors of the records."""
    document = records.get("FleetMember", member)
    other = operation_in_flight(records, document) if document else ""
    message = f"{other} is in flight" if other else "another run is about to begin something on it"
    return MemberBlocker(reason=OPERATION_IN_PROGRESS, message=message)


def _mark(records: Records, member: str, operation: str) -> MemberBlocker | None:
    """Marks the member with the operation; None once it bears that, else the obstacle. FleetErrors of the records."""
    for _attempt in range(_ATTEMPTS):
        document = records.get("FleetMember", member)
        if document is None:
            return MemberBlocker(reason=OPERATION_IN_PROGRESS, message="it is leaving the fleet")
        if mark_of(document) == operation:
            return None
        other = operation_in_flight(records, document)
        if other:
            return MemberBlocker(reason=OPERATION_IN_PROGRESS, message=f"{other} is in flight")
        if _write_mark(records, document, operation):
            return None
    return MemberBlocker(reason=OPERATION_IN_PROGRESS, message="somebody else keeps writing its record")


def lease_name(member: str) -> str:
    """The name of the lease in the records under which something is begun on the member."""
    return f"member/{member}"


def mark_of(document: Record) -> str:
    """The operation that a FleetMember's record is marked with, in flight or not; empty if it bears no mark."""
    status = document.get("status")
    return str(status.get("operation", "")) if isinstance(status, dict) else ""


def _write_mark(records: Records, document: Record, operation: str) -> bool:
    """Writes the record with this mark, none if it is empty; False if somebody else has written it since. Other
    FleetErrors of the records are raised."""
    status = {key: value for key, value in (document.get("status") or {}).items() if key != "operation"}
    if operation:
        status["operation"] = operation
    return replace_unless_moved(records, {**document, "status": status}) is not None


def _operations_of(records: Records, name: str) -> t.Container[str]:
    """The operations of which the run still says that they are in flight; none of a run that is not there. One that
    cannot be read may say so of any, so all are in what is given then."""
    document = records.get(KIND, name)
    if document is None:
        return ()
    try:
        rows = recorded(UpdateRun, document).status.members
    except FleetError:
        return _Anything()
    return {row.operation_id for row in rows if row.status.state == RUNNING}


class _Anything:
    def __contains__(self, _operation: object) -> bool:
        return True


def run_of_operation(operation: str, member: str) -> str:
    """The run in ``<run>-<uid8>.<member>.<attempt>``; another text gives an empty name, or one of a run that has no
    such operation."""
    before_attempt = operation.rpartition(".")[0]
    return before_attempt.removesuffix(f".{member}")[:-9]
