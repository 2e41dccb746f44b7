# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""F24: whatever members say and however many they are, what is recorded of a placement is taken by an API server."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.binding import BindingStatus
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.cluster_resource_placement import (
    DriftedPlacement,
    PatchDetail,
    PerClusterPlacementStatus,
    PlacementStatus,
    ResourceIdentifier,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.trimming import trimmed, trimmed_binding
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import Condition, find_condition
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.record_size import LIMIT, TRIMMED, size_of

NOW = datetime(2026, 3, 2, 8, tzinfo=UTC)
APPLIED = Condition(type="ClusterResourcePlacementApplied", status="True", reason="ApplySucceeded", message="m" * 80)


def cluster(number: int, well: bool = True, **more: object) -> PerClusterPlacementStatus:
    conditions = tuple(
        Condition(type=kind, status="True" if well else "False", reason="R" * 20, message="m" * 100)
        for kind in ("Scheduled", "RolloutStarted", "Overridden", "WorkSynchronized", "Applied", "Available")
    )
    return PerClusterPlacementStatus(cluster_name=f"m{number:05}", conditions=conditions, **more)  # type: ignore[arg-type]


def drift(name: str, value: str, fields: int = 20) -> DriftedPlacement:
    details = tuple(
        PatchDetail(path=f"/data/{each}", value_in_member=value, value_in_hub=value) for each in range(fields)
    )
    return DriftedPlacement(
        version="v1", kind="ConfigMap", name=name, observation_time=NOW, first_drifted_observed_time=NOW,
        observed_drifts=details,
    )  # fmt: skip


def placement(*rows: PerClusterPlacementStatus, objects: int = 1) -> PlacementStatus:
    selected = tuple(ResourceIdentifier(version="v1", kind="ConfigMap", name=f"c{each}") for each in range(objects))
    return PlacementStatus(selected_resources=selected, placement_statuses=rows, conditions=(APPLIED,))


def cut(status: PlacementStatus) -> PlacementStatus:
    found = trimmed(status, PlacementStatus(), 1, NOW)
    assert size_of(found) <= LIMIT and APPLIED in found.conditions
    return found


def test_what_fits_stays_as_it_is() -> None:
    status = placement(*map(cluster, range(300)), cluster(300, drifted_placements=(drift("a", "x" * 5000),)))
    assert cut(status) is status


def test_long_values_of_drift_go_before_anything_else() -> None:
    """One drifted object of a member, with fields of 40 KB."""
    rows = [cluster(1, drifted_placements=(drift("a", "x" * 40_000),)), cluster(2)]
    found = cut(placement(*rows))
    assert [each.cluster_name for each in found.placement_statuses] == ["m00001", "m00002"]
    (object_,) = found.placement_statuses[0].drifted_placements
    assert len(object_.observed_drifts) == 20
    assert object_.observed_drifts[0].value_in_member == "x" * 1000 + "..."
    told = find_condition(found.conditions, TRIMMED)
    assert told and told.status == "True" and "details of objects" in told.message


def test_all_that_was_left_out_is_told_and_rows_without_a_name_are_no_clusters() -> None:
    """Else a cluster without any drift in its row would be taken for one that has none."""
    rows = [cluster(each, drifted_placements=(drift("a", "x"),)) for each in range(5000)]
    nobody = replace(cluster(0, well=False), cluster_name="")
    found = cut(placement(*rows, *[nobody] * 20))
    kept = [each for each in found.placement_statuses if each.cluster_name]
    told = find_condition(found.conditions, TRIMMED)
    assert told and told.message.endswith(
        "keep the status small: details of objects that failed, drifted or differ; "
        f"{5000 - len(kept):,} of 5,000 clusters, first of those that are as they should be"
    )


def test_clusters_that_are_well_give_way_to_those_that_are_not() -> None:
    rows = [cluster(each, well=each % 1000 != 999) for each in range(5000)]
    found = cut(placement(*rows))
    kept = [each.cluster_name for each in found.placement_statuses]
    assert {"m00999", "m01999", "m02999", "m03999", "m04999"} <= set(kept)
    assert kept == sorted(kept) and kept[0] == "m00000" and 500 < len(kept) < 5000
    told = find_condition(found.conditions, TRIMMED)
    assert told and told.message.endswith(
        f"{5000 - len(kept):,} of 5,000 clusters, first of those that are as they should be"
    )


def test_many_objects_are_cut_as_well() -> None:
    found = cut(placement(cluster(1), objects=30_000))
    assert len(found.selected_resources) == 1000 and len(found.placement_statuses) == 1
    (told,) = (each.message for each in found.conditions if each.type == "StatusTrimmed")
    assert told.endswith("small: 29,000 of 30,000 selected objects")


def test_a_second_run_finds_the_same_bytes() -> None:
    status = placement(*map(cluster, range(2000)))
    first = cut(status)
    assert trimmed(status, first, 1, NOW + timedelta(hours=1)) == first


def test_details_of_a_binding_are_cut_and_its_conditions_stay() -> None:
    status = BindingStatus(
        conditions=(APPLIED,), drifted_placements=tuple(drift(f"c{each}", "x" * 40_000) for each in range(100))
    )
    found = trimmed_binding(status)
    assert size_of(found) <= LIMIT // 8 and found.conditions == (APPLIED,) and found.drifted_placements
    small = BindingStatus(drifted_placements=(drift("a", "x"),))
    assert trimmed_binding(small) is small
