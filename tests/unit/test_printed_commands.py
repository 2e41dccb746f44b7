# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A command in a message of ours is one that can be typed: its playbook is there, and takes every variable."""

from __future__ import annotations

import ast
import re
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.plugin_utils._variables import known_variables

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(
    file
    for file in (ROOT / "plugins").rglob("*.py")
    if "ansible-playbook gitops.fleet." in file.read_text(encoding="utf-8")
)
COMMAND = re.compile(r"ansible-playbook gitops\.fleet\.(\w+)((?: -e \S+)*)")
VARIABLE = re.compile(r"-e '?(\w+)=")
# Not words such as DRIVER, which stand for what only people know and are named beside the command.
HOLE = re.compile(r"-e '?\w+=(?:<|\.\.\.|FILE\b)")
ROLES = {each.name for each in (ROOT / "roles").iterdir()}
VERBS = {each.stem for each in (ROOT / "plugins" / "modules").glob("*.py")}
PLAYBOOKS = {each.stem for each in (ROOT / "playbooks").glob("*.yml")}


def texts(file: Path) -> t.Iterator[str]:
    """Every text in the code, with an x for what is put into it."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(each.value) if isinstance(each, ast.Constant) else "x" for each in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT / "plugins")))
def test_playbook_and_variables_are_there(file: Path) -> None:
    for text in texts(file):
        for name, rest in COMMAND.findall(text):
            assert name in PLAYBOOKS, text
            assert set(VARIABLE.findall(rest)) <= known_variables(str(ROOT / "playbooks" / f"{name}.yml")), text


@pytest.mark.parametrize("folder", ["action", "module_utils", "plugin_utils"])
def test_a_command_can_be_pasted_with_values_that_are_values(folder: str) -> None:
    """A shell takes ``<file>`` for a redirection."""
    for file in (ROOT / "plugins" / folder).rglob("*.py"):
        for text in texts(file):
            assert not HOLE.search(text), f"{file}: {text[:200]}"


@pytest.mark.parametrize("room", ["_core", "_fleet", "_kube", "_local", "_report", "_store"])
def test_whatever_else_is_named_of_the_collection_is_there(room: str) -> None:
    """A way out that leads nowhere is worse than none."""
    for file in (ROOT / "plugins" / "module_utils" / room).rglob("*.py"):
        for text in texts(file):
            named = re.findall(r"gitops\.fleet\.([a-z]\w*)\b(?![/.])", text)
            assert set(named) <= {*ROLES, *VERBS, *PLAYBOOKS, "x", "plugins"}, f"{file}: {text[:200]}"
