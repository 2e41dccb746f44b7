# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make check`: everything that can be said about the repository without starting a cluster.

``python tools/check.py [STEP...]`` runs the named steps, or all.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import execution_environment
import sanity
from steps import CACHE, ROOT, Step, StepFailed, call, run

PYTHON = sys.executable
TREE = CACHE / "collections" / "ansible_collections" / "gitops" / "fleet"
# What the collection must work with when everything else is deleted; the two files are galaxy's own list of contents.
BELONGS = {"meta", "plugins", "roles", "playbooks", "MANIFEST.json", "FILES.json"}
# Tests that only read our files, which say the same on every Python.
READING = ("tests/unit/test_arrows.py", "tests/unit/test_house.py")
PLUGIN_KINDS = ("module", "filter", "test", "lookup", "inventory", "callback")


def arrows() -> None:
    call(PYTHON, "-m", "pytest", "-q", *READING)


def mypy() -> None:
    call("mypy", "--package", "ansible_collections.gitops.fleet.plugins.module_utils")
    call("mypy", "tools", "tests/conformance/run.py")
    call("mypy", "--package", "fleet_pulumi")
    call("mypy", "--config-file", "tests/mypy.ini", "--package", "ansible_collections.gitops.fleet.tests")


def ansible_lint() -> None:
    """From inside the collection tree, or names such as ``gitops.fleet.placement`` do not resolve."""
    call("ansible-lint", "--offline", "--profile", "production", cwd=TREE)


def pipelines() -> None:
    """Workflows of GitHub and pipelines of GitLab, ours and those of the examples, by their schemas and actionlint."""
    examples = ROOT / "examples"
    call(
        "check-jsonschema", "--builtin-schema", "vendor.gitlab-ci", ".gitlab-ci.yml", examples / "gitlab/.gitlab-ci.yml"
    )
    workflows = [*ROOT.glob(".github/workflows/*.yml"), *examples.glob("github/.github/workflows/*.yml")]
    call("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *workflows)
    call("go", "tool", "actionlint", "-shellcheck=", "-pyflakes=", *workflows, cwd=ROOT / "tools" / "actionlint")


def build() -> Path:
    """The collection as it would be published; gives the archive."""
    folder = ROOT / "build" / "collection"
    shutil.rmtree(folder, ignore_errors=True)
    call("ansible-galaxy", "collection", "build", "--output-path", folder)
    (archive,) = folder.glob("*.tar.gz")
    return archive


def smoke() -> None:
    """The published archive, cut down to what belongs, as a user would start it: documentation and offline plays."""
    place = CACHE / "smoke" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
    shutil.rmtree(place, ignore_errors=True)
    call("ansible-galaxy", "collection", "install", "--offline", "--force", "--collections-path", place, build())
    installed = place / "ansible_collections" / "gitops" / "fleet"
    for entry in installed.iterdir():
        if entry.name not in BELONGS:
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    env = {"ANSIBLE_COLLECTIONS_PATH": str(place)}
    for kind in PLUGIN_KINDS:
        documented(kind, installed, env)
    for play in sorted((ROOT / "tests" / "smoke").glob("*.yml")):
        call("ansible-playbook", "-i", "localhost,", play, cwd=place, env=env)


def documented(kind: str, installed: Path, env: dict[str, str]) -> None:
    """ansible-doc must read every plugin of a kind."""
    folder = installed / "plugins" / ("modules" if kind == "module" else kind)
    files = [path for pattern in ("*.py", "*.yml") for path in folder.glob(pattern) if path.stem != "__init__"]
    names = [f"gitops.fleet.{name}" for name in sorted({path.stem for path in files})]
    if not names:
        return
    shown = subprocess.run(
        ["ansible-doc", "--json", "--type", kind, *names],
        env=os.environ | env,
        capture_output=True,
        text=True,
        check=False,
    )
    missing = [name for name in names if shown.returncode or not json.loads(shown.stdout).get(name, {}).get("doc")]
    if missing:
        raise StepFailed(f"ansible-doc --type {kind} cannot read {', '.join(missing)}: {shown.stderr.strip()}")
    print(f"documentation of {len(names)} {kind} plugins reads well")


def other_python() -> Path | None:
    """The newest interpreter with another minor version that really starts; shims in PATH may refuse to."""
    versions = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    for minor in range(15, 10, -1):
        if minor == sys.version_info[1]:
            continue
        beside = sorted(
            versions.glob(f"3.{minor}.*/bin/python3.{minor}"), key=lambda path: path.parts[-3], reverse=True
        )
        for candidate in [shutil.which(f"python3.{minor}"), *beside]:
            if candidate and starts(candidate):
                return Path(candidate)
    return None


def starts(python: str | Path) -> bool:
    done = subprocess.run([str(python), "-c", "import venv, ensurepip"], capture_output=True, check=False)
    return done.returncode == 0


def second_python() -> None:
    """Unit tests and the smoke plays on another Python, and with that on another ansible-core.

    What ``READING`` and sanity say depends on neither, as unit tests import all that sanity would. The rules behind
    recorded answers have unit tests of their own.
    """
    python = other_python()
    if python is None:
        print("No other Python 3.11 or newer starts here; nothing was tried on a second one.")
        return
    print(f"on {python}")
    env = {"PYTHON": str(python)}
    inside: list[str | Path] = [ROOT / "tools" / "in_venv", "dev", "python"]
    passed_over = [f"--ignore={file}" for file in READING]
    call(*inside, "-m", "pytest", "-q", *passed_over, "tests/unit", env=env)
    call(*inside, "tools/check.py", "smoke", env=env)


STEPS = [
    Step("format", lambda: void(call("ruff", "format", "--check", "."))),
    Step("lint", lambda: void(call("ruff", "check", "."))),
    Step("types", mypy),
    Step("arrows", arrows),
    Step("yaml", lambda: void(call("yamllint", "--strict", "."))),
    Step("ansible-lint", ansible_lint),
    Step("pipelines", pipelines),
    Step("changelog", lambda: void(call("antsibull-changelog", "lint"))),
    Step("sanity", sanity.run),
    Step("execution-environment", lambda: execution_environment.create(build())),
    Step("smoke", smoke),
    Step("docs", lambda: void(call(ROOT / "tools" / "in_venv", "docs", "python", "tools/docs_site.py"))),
    Step("second-python", second_python),
]


def void(_code: int) -> None:
    """A step gives nothing back."""


def main(names: list[str]) -> int:
    usual = names or [step.name for step in STEPS]
    unknown = sorted(set(names) - {step.name for step in STEPS})
    if unknown:
        print(
            f"no such step: {', '.join(unknown)}; there are {', '.join(step.name for step in STEPS)}", file=sys.stderr
        )
        return 2
    report = run(step for step in STEPS if step.name in usual)
    print(f"\nmake check on Python {sys.version_info[0]}.{sys.version_info[1]}: {report}", flush=True)
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
