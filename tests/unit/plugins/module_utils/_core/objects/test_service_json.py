# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Azure's own JSON as manifests: whose windows they are, and what has no name."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.service_json import manifests_of

CLUSTERS = "/subscriptions/0/resourceGroups/{}/providers/Microsoft.ContainerService/managedClusters/{}"
NIGHT = {"schedule": {"daily": {"intervalDays": 1}}, "durationHours": 4, "startTime": "02:00"}


def windows_of(cluster: str, name: str, group: str = "g") -> dict[str, t.Any]:
    place = f"{CLUSTERS.format(group, cluster)}/maintenanceConfigurations/{name}"
    return {"id": place, "name": name, "maintenanceWindow": NIGHT}


def body(**given: t.Any) -> dict[str, t.Any]:
    return {"properties": {"maintenanceWindow": NIGHT}, **given}


def names(*documents: t.Any) -> list[tuple[str | None, int]]:
    return [(each["metadata"].get("name"), len(each["spec"]["windows"])) for each in manifests_of(list(documents))]


def test_windows_of_one_cluster_are_one_object() -> None:
    assert names(windows_of("East", "default"), windows_of("east", "aksManagedAutoUpgradeSchedule")) == [("east", 2)]


@pytest.mark.parametrize(
    ("one", "other"),
    [(windows_of("a_b", "x"), windows_of("a-b", "x")), (windows_of("a", "x"), windows_of("a", "x", "other"))],
    ids=["names that become one", "resource groups"],
)
def test_windows_of_two_clusters_are_two_objects(one: t.Any, other: t.Any) -> None:
    assert [count for _name, count in names(one, other)] == [1, 1]


@pytest.mark.parametrize("given", [{}, {"name": "default"}, {"name": "[concat('a', '/', 'b')]"}], ids=str)
def test_windows_of_nobody_are_never_put_together_and_have_no_name(given: dict[str, t.Any]) -> None:
    assert names(body(**given), body(**given)) == [(None, 1), (None, 1)]


def test_a_run_that_has_no_name_gets_none() -> None:
    update = {"upgrade": {"type": "NodeImageOnly"}}
    (run,) = manifests_of({"properties": {"managedClusterUpdate": update}})
    assert (run["kind"], run["metadata"]) == ("UpdateRun", {})


def test_a_window_without_a_name_has_that_of_its_id_and_governs_what_that_says() -> None:
    nodes = windows_of("east", "aksManagedNodeOSUpgradeSchedule")
    del nodes["name"]
    (made,) = manifests_of(nodes)
    assert [each["name"] for each in made["spec"]["windows"]] == ["aksManagedNodeOSUpgradeSchedule"]
