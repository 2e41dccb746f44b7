# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Rows of the SQLite file of records as what they stand for (record, lease, event, number of the last change); one that
a fault of the disk, or a hand, has changed is refused (``records-damaged``)."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass, field

from .._core.errors import FleetError
from .._core.objects.kinds import KIND_OF
from .._core.schema.codec import decode
from .._core.values.canonical import strict_json
from .._core.values.instants import parse_time
from .kinds import namespace_and_name, record_name, stored_resource
from .object_rules import JUDGED_BY_READERS, form_fault, json_text
from .records import Event, Lease, Record

_NUMBER = re.compile(r"[0-9]{1,18}")
_LARGEST = 10**18 - 1  # of such a number, and of what is counted: one more is still a number of SQLite
WAY_OUT = "restore it from a backup, or move it away and rebuild the records from the members (recover)"


def damaged(what: str, where: str) -> FleetError:
    """The FleetError ``records-damaged``, given back, with the ways out."""
    return FleetError("records-damaged", what, where, WAY_OUT)


def stored_of(kind: str, name: t.Any, document: t.Any, where: str) -> Record:
    """The record of a row, as far as a store looks at it: its kind and name, its form as of ``form_fault``, and what a
    store has set. ``where`` is the path of the file. FleetError ``records-damaged``, with nothing of the ``document``;
    ``unknown-kind``."""
    try:
        record = strict_json(document) if isinstance(document, str) else None
        wrong = _fault(kind, name, record)
    except (ValueError, RecursionError):
        wrong = "it is no JSON"
    if wrong:
        raise _damaged_record(kind, name, wrong, where)
    return t.cast(Record, record)


def record_of(kind: str, name: t.Any, document: t.Any, where: str) -> Record:
    """The record of a row for a reader: as ``stored_of``, and every field has the form that its kind says, as far as it
    is relied on unread; kinds that each reader judges by itself are given as they are. FleetError as of
    ``stored_of``."""
    record = stored_of(kind, name, document, where)
    wrong = _fields_fault(kind, record)
    if wrong:
        raise _damaged_record(kind, name, wrong, where)
    return record


@dataclass(frozen=True)
class JudgedRows:
    """Rows as a reader gets them; a sound one is wholly judged once, and anew when its text is another: whoever carries
    a run on reads the same ones again and again. Of a sound text its hash is kept, by kind and name."""

    where: str
    _sound: dict[tuple[str, t.Any], int] = field(default_factory=dict)

    def record(self, kind: str, name: t.Any, document: t.Any) -> Record:
        """As ``record_of``, FleetError included, a text that was sound before judged by ``stored_of`` alone; a copy of
        its own for each caller."""
        text = hash(document)
        if self._sound.get((kind, name)) == text:
            return stored_of(kind, name, document, self.where)
        found = record_of(kind, name, document, self.where)
        self._sound[kind, name] = text
        return found

    def text_of(self, record: Record) -> str:
        """The text of a record that is to be kept. FleetError ``invalid`` for a form that ``record`` would refuse:
        nobody could read any of its kind."""
        kind, name, text = record["kind"], record_name(record), json_text(record)
        wrong = form_fault(record) or _fields_fault(kind, record)
        if wrong:
            raise FleetError("invalid", f"{kind}/{name} cannot be kept: {wrong}", self.where)
        self._sound[kind, name] = hash(text)
        return text


def _damaged_record(kind: str, name: t.Any, wrong: str, where: str) -> FleetError:
    """The FleetError ``records-damaged`` of a row, given back and not raised; a name that is no text is ``?``."""
    return damaged(f"the record {kind}/{name if isinstance(name, str) else '?':.253} is damaged: {wrong}", where)


def _fault(kind: str, name: t.Any, record: t.Any) -> str:
    """What is wrong with the record of a row, as far as a store looks at it; empty if nothing is. FleetError
    ``unknown-kind``."""
    if not isinstance(record, dict):
        return "it is no object"
    if (record.get("kind"), record.get("apiVersion")) != (kind, stored_resource(kind).api_version):
        return "it is of another kind or version"
    metadata = record.get("metadata")
    if not isinstance(metadata, dict) or record_name(record) != name or namespace_and_name(kind, name) is None:
        return "it has another name"
    return form_fault(record) or _store_fault(metadata)


def _store_fault(metadata: t.Mapping[str, t.Any]) -> str:
    """What of uid, generation and resourceVersion has another type than a store gives them; empty if nothing has."""
    uid, version, generation = (metadata.get(key) for key in ("uid", "resourceVersion", "generation"))
    fine = isinstance(version, str) and _NUMBER.fullmatch(version) is not None and isinstance(uid, str)
    # True is no number here.
    fine = fine and type(generation) is int  # pylint: disable=unidiomatic-typecheck
    return "" if fine else "its uid, generation or resourceVersion is none"


def _fields_fault(kind: str, record: Record) -> str:
    """What of the record's fields, ``form_fault`` aside, no reader can rely on; empty if nothing is."""
    if kind in JUDGED_BY_READERS:
        return ""
    try:
        decode(KIND_OF[kind].cls, record)
    except ValueError:
        return "a field has another form than the kind's"
    return _refused(kind, record)


def _refused(kind: str, record: t.Mapping[str, t.Any]) -> str:
    """What an API server would not let in, of a binding alone: that it names no cluster or no state; empty if it is
    fine."""
    if kind not in ("ClusterResourceBinding", "ResourceBinding"):
        return ""
    spec = record["spec"]
    fine = isinstance(spec.get("targetCluster"), str) and isinstance(spec.get("state"), str)
    return "" if fine else "it names no cluster or no state"


def lease_of(row: t.Sequence[t.Any], where: str) -> Lease:
    """The lease of a row: name, holder, epoch, instants at which it was taken and renewed, as text, seconds. FleetError
    ``records-damaged`` if one of these cannot be used, or the epoch has more than 18 digits. ``where`` is the path of
    the file."""
    name, holder, epoch, acquired, renewed, seconds = row
    try:
        lease = Lease(name, holder, epoch, parse_time(acquired), parse_time(renewed), seconds)
        lease.expired(lease.acquired)
    except (ValueError, TypeError, OverflowError):
        raise damaged(f"the lease {name!s:.253} is damaged", where) from None
    if not (isinstance(name, str) and isinstance(holder, str) and isinstance(epoch, int) and epoch <= _LARGEST):
        raise damaged(f"the lease {name!s:.253} is damaged", where)
    return lease


def event_of(row: t.Sequence[t.Any], where: str) -> Event:
    """The event of a row: kind and name of the object, type, reason, message, instant as text. FleetError
    ``records-damaged`` if the instant cannot be read; nothing else is judged."""
    kind, name, type_, reason, message, at = row
    try:
        return Event(kind, name, str(type_), str(reason), str(message), parse_time(at))
    except (ValueError, TypeError):
        raise damaged(f"an event of {kind}/{name} is damaged", where) from None


def number_of(row: t.Sequence[t.Any] | None, where: str) -> int:
    """The number that the whole file counts its changes by, out of its row; FleetError ``records-damaged`` without one,
    or if it is no whole number from 0 on that leaves room to count."""
    if row is None or not isinstance(row[0], int) or not 0 <= row[0] < _LARGEST:
        raise damaged("the number of the last change is damaged", where)
    return row[0]
