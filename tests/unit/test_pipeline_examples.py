# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the pipelines of examples/ must never do, and that what they give is known; integration/examples runs them."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import typing as t
import zipfile
from pathlib import Path

import pytest
import yaml
from ansible_collections.gitops.fleet.plugins.plugin_utils._variables import known_variables

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
WORKFLOWS = sorted((EXAMPLES / "github" / ".github" / "workflows").glob("*.yml"))
GITLAB = EXAMPLES / "gitlab" / ".gitlab-ci.yml"


def scripts(file: Path) -> t.Iterator[str]:
    """Every piece of shell of a workflow, or of a pipeline of GitLab."""
    document = yaml.safe_load(file.read_text(encoding="utf-8"))
    if file == GITLAB:
        yield from (line for job in document.values() if isinstance(job, dict) for line in job.get("script", ()))
    else:
        yield from (step["run"] for job in document["jobs"].values() for step in job["steps"] if "run" in step)


def given(file: Path, words: list[str]) -> t.Iterator[str]:
    """Names of the variables of a command, those of files beside the example included."""
    for flag, value in zip(words, words[1:], strict=False):
        if flag != "-e":
            continue
        if value.startswith("@"):
            folder = EXAMPLES / file.relative_to(EXAMPLES).parts[0]
            yield from yaml.safe_load((folder / value[1:]).read_text(encoding="utf-8"))
        elif value.startswith("{"):
            yield from json.loads(value)
        else:
            yield value.partition("=")[0]


@pytest.mark.parametrize("file", [*WORKFLOWS, GITLAB], ids=lambda file: file.name)
def test_every_variable_is_one_that_the_playbook_takes(file: Path) -> None:
    found = 0
    for script in scripts(file):
        for line in script.replace("\\\n", " ").splitlines():
            words = shlex.split(line)
            verbs = [word for word in words if word.startswith("gitops.fleet.")]
            for verb in verbs:
                found += 1
                names = set(given(file, words))
                assert names <= known_variables(
                    str(ROOT / "playbooks" / f"{verb.removeprefix('gitops.fleet.')}.yml")
                ), line
                assert "result_file" in names or verb in ("gitops.fleet.facts", "gitops.fleet.status"), line
    assert found


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_no_secret_and_no_foreign_text_is_put_into_a_command_line(file: Path) -> None:
    """What an expression stands for becomes part of the script: a secret would be seen, a title could be a command."""
    assert not any("${{" in script for script in scripts(file))
    text = file.read_text(encoding="utf-8")
    assert "pull_request_target" not in text, "it would run what a fork brings, with our secrets"
    if "secrets." in text:
        assert not re.search(r"^  pull_request", text, re.MULTILINE), "a login in a job that anybody may start"


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_actions_are_pinned_by_commit_and_named_with_their_version(file: Path) -> None:
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if "uses:" in line]
    for line in lines:
        assert re.search(r"uses: [\w-]+/[\w/-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+$", line), line
    assert lines


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_a_job_has_the_rights_that_it_needs_and_an_end(file: Path) -> None:
    document = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert document["permissions"]["contents"] == "read"
    assert all(job["timeout-minutes"] <= 120 for job in document["jobs"].values())


def test_of_an_artifact_the_one_file_is_taken_that_is_meant(tmp_path: Path) -> None:
    """Whoever may open a pull request says what is in it, and the job that unpacks it has a login afterwards."""
    tasks = yaml.safe_load((EXAMPLES / "github" / ".github" / "fleet" / "artifact.yml").read_text(encoding="utf-8"))
    (unpack,) = (task["ansible.builtin.command"] for task in tasks if "ansible.builtin.command" in task)
    program, *words, archive, file = unpack["argv"]
    assert (program, file) == ("{{ ansible_playbook_python }}", "{{ file }}") and archive.endswith("/artifact.zip")
    with zipfile.ZipFile(tmp_path / "artifact.zip", "w") as packed:
        for name in ("ansible.cfg", "plan.json", "callback_plugins/theirs.py"):
            packed.writestr(name, "theirs")
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    (checkout / "ansible.cfg").write_text("ours", encoding="utf-8")
    subprocess.run([sys.executable, *words, tmp_path / "artifact.zip", "plan.json"], cwd=checkout, check=True)
    found = {each.name: each.read_text(encoding="utf-8") for each in checkout.iterdir()}
    assert found == {"ansible.cfg": "ours", "plan.json": "theirs"}
