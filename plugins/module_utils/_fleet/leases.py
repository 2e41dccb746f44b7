# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Leases whose holder's name (``holder``) tells whether its process is still there, taken over from the dead; the lease
under which a member's records are written, leases of members that are let go (``member-leaving``)."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import typing as t
from datetime import UTC, datetime, timedelta

from .._core.errors import FleetError, Problem
from .._store.records import Lease, Records

UNKNOWN = "00000000"
SKEW = timedelta(minutes=10)
MEMBER_SECONDS = 120
# Numbers as a kernel has them.
_HOLDER = re.compile(r".*:(?P<pid>[0-9]{1,10})#(?P<machine>[0-9a-f]{8})-(?P<started>[0-9]{1,20})")


def holder_name(environ: t.Mapping[str, str]) -> str:
    """``user@host:pid#machine-start``, the name of this process for ``has_ended``: ``user`` is USER of the environment
    or the word ``user``, ``machine`` 8 hexadecimal digits for this boot of this machine and its namespace of processes,
    UNKNOWN where that cannot be told, ``start`` when the process began, in clock ticks of the boot, or 0."""
    user = environ.get("USER") or "user"
    return f"{user}@{platform.node()}:{os.getpid()}#{_machine()}-{_started(os.getpid()) or 0}"


def acquire(records: Records, name: str, holder: str, seconds: int) -> Lease:
    """As ``Records.acquire``, but the lease of a holder that was a process of this machine, and has ended, is released
    and taken. FleetError ``lease-held`` where another has it, and others of the records."""
    try:
        return records.acquire(name, holder, seconds)
    except FleetError as error:
        if error.code != "lease-held":
            raise
        held = next((each for each in records.leases() if each.name == name), None)
        if held is None or not has_ended(held.holder):
            raise
    try:
        records.release(held)
    except FleetError as error:
        if error.code != "lease-lost":
            raise
    return records.acquire(name, holder, seconds)


@contextlib.contextmanager
def changing_member(records: Records, member: str, holder: str) -> t.Iterator[Lease]:
    """The records' lease on the member for ``MEMBER_SECONDS``, while its own records are written; given back at the
    end, or left to run out. FleetError as of ``acquire``."""
    lease = acquire(records, f"member/{member}", holder, MEMBER_SECONDS)
    try:
        yield lease
    finally:
        with contextlib.suppress(FleetError):
            records.release(lease)


def leaving_lease(member: str) -> str:
    """Name of the lease that is held while a member is let go, so that nothing is written to it meanwhile."""
    return f"leaving/{member}"


def leaving_members(records: Records) -> dict[str, str]:
    """Who lets which member go: holders by member. A lease that ended more than ``SKEW`` ago, or whose holder has died
    on this machine, does not count. FleetErrors of the records."""
    past = datetime.now(UTC) - SKEW
    return {
        each.name.partition("/")[2]: each.holder
        for each in records.leases()
        if each.name.startswith(leaving_lease("")) and not each.expired(past) and not has_ended(each.holder)
    }


def leaving_problem(member: str, holder: str) -> Problem:
    """The problem ``member-leaving``: nothing is written to a member that ``holder`` lets go."""
    message = f"{holder} is letting it go; nothing is written to it"
    return Problem("member-leaving", message, member, "run again when it is gone")


def has_ended(holder: str) -> bool:
    """Whether the holder, as of ``holder_name``, was a process of this machine and has ended; False where that cannot
    be told."""
    found = _HOLDER.fullmatch(holder)
    if found is None or found["machine"] != _machine() or found["machine"] == UNKNOWN:
        return False
    pid = int(found["pid"])
    started = _started(pid)
    return not process_exists(pid) if started is None else started != int(found["started"])


def is_alive(lease: Lease, now: datetime) -> bool:
    """Whether the lease has not expired at ``now``, aware, and its holder is no process of this machine that has
    ended."""
    return not lease.expired(now) and not has_ended(lease.holder)


def _machine() -> str:
    """8 hexadecimal digits for name, boot and namespace of processes of this machine: two containers may have one name,
    and see different processes. UNKNOWN where this cannot be told."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        return UNKNOWN
    return hashlib.sha256(f"{platform.node()} {boot} {namespace}".encode()).hexdigest()[:8]


def process_exists(pid: int) -> bool:
    """Whether there is such a process, also one of another user, which /proc may hide (``hidepid``)."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _started(pid: int) -> int | None:
    """Clock ticks from boot to the start of the process; 0 for a zombie, None where /proc does not tell."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return 0 if fields[0] in "ZX" else int(fields[19])
