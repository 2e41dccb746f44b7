# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Playbooks as processes of their own, with the pids that signals are sent to."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import typing as t
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[3]
UNWANTED = ("[WARNING]", "[DEPRECATION", "Traceback")


@dataclass
class Conducting:
    """One ansible-playbook, leader of a session of its own; ``worker`` is the process of it that conducts."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def output(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    @property
    def worker(self) -> int:
        (found,) = children(self.pid)
        return found

    def kill(self, number: signal.Signals, *pids: int) -> None:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def ended(self, seconds: float = 300) -> Conducting:
        """When it has; not how."""
        self.process.wait(seconds)
        return self

    def code(self, wanted: int) -> Conducting:
        self.ended()
        assert self.process.returncode == wanted, f"{self.process.returncode}\n{self.output}"
        found = [word for word in UNWANTED if word in self.output]
        assert not found, f"{found} in\n{self.output}"
        return self

    @property
    def changed(self) -> int:
        return int(re.findall(r"changed=(\d+)", self.output)[-1])

    @property
    def fleet(self) -> dict[str, str]:
        """The custom stats that the playbook leaves to a pipeline."""
        line = re.findall(r'"fleet": (\{.*?\})', self.output, re.DOTALL)[-1]
        return t.cast(dict[str, str], json.loads(line))


@dataclass
class Plays:
    """Starts playbooks in a folder, with nothing of the caller's settings of Ansible."""

    folder: Path
    started: list[Conducting] = field(default_factory=list)

    def start(
        self, playbook: str, *flags: str, environ: t.Mapping[str, str] | None = None, **variables: t.Any
    ) -> Conducting:
        log = self.folder / f"output-{len(self.started)}.log"
        given = self.folder / f"variables-{len(self.started)}.json"
        # One set of variables serves several playbooks here.
        given.write_text(json.dumps({**variables, "extra_variables": sorted(variables)}))
        command = [sys.executable, "-m", "ansible", "playbook", *flags, "--extra-vars", f"@{given}", playbook]
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=self.environ() | dict(environ or {}),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.started.append(Conducting(process, log))
        return self.started[-1]

    def __call__(self, playbook: str, *flags: str, **variables: t.Any) -> Conducting:
        return self.start(playbook, *flags, **variables).ended()

    def environ(self) -> dict[str, str]:
        settings = self.folder / "ansible.cfg"
        settings.touch()
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "CI", "KUBE"))}
        return kept | {
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".cache" / "collections"),
            "ANSIBLE_CONFIG": str(settings),
            "ANSIBLE_HOME": str(self.folder / ".ansible"),
            "ANSIBLE_NOCOLOR": "true",
            "ANSIBLE_SHOW_CUSTOM_STATS": "true",
            "ANSIBLE_LOCALHOST_WARNING": "false",
            "ANSIBLE_INVENTORY_UNPARSED_WARNING": "false",
            "LC_ALL": "C.UTF-8",
        }

    def end(self) -> None:
        for each in self.started:
            if each.process.poll() is None:
                each.kill(signal.SIGKILL, *children(each.pid), each.pid)
                each.process.wait(300)


def children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(each) for each in task.read_text().split()]
    return found


def is_alive(pid: int) -> bool:
    """False for a zombie too."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def gone(pid: int, seconds: float = 300) -> bool:
    """Whether the process has ended in time."""
    end = time.monotonic() + seconds
    while is_alive(pid) and time.monotonic() < end:
        time.sleep(0.02)
    return not is_alive(pid)
