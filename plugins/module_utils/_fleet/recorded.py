# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Any object out of the records as its dataclass, judged by the rules for manifests or only decoded; refused where
others have damaged it (``record-damaged``); deleted as it was read."""

from __future__ import annotations

import typing as t

from .._core.errors import FleetError, Problem
from .._core.objects.kinds import KIND_OF
from .._core.objects.reading import judge, judge_status
from .._core.schema.codec import decode
from .._core.schema.fields import fields_of
from .._core.schema.rules import Found
from .._store.kinds import record_name
from .._store.records import Record, Records

DAMAGED = "record-damaged"
_TOLD = 5
# In a status this is what somebody else said, and no hole.
_WORDS = "placeholder-text"

T = t.TypeVar("T")


def recorded(cls: type[T], document: Record) -> T:
    """The object in a record of its kind, whose own ``apiVersion`` and ``kind`` do not count. FleetError
    ``record-damaged`` with its name and the first 5 problems if the rules for manifests refuse it or it cannot be
    decoded."""
    kind = KIND_OF[cls.__name__]
    metadata = document.get("metadata")
    name = record_name(document) if isinstance(metadata, dict) and isinstance(metadata.get("name"), str) else "?"
    where = f"{kind.kind}/{name}"
    try:
        found = _problems(cls, {**document, "apiVersion": kind.api_versions[0], "kind": kind.kind})
        if not found:
            return decode(cls, document)
    except RecursionError:
        found = [Found(DAMAGED, "", "it is nested too deeply")]
    except (ValueError, TypeError, AttributeError) as error:
        found = [Found(DAMAGED, "", f"it cannot be read: {error}")]
    more = f", and {len(found) - _TOLD} more" if len(found) > _TOLD else ""
    hint = f"mend it, or delete it{more}"
    raise FleetError.of(
        Problem(DAMAGED, f"{each.path}: {each.message}" if each.path else each.message, where, hint)
        for each in found[:_TOLD]
    )


def decoded(cls: type[T], document: Record) -> T:
    """The object as it is recorded, not judged by the rules for manifests. FleetError ``record-damaged`` as of
    ``recorded`` for a document of another structure."""
    try:
        return decode(cls, document)
    except (ValueError, TypeError, AttributeError, RecursionError):
        named = KIND_OF.get(str(document.get("kind")))
        return recorded(named.cls if named and issubclass(named.cls, cls) else cls, document)


def all_decoded(cls: type[T], documents: t.Iterable[Record]) -> dict[str, T]:
    """As ``decoded``, by name, ``namespace/name`` where there is a namespace, in the order given. FleetError
    ``record-damaged`` with the problems of all documents at once."""
    found: dict[str, T] = {}
    problems: list[Problem] = []
    for each in documents:
        try:
            found[record_name(each)] = decoded(cls, each)
        except FleetError as error:
            problems += error.problems
    if problems:
        raise FleetError.of(problems)
    return found


def delete_as_read(records: Records, kind: str, document: Record, force: bool) -> None:
    """Deletes the record of something that is carried on. With ``force`` whatever it is by now; else only as it was
    read, for a conductor may have begun something since: FleetError ``conflict``. One that is gone is fine. Others of
    the records."""
    name = record_name(document)
    try:
        records.delete(kind, name, "" if force else document["metadata"]["resourceVersion"])
    except FleetError as error:
        if error.code != "conflict":
            raise
        hint = "try again: it tells then what is in flight"
        raise FleetError("conflict", "somebody has just carried it on", f"{kind}/{name}", hint) from None


def _problems(cls: type, document: Record) -> list[Found]:
    """What the rules for manifests say against the document. Its status, which is a record and may be large, is judged
    beside the rest, and may hold texts that look like placeholders. What these rules fall over comes through, for
    ``recorded`` to tell."""
    status = next((each for each in fields_of(cls) if each.json == "status"), None)
    if status is None or document.get("status") is None:
        return list(judge(document).problems)
    found = [each for each in judge_status(status.shape.cls, document["status"]) if each.code != _WORDS]
    return [*judge({key: each for key, each in document.items() if key != "status"}).problems, *found]
