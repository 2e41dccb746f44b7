# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Windows and freezes recorded by themselves: what is written, what that moves, the evidence, and nothing else."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.api_groups import CLUSTER_API, FLEET_API
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.openings import UPGRADE
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.overview.maintenance import (
    MaintenanceReport,
    delete_maintenance,
    record_maintenance,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.sources import maintenance_manifests
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from ansible_collections.gitops.fleet.tests.data.maintenance_parts import (
    DAILY,
    catalogue,
    configuration,
    freeze,
    location,
    maintenance,
)
from ansible_collections.gitops.fleet.tests.data.manifest_parts import named

NOW = datetime(2026, 8, 17, 12, 0, tzinfo=UTC)  # a Monday
Document = dict[str, t.Any]


@pytest.fixture
def records(tmp_path: Path) -> t.Iterator[SqliteRecords]:
    found = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    yield found
    found.close()


def member(records: SqliteRecords, name: str, env: str = "prod", **spec: t.Any) -> None:
    metadata = {"name": name, "labels": {"env": env}}
    identity = {"identity": {"kind": "User", "name": "u"}}
    records.create({"apiVersion": CLUSTER_API, "kind": "MemberCluster", "metadata": metadata, "spec": identity})
    records.create({"apiVersion": FLEET_API, "kind": "FleetMember", "metadata": {"name": name},
                    "spec": {"connection": {"kubeconfig": "/none"}, **spec}})  # fmt: skip


def session(records: SqliteRecords) -> Session:
    return Session(records=records, hub=None, clock=lambda: NOW, holder="tests", say=print, environ={"USER": "anna"})


def recorded(
    records: SqliteRecords, *given: Document, write: bool = True, src: t.Sequence[str] = ()
) -> MaintenanceReport:
    return record_maintenance(session(records), maintenance_manifests(src, given, strict=False), write, src)


def entries(records: SqliteRecords) -> list[Document]:
    return [each["spec"] for each in records.list("AuditEntry")]


def sales(start: str = "2026-08-17", **fields: t.Any) -> Document:
    return named(maintenance(freezes=[freeze("sales", start=start, end="2026-08-20", **fields)]), name="sales")


def test_what_is_recorded_is_that_alone_and_there_is_evidence(records: SqliteRecords) -> None:
    for name, env in (("a", "prod"), ("b", "test")):
        member(records, name, env)
    found = recorded(records, sales(memberSelector={"byLabel": "env=prod"}))
    assert [each.as_dict()["change"] for each in found.changes] == ["comes"] and found.moved_members == ("a",)
    (before, _b), (after, _c) = found.before, found.after
    assert before.permissions[UPGRADE].open and not after.permissions[UPGRADE].open
    (stored,) = records.list("FleetMaintenance")
    assert stored["spec"]["freezes"][0]["name"] == "sales" and not records.list("UpdateRun")
    (entry,) = entries(records)
    assert entry["action"] == "MaintenanceRecorded" and entry["by"] == "anna" and entry["members"] == ["a"]
    assert entry["object"] == {"kind": "FleetMaintenance", "name": "sales"}
    assert entry["message"].startswith("freeze sales comes (days ")


def test_what_is_recorded_already_is_the_same_and_leaves_no_evidence(records: SqliteRecords) -> None:
    member(records, "a")
    recorded(records, sales())
    found = recorded(records, sales())
    assert (found.changes, found.same, found.moved_members) == ((), ("sales",), ()) and len(entries(records)) == 1


def test_nothing_is_written_where_it_is_only_told(records: SqliteRecords) -> None:
    member(records, "a")
    recorded(records, sales())
    found = recorded(records, sales("2026-08-19"), write=False)
    assert [part.words for part in found.changes[0].parts] == [
        "days 2026-08-17 to 2026-08-20 -> 2026-08-19 to 2026-08-20"
    ]
    assert found.moved_members == ("a",) and len(entries(records)) == 1
    assert records.get("FleetMaintenance", "sales")["spec"]["freezes"][0]["start"] == "2026-08-17"


def test_what_was_told_beforehand_holds_afterwards(records: SqliteRecords) -> None:
    """Intervals without a first day are counted from the day on which it is recorded."""
    member(records, "a", maintenance="standard")
    every_third = maintenance(configuration(schedule={"daily": {"intervalDays": 3}}, startTime="13:00"))
    told = recorded(records, every_third, write=False).after
    recorded(records, every_third)
    changed = maintenance(configuration(schedule={"daily": {"intervalDays": 3}}, startTime="13:00", durationHours=5))
    assert recorded(records, changed, write=False).before == told


def test_what_goes_is_deleted_and_whoever_names_it_is_told_of(records: SqliteRecords) -> None:
    member(records, "a", maintenance="standard")
    recorded(records, maintenance(configuration(schedule=DAILY)))
    told = delete_maintenance(session(records), ["standard", "nihgts"], write=False)
    assert records.get("FleetMaintenance", "standard") and told.same == ("nihgts",)
    found = delete_maintenance(session(records), ["standard"], write=True)
    assert found.after == told.after and not records.list("FleetMaintenance")
    assert found.after[0].permissions[UPGRADE].why == ("there is no FleetMaintenance standard",)
    assert entries(records)[-1]["action"] == "MaintenanceDeleted" and entries(records)[-1]["members"] == ["a"]
    assert delete_maintenance(session(records), ["standard"], write=True).changes == ()


def test_without_members_it_is_recorded_all_the_same(records: SqliteRecords) -> None:
    found = recorded(records, sales())
    assert found.changes and (found.before, found.after, found.findings) == ((), (), ())


def test_one_that_cannot_be_read_is_replaced_and_that_is_told(records: SqliteRecords) -> None:
    member(records, "a")
    records.create({**sales(), "spec": {"freezes": [{"name": "sales", "start": "long ago", "end": "never"}]}})
    found = recorded(records, sales())
    assert {each.code for each in found.findings} == {"record-damaged", "openings-unknown"}
    assert records.get("FleetMaintenance", "sales")["spec"]["freezes"][0]["start"] == "2026-08-17"
    assert delete_maintenance(session(records), ["sales"], write=True).findings == ()


def test_other_kinds_are_passed_over_in_files_and_all_problems_come_at_once(
    records: SqliteRecords, tmp_path: Path
) -> None:
    folder = tmp_path / "fleet"
    folder.mkdir()
    (folder / "a.yml").write_text(yaml.safe_dump_all([catalogue("nowhere", "no version"), sales()]))
    assert recorded(records, src=[str(folder)]).changes[0].name == "sales"
    for name in ("b", "c"):
        bad = named(maintenance(freezes=[freeze(start="2026-02-30"), freeze(timeZone="Moon")]), name=name)
        (folder / f"{name}.yml").write_text(yaml.safe_dump(bad))
    with pytest.raises(FleetError) as refused:
        recorded(records, src=[str(folder)])
    assert len({each.where for each in refused.value.problems}) >= 4, "of both files"
    with pytest.raises(FleetError) as refused:
        recorded(records, catalogue(location()))
    assert refused.value.code == "not-a-maintenance"
    with pytest.raises(FleetError) as refused:
        recorded(records)
    assert refused.value.code == "no-maintenance-given" and len(entries(records)) == 1
