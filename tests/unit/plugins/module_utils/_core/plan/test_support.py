# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.cluster_resource_placement import (
    ClusterResourcePlacement,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.reported.mirror import IN_FILES, MANY, WORK_API
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.support import limitations
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode


def placement(**strategy: object) -> ClusterResourcePlacement:
    return decode(ClusterResourcePlacement, {"metadata": {"name": "web"}, "spec": {"strategy": strategy}})


def test_a_plain_placement_is_carried_out_as_it_is() -> None:
    assert limitations(placement(), on_hub=False, from_hub=False) == ()
    assert (
        limitations(placement(applyStrategy={"comparisonOption": "PartialComparison"}), on_hub=False, from_hub=False)
        == ()
    )


def test_what_staged_runs_change_is_no_limitation() -> None:
    assert limitations(placement(type="External"), on_hub=False, from_hub=False) == ()


def mirroring(destination: str = "OriginalResource", **policy: object) -> ClusterResourcePlacement:
    strategy = {"reportBackStrategy": {"type": "Mirror", "destination": destination}}
    spec = {"strategy": strategy, **({"policy": policy} if policy else {})}
    return decode(ClusterResourcePlacement, {"metadata": {"name": "web"}, "spec": spec})


ONE = {"placementType": "PickN", "numberOfClusters": 1}
NAMED = {"placementType": "PickFixed", "clusterNames": ["a"]}


@pytest.mark.parametrize(
    ("wanted", "from_hub", "why"),
    [
        (mirroring(**ONE), True, ""),
        (mirroring(**NAMED), True, ""),
        (mirroring(**ONE), False, IN_FILES),
        (mirroring("WorkAPI", **ONE), True, WORK_API),
        (mirroring(), True, MANY),
        (mirroring(placementType="PickAll"), True, MANY),
        (mirroring(placementType="PickN", numberOfClusters=2), True, MANY),
        (mirroring(placementType="PickFixed", clusterNames=["a", "b"]), True, MANY),
    ],
)
def test_status_is_mirrored_from_one_cluster_to_objects_on_the_hub(
    wanted: ClusterResourcePlacement, from_hub: bool, why: str
) -> None:
    found = limitations(wanted, on_hub=from_hub, from_hub=from_hub)
    assert [each.message for each in found] == ([why] if why else [])
    assert all(each.where == "ClusterResourcePlacement/web spec.strategy.reportBackStrategy" for each in found)


def test_a_status_that_cannot_be_written_into_the_namespace_is_said() -> None:
    selector = {"group": "", "version": "v1", "kind": "Namespace", "name": "shop"}
    spec = {"statusReportingScope": "NamespaceAccessible", "resourceSelectors": [selector]}
    wanted = decode(ClusterResourcePlacement, {"metadata": {"name": "web"}, "spec": spec})
    assert wanted.reporting_namespace == "shop" and not limitations(wanted, on_hub=True, from_hub=True)
    (found,) = limitations(wanted, on_hub=False, from_hub=False)
    assert (found.code, found.where) == ("limited", "ClusterResourcePlacement/web spec.statusReportingScope")
