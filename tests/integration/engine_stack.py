# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stack in the hands of a test: the real engine, a state in a folder, a project of its own, the Kubernetes plugin.

The plugin is our stand-in, or the official one, from the user's Pulumi home, where ``FLEET_KUBERNETES_PLUGIN`` is
``official`` (``make test-pulumi PLUGIN=official``).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import typing as t
from dataclasses import dataclass
from pathlib import Path

import yaml
from ansible_collections.gitops.fleet.plugins.module_utils._local.pulumi_engine import get_engine

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "pulumi" / "environments"
PLUGIN = "resource-kubernetes-v4.32.0"
SERVING = ROOT / "tests" / "pulumi" / "kubernetes_plugin" / "serving.py"
# Of one command of the engine; it ends then, and the test fails.
SECONDS = 600


@dataclass(frozen=True)
class Done:
    """A command of the engine that ended: both streams, its exit code, and how many resources met which fate."""

    output: str
    code: int
    changes: dict[str, int]

    def well(self) -> Done:
        assert self.code == 0, self.output
        assert "Traceback" not in self.output, self.output
        return self


@dataclass(frozen=True)
class EngineStack:
    """A stack of a copy of the program, in ``folder``."""

    folder: Path
    environ: dict[str, str]
    name: str = "ci"

    @property
    def project(self) -> Path:
        return self.folder / "pulumi" / "environments"

    @property
    def clusters(self) -> Path:
        return self.folder / "made" / "clusters"

    def __call__(self, *arguments: str) -> Done:
        log = self.folder / "events.jsonl"
        log.unlink(missing_ok=True)
        more = ["--event-log", str(log)] if arguments[0] in ("up", "destroy", "refresh") else []
        done = subprocess.run(
            self.command(*arguments, *more),
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=SECONDS,
        )
        return Done(done.stdout, done.returncode, _changes(log))

    def command(self, *arguments: str) -> list[str]:
        return ["pulumi", *arguments, "--non-interactive", "--color=never", "--cwd", str(self.project)]

    def up(self, *more: str) -> Done:
        return self("up", "--yes", "--skip-preview", *more)

    def set(self, path: str, value: str) -> None:
        self("config", "set", "--path", f"gitops-fleet:{path}", value).well()

    def give_member(self, **settings: t.Any) -> None:
        """More settings for the first member, written into the file of the stack; None takes one away."""
        file = self.project / f"Pulumi.{self.name}.yaml"
        document = yaml.safe_load(file.read_text(encoding="utf-8"))
        member = document["config"]["gitops-fleet:members"][0] | settings
        document["config"]["gitops-fleet:members"][0] = {key: each for key, each in member.items() if each is not None}
        file.write_text(yaml.safe_dump(document), encoding="utf-8")

    def output(self) -> dict[str, t.Any]:
        found: dict[str, t.Any] = json.loads(self("stack", "output", "--json").well().output)
        return found

    def place(self) -> dict[str, str]:
        """The same stack as variables of playbooks."""
        return {
            "project_dir": str(self.project),
            "stack": self.name,
            "backend_url": self.environ["PULUMI_BACKEND_URL"],
            "home": self.environ["PULUMI_HOME"],
            "passphrase_file": self.environ["PULUMI_CONFIG_PASSPHRASE_FILE"],
        }

    def urns(self) -> list[str]:
        return [each["urn"] for each in json.loads(self.exported())["deployment"]["resources"]]

    def exported(self) -> str:
        return self("stack", "export").well().output


def engine_environment(folder: Path) -> dict[str, str]:
    """Nothing of the caller's Pulumi: home, state and passphrase are in ``folder``, and nothing is fetched."""
    engine = get_engine(os.environ)
    passphrase = folder / "passphrase"
    passphrase.write_text("of these tests alone")
    state = folder / "state"
    state.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PULUMI_", "KUBE"))}
    return kept | {
        "PATH": f"{Path(sys.executable).parent}:{engine.folder}:{kept['PATH']}",
        "PULUMI_HOME": str(engine_home(folder)),
        "PULUMI_BACKEND_URL": f"file://{state}?metadata=skip",
        "PULUMI_CONFIG_PASSPHRASE_FILE": str(passphrase),
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "PULUMI_IGNORE_AMBIENT_PLUGINS": "true",
        # Or the option --event-log is not known.
        "PULUMI_DEBUG_COMMANDS": "true",
        "PYTHONDONTWRITEBYTECODE": "true",
    }


def engine_home(folder: Path) -> Path:
    """Where the engine finds the Kubernetes plugin."""
    home = folder / "home"
    place = home / "plugins" / PLUGIN
    if os.environ.get("FLEET_KUBERNETES_PLUGIN") == "official":
        theirs = Path(os.environ.get("PULUMI_HOME") or Path.home() / ".pulumi") / "plugins" / PLUGIN
        assert theirs.is_dir(), f"{theirs} is not there: pulumi plugin install resource kubernetes v4.32.0"
        place.parent.mkdir(parents=True)
        place.symlink_to(theirs)
        return home
    place.mkdir(parents=True)
    executable = place / "pulumi-resource-kubernetes"
    executable.write_text(f'#!/bin/sh\nexec "{sys.executable}" -u "{SERVING}" "$@"\n')
    executable.chmod(0o755)
    return home


def project_copy(folder: Path) -> None:
    """The program, which writes its stacks' settings beside itself, in a checkout that is otherwise a link to this."""
    for name in ("plugins", "roles", "meta"):
        (folder / name).symlink_to(ROOT / name)
    shutil.copytree(PROGRAM, folder / "pulumi" / "environments", ignore=shutil.ignore_patterns("__pycache__"))


def _changes(log: Path) -> dict[str, int]:
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    events = [json.loads(line) for line in lines]
    found = [event["summaryEvent"]["resourceChanges"] for event in events if "summaryEvent" in event]
    return found[-1] if found else {}
