# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the shell steps of pipeline files as they are written, as a runner does: a fresh checkout for each job."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import typing as t
from dataclasses import dataclass, field
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[3]
BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c")
# What runners install from the network: the only thing that is not run here.
INSTALL = ("pip install --requirement requirements.txt", "ansible-galaxy collection install")


@dataclass
class Job:
    """What became of a job: the code of its first step that failed, all that was printed, and its checkout."""

    folder: Path
    code: int = 0
    output: str = ""
    environ: dict[str, str] = field(default_factory=dict)

    def result(self) -> dict[str, t.Any]:
        return dict(json.loads((self.folder / "result.json").read_text(encoding="utf-8")))

    def run(self, script: str, environ: t.Mapping[str, str]) -> int:
        done = subprocess.run(
            [*BASH, script],
            cwd=self.folder,
            env={**self.environ, **environ},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=600,
        )
        self.output += f"$ {script}\n{done.stdout}"
        return done.returncode


def checkout(repository: Path, folder: Path, environ: t.Mapping[str, str]) -> Job:
    """A job with a copy of the repository, and nothing of the environment of whoever runs the tests that matters."""
    shutil.copytree(repository, folder)
    home = folder.with_name(f"{folder.name}.home")
    home.mkdir()
    kept = {name: each for name, each in os.environ.items() if not name.startswith(("ANSIBLE_", "CI", "KUBE", "XDG_"))}
    scripts = str(Path(sys.executable).parent)
    (home / "ansible.cfg").touch()
    return Job(
        folder,
        environ=kept
        | {
            "CI": "true",
            "HOME": str(home),
            "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
            "RUNNER_TEMP": str(home),
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".cache" / "collections"),
            "ANSIBLE_CONFIG": str(home / "ansible.cfg"),
            "ANSIBLE_HOME": str(home / "ansible"),
            "LC_ALL": "C.UTF-8",
            **environ,
        },
    )


@dataclass
class GitHub:
    """Steps of a workflow of GitHub. ``values`` are what expressions stand for; artifacts go to ``keep``."""

    values: t.Mapping[str, str]
    keep: t.Callable[[str, str, bytes], None]

    def __call__(self, file: Path, job: Job) -> Job:
        (found,) = yaml.safe_load(file.read_text(encoding="utf-8"))["jobs"].values()
        for name in ("env", "summary"):
            (job.folder.parent / f"{job.folder.name}.{name}").touch()
        job.environ |= {
            "GITHUB_ENV": str(job.folder.parent / f"{job.folder.name}.env"),
            "GITHUB_STEP_SUMMARY": str(job.folder.parent / f"{job.folder.name}.summary"),
        }
        for step in found["steps"]:
            if self._wanted(step.get("if"), job):
                job.code = self._step(step, job) or job.code
                for line in Path(job.environ["GITHUB_ENV"]).read_text(encoding="utf-8").splitlines():
                    name, _sign, value = line.partition("=")
                    job.environ[name] = value
        return job

    def _wanted(self, condition: str | None, job: Job) -> bool:
        """Of the terms that the examples use; a step without a condition runs while nothing has failed."""
        if condition is None:
            return job.code == 0
        for term in condition.removeprefix("${{").removesuffix("}}").split("&&"):
            file = re.fullmatch(r"hashFiles\('(.*)'\) != ''", term.strip())
            if file and not (job.folder / file[1]).exists():
                return False
            left, sign, right = term.strip().partition(" == ")
            if sign and self.values[left] != self.values[right]:
                return False
            assert file or sign or term.strip() in ("!cancelled()", "always()"), term
        return True

    def _step(self, step: dict[str, t.Any], job: Job) -> int:
        if "run" in step:
            if step.get("name") == "Install":
                assert all(each in step["run"] for each in INSTALL)
                return 0
            environ = {name: self._filled(value) for name, value in (step.get("env") or {}).items()}
            return job.run(step["run"], environ)
        action = step["uses"].partition("@")[0]
        if action == "actions/upload-artifact":
            file = job.folder / step["with"]["path"]
            if file.exists():
                self.keep(self._filled(step["with"]["name"]), file.name, file.read_bytes())
            return int(not file.exists() and step["with"].get("if-no-files-found") == "error")
        assert action in ("actions/checkout", "actions/setup-python", "github/codeql-action/upload-sarif"), action
        return 0

    def _filled(self, text: str) -> str:
        return re.sub(r"\$\{\{ *(.*?) *\}\}", lambda found: self.values[found[1]], text)


def gitlab(file: Path, name: str, job: Job, keep: t.Callable[[str, str, bytes], None]) -> Job:
    """The script of a job of GitLab, line by line in one shell; its artifacts go to ``keep``."""
    found = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert all(any(each in line for line in found["default"]["before_script"]) for each in INSTALL)
    job.code = job.run("\n".join(found[name]["script"]), {})
    if job.code == 0 or found[name]["artifacts"].get("when") == "always":
        for path in found[name]["artifacts"]["paths"]:
            if (job.folder / path).exists():
                keep(name, path, (job.folder / path).read_bytes())
    return job
