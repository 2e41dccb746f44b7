# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ansible-playbook at a terminal: what it prints there, byte by byte, and what of it would steer the terminal or CI."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import typing as t
from pathlib import Path

from playing import Player

# Two that terminals obey, one that turns text round, the beginnings of new lines, and commands of CI runners.
STEERING = (
    "\x1b[2J\x1b]0;title\x07\x9b31m\u202egnp.exe\u2066\r\nALL-GREEN 4 of 4 clusters done\n::error file=a::pwned\n"
    "::add-mask::x\u2028::set-output name=a::b\x85##[error]x\n##vso[task.setvariable variable=a]b\n##teamcity[x]\n"
    "section_start:1:x\r\x1b[0K\x00end"
)
UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
# .NET trims white space before it looks for the command, and so do others. A line of somebody else's words could be one
# of ours, if it does not stand further in.
COMMAND = re.compile(r"^\s*::[a-z]|##\[|##vso\[|##teamcity\[|^ALL-GREEN|^section_", re.IGNORECASE)


def at_a_terminal(play: Player, playbook: Path, *flags: str, environ: t.Mapping[str, str], **given: t.Any) -> str:
    """Everything that ansible-playbook printed at a terminal of its own, without colours."""
    screen, terminal = pty.openpty()
    command = [sys.executable, "-m", "ansible", "playbook", *flags, "--extra-vars", json.dumps(given), str(playbook)]
    child = subprocess.Popen(
        command,
        cwd=play.folder,
        env={**play.environment(), "COLUMNS": "200", **environ},
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=terminal,
    )
    os.close(terminal)
    pieces = []
    while True:
        try:
            piece = os.read(screen, 1 << 16)
        except OSError:  # the last one has closed the terminal
            break
        if not piece:
            break
        pieces.append(piece)
    os.close(screen)
    child.wait(timeout=300)
    # The terminal itself puts \r before each \n.
    return b"".join(pieces).replace(b"\r\n", b"\n").decode("utf-8", "replace")


def steering(text: str) -> list[str]:
    """Lines of the text that steer what they are printed on."""
    return [line for line in text.split("\n") if UNSEEN.search(line.replace("\t", " ")) or COMMAND.search(line)]
