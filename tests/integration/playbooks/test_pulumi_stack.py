# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stacks from plays, on Pulumi's real engine, with a program that writes files."""

from __future__ import annotations

import os
import signal
import threading
import time
import typing as t
from pathlib import Path

import pytest
from playing import CANARY, Player

PROJECT = Path(__file__).parents[1] / "pulumi" / "small_program"
SECONDS = 300


@pytest.fixture
def given(play: Player) -> dict[str, t.Any]:
    (play.folder / "passphrase").write_text("of these tests alone")
    (play.folder / "made").mkdir()
    return {"project": str(PROJECT), "canary": CANARY}


def engines(folder: Path) -> list[int]:
    """Processes of the engine that has its home in this folder."""
    mark, found = f"PULUMI_HOME={folder / 'home'}".encode(), []
    for each in Path("/proc").glob("[0-9]*"):
        try:
            words = (each / "cmdline").read_bytes().split(b"\0")
            if (
                mark in (each / "environ").read_bytes().split(b"\0")
                and words[0].endswith(b"/pulumi")
                and b"up" in words
            ):
                found.append(int(each.name))
        except OSError:
            continue
    return found


def test_a_stack_from_nothing_to_nothing(play: Player, given: dict[str, t.Any]):
    """Previewed, made, the same again; other, by targets, with fewer; refreshed; a program that fails; taken down."""
    before = sorted((each.name, each.stat().st_mtime_ns) for each in PROJECT.glob("*.*"))
    done = play("pulumi_stack", **given)
    assert done.code == 0, done.output
    assert CANARY not in done.output and "Traceback" not in done.output, done.output
    assert "create one (pulumi-python:dynamic/small:TextFile)" in done.output
    assert "of these tests alone" not in done.output
    assert sorted((each.name, each.stat().st_mtime_ns) for each in PROJECT.glob("*.*")) == before
    assert list((play.folder / "made").iterdir()) == []
    assert not [each for each in (play.folder / "state").rglob("*") if CANARY.encode() in _content(each)]


def test_a_lock_that_a_killed_run_left_is_told_and_taken_away_on_request(play: Player, given: dict[str, t.Any]):
    """F5."""
    found: list[t.Any] = []
    waiting = threading.Thread(target=lambda: found.append(play("pulumi_stack_info", text="wait", **given)))
    waiting.start()
    end = time.monotonic() + SECONDS
    while not engines(play.folder):
        assert time.monotonic() < end and waiting.is_alive(), found
        time.sleep(0.1)
    log = play.folder / "state" / ".pulumi" / "locks" / "organization" / "small" / "dev"
    while not list(log.glob("*.json")):
        assert time.monotonic() < end and waiting.is_alive(), found
        time.sleep(0.1)
    (engine,) = engines(play.folder)
    os.kill(engine, signal.SIGKILL)
    waiting.join(SECONDS)
    assert found[0].code == 2 and "Traceback" not in found[0].output, found[0].output
    refused = play("pulumi_stack_info", text="written", allow_delete=True, **given)
    assert refused.code == 2 and f"locks [{engine}]" in refused.output, refused.output
    assert "which has ended without giving it back" in refused.output and "force_unlock" in refused.output
    play("pulumi_stack_info", text="written", force_unlock=True, allow_delete=True, **given).clean()
    assert (play.folder / "made" / "one").read_text() == "written"


def test_what_is_wrong_with_a_stack_is_told_at_once_and_in_words(play: Player):
    wrong = {"stack": "a/b", "backend_url": "somewhere", "passphrase_file": "/none"}
    refused = play("gitops.fleet.environment_up", project_dir=str(play.folder), **wrong)
    assert refused.code == 2 and "Traceback" not in refused.output
    assert all(code in refused.output for code in ("no-project", "bad-stack", "bad-backend", "no-passphrase"))


def _content(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""
