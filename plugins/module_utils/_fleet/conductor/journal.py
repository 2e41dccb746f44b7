# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The state of a run or rotation in its record: read, changed by compare-and-swap under a lease and its epoch; changes
that are noted, and made again on what others wrote."""

from __future__ import annotations

import typing as t

from ..._core.errors import FleetError
from ..._store.records import Lease, Record, Records, replace_unless_moved

S = t.TypeVar("S")
# The state with something done to it; as it is where that was done already, or has become pointless. It raises nothing.
Change = t.Callable[[S], S]


class Book(t.Protocol[S]):
    """How states of one kind stand in a record, for one ``Journal``. What was read or kept last may be remembered, for
    parts of the record that are no state. ``name`` is as of ``Records``."""

    @property
    def kind(self) -> str:
        """The kind of the record."""

    name: str
    uid: str
    """Of the record that is meant; empty for whichever has the name."""

    def read(self, document: Record) -> S:
        """The state in the document, which is remembered; called before all but ``gone``. FleetError if the record is
        damaged."""

    def written(self, document: Record, state: S, epoch: int) -> Record:
        """A new document: the one that was read or kept last with this state, and with the epoch of the lease where the
        record has one. ``remember`` is called once it is stored, and not if it is not."""

    def remember(self) -> None:
        """Remembers what ``written`` gave last as what is stored."""

    def epoch(self) -> int:
        """The epoch of the lease under which the record was written last; that of the lease itself for a record that
        has none."""

    def gone(self) -> FleetError:
        """The error, for the caller to raise, if the record was deleted, is being deleted, or another has its name."""


class Journal(t.Generic[S]):
    """What a conductor knows of its run or rotation. ``state`` is what is stored, with what was noted since.

    Noted changes are kept until they are stored: where the record is read again, they are made again on that, so each
    must change nothing where it is made twice.
    """

    def __init__(self, records: Records, book: Book[S], lease: Lease) -> None:
        """Reads the record. FleetError as of ``load``."""
        self._records = records
        self._book = book
        self.lease = lease
        self._noted: list[Change[S]] = []
        self._document: Record = {}
        self.load()

    def load(self) -> None:
        """Reads the record again, and makes what was noted anew on it. FleetError of ``gone`` if it is gone, being
        deleted or another, as of ``Book.read``, and others of the records."""
        document = self._records.get(self._book.kind, self._book.name)
        if document is None or document["metadata"].get("deletionTimestamp") or self._is_another(document):
            raise self._book.gone()
        if document != self._document:  # else it is what was read or stored last, which costs less to see
            self._stored = self._book.read(document)
            self._document = document
        self.state = self._stored
        for change in self._noted:
            self.state = change(self.state)

    def note(self, change: Change[S]) -> None:
        """Makes the change now, and again whenever the record is read before the state is stored."""
        self._noted.append(change)
        self.state = change(self.state)

    def renew(self) -> None:
        """Renews ``lease``, which is another object then. FleetError ``lease-lost`` if another conductor has it."""
        self.lease = self._records.renew(self.lease)

    def store(self, state: S, in_flight: bool) -> bool:
        """Stores the state, which holds what was noted, under the lease. False if somebody else wrote in between: the
        record was read again, and the caller decides anew on the ``state`` of the journal. What stands there already is
        not written, unless our epoch is to be before anything ``in_flight`` is followed: from then on an older
        conductor's write conflicts.

        FleetError ``lease-lost`` if another conductor has taken over, as of ``load``, and others of the records.
        """
        if state == self._stored and (self._book.epoch() == self.lease.epoch or not in_flight):
            self._noted, self.state = [], state
            return True
        kept = replace_unless_moved(
            self._records, self._book.written(self._document, state, self.lease.epoch), self.lease
        )
        if kept is None:
            self.load()
            return False
        self._document = kept
        self._book.remember()
        self._noted, self._stored, self.state = [], state, state
        return True

    def _is_another(self, document: Record) -> bool:
        """Whether it was made after the one that is meant, or was read before, was deleted."""
        known = self._document["metadata"].get("uid") if self._document else self._book.uid
        return bool(known) and document["metadata"].get("uid") != known
