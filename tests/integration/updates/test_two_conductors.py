# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One conductor at a time: the second is told who is at it; when the first one is gone for long, it takes over."""

from __future__ import annotations

import signal
from datetime import timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from conducting import Plays
from update_fleet import HELD, OLD, UpdateFleet, sequence, until


def test_the_second_is_refused_and_takes_over_when_the_lease_has_run_out(fleet: UpdateFleet, plays: Plays) -> None:
    """The first one's machine is suspended meanwhile, as a paused virtual machine is."""
    fleet.file_members(a=OLD, b=OLD)
    drivers = {"command": fleet.file_driver(begin=HELD)}
    fleet.write(sequence(("all",)))
    first = plays.start("gitops.fleet.update", **fleet.variables(drivers=drivers))
    until(lambda: fleet.file_upgrades() == ["a"])
    worker = first.worker
    holder = next(each.holder for each in fleet.records.leases() if each.name == f"run/{fleet.run_name}")
    assert f":{worker}#" in holder

    with pytest.raises(FleetError) as refused:
        fleet.conduct(drivers=drivers)
    assert refused.value.code == "lease-held"
    assert holder in str(refused.value) and "s ago" in str(refused.value)

    first.kill(signal.SIGSTOP, worker)
    try:
        fleet.expire_leases()
        assert fleet.conduct(drivers=drivers, time_limit=timedelta(seconds=1)).code == "time-limit"
        taken_over = fleet.recorded()
        assert taken_over.status.epoch == 2 and "Running" in fleet.states().values()
    finally:
        first.kill(signal.SIGCONT, worker)
    first.code(2)
    assert first.fleet["code"] == "lease-lost" and f"no longer holds run/{fleet.run_name}" in first.output
    assert fleet.recorded() == taken_over, "nothing was written"

    fleet.let_go()
    assert fleet.conduct(drivers=drivers).outcome == "done"
    assert fleet.file_upgrades() == ["a", "b"] and fleet.recorded().status.epoch == 3
    assert [each for each in fleet.records.leases() if each.name.startswith("run/")] == []
