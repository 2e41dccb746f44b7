# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files in examples/updates as they are, on real API servers behind a platform that is made up."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples" / "updates"
CLOUDCTL = Path(__file__).with_name("cloudctl.py")


class Shell:
    """A copy of the examples, with records in a file and ``cloudctl`` in the path; started as a user would."""

    def __init__(self, folder: Path, clusters: Path) -> None:
        self.folder = folder / "examples"
        self.home = folder / "home"
        self.cloud = folder / "cloud"
        self.kubeconfig = str(clusters / "kubeconfig")
        for each in (self.home, self.cloud, folder / "bin"):
            each.mkdir()
        shutil.copytree(EXAMPLES, self.folder)
        cloudctl = folder / "bin" / "cloudctl"
        cloudctl.write_text(f'#!/bin/sh\nexec {sys.executable} {CLOUDCTL} "$@"\n')
        cloudctl.chmod(0o755)
        (folder / "ansible.cfg").touch()
        collections = str(ROOT / ".cache" / "collections")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "CI", "XDG_"))}
        self.environ = kept | {
            "HOME": str(self.home),
            "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": collections,
            # Binaries that were built before are not in this home.
            "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache"),
            "CLOUDCTL_HOME": str(self.cloud),
            "CLOUDCTL_CLUSTERS": str(clusters),
            "ANSIBLE_COLLECTIONS_PATH": collections,
            "ANSIBLE_CONFIG": str(folder / "ansible.cfg"),
            "ANSIBLE_LOCALHOST_WARNING": "False",
            "ANSIBLE_INVENTORY_UNPARSED_WARNING": "False",
            "LC_ALL": "C.UTF-8",
        }

    def __call__(self, command: str, *arguments: str) -> str:
        """What it printed; it ends well, without a warning."""
        argv = [sys.executable, "-m", "ansible", command, *arguments]
        done = subprocess.run(
            argv,
            cwd=self.folder,
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=180,
        )
        assert done.returncode == 0 and "WARNING" not in done.stdout, done.stdout
        return done.stdout

    def join(self, **members: tuple[str, str]) -> None:
        rows = [
            {"name": name, "context": name, "driver": driver, "group": group}
            for name, (driver, group) in members.items()
        ]
        given = json.dumps({"kubeconfig": self.kubeconfig, "members": rows})
        self("adhoc", "localhost", "-m", "gitops.fleet.member_cluster", "-a", given)

    def versions(self, *names: str) -> list[str]:
        found = [
            subprocess.run(["cloudctl", "version", name], env=self.environ, capture_output=True, text=True, check=True)
            for name in names
        ]
        return [each.stdout.strip() for each in found]

    def requests(self) -> list[str]:
        """Clusters whose upgrade was asked for, one line for each time."""
        return [line.split()[0] for line in (self.cloud / "requests.log").read_text().splitlines()]


@pytest.fixture
def shell(tmp_path: Path, module_clusters: t.Any) -> Shell:
    return Shell(tmp_path, module_clusters.root)


def test_a_driver_of_commands_and_a_driver_that_is_a_role(shell: Shell, module_clusters: t.Any) -> None:
    for name in ("valley", "ridge"):
        module_clusters(name, version="1.35")
    shell.join(valley=("command", "canary"), ridge=("role", "prod"))
    both = ["-e", json.dumps({"drivers": drivers(shell.folder, "with_commands.yml", "with_role.yml")})]
    first = shell("playbook", "gitops.fleet.update", *both, "-e", "updates=release")
    assert "waits for approval" in first
    assert shell.versions("valley", "ridge") == ["v1.36.3", "v1.35.4"]
    shell("playbook", "gitops.fleet.approve", "-e", "run=release-7 stage=canary", "-e", "reason='no errors'")
    second = shell("playbook", "gitops.fleet.update", *both, "-e", "run=release-7")
    assert "run release-7 Completed: 2 of 2 clusters done" in second
    assert shell.versions("valley", "ridge") == ["v1.36.3", "v1.36.3"]
    assert shell.requests() == ["valley", "ridge"]


def test_the_ready_made_role_with_steps_of_ones_own(shell: Shell, module_clusters: t.Any) -> None:
    """Nobody is in canary, so that stage and its gate are skipped. The step asks until the platform is done."""
    module_clusters("crest", version="1.35")
    shell.join(crest=("role", "prod"))
    done = shell("playbook", "gitops.fleet.update", "-e", "@with_steps.yml", "-e", "updates=release")
    assert "run release-7 Completed: 1 of 1 cluster done" in done
    assert shell.versions("crest") == ["v1.36.3"]
    notes = (shell.home / "upgrade-notes.txt").read_text().splitlines()
    assert [line.split(": ")[1] for line in notes] == ["v1.35.4", "v1.36.3"]
    assert set(shell.requests()) == {"crest"}
    (operation,) = [path.name for path in shell.cloud.glob("op.*")]
    assert operation.endswith(".crest.1")


def drivers(folder: Path, *names: str) -> dict[str, t.Any]:
    """Those of several files together."""
    files = [yaml.safe_load((folder / name).read_text())["drivers"] for name in names]
    return {driver: options for each in files for driver, options in each.items()}
