# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Facts read by several processes: what one process says, and nothing of theirs is left."""

from __future__ import annotations

import typing as t

from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.prices import NO_PRICES
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.capture import Captured, capture
from small_fleet import Fleet


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
