# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The file ``nodes.json``: what members held at one instant, written and read again, so that decisions about nodes can
be made without them (``nodes-invalid``, ``nodes-too-new``)."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from ...cluster.daemon_sets import daemon_pods
from ...cluster.facts.maintenance import kept_maintenance
from ...cluster.pod import Pod
from ...errors import FleetError, Problem
from ...foreign import in_line
from ...schema.codec import encode
from ...values.clock_skew import is_ahead
from ...values.instants import SECONDS, parse_time, write_time
from ...values.parts import is_whole_number
from .member_nodes import (
    DAEMON_SET,
    KINDS,
    POD,
    Document,
    MemberNodes,
    Object,
    made_of,
    member_of,
)

SCHEMA = 1


@dataclass(frozen=True, kw_only=True)
class NodesSnapshot:
    """``members`` are those that were read at ``captured_at``, an aware instant; ``failed`` says by name why others
    could not be. ``documents`` are the manifests as of ``kept``, by member and kind, for a file."""

    captured_at: datetime
    members: tuple[MemberNodes, ...]
    failed: Mapping[str, Problem] = field(default_factory=dict, hash=False)
    documents: Mapping[str, Mapping[str, t.Sequence[Document]]] = field(default_factory=dict, hash=False)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Why members, and then kinds on others, could not be read."""
        parts = (each for member in self.members for each in member.missing.values())
        return (*self.failed.values(), *parts)


def write_nodes(snapshot: NodesSnapshot) -> Document:
    """The snapshot as JSON data: members by name, each with its documents (KeyError without), and why others failed, by
    name; the instant cut to whole seconds."""
    rows = [_member(each, snapshot.documents[each.name]) for each in sorted(snapshot.members, key=_name)]
    failed = {name: {"code": each.code, "message": each.message} for name, each in sorted(snapshot.failed.items())}
    return {
        "schema": SCHEMA,
        "kind": "nodes",
        "capturedAt": write_time(snapshot.captured_at, SECONDS),
        "members": rows,
        "failed": failed,
    }


def read_nodes(document: t.Any, where: str, now: datetime) -> NodesSnapshot:
    """The snapshot that ``write_nodes`` wrote, without ``documents``; unknown kinds of objects are passed over.
    FleetError ``nodes-invalid``, also for a member that stands there twice and for a snapshot captured after ``now``
    (``is_ahead``), ``nodes-too-new``, those of ``made_of``, ``daemon_pods`` and ``kept_maintenance``, all at
    ``where``."""
    if (
        not isinstance(document, Mapping)
        or document.get("kind") != "nodes"
        or not is_whole_number(document.get("schema"), 1)
    ):
        hint = "write one with the verb gitops.fleet.node_disruption_budget_info and its option dest"
        raise FleetError("nodes-invalid", "this is no snapshot of nodes", where, hint)
    if document["schema"] > SCHEMA:
        text = f"the snapshot has schema {document['schema']}, this version reads up to {SCHEMA}"
        raise FleetError("nodes-too-new", text, where, "use the newer collection, or write the snapshot again")
    try:
        found = NodesSnapshot(
            captured_at=parse_time(document["capturedAt"]),
            members=tuple(_read_member(each) for each in document["members"]),
            failed={
                str(name): Problem(in_line(str(each["code"])), str(each["message"]), str(name))
                for name, each in (document.get("failed") or {}).items()
            },
        )
    except FleetError as error:
        raise FleetError.of(
            Problem(each.code, each.message, f"{where} {each.where}") for each in error.problems
        ) from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FleetError("nodes-invalid", f"the snapshot cannot be read: {error}", where) from None
    if is_ahead(found.captured_at, now):
        hint = "set the clocks right, then write the snapshot again"
        raise FleetError("nodes-invalid", "capturedAt is ahead of this machine's clock", where, hint)
    names = [each.name for each in found.members]
    if len(set(names)) < len(names):
        raise FleetError("nodes-invalid", "a member stands there twice", where, "write the snapshot again")
    return found


def _name(member: MemberNodes) -> str:
    return member.name


def _member(member: MemberNodes, documents: Mapping[str, t.Sequence[Document]]) -> Document:
    """A member as a row of the file: kinds without documents are left out, as are ``ownMaintenance`` and ``missing``
    where there is none; ``labels`` are null where they are not known."""
    row: Document = {
        "name": member.name,
        "labels": dict(member.labels) if member.labels_known else None,
        "maintenance": member.maintenance,
        "karpenter": member.karpenter,
        "podsRead": member.pods_read,
        "daemonSetsRead": member.daemons is not None,
        "objects": {kind: list(documents.get(kind, ())) for kind in KINDS if documents.get(kind)},
    }
    if member.own_maintenance:
        row["ownMaintenance"] = encode(member.own_maintenance)
    if member.missing:
        row["missing"] = {kind: {"code": why.code, "message": why.message} for kind, why in member.missing.items()}
    return row


def _read_member(row: Mapping[str, t.Any]) -> MemberNodes:
    """The member of a row of the file. FleetErrors as of ``made_of``, ``daemon_pods`` and
    ``kept_maintenance``; KeyError, TypeError, ValueError or AttributeError for another shape."""
    name, objects = str(row["name"]), row["objects"]
    if not isinstance(objects, Mapping):
        raise ValueError(f"objects of {name} is no mapping")
    found: dict[str, list[Object]] = {
        kind: [made_of(kind, each) for each in objects.get(kind) or ()] for kind in KINDS if kind in objects
    }
    missing = {
        str(kind): Problem(in_line(str(why["code"])), str(why["message"]), name)
        for kind, why in (row.get("missing") or {}).items()
    }
    return member_of(
        name,
        found,
        labels={str(key): str(value) for key, value in (row.get("labels") or {}).items()},
        labels_known=row.get("labels", {}) is not None,
        maintenance=str(row.get("maintenance") or ""),
        own_maintenance=kept_maintenance(own, f"{name} ownMaintenance") if (own := row.get("ownMaintenance")) else None,
        karpenter=row.get("karpenter") is True,
        pods_read=row.get("podsRead") is not False,
        daemons=_daemons(objects) if row.get("daemonSetsRead") is True else None,
        missing=missing,
    )


def _daemons(objects: Mapping[str, t.Any]) -> tuple[Pod, ...]:
    """One pod of each DaemonSet of a row, from its DaemonSets and pods. FleetError and ValueError as of
    ``daemon_pods``."""
    return daemon_pods(objects.get(DAEMON_SET) or (), objects.get(POD) or ())
