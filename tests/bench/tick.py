# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What an hourly tick costs while nothing is due: profiles are evaluated, and runs that could go on are looked for.

Records lie in a file; members were read, and are at what the channel comes to. No API server is asked.
"""

from __future__ import annotations

import tempfile
import time
import typing as t
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.api_groups import CLUSTER_API, FLEET_API
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.automatic.profiles import (
    evaluate_profiles,
    record_profiles,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.sources import update_manifests
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.update_run import recorded_runs
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Records
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
MEMBERS, RINGS, TURNS = 1_000, 10, 5
Document = dict[str, t.Any]
Row = tuple[str, float, str, str]


def bench_tick_1000() -> list[Row]:
    """The median CPU time of some ticks after the first, which makes the runs."""
    with tempfile.TemporaryDirectory() as folder:
        clock = [NOW]
        records = SqliteRecords(Path(folder) / "records.db", lambda: clock[0])
        try:
            _laid(records, "v1.34.8")
            _tick(records, clock[0], [*_manifests("1.35.4")])
            _moved(records, "v1.35.4")
            taken = []
            for turn in range(TURNS):
                clock[0] = NOW + timedelta(hours=turn + 1)
                begun = time.process_time()
                changed = _tick(records, clock[0], [*_manifests("1.35.4")])
                taken.append(time.process_time() - begun)
                assert not changed, "something was due"
        finally:
            records.close()
    setup = f"{MEMBERS:,} members, 2 profiles in {RINGS} groups, a run of each recorded; nothing due, recorded facts"
    return [("tick_1000", sorted(taken)[TURNS // 2], "CPU-s", setup)]


def _tick(records: Records, now: datetime, documents: list[Document]) -> bool:
    session = Session(records=records, holder="bench", clock=lambda: now)
    given = update_manifests([], documents, strict=False)
    kept = record_profiles(records, given, write=True)
    report = evaluate_profiles(session, given, (), write=True, start=True)
    recorded_runs(records, ())
    return kept or report.changed


def _manifests(version: str) -> t.Iterator[Document]:
    yield _manifest("ReleaseCatalog", "own", locations=[{"name": "*", "versions": [{"version": version}]}])
    for name, groups in (("first", range(RINGS // 2)), ("second", range(RINGS // 2, RINGS))):
        stages = [{"name": name, "groups": [{"name": f"group-{number}"} for number in groups]}]
        yield _manifest("UpdateStrategy", name, strategy={"stages": stages})
        yield _manifest("AutoUpgradeProfile", name, channel="Rapid", updateStrategyId=name)


def _manifest(kind: str, name: str, **spec: t.Any) -> Document:
    return {"apiVersion": FLEET_API, "kind": kind, "metadata": {"name": name}, "spec": spec}


def _laid(records: Records, version: str) -> None:
    for number in range(MEMBERS):
        name = f"member-{number:04}"
        identity = {"identity": {"kind": "User", "name": "u"}}
        records.create(
            {"apiVersion": CLUSTER_API, "kind": "MemberCluster", "metadata": {"name": name}, "spec": identity}
        )
        spec = {"group": f"group-{number % RINGS}", "driver": "local", "connection": {"kubeconfig": "/none"}}
        status = {"version": version, "lastRead": "2026-01-15T11:00:00Z"}
        records.create({**_manifest("FleetMember", name, **spec), "status": status})


def _moved(records: Records, version: str) -> None:
    """As if the runs had been carried out."""
    for each in records.list("FleetMember"):
        records.replace({**each, "status": {**each["status"], "version": version}})
