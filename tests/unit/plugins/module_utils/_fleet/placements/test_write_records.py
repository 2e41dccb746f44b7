# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ansible_collections.gitops.fleet.plugins.module_utils._fleet.leases import acquire
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.plan import Source
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.recorded import (
    REVISION,
    SOURCE,
    recorded_placement,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.write_records import Writer
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan.made import NOW, facts, plan, wanted


def test_marks_of_a_record_that_was_read_earlier_do_not_undo_those_of_another_run(tmp_path: Path) -> None:
    """The revision that was applied last is what ``allow_older`` compares with."""
    records = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    marked = {SOURCE: "files:fleet", REVISION: "newer", "team": "a"}
    api, kind = "placement.kubernetes-fleet.io/v1beta1", "ClusterResourcePlacement"
    records.create({"apiVersion": api, "kind": kind, "metadata": {"name": "web", "annotations": marked}, "spec": {}})
    wish = wanted()
    read = {SOURCE: "files:others", REVISION: "older", "team": "b"}
    earlier = replace(wish.placement, metadata=replace(wish.placement.metadata, annotations=read))
    writer = Writer(
        records=records,
        lease=acquire(records, "placement/web", "me", 60),
        plan=plan(replace(wish, placement=earlier), facts("a")),
        recorded=recorded_placement(records, "web"),
        source=Source(),
        key=b"",
        now=NOW,
    )
    assert writer.spec()["metadata"]["annotations"] == {**marked, "team": "b"}
    sourced = replace(writer, recorded=recorded_placement(records, "web"), source=Source(name="files:x", revision="c"))
    assert sourced.spec()["metadata"]["annotations"] == {SOURCE: "files:x", REVISION: "c", "team": "b"}
    records.close()
