# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Records in one SQLite file: objects looked up by labels, who holds a lease or held it last, journal and secrets, each
write with the check of its lease in one transaction; a copy of any records in such a file, for reading alone, and what
it is a copy of."""

from __future__ import annotations

import contextlib
import sqlite3
import typing as t
import uuid
from datetime import datetime
from pathlib import Path

from .._core.values.canonical import canonical_json, is_same, strict_json
from .._core.values.instants import parse_time, write_time
from . import object_rules
from .kinds import KINDS, listed_resource, record_name, stored_resource
from .records import (
    NO_LABELS,
    Clock,
    CopyOrigin,
    Event,
    Lease,
    Record,
    Records,
    already_exists,
    conflict,
    lease_held,
    lease_lost,
)
from .sqlite_file import COPY_ID, RecordsFile, is_copy, make_tables
from .sqlite_rows import (
    JudgedRows,
    damaged,
    event_of,
    lease_of,
    number_of,
    stored_of,
)


class SqliteRecords:
    """The contract of ``Records`` over one file.

    A write and the check of its lease are one transaction: a holder whose lease was taken over cannot write, however
    late its request comes. A write is on the disk when the call returns. The first call that is to write makes the
    file, a ``delete`` of what is absent too; until then reads find nothing. ``durable`` is told by whoever opens the
    file. Codes of the file: ``records-not-ours``, ``-too-new``, ``-read-only``, ``-disk-full``, ``-disk-error``,
    ``-damaged``, ``-busy``, ``-unreadable``; a write to a copy of records is refused with ``-copy``.
    """

    def __init__(self, path: Path, clock: Clock, durable: bool = True) -> None:
        """Opens and makes nothing yet; ``clock`` gives the present instant, aware."""
        self.durable = durable
        self.place = str(path)
        self._clock = clock
        self._file = RecordsFile(path)
        self._rows = JudgedRows(self.place)

    @property
    def origin(self) -> CopyOrigin | None:
        """As ``Records.origin``, as the file says it. Codes of the class, ``records-damaged`` where it does not."""
        with self._file.reading() as connection:
            if connection is None or not is_copy(connection):
                return None
            row = connection.execute("SELECT value FROM meta WHERE name = 'copy'").fetchone()
        try:
            place, at = strict_json(row[0])
            return CopyOrigin(place=str(place), at=parse_time(at))
        except (ValueError, TypeError, RecursionError):
            raise damaged("what these records are a copy of is damaged", self.place) from None

    def get(self, kind: str, name: str) -> Record | None:
        """As ``Records.get``. Codes of the class."""
        stored_resource(kind)
        with self._file.reading() as connection:
            row = _row(connection, kind, name) if connection else None
        return self._rows.record(kind, name, row[0]) if row else None

    def list(self, kind: str, labels: t.Mapping[str, str] = NO_LABELS, namespace: str = "") -> tuple[Record, ...]:
        """As ``Records.list``. Codes of the class, ``records-damaged`` for any damaged record."""
        listed_resource(kind, namespace)
        question, values = "SELECT name, document FROM records AS r WHERE kind = ?", [kind]
        if namespace:
            question += " AND substr(name, 1, length(?)) = ?"
            values += [f"{namespace}/"] * 2
        for key, value in labels.items():
            question += " AND name IN (SELECT name FROM labels WHERE kind = r.kind AND key = ? AND value = ?)"
            values += [key, value]
        with self._file.reading() as connection:
            rows = connection.execute(question + " ORDER BY name", values).fetchall() if connection else ()
        found = tuple(self._rows.record(kind, name, document) for name, document in rows)
        for record in found:
            if not labels.items() <= (record["metadata"].get("labels") or {}).items():
                raise damaged(f"{kind}/{record_name(record)} is found by labels that it does not carry", self.place)
        return found

    def names(self, kind: str) -> frozenset[str]:
        """As ``Records.names``. Codes of the class."""
        stored_resource(kind)
        with self._file.reading() as connection:
            question = "SELECT name FROM records WHERE kind = ?"
            rows = connection.execute(question, (kind,)).fetchall() if connection else ()
        return frozenset(str(name) for (name,) in rows)

    def create(self, record: Record, lease: Lease | None = None) -> Record:
        """As ``Records.create``. Codes of the class."""
        with self._file.writing() as connection:
            self._fence(connection, lease)
            fresh = object_rules.created(record, str(uuid.uuid4()), self._next_version(connection), self._clock())
            kind, name = fresh["kind"], record_name(fresh)
            if _row(connection, kind, name) is not None:
                raise already_exists(kind, name, self.place)
            _put(connection, fresh, self._rows.text_of(fresh))
            return fresh

    def replace(self, record: Record, lease: Lease | None = None) -> Record:
        """As ``Records.replace``. Codes of the class."""
        kind, name = str(record.get("kind", "")), record_name(record)
        stored_resource(kind)
        with self._file.writing() as connection:
            self._fence(connection, lease)
            stored = self._stored(connection, kind, name)
            if stored is None:
                raise conflict(kind, name, self.place)
            fresh = object_rules.replaced(stored, record, self._next_version(connection), self.place)
            if object_rules.is_gone(fresh):
                _remove(connection, kind, name)
            elif not is_same(fresh, stored):
                _put(connection, fresh, self._rows.text_of(fresh))
            return fresh

    def delete(self, kind: str, name: str, resource_version: str = "", lease: Lease | None = None) -> None:
        """As ``Records.delete``. Codes of the class."""
        stored_resource(kind)
        with self._file.writing() as connection:
            self._fence(connection, lease)
            stored = self._stored(connection, kind, name)
            if stored is None:
                return
            if resource_version and resource_version != stored["metadata"]["resourceVersion"]:
                raise conflict(kind, name, self.place)
            if object_rules.finalizers(stored):
                marked = object_rules.marked_deleted(stored, self._next_version(connection), self._clock())
                _put(connection, marked, object_rules.json_text(marked))
            else:
                _remove(connection, kind, name)

    def acquire(self, name: str, holder: str, seconds: int) -> Lease:
        """As ``Records.acquire``, by this machine's clock. Codes of the class."""
        with self._file.writing() as connection:
            now, last = self._clock(), self._lease(connection, name)
            if last and last.holder not in ("", holder) and not last.expired(now):
                raise lease_held(last, now, self.place)
            lease = Lease(name, holder, last.epoch + 1 if last else 1, now, now, seconds)
            _put_lease(connection, lease)
            return lease

    def renew(self, lease: Lease) -> Lease:
        """As ``Records.renew``, by this machine's clock. Codes of the class."""
        with self._file.writing() as connection:
            self._fence(connection, lease)
            renewed = Lease(lease.name, lease.holder, lease.epoch, lease.acquired, self._clock(), lease.seconds)
            _put_lease(connection, renewed)
            return renewed

    def release(self, lease: Lease) -> None:
        """As ``Records.release``. Codes of the class."""
        with self._file.writing() as connection:
            self._fence(connection, lease)
            connection.execute("UPDATE leases SET holder = '' WHERE name = ?", (lease.name,))

    def leases(self) -> tuple[Lease, ...]:
        """As ``Records.leases``. Codes of the class."""
        with self._file.reading() as connection:
            rows = connection.execute(f"{_LEASE} WHERE holder != '' ORDER BY name").fetchall() if connection else ()
        return tuple(lease_of(row, self.place) for row in rows)

    def event(self, kind: str, name: str, type: str, reason: str, message: str, now: datetime) -> None:
        """As ``Records.event``. Codes of the class."""
        stored_resource(kind)
        row = (write_time(now), kind, name, type, reason, message)
        with self._file.writing() as connection:
            connection.execute(
                "INSERT INTO events (at, kind, name, type, reason, message) VALUES (?, ?, ?, ?, ?, ?)", row
            )

    def events(self, kind: str, name: str) -> tuple[Event, ...]:
        """As ``Records.events``, in the order in which they were written; they are kept for ever. Codes of the
        class."""
        stored_resource(kind)
        question = "SELECT kind, name, type, reason, message, at FROM events WHERE kind = ? AND name = ? ORDER BY id"
        with self._file.reading() as connection:
            rows = connection.execute(question, (kind, name)).fetchall() if connection else ()
        return tuple(event_of(row, self.place) for row in rows)

    def secret(self, name: str) -> bytes:
        """As ``Records.secret``. Codes of the class, ``records-damaged`` if what is kept is empty or no bytes."""
        with self._file.reading() as connection:
            return self._secret(connection, name) if connection else b""

    def keep_secret(self, name: str, value: bytes) -> bytes:
        """As ``Records.keep_secret``. Codes of the class."""
        with self._file.writing() as connection:
            connection.execute("INSERT OR IGNORE INTO meta VALUES (?, ?)", (f"secret/{name}", value))
            return self._secret(connection, name)

    def close(self) -> None:
        """As ``Records.close``; a later call would open the file again."""
        self._file.close()

    def _fence(self, connection: sqlite3.Connection, lease: Lease | None) -> None:
        """FleetError ``lease-lost`` unless the lease has its holder and epoch still; an expired one that nobody took is
        fine, and so is None. ``records-damaged`` for a damaged row."""
        if lease is None:
            return
        last = self._lease(connection, lease.name)
        if last is None or (last.epoch, last.holder) != (lease.epoch, lease.holder):
            raise lease_lost(lease.name, lease.holder, last.holder if last else "", self.place)

    def _stored(self, connection: sqlite3.Connection, kind: str, name: str) -> Record | None:
        """The record as ``stored_of`` reads it, None if it is not there. FleetError ``records-damaged``."""
        row = _row(connection, kind, name)
        return stored_of(kind, name, row[0], self.place) if row else None

    def _next_version(self, connection: sqlite3.Connection) -> str:
        """One more than the last that ``_put`` wrote: one number over the whole file, as etcd's revision. It counts
        once ``_put`` writes it. FleetError ``records-damaged``."""
        row = connection.execute("SELECT value FROM meta WHERE name = 'revision'").fetchone()
        return str(number_of(row, self.place) + 1)

    def _lease(self, connection: sqlite3.Connection, name: str) -> Lease | None:
        """The lease of that name, also one that nobody holds; None if it never was. FleetError ``records-damaged``."""
        row = connection.execute(f"{_LEASE} WHERE name = ?", (name,)).fetchone()
        return lease_of(row, self.place) if row else None

    def _secret(self, connection: sqlite3.Connection, name: str) -> bytes:
        """What is kept under the name, no bytes without it. FleetError ``records-damaged`` if that is empty or no
        bytes."""
        row = connection.execute("SELECT value FROM meta WHERE name = ?", (f"secret/{name}",)).fetchone()
        if row is not None and (not isinstance(row[0], bytes) or not row[0]):
            raise damaged(f"what is kept as {name} is damaged", self.place)
        return row[0] if row else b""


def _row(connection: sqlite3.Connection, kind: str, name: str) -> t.Any:
    """The row of the record with its JSON text alone; None without one."""
    return connection.execute("SELECT document FROM records WHERE kind = ? AND name = ?", (kind, name)).fetchone()


def _put(connection: sqlite3.Connection, record: Record, text: str) -> None:
    """Writes the record, of which ``text`` is the JSON, in place of the one with its name, with its labels, and its
    resourceVersion as the file's last number if it is higher; within ``RecordsFile.writing``."""
    kind, name = record["kind"], record_name(record)
    _remove(connection, kind, name)
    version = int(record["metadata"]["resourceVersion"])
    connection.execute("UPDATE meta SET value = max(value, ?) WHERE name = 'revision'", (version,))
    connection.execute("INSERT INTO records VALUES (?, ?, ?)", (kind, name, text))
    labels = record["metadata"].get("labels") or {}
    connection.executemany("INSERT INTO labels VALUES (?, ?, ?, ?)", [(kind, name, *label) for label in labels.items()])


def _remove(connection: sqlite3.Connection, kind: str, name: str) -> None:
    """Deletes the record and its labels, within ``RecordsFile.writing``; absent is fine."""
    connection.execute("DELETE FROM labels WHERE kind = ? AND name = ?", (kind, name))
    connection.execute("DELETE FROM records WHERE kind = ? AND name = ?", (kind, name))


_LEASE = "SELECT name, holder, epoch, acquired, renewed, seconds FROM leases"


def _put_lease(connection: sqlite3.Connection, lease: Lease) -> None:
    """Writes the lease in place of the one with its name, within ``RecordsFile.writing``; its instants are aware."""
    connection.execute(
        "INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?, ?, ?)",
        (lease.name, lease.holder, lease.epoch, write_time(lease.acquired), write_time(lease.renewed), lease.seconds),
    )


def copy_of(records: Records, now: datetime) -> bytes:
    """The content of a file of records, only to be read, that holds what ``records`` hold at ``now``, aware: their
    objects of all ``KINDS``, and leases that have a holder; no journal, and no secrets. Of a copy it is one more of the
    same instant. Kinds are read one after the other, so two may not fit together. FleetError as of ``Records.list`` and
    ``Records.leases``, ``invalid`` for a record that no reader of a file would take; ValueError for a resourceVersion
    that is no number."""
    origin = records.origin or CopyOrigin(place=records.place, at=now)
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        make_tables(connection, COPY_ID)
        told = canonical_json([origin.place, write_time(origin.at)])
        connection.execute("INSERT INTO meta VALUES ('copy', ?)", (told,))
        rows = JudgedRows(records.place)
        for kind in KINDS:
            for record in records.list(kind):
                _put(connection, record, rows.text_of(record))
        for lease in records.leases():
            _put_lease(connection, lease)
        return connection.serialize()
