# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Another process that works on the same records: ``worker.py <options as JSON> <what> [...]``."""

from __future__ import annotations

import json
import os
import signal
import sys
import typing as t
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / ".cache" / "collections"))

from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._store.open_records import open_records
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Record, Records

MC = "MemberCluster"


def found(records: Records) -> Record:
    record = records.get(MC, "one")
    assert record is not None
    return record


def count(records: Records, times: str) -> str:
    for _time in range(int(times)):
        while True:
            record = found(records)
            notes = record["metadata"]["annotations"]
            notes["count"] = str(int(notes["count"]) + 1)
            try:
                records.replace(record)
                break
            except FleetError as error:
                assert error.code == "conflict", error
    return "done"


def create(records: Records) -> str:
    spec = {"identity": {"kind": "User", "name": "fleet"}}
    records.create(
        {"apiVersion": "cluster.kubernetes-fleet.io/v1beta1", "kind": MC, "metadata": {"name": "one"}, "spec": spec}
    )
    return "done"


def acquire(records: Records, holder: str) -> str:
    return str(records.acquire("placement/web", holder, 60).epoch)


def die(records: Records) -> str:
    """Killed when all is written and nothing committed; on a hub, when the spec is written and the status is not."""
    record = found(records)
    _set_trap(records)
    spec = record["spec"] | {"heartbeatPeriodSeconds": 30}
    records.replace(record | {"spec": spec, "status": {"properties": {"cost": {"value": "9" * 100_000}}}})
    return "survived"


def _set_trap(records: t.Any) -> None:
    def last_words() -> None:
        print("dying", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

    if hasattr(records, "_file"):
        connection = records._file.connection
        connection.execute("PRAGMA cache_size = 1")  # so that pages reach the disk before the commit
        connection.set_trace_callback(lambda statement: last_words() if statement == "COMMIT" else None)
        return
    client = records.client
    put = client.put
    client.put = lambda path, *rest: last_words() if path.endswith("/status") else put(path, *rest)


def main(options: str, what: str, *arguments: str) -> None:
    records = open_records(json.loads(options), {}, lambda: datetime.now(UTC))
    try:
        print({"count": count, "create": create, "acquire": acquire, "die": die}[what](records, *arguments))
    except FleetError as error:
        print(error.code)
    finally:
        records.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
