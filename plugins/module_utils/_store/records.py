# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The contract of every place that records are kept in (objects, leases, journal, secrets); its errors (conflict, lease
held or lost); whether a write that ended without an answer was done. Code that reads or writes records knows this file
only."""

from __future__ import annotations

import types
import typing as t
from dataclasses import dataclass
from datetime import datetime, timedelta

from .._core.errors import FleetError
from .._core.values.duration import span_words
from .kinds import record_name

Record = dict[str, t.Any]
"""A Kubernetes-style object: apiVersion, kind, metadata, spec, status. Read from a store it is a copy."""

Clock = t.Callable[[], datetime]
"""Gives the present instant, aware, in UTC."""

NO_LABELS: t.Mapping[str, str] = types.MappingProxyType({})


@dataclass(frozen=True)
class Lease:
    """The right to write under ``name`` (``placement/web``), for ``seconds`` after ``renewed``. ``epoch`` counts how
    often it was taken; it never goes back while what keeps it is there. Instants are aware."""

    name: str
    holder: str
    epoch: int
    acquired: datetime
    renewed: datetime
    seconds: int

    def expired(self, now: datetime) -> bool:
        """Whether its ``seconds`` are over at ``now``, aware: another may take it then, on a hub 30 s later unless it
        has watched it. That nobody holds it does not count."""
        return now - self.renewed >= timedelta(seconds=self.seconds)


@dataclass(frozen=True)
class Event:
    """One line of the journal of the object ``kind``/``name``, written ``at`` an aware instant. ``type`` is Normal or
    Warning; ``by`` the controller that wrote it, empty for lines of this collection. ``reason`` is today's, where an
    older release of KubeFleet has written another."""

    kind: str
    name: str
    type: str
    reason: str
    message: str
    at: datetime
    by: str = ""


@dataclass(frozen=True, kw_only=True)
class CopyOrigin:
    """What a copy of records was made of: their ``Records.place``, and when, an aware instant."""

    place: str
    at: datetime

    @property
    def is_of_hub(self) -> bool:
        """Whether those are on a hub, and in no file: the path of a file is absolute."""
        return self.place.startswith("hub ")


class Records(t.Protocol):
    """Objects by kind and name, with the rules of an API server, and leases. Safe for threads and for processes. What
    lies in a namespace has the name ``namespace/name``; a lease is called ``kind/name`` or ``kind/namespace/name``.
    Records that are given are not changed.

    Every failure is a FleetError, but for TypeError for a value that JSON does not have. Besides the codes named below:
    ``unknown-kind``, ``invalid``, and what the place can meet (``records-...`` for a file, the codes of API errors for
    a hub). A read that failed raises; it never counts as empty. A write that raised has changed nothing, with the
    exceptions that ``HubRecords`` names.
    """

    durable: bool
    """Whether the records are still there after this run's machine is gone."""
    place: str
    """For messages: the file's path, or ``hub <server>``."""

    @property
    def origin(self) -> CopyOrigin | None:
        """What these records are a copy of, which is only read: each write is refused (``records-copy``). None for
        records themselves, and where there are none yet."""

    def get(self, kind: str, name: str) -> Record | None:
        """The record, or None if there is none, or none can have that name."""

    def list(self, kind: str, labels: t.Mapping[str, str] = NO_LABELS, namespace: str = "") -> tuple[Record, ...]:
        """Those that carry all of ``labels``, in the order of their names; with ``namespace``, only those in it. Code
        ``invalid`` for a namespace of a kind that has none."""

    def names(self, kind: str) -> frozenset[str]:
        """The names of all of a kind, damaged ones too: for a fleet of thousands."""

    def create(self, record: Record, lease: Lease | None = None) -> Record:
        """The record as kept, status included, with uid, generation 1, resourceVersion and creationTimestamp; what it
        says of these itself is ignored. Codes ``already-exists``, ``lease-lost``; a hub also has
        ``no-such-namespace``."""

    def replace(self, record: Record, lease: Lease | None = None) -> Record:
        """The record as kept. Written only if ``metadata.resourceVersion`` is the present one: else ``conflict``, as
        for a record that is not there, or has another uid; without a resourceVersion ``invalid``; ``lease-lost`` as of
        ``create``.

        ``generation`` rises when anything besides metadata and status changed. Without a change nothing is written. One
        that is being deleted goes with its last finalizer, and is given once more.
        """

    def delete(self, kind: str, name: str, resource_version: str = "", lease: Lease | None = None) -> None:
        """Deletes the record; absent is fine, whatever the version. While there are finalizers it stays, with a
        deletionTimestamp. With ``resource_version`` only that version is deleted: else ``conflict``. With ``lease``
        only while it is held: else ``lease-lost``."""

    def acquire(self, name: str, holder: str, seconds: int) -> Lease:
        """The lease under the next epoch, for ``seconds`` from now on: it was free, expired, or held under the same
        name ``holder``, which must be unique to one process, or to it and its restarts; whoever had it by that name has
        lost it.

        Else ``lease-held``; a hub waits 30 s more for a holder that it has not watched expire.
        """

    def renew(self, lease: Lease) -> Lease:
        """The lease for its seconds from now on. ``lease-lost`` if it was released or has another epoch; one that only
        expired, and that nobody took, is renewed. A lease that was given before stays good: epoch and holder count."""

    def release(self, lease: Lease) -> None:
        """Gives it up, and keeps its epoch. ``lease-lost`` as in ``renew``, and by a hub if others write it just
        then."""

    def leases(self) -> tuple[Lease, ...]:
        """Those that have a holder, expired ones too, in the order of their names."""

    def event(self, kind: str, name: str, type: str, reason: str, message: str, now: datetime) -> None:
        """Adds a line to the journal of an object, which need not be there, for people: nothing is decided from it.
        ``type`` is Normal or Warning, ``reason`` one word, ``now`` is aware. A hub cuts the message at 1 KiB, and keeps
        no line in a namespace that is being deleted."""

    def events(self, kind: str, name: str) -> tuple[Event, ...]:
        """The journal of one object, oldest first, with lines about an earlier one of the same kind and name. A hub
        forgets lines after its event TTL (by default 1 h)."""

    def secret(self, name: str) -> bytes:
        """What ``keep_secret`` kept under the name, or no bytes. Damage raises ``record-damaged``, by a file
        ``records-damaged``."""

    def keep_secret(self, name: str, value: bytes) -> bytes:
        """Keeps ``value``, which must not be empty, under ``name`` unless there is one already; gives the one that is
        kept, of several at once too. Errors as of ``secret``; a hub also has ``conflict``, where somebody deletes it
        just then."""

    def close(self) -> None:
        """Lets go of what is open; nothing is to be read or written afterwards. Leases that are held run out. May be
        called twice."""


def replace_unless_moved(records: Records, document: Record, lease: Lease | None = None) -> Record | None:
    """Writes ``document`` by ``Records.replace``, and gives the record as kept; None if somebody else has written or
    deleted it since it was read. Other FleetErrors of ``replace`` are raised."""
    try:
        return records.replace(document, lease)
    except FleetError as error:
        if error.code != "conflict":
            raise
        return None


_MOVING = ("resourceVersion", "generation", "managedFields")
_FIRST = ("uid", "creationTimestamp")


def result_of_unanswered_write(records: Records, wanted: Record, before: Record | None) -> Record | None:
    """What is there of a write of ``wanted`` that ended without an answer; ``before`` is the record that it was to
    replace, None if it was to create one. The record as it is now, if all of it was written, or all but the status,
    which is written last (so also where the status alone was to change, and nothing was written); else None, as where
    somebody else has written since. ``wanted`` has the form in which it is kept: the API version that is stored,
    defaults written out. FleetError as of ``Records.get``."""
    found = records.get(wanted["kind"], record_name(wanted))
    if found is None or (before is not None and found["metadata"].get("uid") != before["metadata"].get("uid")):
        return None
    statuses = (wanted.get("status"), None if before is None else before.get("status"))
    return found if found.get("status") in statuses and _decided(found) == _decided(wanted) else None


def _decided(record: Record) -> Record:
    """What a writer decides of a record, but for its status; empty parts of metadata do not count."""
    metadata = {key: each for key, each in record["metadata"].items() if key not in (*_MOVING, *_FIRST) and each}
    return {key: each for key, each in record.items() if key != "status"} | {"metadata": metadata}


def conflict(kind: str, name: str, place: str) -> FleetError:
    """The FleetError ``conflict``, given back, that ``replace`` and ``delete`` raise where the record moved. ``place``
    is ``Records.place``, for messages."""
    return FleetError(
        "conflict",
        f"{kind}/{name} was changed or deleted by someone else since it was read",
        place,
        "read it again and decide anew",
    )


def already_exists(kind: str, name: str, place: str) -> FleetError:
    """The FleetError ``already-exists``, given back, that ``create`` raises where there is such a record."""
    return FleetError("already-exists", f"{kind}/{name} exists already", place)


def lease_held(lease: Lease, now: datetime, place: str) -> FleetError:
    """The FleetError ``lease-held``, given back, that ``acquire`` raises, at ``now``."""
    left = timedelta(seconds=lease.seconds) - (now - lease.renewed)
    return FleetError(
        "lease-held",
        f"{lease.name} is being worked on by {lease.holder}, since {span_words(now - lease.acquired)}"
        f" (last sign of life {span_words(now - lease.renewed)} ago, free in {span_words(left)} without another)",
        place,
        "wait for it, or end it; a lease whose holder died becomes free by itself",
    )


def lease_lost(name: str, holder: str, now_held_by: str, place: str) -> FleetError:
    """The FleetError ``lease-lost``, given back, of a write by ``holder`` under a lease that another has by now;
    ``now_held_by`` is empty where nobody has it."""
    taken = f": {now_held_by} took it" if now_held_by and now_held_by != holder else ""
    return FleetError(
        "lease-lost",
        f"{holder} no longer holds {name}{taken}; its write was refused",
        place,
        "start again: a new run takes up what this one left",
    )
