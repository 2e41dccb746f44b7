# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What other rotations of the same records have in flight or in hand, and the turn in which one of them all begins
nodes; a lease kept while members are read.

Two that decided at once would each begin what a budget over both has left. So whoever is about to begin nodes takes a
lease, reads what the others have recorded by then, decides by that, records it, and gives the lease back.
"""

from __future__ import annotations

import contextlib
import threading
import time
import typing as t

from ..._core.disruption.origins import LET_GO
from ..._core.disruption.rotation.input import OtherNode
from ..._core.disruption.rotation.packed import written_nodes
from ..._core.disruption.rotation.state import IN_FLIGHT, NodeProgress
from ..._core.errors import FleetError
from ..._core.schema.codec import decode
from ..._core.values.parts import text
from ..._store.records import Lease, Record, Records
from ..conductor.loop import LEASE_SECONDS
from ..leases import acquire
from ..recorded import DAMAGED
from .sources import KIND

TURN = "turn/rotation-budgets"
# For one decision, then for one write; what a killed rotation held is free again after it.
SECONDS = 60
WAIT, PAUSE = 5.0, 0.2


class OtherRotations:
    """The other rotations as the rotation ``name`` sees them, whose conductor is ``holder``. For one thread."""

    def __init__(self, records: Records, name: str, holder: str) -> None:
        self._records, self._name = records, name
        # Conductors of one update run have one name, and yet take turns.
        self._holder = f"rotation/{name} {holder}"
        self._lease: Lease | None = None

    def keeps_turn(self) -> bool:
        """Whether we still have the turn, renewed for SECONDS: while we decided it may have gone to another.
        FleetErrors of the records, but ``lease-lost``."""
        if self._lease is None:
            return False
        try:
            self._lease = self._records.renew(self._lease)
        except FleetError as error:
            if error.code != "lease-lost":
                raise
            self._lease = None
        return self._lease is not None

    def take_turn(self) -> bool:
        """Takes the turn, unless we have it, within WAIT seconds; whether we have it. FleetErrors of the records, but
        ``lease-held``."""
        end = time.monotonic() + WAIT
        while self._lease is None:
            try:
                self._lease = acquire(self._records, TURN, self._holder, SECONDS)
            except FleetError as error:
                if error.code != "lease-held":
                    raise
                if time.monotonic() >= end:
                    return False
                time.sleep(PAUSE)
        return True

    def end_turn(self) -> None:
        """Gives the turn back, if we have it; where that fails it runs out."""
        lease, self._lease = self._lease, None
        if lease is not None:
            with contextlib.suppress(FleetError):
                self._records.release(lease)

    def in_flight(self) -> tuple[OtherNode, ...]:
        """As of ``in_flight_beside``."""
        return in_flight_beside(self._records, self._name)


def in_flight_beside(records: Records, name: str) -> tuple[OtherNode, ...]:
    """The nodes that rotations of other names have in flight by their records. FleetError ``record-damaged``, and of
    the records."""
    rows = (row for each in records.list(KIND) if each["metadata"]["name"] != name for row in _in_flight(each))
    return tuple(rows)


def nodes_in_hand(records: Records, named: str = "") -> tuple[OtherNode, ...]:
    """The nodes that rotations whose names begin with ``named`` (empty: all) have in flight by their records, or still
    have to let go (uncordon). FleetError ``record-damaged``, and of the records."""
    documents = (each for each in records.list(KIND) if each["metadata"]["name"].startswith(named))
    return tuple(row for each in documents for row in _in_flight(each, released=True))


def _in_flight(document: Record, released: bool = False) -> t.Iterator[OtherNode]:
    """Only what is in flight is read, or ``released`` later: most nodes have ended, or wait. FleetError
    ``record-damaged``."""
    name = document["metadata"]["name"]
    try:
        for each in written_nodes((document.get("status") or {}).get("state") or {}):
            if text(each, "phase") in IN_FLIGHT or (released and text(each, "release")):
                found = decode(NodeProgress, each)
                yield OtherNode(found.name, found.pool, name)
    except (ValueError, TypeError, AttributeError) as error:
        hint = f"delete the rotation, and let its nodes go: {LET_GO}"
        raise FleetError(DAMAGED, f"status.state cannot be read: {error}", f"{KIND}/{name}", hint) from None


@contextlib.contextmanager
def kept_meanwhile(records: Records, lease: str, holder: str) -> t.Iterator[None]:
    """While entered a thread renews the lease of that name, as long as it is the holder's: reading many members may
    take longer than it lasts. It is neither taken nor given back here; no FleetError of the records is raised."""
    ended = threading.Event()

    def keep() -> None:
        """Renews the lease each third of LEASE_SECONDS, while it is the holder's, until ``ended``; FleetErrors are
        passed over."""
        while not ended.wait(LEASE_SECONDS / 3):
            with contextlib.suppress(FleetError):  # whoever stores under it meets what is wrong
                mine = [each for each in records.leases() if (each.name, each.holder) == (lease, holder)]
                for each in mine:
                    records.renew(each)

    thread = threading.Thread(target=keep, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
