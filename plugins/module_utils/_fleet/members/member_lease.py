# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The Lease ``member`` on a member's API server, by which other records see that it is written to or upgraded
(``member-held``, ``member-lost``); what tells these records from others, and where a person finds them.

Leases in the records keep the runs of one fleet apart; a second fleet, with records of its own, sees only this Lease.
Its owner are the records, not one run: the next run of the same records has at once what a dead one held.
"""

from __future__ import annotations

import contextlib
import os
import platform
import secrets
import typing as t
from functools import cached_property

from ..._core.errors import FleetError
from ..._core.objects.identity import NAMESPACE
from ..._kube.client import KubeClient
from ..._kube.shared_lease import (
    SharedLease,
    Worker,
    release,
    renew,
    take,
)
from ..._store.records import Records
from ..keeping import running_time
from ..recorded import DAMAGED
from .home import MEMBER_LEASE, with_home_made

# Longer than any one request may take, with all that it may wait for; renewed when a third is over.
APPLY_SECONDS = 300
_ID = "records-id"
# As it is named on a hub.
ID_SECRET = f"gitops-fleet-{_ID}"

# To be called before each write; FleetErrors as of ``KeptLease.keep``: then nothing is to be written.
Keep = t.Callable[[], None]


class KeptLease:
    """One lease on a member, in our namespace, which is made where it is missing."""

    def __init__(self, client: KubeClient, worker: Worker, seconds: int) -> None:
        """Takes the lease for so many seconds. FleetError as of ``shared_lease.take`` and ``with_home_made``."""
        self._client = client
        self._renewed = running_time()
        self._lease: SharedLease = with_home_made(
            client, lambda: take(client, NAMESPACE, MEMBER_LEASE, worker, seconds)
        )

    @property
    def due(self) -> bool:
        """Whether a third of its time is over since it was taken or last renewed here."""
        return running_time() >= self._renewed + self._lease.seconds / 3

    def keep(self) -> None:
        """To be called before each write: renews the lease if it is ``due``. FleetError ``member-lost`` if another has
        it by now, or what a request raises."""
        if self.due:
            now = running_time()
            with self._client.without_time_budget():
                self._lease = renew(self._client, self._lease)
            self._renewed = now

    def release(self) -> None:
        """Gives the lease up for this run; others of the same records keep it. A FleetError of that is passed over, for
        the lease runs out by itself."""
        with contextlib.suppress(FleetError), self._client.without_time_budget():
            release(self._client, self._lease)


class MemberLeases:
    """Makes leases on members for one run of a verb, and keeps none itself. ``holder`` is the name under which the run
    takes leases in its records."""

    def __init__(self, records: Records, holder: str) -> None:
        self._records, self._holder = records, holder

    def take(self, client: KubeClient, task: str, seconds: int = APPLY_SECONDS) -> KeptLease:
        """Takes the lease on the member for ``seconds``; ``task`` as in ``shared_lease.Worker``. FleetError
        ``member-held`` if other records have it, what a request raises, and as of ``records_id``."""
        text = f"{task} by {self._holder} ({whereabouts(self._records)})"
        worker = Worker(owner=self._owner, task=task, token=secrets.token_hex(8), text=text)
        return KeptLease(client, worker, seconds)

    def learn_owner(self) -> None:
        """Asks the records whose leases these are, so that a process forked from this one need not ask them. FleetError
        as of ``records_id``."""
        self._owner  # noqa: B018  # pylint: disable=pointless-statement

    @cached_property
    def _owner(self) -> str:
        """As ``records_id``, asked for once: on a hub it is a request, and a run takes a lease for each placement on
        each member."""
        return records_id(self._records)

    @contextlib.contextmanager
    def holding(self, client: KubeClient, task: str) -> t.Iterator[Keep]:
        """Held while entered, and given up then as by ``KeptLease.release``; gives what is to be called before each
        write, as ``KeptLease.keep``. FleetError as of ``take``."""
        held = self.take(client, task)
        try:
            yield held.keep
        finally:
            held.release()


def records_id(records: Records) -> str:
    """What tells these records from all others: made when it is first asked for, and kept with them. The inode of a
    file belongs to it, so that a copy of the file counts as other records. FleetError ``record-damaged`` where what is
    kept is no text, and others of the records."""
    kept = records.secret(_ID) or records.keep_secret(_ID, secrets.token_hex(8).encode())
    try:
        told = kept.decode("ascii")
    except UnicodeDecodeError:
        hint = "delete it: the next run makes a new one, and members count as held by other records until then"
        raise FleetError(DAMAGED, "what these records are told by is no text", f"Secret/{ID_SECRET}", hint) from None
    try:
        return f"{told}-{os.stat(records.place).st_ino:x}"
    except OSError:
        return told


def whereabouts(records: Records) -> str:
    """Where a person finds the records: ``user@host:path``, or the hub."""
    if not os.path.isabs(records.place):
        return records.place
    return f"{os.environ.get('USER') or 'user'}@{platform.node()}:{records.place}"
