# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Printed commands, as a shell and Ansible take them."""

from __future__ import annotations

import json
import shlex
import typing as t
from pathlib import Path

from ansible.parsing.splitter import parse_kv
from ansible_collections.gitops.fleet.plugins.module_utils._report.commands.next_steps import (
    NextStep,
    next_lines,
)
from ansible_collections.gitops.fleet.plugins.plugin_utils._variables import PLAYBOOKS
from ansible_collections.gitops.fleet.tools import playbooks


def typed(command: str) -> tuple[str, dict[str, t.Any]]:
    """The playbook and the variables that a shell and Ansible make of it; each variable is one that it takes."""
    program, playbook, *rest = shlex.split(command)
    assert program == "ansible-playbook" and rest[::2] == ["-e"] * (len(rest) // 2)
    values: dict[str, t.Any] = {}
    for each in rest[1::2]:
        values |= json.loads(each) if each.startswith("{") else parse_kv(each)
    name = playbook.removeprefix("gitops.fleet.")
    assert set(values) <= set(playbooks.variables(Path(PLAYBOOKS) / f"{name}.yml")), command
    return name, values


def told(
    steps: list[NextStep], records: t.Mapping[str, t.Any] | None = None
) -> list[tuple[str, str, dict[str, t.Any]]]:
    found = []
    for line in next_lines(steps, records or {}):
        to, _colon, command = line.partition(": ansible-playbook ")
        found.append((to, *typed(f"ansible-playbook {command}")))
    return found
