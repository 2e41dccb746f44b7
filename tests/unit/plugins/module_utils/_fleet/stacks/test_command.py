# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine's commands, with scripts in its place: what is read meanwhile, how one ends, what its words mean."""

from __future__ import annotations

import json
import socket
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.stacks.command import Commands

LOCK = (
    "error: the stack is currently locked by 1 lock(s)\n  file:///x: created by ann@{} (pid {}) at 2026-01-01T00:00:00Z"
)
STEP = {"op": "create", "type": "a:b:C", "urn": "urn:pulumi:dev::small::a:b:C::one", "new": {"inputs": {}}}
BAD = {"urn": "urn:pulumi:dev::small::a:b:C::one", "severity": "error", "message": "<{%fg 1%}>it is full<{%reset%}>\n"}
ECHO = {"severity": "error", "message": "update failed"}


@pytest.fixture
def commands(tmp_path: Path) -> t.Callable[..., Commands]:
    def make(script: str, said: list[str] | None = None, seconds: float = 300.0) -> Commands:
        engine = tmp_path / "pulumi"
        engine.write_text(f"#!/bin/sh\n{script}\n")
        engine.chmod(0o755)
        places = {"program": tmp_path, "workspace": tmp_path}
        heard = [] if said is None else said
        given = {"environ": {"PATH": "/usr/bin:/bin"}, "seconds": seconds, "say": heard.append, "grace": 0.5}
        return Commands(pulumi=engine, stack="dev", **places, **given)

    return make


def refused(call: t.Callable[[], object]) -> FleetError:
    with pytest.raises(FleetError) as found:
        call()
    return found.value


def test_what_goes_on_is_told_and_errors_are_named_by_their_resources(commands, tmp_path):
    events = [{"resourcePreEvent": {"metadata": STEP}}, {"diagnosticEvent": BAD}, {"diagnosticEvent": ECHO}]
    (tmp_path / "given").write_text("".join(json.dumps(event) + "\n" for event in events))
    said: list[str] = []
    failing = commands(f"cat {tmp_path}/given > {tmp_path}/up.events; exit 1", said)
    found = refused(lambda: failing.story("up"))
    assert said == ["create one (a:b:C)"]
    assert [(each.code, each.message, each.where) for each in found.problems] == [
        ("stack-failed", "it is full", "stack dev: one")
    ]


def test_one_that_takes_too_long_is_asked_to_end_twice_and_then_killed(commands):
    found = refused(lambda: commands("trap '' INT; while :; do sleep 0.1; done", seconds=0.5).told("up"))
    assert found.code == "stack-timeout" and "timeout" in found.hint


def test_input_reaches_it_and_no_argument(commands, tmp_path):
    assert commands('echo "$@"; cat').told("config", "set", given="hidden").endswith("hidden")
    assert "hidden" not in commands('echo "$@"').told("config", "set", given="hidden")


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (LOCK.format(socket.gethostname(), 4194304), "stack-locked", "which has ended without giving it back"),
        (LOCK.format("elsewhere", 1), "stack-locked", "ann on elsewhere since 2026-01-01T00:00:00Z (process 1)"),
        ("error: no stack named 'dev' found", "no-such-stack", "the backend has no stack dev"),
        ("error: failed to load checkpoint: EOF", "stack-unreadable", "*.attrs"),
        ("error: the passphrase is wrong", "stack-failed", "the passphrase is wrong"),
        ("", "stack-failed", "the engine failed"),
    ],
)
def test_what_its_words_mean(commands, tmp_path, words, code, told):
    (tmp_path / "words").write_text(words)
    found = refused(lambda: commands(f"cat {tmp_path}/words; exit 1").told("export"))
    assert found.code == code and told in str(found)


def test_a_stack_is_known_by_its_name_alone_or_whole(commands, tmp_path):
    (tmp_path / "names").write_text(json.dumps([{"name": "organization/small/dev2"}, {"name": "x"}], indent=1))
    assert not commands(f"cat {tmp_path}/names").known()
    (tmp_path / "names").write_text(json.dumps([{"name": "organization/small/dev"}], indent=1))
    assert commands(f"cat {tmp_path}/names").known()
