# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What an API server does to an object's metadata (uid, generation, resourceVersion, finalizers) on create, update and
delete, for records in a file, and for what a hub's update is to become (``conflict``, ``invalid``); the object as JSON
text.

Rules: Kubernetes API conventions (metadata, generation, finalizers) and ``registry/rest`` of the API server.
"""

from __future__ import annotations

import json
import typing as t
from dataclasses import fields
from datetime import datetime

from .._core.errors import FleetError
from .._core.objects.identity import SET_BY_SERVERS
from .._core.objects.kinds import KIND_OF
from .._core.values.canonical import is_same
from .._core.values.instants import SECONDS, write_time
from .kinds import namespace_and_name, record_name, stored_version
from .records import Record, conflict

# Whoever reads these judges each by the rules for manifests: a run that is damaged stops no other one.
JUDGED_BY_READERS = (
    *("UpdateStrategy", "UpdateRun", "Gate"),
    *("FleetMaintenance", "ReleaseCatalog", "AutoUpgradeProfile", "NodeRotation", "AuditEntry"),
)
_ELIDED = ("labels", "annotations", "finalizers", "ownerReferences")


def proposed(record: Record) -> Record:
    """A copy of a record to be created, without what the store sets, under the API version that is stored. FleetError
    ``invalid`` for a name or value that cannot be kept and as of ``form_fault``, ``unknown-kind``; TypeError as of
    ``json_text``."""
    fresh = _copy(record)
    if namespace_and_name(fresh["kind"], record_name(fresh)) is None:
        raise FleetError(
            "invalid",
            f"{record_name(fresh)!r} cannot be the name of a {fresh['kind']}",
            "metadata.name",
            "lower-case letters, digits, - and ., at most 253 characters; of a namespaced kind with its namespace",
        )
    wrong = form_fault(fresh)
    if wrong:
        raise FleetError("invalid", f"{fresh['kind']}/{record_name(fresh)} cannot be kept: {wrong}")
    return fresh | {"metadata": _given(fresh)}


def form_fault(record: Record) -> str:
    """In words, what of a record to be kept has a form that readers cannot rely on: a spec that is missing or no map
    (not looked at for kinds without one and those in ``JUDGED_BY_READERS``), labels that are no map of texts,
    finalizers that are no list of texts, unless these are empty; empty if nothing has. The record has metadata and is
    of one of our kinds."""
    metadata = record["metadata"]
    labels, ends = metadata.get("labels") or {}, metadata.get("finalizers") or []
    kind = record["kind"]
    if kind not in JUDGED_BY_READERS and _has_spec(kind) and not isinstance(record.get("spec"), dict):
        return "it has no spec"
    fine = isinstance(labels, dict) and isinstance(ends, list)
    fine = fine and all(isinstance(each, str) for each in (*labels.values(), *ends))
    return "" if fine else "a label or a finalizer is no text"


def _has_spec(kind: str) -> bool:
    """Whether objects of the kind, which is one of ours, have a spec; ClusterResourcePlacementStatus has none."""
    return any(each.name == "spec" for each in fields(KIND_OF[kind].cls))


def created(record: Record, uid: str, version: str, now: datetime) -> Record:
    """The record as it is once it is made at ``now``, aware, with all that a server sets; ``version`` is its
    resourceVersion. Errors as of ``proposed``."""
    fresh = proposed(record)
    own = {"uid": uid, "resourceVersion": version, "generation": 1, "creationTimestamp": meta_time(now)}
    return fresh | {"metadata": fresh["metadata"] | own}


def replaced(stored: Record, record: Record, version: str, place: str) -> Record:
    """``stored``, with all that a store sets, after an update by ``record``, as an API server does it, with the
    resourceVersion ``version``; with its old one if nothing changed. ``generation`` rises if anything but metadata and
    status did. ``place`` is for messages. That ``record`` is of the same kind and name is not checked, nor its form
    (``form_fault``).

    FleetError ``conflict`` if ``record`` is not from this version, or has another uid; ``invalid`` without a
    resourceVersion, for a value that JSON has no form for, or for a finalizer that is added while the record is being
    deleted; ``unknown-kind``. TypeError as of ``json_text``.
    """
    fresh, old = _copy(record), stored["metadata"]
    claimed = fresh["metadata"]
    if not claimed.get("resourceVersion"):
        raise FleetError(
            "invalid", f"{fresh['kind']}/{record_name(stored)} cannot be replaced without its resourceVersion", place
        )
    if claimed["resourceVersion"] != old["resourceVersion"] or claimed.get("uid", old["uid"]) != old["uid"]:
        raise conflict(fresh["kind"], record_name(stored), place)
    own = {key: old[key] for key in SET_BY_SERVERS if key in old}
    fresh["metadata"] = _given(fresh) | own
    added = set(finalizers(fresh)) - set(finalizers(stored))
    if "deletionTimestamp" in old and added:
        raise FleetError(
            "invalid", f"{fresh['kind']}/{record_name(stored)} is being deleted: no finalizer can be added", place
        )
    if not is_same(_content(fresh), _content(stored)):
        fresh["metadata"]["generation"] += 1
    if not is_same(fresh, stored):
        fresh["metadata"]["resourceVersion"] = version
    return fresh


def marked_deleted(stored: Record, version: str, now: datetime) -> Record:
    """``stored``, which has finalizers left, after its deletion was asked for at ``now``, aware, with the
    resourceVersion ``version`` and the next generation; unchanged if that was so before."""
    old = stored["metadata"]
    if "deletionTimestamp" in old:
        return stored
    new = {"deletionTimestamp": meta_time(now), "generation": old["generation"] + 1, "resourceVersion": version}
    return stored | {"metadata": old | new}


def finalizers(record: Record) -> tuple[str, ...]:
    """``metadata.finalizers``, empty where there are none; KeyError for a record without metadata."""
    return tuple(record["metadata"].get("finalizers") or ())


def is_gone(record: Record) -> bool:
    """Whether an update of the record was its end: deletion was asked for, and no finalizer is left."""
    return "deletionTimestamp" in record["metadata"] and not finalizers(record)


def meta_time(now: datetime) -> str:
    """An aware instant as ``metav1.Time``: RFC 3339 in UTC, whole seconds."""
    return write_time(now, SECONDS)


def json_text(record: Record) -> str:
    """The record as JSON text in one line. FleetError ``invalid`` for NaN, infinite numbers and halves of surrogate
    pairs; TypeError for a value of a type that JSON does not have, such as a date."""
    try:
        text = json.dumps(record, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        text.encode()
    except ValueError:
        raise FleetError(
            "invalid", f"{record.get('kind')}/{record_name(record)} holds a number or a text that JSON has no form for"
        ) from None
    return text


def _copy(record: Record) -> Record:
    """A copy of its own, under the API version that is stored and with metadata. Errors as of ``stored_version``
    and ``json_text``."""
    version = stored_version(record)
    fresh: Record = json.loads(json_text(record))
    return fresh | {"apiVersion": version, "metadata": fresh.get("metadata") or {}}


def _given(record: Record) -> dict[str, t.Any]:
    """Metadata that the writer decides; as by the API server, empty labels, annotations, finalizers and owners are left
    out."""
    return {k: v for k, v in record["metadata"].items() if k not in SET_BY_SERVERS and (v or k not in _ELIDED)}


def _content(record: Record) -> Record:
    """The record without metadata and status: what ``generation`` counts changes of."""
    return {key: value for key, value in record.items() if key not in ("metadata", "status")}
