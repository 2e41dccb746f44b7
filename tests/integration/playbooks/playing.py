# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Playbooks run as users run them, against two real API servers, and what they printed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import typing as t
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
PLAYS = HERE / "plays"
CANARY = "canary-of-a-secret"
UNWANTED = ("[WARNING]", "[DEPRECATION", "[ERROR]", "Traceback", CANARY)
TOKEN = "canary-of-a-token"


@dataclass(frozen=True)
class Played:
    """What one run of ansible-playbook printed (both streams), its exit code, and how many tasks changed something."""

    output: str
    code: int

    @property
    def changed(self) -> int:
        return int(re.findall(r"changed=(\d+)", self.output)[-1])

    def clean(self) -> Played:
        """The run itself, after a look at what it printed."""
        assert self.code == 0, self.output
        found = [word for word in (*UNWANTED, TOKEN) if word in self.output]
        assert not found, f"{found} in\n{self.output}"
        return self


@dataclass(frozen=True)
class Player:
    """Runs ansible-playbook in a folder of its own, with nothing of the caller's Ansible settings, and not as CI."""

    folder: Path

    def __call__(
        self, playbook: Path | str, *flags: str, environ: t.Mapping[str, str] | None = None, **given: t.Any
    ) -> Played:
        """A play of these tests by its name, or one of the collection; that takes no variable that it does not know."""
        if str(playbook).startswith("gitops.fleet."):
            path, values = playbook, given
        else:
            path = playbook if isinstance(playbook, Path) else PLAYS / f"{playbook}.yml"
            values = {"folder": str(self.folder), "manifests": str(HERE / "manifests"), **given}
        command = [sys.executable, "-m", "ansible", "playbook"]
        done = subprocess.run(
            [*command, *flags, "--extra-vars", json.dumps(values), str(path)],
            cwd=self.folder,
            env={**self.environment(), **(environ or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=300,
        )
        return Played(done.stdout, done.returncode)

    def environment(self) -> dict[str, str]:
        settings = self.folder / ".ansible" / "ansible.cfg"
        settings.parent.mkdir(exist_ok=True)
        settings.touch()
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "CI", "KUBE"))}
        return kept | {
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".cache" / "collections"),
            "ANSIBLE_CONFIG": str(settings),
            "ANSIBLE_HOME": str(settings.parent),
            "ANSIBLE_NOCOLOR": "true",
            # The warnings that Ansible gives to everyone who uses localhost without an inventory.
            "ANSIBLE_LOCALHOST_WARNING": "false",
            "ANSIBLE_INVENTORY_UNPARSED_WARNING": "false",
            "LC_ALL": "C.UTF-8",
        }


@dataclass(frozen=True)
class Fleet:
    """Two clusters, ``east`` and ``west``; kubeconfigs with both contexts, of the admin and of who may only read."""

    admin: str
    reader: str
    audit_logs: tuple[Path, ...]
    ports: str
    root: Path

    def writes_of(self, user: str, marks: t.Sequence[int] = (0, 0)) -> list[str]:
        """Requests of this user that changed something on any cluster; reviews of one's own rights do not.

        ``marks`` are numbers of lines of the logs to leave out at their beginnings.
        """
        found = []
        for log, mark in zip(self.audit_logs, marks, strict=True):
            for event in map(json.loads, log.read_text().splitlines()[mark:]):
                changing = event["verb"] not in ("get", "list", "watch") and event["responseStatus"]["code"] < 300
                if changing and event["user"].get("username") == user and "selfsubject" not in event["requestURI"]:
                    found.append(f"{event['verb']} {event['requestURI']}")
        return found


def given(folder: Path, fleet: Fleet, kubeconfig: str) -> dict[str, t.Any]:
    """Variables of the plays of these tests; records lie in the folder."""
    records = {"type": "sqlite", "path": str(folder / "records.db")}
    return {"records": records, "kubeconfig": kubeconfig, "ports": fleet.ports}


def inventoried(text: str) -> t.Any:
    """What ansible-inventory printed, without its marks of texts that are no templates."""
    return json.loads(text, object_hook=lambda found: found.get("__ansible_unsafe", found))


def merged(target: Path, files: t.Sequence[Path]) -> str:
    """One kubeconfig with the contexts of several."""
    parts = [json.loads(file.read_text()) for file in files]
    whole = {
        **parts[0],
        **{key: [row for part in parts for row in part[key]] for key in ("clusters", "users", "contexts")},
    }
    target.write_text(json.dumps(whole))
    return str(target)
