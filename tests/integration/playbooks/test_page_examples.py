# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The first example of a page, as it stands there: run in a checkout, without any cluster, and what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from playing import ROOT, Player

BLOCK = re.compile(r"From a checkout[^\n]*:\n\n```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# By page, what its example prints.
SAYS = {
    "architecture": ("eu-west-1", "digest"),
    "comparison": (
        "us-east-1 is picked with spread 0",
        "us-east-2 is not picked: its taint hardware=gpu:NoSchedule is not tolerated.",
        "test-2 is not picked",
    ),
    "compatibility": ("1 passed",),
    "development": ("passed",),
    "disruption": ("written to build/calendar/report.html",),
    "files": ("`apply.py`",),
    "lint": ("0 errors, 0 warnings",),
    "performance": ("allowed_one",),
    "placement": (
        "eu-west-1 is picked with spread 0",
        "it has affinity 19; eu-west-1 is picked with affinity 27: as it is decided",
        "eu-north-1 has 36 and gets 19, eu-west-1 has 48 and gets 27; the fleet",
    ),
    "playbooks": ("eu-west-1", "digest"),
    "records": ("failed=0",),
    "reliability": ("nothing is ever permitted", 'schedule: "0 0 * * 1"'),
    "report": ("places to be gained", "written to build/report/report.html"),
    "requirements": ("passed",),
    "security": ("kind: ClusterRole", "deployments"),
    "stability": ('"outcome": "done"',),
}


def example(page: str) -> str:
    (found,) = BLOCK.findall((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"))
    return str(found)


def test_every_page_with_such_an_example_is_here() -> None:
    pages = {each.stem for each in (ROOT / "docs").glob("*.md") if BLOCK.search(each.read_text(encoding="utf-8"))}
    assert pages == set(SAYS)


@pytest.mark.parametrize("page", SAYS)
def test_an_example_runs_as_the_page_shows_it(play: Player, page: str) -> None:
    """In a folder of its own with what a checkout has: nothing is written into this one."""
    for each in ROOT.iterdir():
        if each.name not in ("build", ".gitops-fleet", ".ansible", ".git"):
            (play.folder / each.name).symlink_to(each, target_is_directory=each.is_dir())
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-euc", example(page)],
        cwd=play.folder,
        env={**play.environment(), "PATH": path, "PYTHON": sys.executable},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout
    assert [each for each in SAYS[page] if each not in done.stdout] == [], done.stdout
    assert "[WARNING]" not in done.stdout and "Traceback" not in done.stdout
