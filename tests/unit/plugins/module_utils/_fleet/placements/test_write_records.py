# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import typing as t
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.snapshot_labels import LATEST
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.document import Rendered
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.sealing import object_hash
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.leases import acquire
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.history.kept import kept_snapshots
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.plan import Source
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.recorded import (
    REVISION,
    SOURCE,
    recorded_placement,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.write_records import Writer
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan.made import (
    CONFIG,
    NOW,
    OBJECTS,
    Manifest,
    facts,
    pick_n,
    plan,
    rendered,
    wanted,
)


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
    assert writer.write_spec()["metadata"]["annotations"] == {**marked, "team": "b"}
    sourced = replace(writer, recorded=recorded_placement(records, "web"), source=Source(name="files:x", revision="c"))
    assert sourced.write_spec()["metadata"]["annotations"] == {SOURCE: "files:x", REVISION: "c", "team": "b"}
    strange = replace(
        writer, recorded=recorded_placement(records, "web"), source=Source(name="files:x", folder="x", revision="")
    )
    same = replace(strange, plan=replace(writer.plan, resource_snapshot_new=False))
    assert same.write_spec()["metadata"]["annotations"][REVISION] == "c"
    assert strange.write_spec()["metadata"]["annotations"] == {SOURCE: "files:x", REVISION: "", "team": "b"}
    records.close()


MASTER = "web-0-snapshot"


class Killed(BaseException):
    """The end of a process, which nothing handles."""


class FallibleRecords(SqliteRecords):
    """Records whose writer is killed right before the write that ``dies`` says."""

    dies: t.Callable[[Manifest], bool] | None = None

    def create(self, document: Manifest, lease: t.Any = None) -> Manifest:
        self._lives(document)
        return super().create(document, lease)

    def replace(self, document: Manifest, lease: t.Any = None) -> Manifest:
        self._lives(document)
        return super().replace(document, lease)

    def _lives(self, document: Manifest) -> None:
        if self.dies and self.dies(document):
            raise Killed


@pytest.fixture
def records(tmp_path: Path) -> t.Iterator[FallibleRecords]:
    found = FallibleRecords(tmp_path / "records.db", lambda: NOW)
    yield found
    found.close()


def applied(
    records: FallibleRecords,
    objects: tuple[Rendered, ...],
    policy: Manifest | None = None,
    dies: t.Callable[[Manifest], bool] | None = None,
) -> None:
    """The records of an apply, written until it is killed."""
    recorded = recorded_placement(records, "web")
    writer = Writer(
        records=records,
        lease=acquire(records, "placement/web", "me", 60),
        plan=plan(wanted(policy, objects), facts("a"), recorded.known),
        recorded=recorded,
        source=Source(),
        key=b"k",
        now=NOW,
    )
    generation = writer.write_spec()["metadata"]["generation"]
    records.dies = dies
    try:
        writer.write_snapshots(generation)
    except Killed:
        assert dies
    records.dies = None


def takes_a_mark_off(document: Manifest) -> bool:
    return document["metadata"]["labels"].get(LATEST) == "false"


def latest(records: FallibleRecords, kind: str) -> list[str]:
    return [each["metadata"]["name"] for each in records.list(kind) if each["metadata"]["labels"].get(LATEST) == "true"]


def test_of_two_latest_snapshots_that_a_killed_apply_leaves_the_next_one_takes_the_mark_off_the_older(
    records: FallibleRecords,
) -> None:
    """Even if it finds nothing new."""
    newer = (*OBJECTS[:1], rendered(CONFIG, "2"))
    applied(records, OBJECTS)
    applied(records, newer, dies=takes_a_mark_off)
    assert latest(records, "ClusterResourceSnapshot") == ["web-0-snapshot", "web-1-snapshot"]
    applied(records, newer)
    assert latest(records, "ClusterResourceSnapshot") == ["web-1-snapshot"]
    applied(records, newer, pick_n(1), dies=takes_a_mark_off)
    assert latest(records, "ClusterSchedulingPolicySnapshot") == ["web-0", "web-1"]
    applied(records, newer, pick_n(1))
    assert latest(records, "ClusterSchedulingPolicySnapshot") == ["web-1"]


def big(name: str, value: str) -> Rendered:
    """An object of which a part of a snapshot holds two."""
    manifest = {**rendered(replace(CONFIG, name=name)).manifest, "data": {"value": value * 300_000}}
    return Rendered(id=replace(CONFIG, name=name), manifest=manifest, hash=object_hash(manifest))


@pytest.mark.parametrize("names", [("a", "b"), ("a", "b", "c"), ("a", "b", "c", "d", "e")])
def test_parts_that_a_killed_apply_leaves_are_no_part_of_the_next_content(
    records: FallibleRecords, names: tuple[str, ...]
) -> None:
    """Its master, which is written last, is missing, so that the next content gets its index."""
    applied(records, tuple(big(name, "x") for name in "abcde"), dies=lambda each: each["metadata"]["name"] == MASTER)
    assert [each["metadata"]["name"] for each in records.list("ClusterResourceSnapshot")] == ["web-0-0", "web-0-1"]
    applied(records, tuple(big(name, "y") for name in names))
    (kept,) = kept_snapshots(recorded_placement(records, "web"))
    assert kept.name == MASTER and kept.is_whole
    assert sorted((each["metadata"]["name"], each["data"]["value"][0]) for each in kept.manifests) == [
        (name, "y") for name in names
    ]


def test_a_finalizer_that_somebody_adds_while_a_placement_ends_keeps_it(records: FallibleRecords) -> None:
    """To take it off its members may take long."""
    kind = "ClusterResourcePlacement"
    writer = Writer(
        records=records,
        lease=acquire(records, "placement/web", "me", 60),
        plan=plan(wanted(), facts("a")),
        recorded=recorded_placement(records, "web"),
        source=Source(),
        key=b"k",
        now=NOW,
    )
    begun = writer.write_spec()
    metadata = {**begun["metadata"], "finalizers": [*begun["metadata"]["finalizers"], "example.org/backup"]}
    records.replace({**begun, "metadata": metadata})
    writer.forget(begun)
    left = records.get(kind, "web") or {"metadata": {}}
    assert left["metadata"].get("finalizers") == ["example.org/backup"]
