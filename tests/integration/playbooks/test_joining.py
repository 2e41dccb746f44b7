# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands of join on docs/playbooks.md, as they stand there, with two clusters in the kubeconfig of the user."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import typing as t
from pathlib import Path

from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import present
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from playing import ROOT, UNWANTED, Fleet, Player

NAMES = {"east": "prod-eu-1", "west": "prod-us-1"}
TAINT = {"key": "spot", "effect": "NoSchedule"}


def commands() -> list[str]:
    """What the page shows below the variables of join, from one comment to the next."""
    page = (ROOT / "docs" / "playbooks.md").read_text(encoding="utf-8")
    section = page.partition("\n## join\n")[2].partition("\n## ")[0]
    (block,) = re.findall(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    return re.split(r"^# .*\n", block, flags=re.MULTILINE)[1:]


def typed(play: Player, lines: str, home: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-euc", lines],
        cwd=play.folder,
        env={**play.environment(), "PATH": path, "HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0 and not any(word in done.stdout for word in UNWANTED), done.stdout
    return done.stdout


def specs(folder: Path) -> tuple[list[dict[str, t.Any]], list[dict[str, t.Any]]]:
    """What is recorded of both members, but for how they are reached: as FleetMember, and as MemberCluster."""
    with contextlib.closing(SqliteRecords(folder / ".gitops-fleet" / "records.db", present)) as records:
        found = [records.get(kind, name) for kind in ("FleetMember", "MemberCluster") for name in NAMES.values()]
    told = [{**(each or {}).get("spec", {}), **(each or {})["metadata"].get("labels", {})} for each in found]
    kept = [{key: each[key] for key in each if key not in ("connection", "clusterUID", "identity")} for each in told]
    return kept[:2], kept[2:]


def test_members_are_joined_and_changed_as_the_page_says(play: Player, fleet: Fleet) -> None:
    home = play.folder / "home"
    (home / ".kube").mkdir(parents=True)
    config = json.loads(Path(fleet.reader).read_text(encoding="utf-8"))
    config["contexts"] = [{**each, "name": NAMES[each["name"]]} for each in config["contexts"]]
    (home / ".kube" / "config").write_text(json.dumps(config), encoding="utf-8")
    every, some, one, bare = commands()

    told = typed(play, every, home)
    both = {"driver": "command", "provider": "aks"}
    assert specs(play.folder) == ([both, both], [{}, {}]) and "without a driver" not in told
    typed(play, some, home)
    first = {**both, "location": "westeurope", "maintenance": "nights"}
    assert specs(play.folder) == ([first, both], [{"env": "prod"}, {}])
    typed(play, one, home)
    own = {**first, "group": "first", "driver": "local"}
    assert specs(play.folder) == ([own, both], [{"env": "prod", "taints": [TAINT]}, {}])
    typed(play, bare, home)
    assert specs(play.folder) == ([own, both], [{"env": "prod", "taints": []}, {}])


def test_members_without_a_driver_get_one_by_the_command_that_names_them(play: Player, fleet: Fleet) -> None:
    """Update runs are refused without."""
    told = play("gitops.fleet.join", kubeconfig=fleet.reader).clean().output
    assert "without a driver, which update runs need: east, west" in told
    (command,) = re.findall(r"^.*to give them one [^:]*: (.*)$", told, re.MULTILINE)
    typed(play, command.replace("DRIVER", "command"), play.folder)
    again = play("gitops.fleet.join", kubeconfig=fleet.reader).clean()
    assert again.changed == 0 and "without a driver" not in again.output
