# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Signals to ansible-playbook and to its worker: the upgrade in flight goes on, is recorded, and is not repeated."""

from __future__ import annotations

import os
import signal
import typing as t
from pathlib import Path

import pytest
from conducting import Conducting, Plays, gone
from update_fleet import TARGET, UpdateFleet, sequence, until

CONDUCT = str(Path(__file__).with_name("conduct.yml"))
SIGNALS: dict[str, t.Callable[[Conducting], None]] = {
    "SIGINT to the process group": lambda one: os.killpg(one.pid, signal.SIGINT),
    "SIGINT to ansible-playbook": lambda one: one.kill(signal.SIGINT, one.pid),
    "SIGTERM to ansible-playbook": lambda one: one.kill(signal.SIGTERM, one.pid),
    "SIGTERM to the worker": lambda one: one.kill(signal.SIGTERM, one.worker),
}


@pytest.mark.parametrize("sent", SIGNALS)
def test_the_upgrade_in_flight_goes_on_and_nothing_new_begins(fleet: UpdateFleet, plays: Plays, sent: str) -> None:
    fleet.file_members(a="v1.35.4", b="v1.35.4")
    fleet.write(sequence(("all",)))
    variables = fleet.variables(drivers={"command": fleet.file_driver(seconds=2)})
    first = plays.start(CONDUCT, **variables)
    until(lambda: fleet.file_upgrades() == ["a"])
    worker = first.worker
    SIGNALS[sent](first)
    assert gone(worker, 10), "the worker did not end by itself"
    first.ended()
    assert "Traceback" not in first.output
    if "worker" in sent:
        assert first.code(0).fleet["code"] == "interrupted"
    assert fleet.states() == {"a": "Running", "b": "NotStarted"}
    assert len(fleet.leftovers()) > 0, "the upgrade goes on without its conductor"
    until(lambda: not fleet.leftovers())
    assert fleet.file_upgrades() == ["a"]

    second = plays(CONDUCT, **variables).code(0)
    assert second.fleet["outcome"] == "done"
    assert fleet.file_upgrades() == ["a", "b"]
    assert {(each.status.state, each.attempt, each.version_after) for each in fleet.rows()} == {
        ("Completed", 1, f"v{TARGET}")
    }
    assert fleet.leftovers() == []
