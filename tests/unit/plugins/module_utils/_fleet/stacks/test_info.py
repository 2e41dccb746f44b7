# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is told of a stack by an engine that warns, or answers in another way than it should."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.stacks.info import StackInfo, info, output

ENGINE = """#!/bin/sh
here=$(dirname "$0")
case "$1" in version) echo v3.259.0; exit ;; esac
echo "warning: something that nobody asked for" >&2
cat "$here/$2"
"""
STACK = {"type": "pulumi:pulumi:Stack", "urn": "urn:pulumi:dev::small::pulumi:pulumi:Stack::small-dev"}
STATE = {"deployment": {"resources": [STACK], "pending_operations": [{"resource": STACK, "type": "creating"}]}}
TOLD: dict[str, t.Any] = {"export": STATE, "history": [{"kind": "update", "result": "succeeded"}], "output": {"a": 1}}


@pytest.fixture
def told(tmp_path: Path) -> t.Callable[..., StackInfo]:
    engine, project = tmp_path / "engine", tmp_path / "project"
    for folder in (engine, project, tmp_path / "state"):
        folder.mkdir()
    for name in ("pulumi", "pulumi-language-python"):
        (engine / name).write_text(ENGINE)
        (engine / name).chmod(0o755)
    (project / "Pulumi.yaml").write_text("name: small\nruntime: python\n")
    options = {"project_dir": str(project), "stack": "dev", "backend_url": f"file://{tmp_path}/state"}

    def ask(**answers: t.Any) -> StackInfo:
        for name, answer in {**TOLD, **answers}.items():
            (engine / name).write_text(answer if isinstance(answer, str) else json.dumps(answer))
        environ = {"PATH": f"{engine}:/usr/bin:/bin"}
        if "wanted" in answers:
            return t.cast(StackInfo, output(options, answers["wanted"], environ, lambda _text: None))
        return info(options, environ, lambda _text: None)

    return ask


def test_warnings_are_no_part_of_what_is_told(told: t.Any):
    found = told()
    assert (found.outputs, found.types, found.urns) == ({"a": 1}, {STACK["type"]: 1}, (STACK["urn"],))
    assert found.last["result"] == "succeeded" and found.pending == {STACK["urn"]: "creating"}
    assert told(wanted="a") == 1


@pytest.mark.parametrize("value", ["[secret]", {"user": "ann", "password": "[secret]"}, [{"deep": ["[secret]"]}]])
def test_an_output_with_a_secret_in_it_is_not_given(told: t.Any, value: t.Any):
    """Whoever reads it would take what stands in its place for the password."""
    with pytest.raises(FleetError) as refused:
        told(output={"login": value, "a": 1}, wanted="login")
    assert refused.value.code == "secret-output"
    assert told(output={"login": value, "a": 1}, wanted="a") == 1


def test_a_stack_that_never_ran_has_no_last_run(told: t.Any):
    assert told(history="").last == {} and told(history="[]").last == {}


@pytest.mark.parametrize(
    "answer",
    [
        {"export": "warning: x"},
        {"export": []},
        {"export": {"deployment": 7}},
        {"export": {"deployment": {"resources": [{"type": "a:b:C"}]}}},
        {"export": {"deployment": {"pending_operations": [{"type": "creating"}]}}},
        {"history": {}},
        {"history": ["succeeded"]},
        {"output": []},
        {"output": "x"},
    ],
)
def test_what_the_engine_does_not_tell_in_this_way_is_an_error(told: t.Any, answer: dict[str, t.Any]):
    with pytest.raises(FleetError) as refused:
        told(**answer)
    assert refused.value.code == "stack-unreadable"
