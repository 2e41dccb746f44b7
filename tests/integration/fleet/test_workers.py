# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Facts read and placements applied by several processes: what one process says, and nothing of theirs is left."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.prices import NO_PRICES
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.brakes import BrakeLimits
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.capture import Captured, capture
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.placement import Report
from small_fleet import NOT_WAITING, Fleet, codes


def captured(fleet: Fleet, workers: int) -> Captured:
    return capture(fleet.session(), pods=True, prices=NO_PRICES, threads=4, timeout=2.0, record=True, workers=workers)


def told(found: Captured) -> t.Any:
    """All but the instant."""
    return {**found.document, "capturedAt": "", "members": [_timeless(each) for each in found.document["members"]]}


def _timeless(member: t.Any) -> t.Any:
    return t.cast(t.Any, {"name": member["metadata"]["name"], "status": sorted(member.get("status") or {})})


def test_several_processes_say_what_one_says(fleet: Fleet) -> None:
    """F1: one that cannot be reached is named by either."""
    fleet.join("m1", "m2", "m3")
    fleet.cut("m2")
    one, several = captured(fleet, 1), captured(fleet, 3)
    assert told(several) == told(one)
    assert sorted(several.reading.statuses) == ["m1", "m3"]
    assert {name: error.code for name, error in several.reading.failed.items()} == {"m2": "unreachable"}
    assert several.notes == one.notes
    recorded = fleet.records.get("FleetMember", "m3")
    assert recorded is not None and recorded["spec"]["clusterUID"]


def outcomes(report: Report, placement: str) -> dict[str, t.Any]:
    return {name: each.as_dict() for name, each in report.outcomes[placement].items()}


def test_several_processes_write_what_one_writes_and_a_second_run_nothing(fleet: Fleet) -> None:
    """F2, F3: a member that cannot be reached is named by either, and so is what a look finds."""
    ways = replace(NOT_WAITING, workers=3)
    fleet.join("m1", "m2", "m3", "m4")
    fleet.resources(fleet.configmap())
    fleet.place()
    planned = fleet.look(ways=ways)
    assert outcomes(planned, fleet.name) == outcomes(fleet.look(), fleet.name)
    report = fleet.apply(ways=ways)
    assert not report.problems and list(report.outcomes[fleet.name]) == ["m1", "m2", "m3", "m4"]
    assert fleet.holders() == ["m1", "m2", "m3", "m4"]
    with fleet.writing() as writes:
        again = fleet.apply(ways=ways)
    assert not again.changed and not again.problems and not writes
    fleet.resources(fleet.configmap(color="red"))
    fleet.cut("m2")
    assert codes(fleet.apply(ways=ways)) == {"unreachable"}
    fleet.mend("m2")
    assert not fleet.apply(ways=ways).problems
    assert all(
        fleet.servers[name].data(fleet.namespaced("configmaps", "settings")) == {"color": "red"}
        for name in fleet.servers
    )
    assert [each.name for each in fleet.records.leases()] == []
    assert fleet.end(ways=ways, limits=BrakeLimits(max_removals="100%")).changed and fleet.holders() == []
