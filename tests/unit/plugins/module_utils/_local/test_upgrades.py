# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""One line for each upgrade that happened, wherever the process was cut off."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._local import upgrades

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "east").mkdir()
    return tmp_path / "east"


def upgrade(folder: Path, operation: str, before: str, after: str, cut_after: str = "") -> None:
    intent = upgrades.intend(folder, before, after)
    if cut_after == "intent" or intent is None:
        return
    upgrades.log_upgrade(folder.parent, folder.name, operation, intent, AT)
    if cut_after != "line":
        upgrades.finish(folder)


def lines(folder: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in (folder.parent / upgrades.LOG).read_text().splitlines()]


def test_an_upgrade_has_one_line(folder: Path):
    upgrade(folder, "op.1", "v1.35.4", "v1.36.3")
    (line,) = lines(folder)
    assert line.pop("id")
    assert [line] == [
        {
            "at": "2026-03-01T12:00:00Z",
            "operation": "op.1",
            "member": "east",
            "from": "v1.35.4",
            "to": "v1.36.3",
        }
    ]
    assert upgrades.pending(folder) is None


def test_nothing_to_do_is_no_upgrade(folder: Path):
    assert upgrades.intend(folder, "v1.36.3", "v1.36.3") is None


@pytest.mark.parametrize("cut, operation", [("intent", "op.2"), ("line", "op.1")])
@pytest.mark.parametrize("on_record", ["v1.35.4", "v1.36.3"])
def test_cut_off_and_taken_up_again_it_still_has_one(folder: Path, cut: str, operation: str, on_record: str):
    upgrade(folder, "op.1", "v1.35.4", "v1.36.3", cut)
    kept = upgrades.pending(folder)
    assert kept is not None and kept.before == "v1.35.4"
    upgrade(folder, "op.2", on_record, "v1.36.3")
    assert [(line["operation"], line["from"]) for line in lines(folder)] == [(operation, "v1.35.4")]
    assert upgrades.pending(folder) is None


def test_the_same_step_of_a_cluster_made_anew_is_another_upgrade(folder: Path):
    upgrade(folder, "op.1", "v1.35.4", "v1.36.3")
    upgrade(folder, "op.2", "v1.35.4", "v1.36.3")
    assert [line["operation"] for line in lines(folder)] == ["op.1", "op.2"]


def test_a_log_that_was_removed_meanwhile_is_begun_anew(folder: Path):
    upgrade(folder, "op.0", "v1.34.1", "v1.35.4")
    upgrade(folder, "op.1", "v1.35.4", "v1.36.3", "intent")
    (folder.parent / upgrades.LOG).unlink()
    upgrade(folder, "op.2", "v1.35.4", "v1.36.3", "line")
    upgrade(folder, "op.3", "v1.36.3", "v1.36.3")
    assert [line["operation"] for line in lines(folder)] == ["op.2"]


@pytest.mark.parametrize("torn", [b"[]", b"5", b"{", b'{"id": "', b"[" * 100_000, b"\xff"])
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_line_that_is_none_is_passed_over_and_swallows_no_other(folder: Path, torn: bytes, end: bytes):
    """What a full disk or a kill has left of one."""
    (folder.parent / upgrades.LOG).write_bytes(torn + end)
    upgrade(folder, "op.1", "v1.35.4", "v1.36.3", "line")
    upgrade(folder, "op.2", "v1.35.4", "v1.36.3")
    log = (folder.parent / upgrades.LOG).read_bytes()
    assert log.startswith(torn + b"\n") and json.loads(log.splitlines()[-1])["operation"] == "op.1"
    assert len(log.splitlines()) == 2


def test_an_intent_of_an_older_release_is_known(folder: Path):
    intent = {"id": "i", "operation": "op.1", "before": "v1.35.4", "after": "v1.36.3"}
    (folder / "upgrade.json").write_text(json.dumps(intent))
    assert upgrades.pending(folder) == upgrades.Intent("i", "v1.35.4", "v1.36.3")


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"id": 5, "before": "a", "after": "b"}', "[" * 100_000])
def test_a_damaged_intent_is_told(folder: Path, content: str):
    (folder / "upgrade.json").write_text(content)
    with pytest.raises(FleetError) as refused:
        upgrades.pending(folder)
    assert refused.value.code == "state-unreadable"


def test_a_pipe_in_the_place_of_the_log_is_not_waited_for(folder: Path, monkeypatch: pytest.MonkeyPatch):
    """In a folder that several users share, anybody can put one there first."""
    os.mkfifo(folder.parent / upgrades.LOG)

    def waiting(path: Path) -> bytes:
        raise AssertionError(f"{path} is waited for")

    monkeypatch.setattr(Path, "read_bytes", waiting)
    with pytest.raises(FleetError, match="it is a pipe") as refused:
        upgrade(folder, "op.1", "v1.35.4", "v1.36.3")
    assert refused.value.code == "unwritable-folder"
