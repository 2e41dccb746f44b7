# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make demo ENV=pulumi` as a newcomer starts it: the whole story on a stack, and nothing of it is left."""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / ".cache" / "state" / "gitops-fleet" / "demo"
SECONDS = 1800


def test_the_demo_on_a_stack_tells_the_whole_story_and_leaves_nothing() -> None:
    """D4-03. What the stack made is gone by its own end: the look for what that left behind finds nothing."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "PULUMI_", "CI"))}
    command = ["make", "demo", "ENV=pulumi"]
    environ = kept | {"ANSIBLE_NOCOLOR": "true"}
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False, timeout=SECONDS)
    told = done.stdout + done.stderr
    assert done.returncode == 0 and "failed=0" in told, told
    assert not [word for word in ("Traceback", "[WARNING]", "[DEPRECATION", "[ERROR]") if word in told], told
    assert "create hub (pulumi-python:dynamic/fleet:LocalCluster)" in told
    assert _ends(told, "Replace them, one after the other, for their budget allows one at a time") == ["changed"]
    assert _ends(told, "Delete what the program made, as environment_down does") == ["ok", "changed"], (
        "before and after"
    )
    assert _ends(told, "Remove the clusters") == ["ok", "ok"]
    rows = [line for line in told.splitlines() if line.strip().startswith("west-1/")]
    assert len([row for row in rows if " Rotated" in row]) == 3 and max(map(len, rows)) <= 80, rows
    assert not FOLDER.exists()
    end = time.monotonic() + 60
    while found := _alive():
        assert time.monotonic() < end, found
        time.sleep(0.1)


def _ends(told: str, task: str) -> list[str]:
    """How each run of this task ended."""
    blocks = [block for block in told.split("\nTASK [") if block.startswith(f"{task}]")]
    return [found[1] for block in blocks if (found := re.search(r"^(\w+): \[localhost\]", block, re.MULTILINE))]


def _alive() -> list[str]:
    """Processes that have the demo's folder in their command or their environment."""
    mark, found = str(FOLDER).encode(), []
    for each in Path("/proc").glob("[0-9]*"):
        try:
            words = (each / "cmdline").read_bytes()
            if words and (mark in words or mark in (each / "environ").read_bytes()):
                found.append(f"{each.name} {words.replace(bytes(1), b' ').decode(errors='replace')}")
        except OSError:
            continue
    return found
