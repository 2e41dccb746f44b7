# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Writing what members said of themselves into the records: the status of MemberClusters and FleetMembers, but for the
operation in flight."""

from __future__ import annotations

import typing as t

from ..._core.schema.codec import encode
from ..._store.records import Record, Records, replace_unless_moved
from .facts import FleetReading

# Below that many records, each is asked for by its name.
FEW = 20


def record_facts(records: Records, reading: FleetReading) -> None:
    """Records the status of each MemberCluster of the reading, and of each FleetMember that was read, but for the
    operation in flight, which stays as recorded. Facts that another run records at the same moment stand. Who has left
    the fleet since is passed over. FleetErrors of the records."""
    _write_statuses(records, "MemberCluster", {each.name: encode(each.status) for each in reading.snapshot.members})
    _write_statuses(records, "FleetMember", {name: encode(status) for name, status in reading.statuses.items()})


def _write_statuses(records: Records, kind: str, told: t.Mapping[str, Record]) -> None:
    """Writes each status into the record of its name, with a second try where something but the status has changed
    since it was read. Names without a record are passed over."""
    if len(told) < FEW:
        found = tuple(document for name in told if (document := records.get(kind, name)) is not None)
    else:
        found = records.list(kind)
    for document in found:
        name = document["metadata"]["name"]
        if name in told and not _write_status(records, document, told[name]):
            again = records.get(kind, name)  # its labels may have been changed meanwhile, or its facts
            if again is not None and again.get("status") == document.get("status"):
                _write_status(records, again, told[name])


def _write_status(records: Records, document: Record, status: Record) -> bool:
    """Whether the record has that status now, with its own operation in flight; False if it has moved since it was
    read."""
    before = document.get("status")
    operation = before.get("operation") if isinstance(before, dict) else None
    if operation:
        status = {**status, "operation": operation}
    return document.get("status") == status or replace_unless_moved(records, {**document, "status": status}) is not None
