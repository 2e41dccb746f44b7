# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a schedule takes up besides update runs: begun and not ended, and rotations by age."""

from __future__ import annotations

import contextlib
import sqlite3
import typing as t
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.api_groups import FLEET_API, PLACEMENT_API
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.automatic.waiting import work_to_carry_on
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

Document = dict[str, t.Any]
WAITS: Document = {"nodes": [{"name": "east/n1", "pool": "east/blue"}]}


@pytest.fixture
def records(tmp_path: Path) -> t.Iterator[SqliteRecords]:
    made = SqliteRecords(tmp_path / "records.db", lambda: datetime.now(UTC))
    yield made
    made.close()


def staged(records: SqliteRecords, name: str, state: str, status: Document | None = None) -> None:
    namespace, _slash, short = name.rpartition("/")
    kind = "StagedUpdateRun" if namespace else "ClusterStagedUpdateRun"
    metadata = {"name": short, **({"namespace": namespace} if namespace else {})}
    spec = {"placementName": "web", "stagedRolloutStrategyName": "rings", "state": state}
    made = records.create({"apiVersion": PLACEMENT_API, "kind": kind, "metadata": metadata, "spec": spec})
    if status is not None:
        records.replace({**made, "status": status})


def rotation(records: SqliteRecords, name: str, due: Document | None = None, **status: t.Any) -> None:
    spec = {"due": due} if due else {}
    body = {"apiVersion": FLEET_API, "kind": "NodeRotation", "metadata": {"name": name}, "spec": spec}
    made = records.create(body)
    if status:
        records.replace({**made, "status": status})


def ended(reason: str) -> Document:
    at = {"lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1, "message": ""}
    return {"conditions": [{"type": "Succeeded", "status": "True", "reason": reason, **at}]}


def test_staged_runs_that_were_started_and_have_not_ended(records: SqliteRecords):
    staged(records, "fresh", "Initialize")
    staged(records, "started", "Run")
    staged(records, "shop/till", "Run")
    staged(records, "over", "Run", ended("StagedUpdateRunSucceeded"))
    staged(records, "stopped", "Stop")
    found = work_to_carry_on(records)
    assert (found.staged, found.rotations, found.unread) == (("shop/till", "started"), (), ())


def test_a_run_that_has_ended_is_not_taken_up_for_an_edit(records: SqliteRecords):
    staged(records, "over", "Stop", ended("StagedUpdateRunSucceeded"))
    kept = records.get("ClusterStagedUpdateRun", "over")
    assert kept is not None
    edited = records.replace({**kept, "spec": {**kept["spec"], "state": "Run"}})
    assert edited["metadata"]["generation"] == 2
    assert work_to_carry_on(records).staged == ()


def test_rotations_that_were_begun_and_have_not_ended(records: SqliteRecords):
    rotation(records, "fresh")
    rotation(records, "begun", phase="Waiting", origin="manual by ann", state=WAITS)
    rotation(records, "of-a-run", phase="Waiting", origin="UpdateRun release-7", state=WAITS)
    rotation(records, "over", phase="Done", origin="manual by ann", state=over(records))
    assert work_to_carry_on(records).rotations == ("begun",)


@pytest.mark.parametrize(
    "due, status, again",
    [
        ({"olderThan": "720h"}, {}, True),
        ({"olderThan": "720h"}, {"stopRequested": True}, False),
        ({"olderThan": "720h"}, {"failed": 1}, False),
        ({"olderThan": "720h", "versionOtherThan": "v1.36.3"}, {}, False),
        ({"imageOtherThan": "Linux-2"}, {}, False),
    ],
)
def test_only_age_makes_nodes_due_again(records: SqliteRecords, due: Document, status: Document, again: bool):
    rotation(records, "r", due, phase="Done", origin="manual by ann", state=over(records), **status)
    assert work_to_carry_on(records).rotations == (("r",) if again else ())


def test_a_record_that_cannot_be_read_is_taken_up_so_that_it_is_told(records: SqliteRecords):
    rotation(records, "damaged", phase="Waiting", state={"nodes": "none"})
    assert work_to_carry_on(records).rotations == ("damaged",)


def test_kinds_that_may_not_be_listed_are_named():
    class Few:
        def list(self, kind: str) -> list[Document]:
            raise FleetError("forbidden", f"{kind} may not be listed")

    assert work_to_carry_on(t.cast(SqliteRecords, Few())).unread == (
        *("ClusterStagedUpdateRun", "StagedUpdateRun", "NodeRotation"),
        *("ClusterResourcePlacement", "ResourcePlacement"),
    )


def placed(records: SqliteRecords, name: str, *conditions: Document, **more: t.Any) -> None:
    """A placement as an apply has recorded it."""
    metadata = {"name": name, **more.pop("metadata", {})}
    spec = {"resourceSelectors": [{"group": "", "version": "v1", "kind": "Namespace", "name": name}], **more}
    body = {"apiVersion": PLACEMENT_API, "kind": "ClusterResourcePlacement", "metadata": metadata, "spec": spec}
    made = records.create(body)
    if conditions:
        records.replace({**made, "status": {"conditions": list(conditions)}})


def said(kind: str, status: str, message: str = "") -> Document:
    at = {"lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1, "message": message}
    return {"type": f"ClusterResourcePlacement{kind}", "status": status, "reason": "Known", **at}


def test_placements_that_were_applied_and_are_not_through_are_named_with_why_and_since_when(records: SqliteRecords):
    """They are not carried on without their manifests: whose content, and what was approved, these alone tell."""
    late = said("Available", "False", "resources are available on 1 of 2 clusters")
    marked = {"annotations": {"gitops.fleet/source": "files:fleet/placements,more"}}
    placed(records, "web", said("Scheduled", "True"), said("Applied", "True"), late, metadata=marked)
    placed(records, "in-files-alone")
    placed(records, "through", said("Scheduled", "True"), said("Available", "True"))
    placed(records, "fewer-than-asked-for", said("Scheduled", "False"), said("Available", "True"))
    placed(records, "staged", said("RolloutStarted", "False"), strategy={"type": "External"})
    found = work_to_carry_on(records)
    (web,) = found.placements
    assert web.src == ("fleet/placements", "more") and not web.deleting
    since = "2026-01-01T00:00:00Z"
    told = {"name": "web", "why": "resources are available on 1 of 2 clusters", "since": since}
    assert found.as_dict() == {"staged_runs": [], "rotations": [], "unread": [], "placements": [told]}


def test_a_placement_that_is_being_deleted_is_named(records: SqliteRecords):
    placed(records, "leaving", said("Available", "True"), metadata={"finalizers": ["gitops.fleet/cleanup"]})
    records.delete("ClusterResourcePlacement", "leaving")
    (leaving,) = work_to_carry_on(records).placements
    assert leaving.deleting and leaving.since is not None and leaving.why.startswith("it is being deleted")


def over(_records: SqliteRecords) -> Document:
    return {"nodes": [{**WAITS["nodes"][0], "phase": "Rotated"}]}


def test_placements_that_cannot_be_read_are_told_and_keep_no_run_from_going_on(records: SqliteRecords):
    staged(records, "started", "Run")
    placed(records, "damaged")
    with contextlib.closing(sqlite3.connect(records.place)) as file, file:
        changed = """replace(document, '"spec":', '"status":{"conditions":"none"},"spec":')"""
        file.execute(f"UPDATE records SET document = {changed} WHERE name = 'damaged'")
    found = work_to_carry_on(records)
    assert (found.staged, found.placements, [each.code for each in found.problems]) == (
        ("started",),
        (),
        ["records-damaged"],
    )


def test_a_placement_that_cannot_be_read_hides_no_other(records: SqliteRecords):
    """A hub with other definitions than ours has let it in."""
    for name in ("another", "damaged", "web"):
        placed(records, name, said("Available", "False", "not yet"))

    class Hub:
        def list(self, kind: str) -> list[Document]:
            found = records.list(kind)
            return [{**each, "spec": "none"} if each["metadata"]["name"] == "damaged" else each for each in found]

    found = work_to_carry_on(t.cast(SqliteRecords, Hub()))
    assert [each.name for each in found.placements] == ["another", "web"]
    assert [(each.code, each.where) for each in found.problems] == [
        ("record-damaged", "ClusterResourcePlacement/damaged")
    ]
