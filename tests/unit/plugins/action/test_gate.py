# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""F18: what is said after an approval, by whether it counts and where the records are."""

from __future__ import annotations

import contextlib
import typing as t
from types import SimpleNamespace

import pytest
from ansible_collections.gitops.fleet.plugins.action import gate
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.plugin_utils._verb import Answer, Run

ON = "whoever conducts r goes on with it, unless that is under way"
COMMAND = "ansible-playbook gitops.fleet.update -e run=r"
WHY = "anna made or started the run, and self-approval is not allowed"
NOT = f"this approval does not count by the terms that the run keeps: {WHY}; who conducts it asks anew"
NOT_GIVEN: dict[str, t.Any] = dict.fromkeys(gate.SELECTING)
HUB = {"type": "hub", "kubeconfig": "/home/anna/approver.yml"}


@pytest.mark.parametrize(
    ("given", "why", "check_mode", "told"),
    [
        ({}, "", False, [f"{ON}: {COMMAND}"]),
        ({"records": HUB}, "", False, [ON]),
        ({}, WHY, False, [NOT]),
        ({}, WHY, True, [NOT]),
        ({}, "", True, []),
    ],
    ids=["usual place", "an approver's login", "does not count", "would not count", "check mode"],
)
def test_what_is_said_after_an_approval(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, t.Any], why: str, check_mode: bool, told: list[str]
) -> None:
    said: list[str] = []
    run = Run(check_mode=check_mode, say=said.append, environ={}, given=given)
    monkeypatch.setattr(Run, "open", lambda *_asked: contextlib.nullcontext(SimpleNamespace(records=None)))
    monkeypatch.setattr(gate, "is_staged", lambda *_asked: False)
    monkeypatch.setattr(gate, "_gate", lambda *_asked: (Answer(changed=True), gate._uncounted(why)))
    pending = SimpleNamespace(status=SimpleNamespace(status=SimpleNamespace(state="Pending")))
    monkeypatch.setattr(gate, "read_run", lambda *_asked: pending)
    verb: t.Any = None
    options = {**NOT_GIVEN, "run": "r", "kind": "", "state": "approved"}
    answer = gate.ActionModule.carry_out(verb, options, run)
    assert said == told and list(answer.next_lines) == ([] if why else told)


def test_an_approval_is_told_though_the_run_cannot_be_read_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    warned: list[str] = []

    def gone(*_asked: object) -> t.Any:
        raise FleetError("hub-unreachable", "no answer", "hub")

    run = Run(check_mode=False, say=lambda _line: None, warn=warned.append, environ={})
    monkeypatch.setattr(Run, "open", lambda *_asked: contextlib.nullcontext(SimpleNamespace(records=None)))
    monkeypatch.setattr(gate, "is_staged", lambda *_asked: False)
    monkeypatch.setattr(gate, "_gate", lambda *_asked: (Answer(changed=True), ""))
    monkeypatch.setattr(gate, "read_run", gone)
    verb: t.Any = None
    answer = gate.ActionModule.carry_out(verb, {**NOT_GIVEN, "run": "r", "kind": "", "state": "approved"}, run)
    assert answer.changed and list(answer.next_lines) == [f"{ON}: {COMMAND}"]
    assert warned == ["the state of run r is not known: hub: no answer [hub-unreachable]"]


@pytest.mark.parametrize("option", ["id", "stage", "group", "name"])
@pytest.mark.parametrize("state", ["approved", "refused"])
def test_a_variable_that_lost_its_content_answers_no_gate(option: str, state: str) -> None:
    """``-e stage="$STAGE"`` would open whichever gate happens to be the only open one."""
    verb: t.Any = None
    run = Run(check_mode=False, say=lambda _line: None, environ={})
    with pytest.raises(FleetError) as refused:
        gate.ActionModule.carry_out(verb, {**NOT_GIVEN, "run": "r", "state": state, option: " "}, run)
    assert (refused.value.code, refused.value.where) == ("bad-option", option)
