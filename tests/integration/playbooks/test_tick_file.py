# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a pipeline finds in the ``result_file`` of a tick is what that tick came to, or no file. No cluster is asked."""

from __future__ import annotations

import json
import typing as t
from datetime import UTC, datetime

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.api_groups import FLEET_API, PLACEMENT_API
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from playing import Played, Player

YESTERDAY = json.dumps({"fleet": {"outcome": "done", "code": "", "resume_at": ""}, "tasks": []})


def tick(play: Player, **given: t.Any) -> Played:
    records = {"path": str(play.folder / "records.db")}
    return play("gitops.fleet.tick", records=records, **{"result_file": "result.json", **given})


@pytest.mark.parametrize("read_members", [True, False])
def test_a_tick_that_falls_over_midway_leaves_no_file_of_an_earlier_one(play: Player, read_members: bool):
    """As one that is killed: nobody is there to write what it came to. A link is taken away, and not followed."""
    yesterday = play.folder / "yesterday.json"
    yesterday.write_text(YESTERDAY)
    (play.folder / "result.json").symlink_to(yesterday)
    key = "threads" if read_members else "strict"  # of the first task that reads
    fallen = tick(play, read_members=read_members, **{key: "{{ 1 // 0 }}"})
    assert fallen.code == 2 and "zero" in fallen.output
    assert not (play.folder / "result.json").is_symlink() and not (play.folder / "result.json").exists()
    assert yesterday.read_text() == YESTERDAY


def test_members_that_cannot_be_read_are_what_it_came_to(play: Player):
    (play.folder / "result.json").write_text(YESTERDAY)
    failed = tick(play)
    told = json.loads((play.folder / "result.json").read_text())
    assert failed.code == 2 and "no cluster has joined the fleet" in failed.output
    assert told["fleet"] == {"outcome": "failed", "code": "no-members", "resume_at": ""}
    assert [each["fleet"]["code"] for each in told["tasks"]] == ["no-members"]


def test_a_tick_with_nothing_to_do_is_done_and_makes_the_folder_of_its_file(play: Player):
    done = tick(play, read_members=False, result_file="$OUT/new/result.json", environ={"OUT": str(play.folder)})
    assert done.clean().changed == 1, "the file"
    told = json.loads((play.folder / "new" / "result.json").read_text())
    assert told["fleet"] == {"outcome": "done", "code": "", "resume_at": ""}


def test_a_placement_that_it_was_not_given_is_named_with_the_command_that_carries_it_on(play: Player):
    records = SqliteRecords(play.folder / "records.db", lambda: datetime.now(UTC))
    metadata = {"name": "web", "annotations": {"gitops.fleet/source": "files:fleet/placements"}}
    spec = {"resourceSelectors": [{"group": "", "version": "v1", "kind": "Namespace", "name": "web"}]}
    kind = {"apiVersion": PLACEMENT_API, "kind": "ClusterResourcePlacement"}
    made = records.create({**kind, "metadata": metadata, "spec": spec})
    at, why = "2026-01-01T00:00:00Z", "resources are available on 1 of 2 clusters"
    late = {"status": "False", "reason": "Late", "message": why, "observedGeneration": 1, "lastTransitionTime": at}
    condition = {"type": "ClusterResourcePlacementAvailable", **late}
    records.replace({**made, "status": {"conditions": [condition]}})
    records.close()
    done = tick(play, read_members=False).clean()
    assert f"placement web is not through ({why}, since {at})" in done.output
    command = "ansible-playbook gitops.fleet.rollout -e names=web -e placements=fleet/placements"
    assert f"to go on: {command}" in done.output and "-e resources=FOLDER" in done.output
    told = json.loads((play.folder / "result.json").read_text())
    assert told["unfinished"] == [{"name": "web", "why": why, "since": at}] and told["fleet"]["outcome"] == "done"


@pytest.mark.parametrize("name", ["plan.json", ".", "history.db", "told.txt", "gathered.json"])
def test_what_is_no_result_is_left_there_and_nothing_is_done(play: Player, name: str):
    """In records there are outcomes, too: the history has one in each entry; so has what somebody made of results."""
    (play.folder / "gathered.json").write_text(f'{{"yesterday": {YESTERDAY}}}')
    (play.folder / "plan.json").write_text('{"digest": "x", "about": {"outcome": "done"}}')
    (play.folder / "told.txt").write_text(f"once more\n{YESTERDAY}")
    records = SqliteRecords(play.folder / "history.db", lambda: datetime.now(UTC))
    said = json.dumps({"fleet": {"code": "", "outcome": "done"}})
    metadata = {"name": "one", "annotations": {"said": said}}
    records.create({"apiVersion": FLEET_API, "kind": "AuditEntry", "metadata": metadata, "spec": {"outcome": "done"}})
    records.close()
    before = {each: each.read_bytes() for each in play.folder.iterdir() if each.is_file()}
    refused = tick(play, read_members=False, result_file=str(play.folder / name))
    assert refused.code == 2 and "unwritable-file" in refused.output and "no profile" not in refused.output
    assert {each: each.read_bytes() for each in before} == before
