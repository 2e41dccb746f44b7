# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The callback fleet_progress beside a real run: a bar on a terminal, lines where nobody looks at one."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import typing as t

import pytest
from playing import PLAYS, Player

ENABLED = {"ANSIBLE_CALLBACKS_ENABLED": "gitops.fleet.fleet_progress"}
ERASE = "\r\x1b[2K"


@pytest.fixture
def approved(play: Player, driven: dict[str, t.Any]) -> dict[str, t.Any]:
    """A run of two members, which goes on at once."""
    play("update_run", **driven).clean()
    play("gate", **driven).clean()
    return driven


def on_terminal(play: Player, environ: dict[str, str], values: dict[str, t.Any]) -> str:
    """All that the play of a run writes on a terminal of 100 columns."""
    given = json.dumps({"folder": str(play.folder), "manifests": str(PLAYS.parent / "manifests"), **values})
    command = [sys.executable, "-m", "ansible", "playbook", "-e", given, str(PLAYS / "update_run.yml")]
    shown, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 100, 0, 0))
    environment = play.environment() | {"TERM": "xterm"} | environ
    with subprocess.Popen(command, cwd=play.folder, env=environment, stdout=terminal, stderr=terminal) as playing:
        os.close(terminal)
        text = b""
        while part := _read(shown):
            text += part
        assert playing.wait(timeout=300) == 0, text
    os.close(shown)
    return text.decode()


def _read(handle: int) -> bytes:
    try:
        return os.read(handle, 65536)
    except OSError:  # the other end was closed
        return b""


def test_a_bar_stands_below_what_is_said_and_goes_with_the_task(play: Player, approved: dict[str, t.Any]) -> None:
    text = on_terminal(play, ENABLED, approved)
    bars = re.findall(r"(\[[#.]{20}\] \d+ % [^\r\n]*)" + re.escape(ERASE), text)
    assert any("stage 1/" in each for each in bars) and any("run web-136" in each for each in bars), text
    assert text.count(ERASE) == len(bars) and max(map(len, bars)) < 100
    after = text.rpartition(ERASE)[2]
    assert "PLAY RECAP" in after and "[#" not in after and "\nok: [localhost]" in text.replace("\r", "")


def test_without_a_terminal_there_are_lines(play: Player, approved: dict[str, t.Any]) -> None:
    told = play("update_run", environ={**ENABLED, "FLEET_PROGRESS_INTERVAL": "0"}, **approved).clean()
    lines = re.findall(r"^progress: \d+ % .*$", told.output, re.MULTILINE)
    assert any("stage 1/" in each for each in lines) and "\x1b" not in told.output and "\r" not in told.output, told


def test_a_terminal_that_wants_no_bar_gets_lines(play: Player, approved: dict[str, t.Any]) -> None:
    text = on_terminal(play, {**ENABLED, "FLEET_PROGRESS_BAR": "never", "FLEET_PROGRESS_INTERVAL": "0"}, approved)
    assert ERASE not in text and "progress: " in text


def test_it_is_there_only_where_it_is_named(play: Player, approved: dict[str, t.Any]) -> None:
    assert "progress: " not in play("update_run", **approved).clean().output
