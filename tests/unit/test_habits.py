# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Workflow files and hooks call what is there; links, files and commands in documents are true."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import yaml
from ansible_collections.gitops.fleet.plugins.plugin_utils._variables import known_variables

ROOT = Path(__file__).resolve().parents[2]
GITHUB, GITLAB = ROOT / ".github" / "workflows" / "ci.yml", ROOT / ".gitlab-ci.yml"
HOOKS = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "roles").glob("*/README.md")),
]
LINK = re.compile(r"\]\((?!\w+:)([^)\s#]*)(?:#([^)\s]+))?\)")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
PATH = re.compile(
    r"`((?:_[a-z]+|plugins|playbooks|roles|tests|tools|docs|examples|extensions|changelogs|meta)/[\w./-]+)`"
)
PLAYBOOK = re.compile(r"ansible-playbook gitops\.fleet\.(\w+)((?:[^\n`#]|\\\n)*)")
VARIABLE = re.compile(r"-e '?(\w+)=")
TARGET = re.compile(r"^(\w+):", re.MULTILINE)
MAKE = re.compile(r"`make ((?:[a-z]+ ?)+)")
ROOMS = ("_core", "_fleet", "_kube", "_local", "_report", "_store")
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def commands(document: object) -> list[str]:
    """Every line that a workflow runs."""
    if isinstance(document, dict):
        own = [document[key] for key in ("run", "script") if key in document]
        lines = [line for each in own for line in (each if isinstance(each, list) else str(each).splitlines())]
        return lines + [
            line for key, each in document.items() if key not in ("run", "script") for line in commands(each)
        ]
    return [line for each in document for line in commands(each)] if isinstance(document, list) else []


def test_workflows_call_the_two_commands_and_nothing_else():
    github = yaml.safe_load(GITHUB.read_text(encoding="utf-8"))
    assert commands(github) == ["make ${{ matrix.target }}"]
    assert github["jobs"]["make"]["strategy"]["matrix"]["target"] == ["test", "check"]
    assert github["permissions"] == {"contents": "read"}
    assert commands(yaml.safe_load(GITLAB.read_text(encoding="utf-8"))) == ["make test", "make check"]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert all(f"\n{target}: " in makefile for target in ("test", "check"))


def test_workflows_keep_the_built_binaries_by_what_determines_them():
    assert "path: ~/.cache/gitops-fleet/binaries" in GITHUB.read_text(encoding="utf-8")
    test = yaml.safe_load(GITLAB.read_text(encoding="utf-8"))["test"]
    assert test["cache"]["paths"] == [".cache/user/gitops-fleet/binaries/"]
    files = [*re.findall(r"hashFiles\('(.+?)', '(.+?)'\)", GITHUB.read_text(encoding="utf-8"))[0]]
    assert all(list(ROOT.glob(each)) for each in files)
    assert all((ROOT / each).is_file() for each in test["cache"]["key"]["files"])


def test_workflows_ask_for_what_the_documents_ask_for():
    go = re.search(r"Go (1\.\d+)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert go is not None
    assert f'go-version: "{go[1]}"' in GITHUB.read_text(encoding="utf-8")
    assert f"image: golang:{go[1]}\n" in GITLAB.read_text(encoding="utf-8")


def test_hooks_run_tools_of_our_own_environment_and_fetch_nothing():
    assert [each["repo"] for each in HOOKS["repos"]] == ["local"]
    hooks = HOOKS["repos"][0]["hooks"]
    assert all(each["language"] == "system" for each in hooks)
    words = [each["entry"].split() for each in hooks]
    assert all(each[:2] == ["./tools/in_venv", "dev"] for each in words)
    tools = Path(sys.executable).parent
    assert [each[2] for each in words if not (tools / each[2]).exists()] == []
    assert [part for each in words for part in each if part.startswith("tools/") and not (ROOT / part).exists()] == []


@each_page
def test_links_lead_somewhere(page):
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    wrong = []
    for path, heading in LINK.findall(text):
        target = page.parent / path if path else page
        if not target.exists() or (heading and target.suffix == ".md" and heading not in anchors(target)):
            wrong.append(f"{path}#{heading}")
    assert wrong == []


def anchors(page: Path) -> set[str]:
    """Headings as code hosts make anchors of them."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    named = re.findall(r'<a id="([^"]+)">', text)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles} | set(named)


@each_page
def test_files_that_are_named_are_there(page):
    """What was moved is moved in every document; patterns such as ``*_rules.py`` are no names."""
    named = PATH.findall(page.read_text(encoding="utf-8"))
    base = ROOT / "plugins" / "module_utils"
    gone = [each for each in named if not ((base if each.startswith(ROOMS) else ROOT) / each).exists()]
    assert gone == []


@each_page
def test_commands_name_playbooks_and_variables_that_are_there(page):
    commands = PLAYBOOK.findall(page.read_text(encoding="utf-8"))
    files = {name: ROOT / "playbooks" / f"{name}.yml" for name, _rest in commands}
    assert [str(each) for each in files.values() if not each.is_file()] == []
    given = {(name, variable) for name, rest in commands for variable in VARIABLE.findall(rest)}
    assert {(name, variable) for name, variable in given if variable not in known_variables(str(files[name]))} == set()


@each_page
def test_targets_of_make_are_there(page):
    targets = set(TARGET.findall((ROOT / "Makefile").read_text(encoding="utf-8")))
    named = {word for words in MAKE.findall(page.read_text(encoding="utf-8")) for word in words.split()}
    assert named - targets == set()
