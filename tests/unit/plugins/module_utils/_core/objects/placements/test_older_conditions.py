# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The status of a placement as an older release of KubeFleet wrote it."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.cluster_resource_placement import (
    PlacementStatus,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.older_conditions import (
    with_todays_conditions,
    with_todays_types,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode, encode
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import Condition
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.random_json import documents_of
from hypothesis import given

CRP = "ClusterResourcePlacement"


def row(kind: str, reason: str) -> dict[str, object]:
    return {
        "type": kind,
        "status": "True",
        "reason": reason,
        "message": "so it was",
        "observedGeneration": 5,
        "lastTransitionTime": "2024-05-01T12:00:00Z",
    }


OLDER = {
    "conditions": [
        row(f"{CRP}Scheduled", "SchedulingPolicyFulfilled"),
        row(f"{CRP}Synchronized", "SynchronizeSucceeded"),
        row(f"{CRP}Applied", "ApplySucceeded"),
    ],
    "placementStatuses": [
        {
            "clusterName": "east",
            "conditions": [
                row("ResourceScheduled", "ScheduleSucceeded"),
                row("WorkSynchronized", "WorkSynchronizeSucceeded"),
                row("ResourceApplied", "ApplySucceeded"),
            ],
        }
    ],
}
READ = with_todays_conditions(decode(PlacementStatus, OLDER))


def test_types_of_the_placement_d4_87() -> None:
    assert [each.type for each in READ.conditions] == [f"{CRP}Scheduled", f"{CRP}WorkSynchronized", f"{CRP}Applied"]


def test_types_of_each_cluster_d4_88() -> None:
    (east,) = READ.placement_statuses
    assert [each.type for each in east.conditions] == ["Scheduled", "WorkSynchronized", "Applied"]


def test_reasons_d4_89() -> None:
    (east,) = READ.placement_statuses
    assert [each.reason for each in READ.conditions] == [
        "SchedulingPolicyFulfilled",
        "WorkSynchronized",
        "ApplySucceeded",
    ]
    assert [each.reason for each in east.conditions] == ["Scheduled", "AllWorkSynced", "ApplySucceeded"]


def test_all_else_stays_as_it_was() -> None:
    written = encode(READ)["conditions"][1]
    assert written == row(f"{CRP}WorkSynchronized", "WorkSynchronized")


@pytest.mark.parametrize("newer_first", [True, False])
def test_where_both_types_are_there_todays_holds(newer_first: bool) -> None:
    pair = [Condition(type="ResourceApplied", status="False"), Condition(type="Applied", status="True")]
    assert with_todays_types(tuple(reversed(pair) if newer_first else pair)) == (pair[1],)


@given(document=documents_of(PlacementStatus))
def test_reading_twice_changes_nothing_more(document: dict[str, object]) -> None:
    once = with_todays_conditions(decode(PlacementStatus, document))
    assert with_todays_conditions(once) == once
