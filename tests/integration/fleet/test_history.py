# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""How much of the past the records keep of a placement."""

from __future__ import annotations

import json

from small_fleet import Document, Fleet

POLICIES, RESOURCES = "ClusterSchedulingPolicySnapshot", "ClusterResourceSnapshot"


def indices(fleet: Fleet, kind: str) -> list[int]:
    names = (each["metadata"]["name"].removesuffix("-snapshot") for each in fleet.records.list(kind))
    return sorted(int(name.rpartition("-")[2]) for name in names)


def test_ten_policies_and_contents_are_kept_and_the_oldest_go_first_d4_59(fleet: Fleet) -> None:
    fleet.join("m1")
    # Tolerations may only be added to a placement, so that each policy has all of those before.
    tolerations: list[Document] = []
    for number in range(12):
        tolerations.append({"key": f"k{number}", "operator": "Exists"})
        policy = {"placementType": "PickN", "numberOfClusters": 1, "tolerations": list(tolerations)}
        fleet.place(policy)
        fleet.resources(fleet.configmap(number=str(number)))
        assert not fleet.apply().problems
    assert indices(fleet, POLICIES) == indices(fleet, RESOURCES) == list(range(2, 12))


def test_the_history_is_as_long_as_the_placement_says_d4_62(file_fleet: Fleet) -> None:
    fleet = file_fleet
    fleet.join("m1")
    document = fleet.placement()
    document["spec"]["revisionHistoryLimit"] = 3
    (fleet.folder / "placements" / f"{fleet.name}.yml").write_text(json.dumps(document), encoding="utf-8")
    for number in range(5):
        fleet.resources(fleet.configmap(number=str(number)))
        fleet.apply()
    assert indices(fleet, RESOURCES) == [2, 3, 4]
