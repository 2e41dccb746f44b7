# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Windows that live on the cluster itself, as they are written there."""

from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.maintenance import cluster_maintenance
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_member import FleetMemberStatus
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode, encode

NIGHTS = {"schedule": {"daily": {"intervalDays": 1}}, "durationHours": 4, "startTime": "02:00", "utcOffset": "+00:00"}
FREEZE = {"name": "sales", "start": "2026-11-20", "end": "2026-12-01"}


def of_aks(name: str) -> dict[str, t.Any]:
    return {
        "id": f"/subscriptions/s/resourceGroups/rg/providers/Microsoft.ContainerService/managedClusters/east/"
        f"maintenanceConfigurations/{name}",
        "name": name,
        "type": "Microsoft.ContainerService/managedClusters/maintenanceConfigurations",
        "maintenanceWindow": NIGHTS,
        "timeInWeek": None,
        "notAllowedTime": None,
        "resourceGroup": "rg",
    }


def test_as_the_spec_of_a_fleet_maintenance():
    found = cluster_maintenance(
        json.dumps({"windows": [{"name": "kubernetes", "maintenanceWindow": NIGHTS}], "freezes": [FREEZE]}), "here", "m"
    )
    assert (found.source, [each.configuration for each in found.windows]) == ("here", ["kubernetes"])
    assert [each.name for each in found.freezes] == ["sales"]
    status = FleetMemberStatus(maintenance=found)
    assert decode(FleetMemberStatus, encode(status)) == status, "it is recorded as it was read"


def test_as_az_prints_them():
    names = ["aksManagedAutoUpgradeSchedule", "aksManagedNodeOSUpgradeSchedule"]
    found = cluster_maintenance(json.dumps([of_aks(each) for each in names]), "told by az", "east")
    assert [each.configuration for each in found.windows] == ["kubernetes", "nodeImage"]
    assert cluster_maintenance("[]", "told by az", "east").windows == ()


@pytest.mark.parametrize(
    "text, words",
    [
        ("", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ("3", "something else"),
        ('[{"x": 1}]', "something else"),
        ('{"budgets": []}', "something else"),
        ('{"windows": [{"name": "nights"}]}', "one of kubernetes"),
        (json.dumps({"windows": [{"name": "kubernetes", "maintenanceWindow": {**NIGHTS, "durationHours": 1}}]}), "4"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_place(text: str, words: str):
    with pytest.raises(FleetError, match=words) as refused:
        cluster_maintenance(text, "annotation x", "m1")
    assert all(each.where.startswith("member m1, annotation x") for each in refused.value.problems)
