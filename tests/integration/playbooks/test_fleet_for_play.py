# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fleet for play of roles/local_fleet/README.md, as it stands there: made, joined, applied to, a member stopped and
started, taken away."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from playing import ROOT, Player


def test_it_comes_and_goes_as_the_page_says(play: Player) -> None:
    page = (ROOT / "roles" / "local_fleet" / "README.md").read_text(encoding="utf-8")
    section = page.partition("## A fleet for play\n")[2].partition("\n## ")[0]
    up, away, down = re.findall(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    state = play.folder / "state"
    clusters = state / "gitops-fleet" / "local"
    try:
        told = typed(play, up, state)
        assert "shop: PickN: 2 clusters" in told and "export KUBECONFIG=" in told and "[WARNING]" not in told
        assert sorted(each.name for each in clusters.glob("[hm]*")) == ["hub", "member-1", "member-2", "member-3"]
        assert "to carry out just this: ansible-playbook gitops.fleet.apply -e placements=placements" in told
        told = typed(play, away, state)
        assert "1 silent (last read" in told, "facts asks the members before status tells of them"
        assert "member-2: start etcd" in told and "member-2: make" not in told
    finally:
        told = typed(play, down, state)
    assert "removed: hub, member-1, member-2, member-3" in told
    assert not list(clusters.glob("[hm]*")) and not (play.folder / ".gitops-fleet").exists()


def typed(play: Player, lines: str, state: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-euc", lines],
        cwd=play.folder,
        env={**play.environment(), "PATH": path, "XDG_STATE_HOME": str(state)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout
