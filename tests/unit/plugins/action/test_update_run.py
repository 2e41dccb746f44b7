# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""F18: what a run that was cut off, or went wrong, is told to be carried on by knows of approvals given meanwhile."""

from __future__ import annotations

import contextlib
import typing as t
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from ansible_collections.gitops.fleet.plugins.action import update_run
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.defining import Outcome
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.preflight import PreflightReport
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.sources import UpdateManifests
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.steering import RunEnding
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from ansible_collections.gitops.fleet.plugins.modules import update_run as documentation
from ansible_collections.gitops.fleet.plugins.plugin_utils._verb import Answer, Run
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.test_integrity import object_of
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._fleet.updates.test_gate_objects import (
    DIGEST_A,
    NOW,
    approved,
    run_and_state,
    shown,
)

NONE = ("drivers", "operations", "events", "time_limit", "approval_expires", "digest", "src")
OPTIONS = dict.fromkeys(NONE) | {
    "max_idle": 120, "interval": 10, "settle": 0, "lost_after": 60, "timeout": 10, "threads": 1,
    "restart": False, "allow_self_approval": False, "verified_approvals": False,
}  # fmt: skip


def conducted(monkeypatch: pytest.MonkeyPatch, path: Path, status: t.Any, **ending: t.Any) -> tuple[Answer, list[str]]:
    """The answer of a run with a gate of that status that conducting left as ``ending``, and the lines that it said."""
    said: list[str] = []
    defined, laid_out = run_and_state()
    state = replace(laid_out, phase="active")
    run = replace(object_of(state, DIGEST_A), metadata=defined.metadata)
    with contextlib.closing(SqliteRecords(path / "records.db", lambda: NOW)) as records:
        shown(records, status=status)
        session = Session(records=records, holder="tests", clock=lambda: NOW, say=said.append)
        told = Run(check_mode=False, say=said.append, warn=said.append, environ={})
        monkeypatch.setattr(update_run, "_made", lambda *_arguments, **_named: Outcome(run=run, changed=False))
        monkeypatch.setattr(update_run, "refuse_unfit", lambda *_arguments: ())
        left = RunEnding(run=run, state=state, changed=False, **ending)
        monkeypatch.setattr(update_run, "carry_on", lambda *_arguments: left)
        given: t.Any = None
        to = update_run.Telling(session=session, run=told, options=OPTIONS)
        return update_run._conduct(to, "r", given, check=False), said


@pytest.mark.parametrize(
    ("why", "behind"), [("interrupted by SIGINT", {}), ("settled", {"a": "1.35.4"})], ids=["last words", "failure"]
)
@pytest.mark.parametrize("approval", [True, False])
def test_what_to_type_next_names_no_gate_that_is_approved(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, why: str, behind: dict[str, str], approval: bool
) -> None:
    status = approved(DIGEST_A) if approval else {"state": "Pending"}
    answer, said = conducted(monkeypatch, tmp_path, status, why=why, behind=behind)
    told = answer.message.splitlines()[1:] if behind else list(answer.next_lines)
    first = "to go on:" if approval else "to approve board (before s):"
    assert told[0].startswith(first) and any("gitops.fleet.update" in line for line in told)
    assert behind or [line for line in said if line in told] == told, "the run says the same before it ends"


def documented() -> set[str]:
    """What the module says that it returns of a run, whatever is done with it."""
    there = ("success", "unless the run is absent")
    return {name for name, each in yaml.safe_load(documentation.RETURN).items() if each["returned"].startswith(there)}


def test_a_run_that_is_checked_is_returned_with_the_digest_that_can_be_approved(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What the module documents of a run that is there holds of each state: of one that is only looked at, too."""
    run, _laid_out = run_and_state()
    monkeypatch.setattr(update_run, "_made", lambda *_arguments, **_named: Outcome(run=run, changed=False))
    monkeypatch.setattr(update_run, "preflight", lambda *_arguments: PreflightReport(findings=(), seen={}))
    monkeypatch.setattr(update_run, "_printed_plan", lambda *_arguments: [])
    with contextlib.closing(SqliteRecords(tmp_path / "records.db", lambda: NOW)) as records:
        session = Session(records=records, holder="tests", clock=lambda: NOW, say=lambda _line: None)
        answer = update_run._checked(session, "r", UpdateManifests(), OPTIONS)
    assert documented() | {"findings", "table"} == answer.data.keys()
    assert answer.data["digest"] == run.status.digest


def test_a_run_that_was_conducted_is_returned_as_documented(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answer, _said = conducted(monkeypatch, tmp_path, None, why="settled")
    assert documented() == answer.data.keys()


def test_a_run_that_was_conducted_is_told_though_others_cannot_be_read_after_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refused(*_asked: object) -> t.Any:
        raise FleetError("forbidden", "may not list updateruns", "hub")

    monkeypatch.setattr(update_run, "known_beside", refused)
    answer, said = conducted(monkeypatch, tmp_path, None, why="settled", behind={"a": "1.35.4"})
    assert (answer.outcome, answer.code) == ("partial", "not-at-target") and documented() == answer.data.keys()
    assert "whether another run has come after it is not known: hub: may not list updateruns [forbidden]" in said
