# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A run that would upgrade nobody does not use its name up, as if it had; D3-17 for a group of it."""

from __future__ import annotations

import contextlib
import typing as t
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.api_groups import FLEET_API
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.update_run import UpdateRun
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.defining import define_run, refuse_for_nobody
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.sources import update_manifests
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Records
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

NOW = datetime(2026, 11, 2, 8, tzinfo=UTC)
UPDATE = {"upgrade": {"type": "NodeImageOnly"}}


@pytest.fixture
def records(tmp_path: Path) -> t.Iterator[Records]:
    with contextlib.closing(SqliteRecords(tmp_path / "records.db", lambda: NOW)) as opened:
        yield opened


def join(records: Records, name: str) -> None:
    """A member of group ``ring``."""
    spec = {"group": "ring"}
    records.create({"apiVersion": FLEET_API, "kind": "FleetMember", "metadata": {"name": name}, "spec": spec})


def run_for(records: Records, *groups: str) -> UpdateRun:
    """A run in one stage of these groups; without groups of all members."""
    spec: dict[str, t.Any] = {"managedClusterUpdate": UPDATE}
    if groups:
        spec["strategy"] = {"stages": [{"name": "first", "groups": [{"name": each} for each in groups]}]}
    document = {"apiVersion": FLEET_API, "kind": "UpdateRun", "metadata": {"name": "r"}, "spec": spec}
    return define_run(records, "r", update_manifests([], [document], strict=False), write=False, now=NOW).run


def test_who_is_in_no_group_is_named(records: Records) -> None:
    for name in ("a", "b"):
        join(records, name)
    with pytest.raises(FleetError) as refused:
        refuse_for_nobody(run_for(records, "canary", "rest"))
    assert (refused.value.code, refused.value.where) == ("no-members", "UpdateRun/r")
    assert refused.value.message.endswith("in no group of it: a, b") and "with a group that" in refused.value.hint


def test_a_fleet_without_members_is_told_to_join_some(records: Records) -> None:
    with pytest.raises(FleetError) as refused:
        refuse_for_nobody(run_for(records))
    assert refused.value.message.endswith("no member is recorded") and refused.value.hint == "join members first"


def test_one_empty_group_beside_another_is_accepted_d3_17(records: Records) -> None:
    join(records, "a")
    refuse_for_nobody(run_for(records, "canary", "ring"))


def test_one_that_has_begun_goes_on(records: Records) -> None:
    """Its members may have left since."""
    run = run_for(records)
    refuse_for_nobody(replace(run, status=replace(run.status, phase="active")))


def test_names_of_nobody_are_told_and_the_others_are_upgraded(records: Records) -> None:
    join(records, "a")
    spec = {"managedClusterUpdate": UPDATE, "members": ["a", "b", "c"]}
    document = {"apiVersion": FLEET_API, "kind": "UpdateRun", "metadata": {"name": "r"}, "spec": spec}
    found = define_run(records, "r", update_manifests([], [document], strict=False), write=False, now=NOW)
    assert [each.name for each in found.run.status.members] == ["a"]
    assert [(each.code, each.where) for each in found.notes] == [("no-such-member", "UpdateRun/r spec.members")]
    assert found.notes[0].message.endswith(": b, c")
