# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Loopback ports for local clusters: a range cut into slots of equal size, of which a cluster holds one, and maybe
single ports more, while it exists (``no-free-ports``); which ports are free, and which process has one."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import typing as t
from dataclasses import dataclass
from pathlib import Path

from .._core.errors import FleetError

HOST = "127.0.0.1"
# Each component that listens, in the order of its port in the slot. Karpenter, which few have, has one of its own.
USERS = ("etcd", "etcd-peer", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")


@dataclass(frozen=True)
class PortRange:
    """Ports ``first`` to ``last``, both included."""

    first: int
    last: int

    def slots(self) -> t.Iterator[dict[str, int]]:
        """The slots that lie in it as a whole, from the lowest on: a port for each of ``USERS``."""
        for base in range(self.first, self.last + 2 - len(USERS), len(USERS)):
            yield {user: base + offset for offset, user in enumerate(USERS)}


# Below Linux's range for outgoing connections, which would take a port now and then.
DEFAULT_PORTS = PortRange(21000, 21999)


def free_slot(within: PortRange, taken: t.Iterable[int]) -> dict[str, int]:
    """The lowest slot of ``within`` with no port in ``taken`` (those of other clusters, running or not) and all of them
    free now: ports by user. FleetError ``no-free-ports``; OSError as of ``is_free``."""
    others = frozenset(taken)
    for slot in within.slots():
        if others.isdisjoint(slot.values()) and all(is_free(port) for port in slot.values()):
            return slot
    raise FleetError(
        "no-free-ports",
        f"no {len(USERS)} free neighbouring ports are left between {within.first} and {within.last}",
        hint="remove clusters that are no longer needed, or give a larger range",
    )


def free_port(within: PortRange, taken: t.Iterable[int]) -> int:
    """One port more: the highest of ``within`` that is not in ``taken`` and is free now, for slots are handed out from
    the other end. FleetError ``no-free-ports``; OSError as of ``is_free``."""
    others = frozenset(taken)
    for port in range(within.last, within.first - 1, -1):
        if port not in others and is_free(port):
            return port
    raise FleetError(
        "no-free-ports",
        f"no free port is left between {within.first} and {within.last}",
        hint="remove clusters that are no longer needed, or give a larger range",
    )


def is_free(port: int) -> bool:
    """Whether a server of this user could listen on it now, on 127.0.0.1; a connection that lingers after its server's
    end does not count. ``port`` is 1 to 65535. OSError if that cannot be tried."""
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
            probe.listen(1)
        except OSError as error:
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                return False
            raise
    return True


def port_holder(port: int) -> str:
    """Who has it, for people: ``process 4711 (nginx)``, the first that is found; ``another process`` where it is
    another user's, or nobody's any more. By Linux's tables of sockets, of all addresses and of connections from this
    port too. OSError without /proc."""
    sockets = {f"socket:[{inode}]" for table in ("tcp", "tcp6") for inode in _inodes(Path("/proc/net") / table, port)}
    for process in Path("/proc").iterdir():
        with contextlib.suppress(OSError):  # another user's, or ended meanwhile
            if process.name.isdigit() and any(os.readlink(each) in sockets for each in (process / "fd").iterdir()):
                program = (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
                return f"process {process.name} ({program})"
    return "another process"


def _inodes(table: Path, port: int) -> t.Iterator[str]:
    """Inodes of the sockets in a table of Linux's that have this port on their own side, whatever their state; none if
    the table cannot be read."""
    with contextlib.suppress(OSError):
        for row in table.read_text(encoding="ascii").splitlines()[1:]:
            fields = row.split()
            if fields[1].endswith(f":{port:04X}"):
                yield fields[9]
