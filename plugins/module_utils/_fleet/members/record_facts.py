# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Writing what members said of themselves into the records."""

from __future__ import annotations

import typing as t

from ..._core.schema.codec import encode
from ..._store.records import Records, replaced
from .facts import FleetReading


def record_facts(records: Records, reading: FleetReading) -> None:
    """The status of each MemberCluster and FleetMember; another run's newer facts are left to stand.

    The operation in flight on a member is not read from it and stays as it is.
    """
    for cluster in reading.snapshot.members:
        _status(records, "MemberCluster", cluster.name, encode(cluster.status))
    for name, status in reading.statuses.items():
        _status(records, "FleetMember", name, encode(status))


def _status(records: Records, kind: str, name: str, status: t.Mapping[str, t.Any]) -> None:
    document = records.get(kind, name)
    if document is None:
        return
    operation = (document.get("status") or {}).get("operation")
    if operation:
        status = {**status, "operation": operation}
    if document.get("status") == status:
        return
    replaced(records, {**document, "status": status})
