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
from update_fleet import HELD, OLD, TARGET, UpdateFleet, sequence, until

# A look at a member that takes until a test lets it end.
LOOKING = 'touch "$1/looked"; until [ -e "$1/go" ]; do sleep 0.1; done; cat "$1/$2"'
CONDUCT = str(Path(__file__).with_name("conduct.yml"))
SIGNALS: dict[str, t.Callable[[Conducting], None]] = {
    "SIGINT to the process group": lambda one: os.killpg(one.pid, signal.SIGINT),
    "SIGINT to ansible-playbook": lambda one: one.kill(signal.SIGINT, one.pid),
    "SIGTERM to ansible-playbook": lambda one: one.kill(signal.SIGTERM, one.pid),
    "SIGTERM to the process group": lambda one: os.killpg(one.pid, signal.SIGTERM),
    "SIGTERM to the worker": lambda one: one.kill(signal.SIGTERM, one.worker),
    "SIGINT to the worker": lambda one: one.kill(signal.SIGINT, one.worker),
    "SIGHUP to the process group": lambda one: os.killpg(one.pid, signal.SIGHUP),
    "SIGHUP to ansible-playbook": lambda one: one.kill(signal.SIGHUP, one.pid),
    "SIGHUP to the worker": lambda one: one.kill(signal.SIGHUP, one.worker),
}


@pytest.mark.parametrize("sent", SIGNALS)
def test_the_upgrade_in_flight_goes_on_and_nothing_new_begins(fleet: UpdateFleet, plays: Plays, sent: str) -> None:
    fleet.file_members(a=OLD, b=OLD)
    fleet.write(sequence(("all",)))
    variables = fleet.variables(drivers={"command": fleet.file_driver(begin=HELD)})
    first = plays.start(CONDUCT, **variables)
    until(lambda: fleet.file_upgrades() == ["a"])
    worker = first.worker
    SIGNALS[sent](first)
    assert gone(worker), "the worker did not end by itself"
    first.ended()
    assert "Traceback" not in first.output
    if "worker" in sent:
        assert first.code(0).fleet["code"] == "interrupted"
    if sent == "SIGINT to the process group":
        told = first.output.partition("User interrupted execution")[2]  # Ansible itself prints nothing more
        assert (
            "interrupted by SIG" in told
            and "to go on, with drivers as now: ansible-playbook gitops.fleet.update" in told
        )
    assert fleet.states() == {"a": "Running", "b": "NotStarted"}
    assert len(fleet.leftovers()) > 0, "the upgrade goes on without its conductor"
    fleet.let_go()
    until(lambda: not fleet.leftovers())
    assert fleet.file_upgrades() == ["a"]

    second = plays(CONDUCT, **variables).code(0)
    assert second.fleet["outcome"] == "done"
    assert fleet.file_upgrades() == ["a", "b"]
    assert {(each.status.state, each.attempt, each.version_after) for each in fleet.rows()} == {
        ("Completed", 1, f"v{TARGET}")
    }
    assert fleet.leftovers() == []


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGKILL])
def test_what_comes_before_anything_was_begun_begins_nothing(
    fleet: UpdateFleet, plays: Plays, number: signal.Signals
) -> None:
    """ansible-playbook ends while its worker still looks at the members; SIGHUP and SIGKILL leave that behind."""
    fleet.file_members(a=OLD)
    fleet.write(sequence(("all",)))
    driver = fleet.file_driver()
    driver["observe"][2] = LOOKING
    first = plays.start(CONDUCT, **fleet.variables(drivers={"command": driver}))
    until((fleet.folder / "files" / "looked").exists)
    worker = first.worker
    first.kill(number, first.pid)
    first.ended()
    fleet.let_go()
    assert gone(worker), "the worker did not end by itself"
    assert fleet.file_upgrades() == [] and fleet.leftovers() == []
    assert plays(CONDUCT, **fleet.variables(drivers={"command": driver})).code(0).fleet["outcome"] == "done"
    assert fleet.file_upgrades() == ["a"]
