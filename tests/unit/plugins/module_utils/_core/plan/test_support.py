# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.cluster_resource_placement import (
    ClusterResourcePlacement,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.support import LIMITS, limitations
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode


def placement(**strategy: object) -> ClusterResourcePlacement:
    return decode(ClusterResourcePlacement, {"metadata": {"name": "web"}, "spec": {"strategy": strategy}})


def test_a_plain_placement_is_carried_out_as_it_is() -> None:
    assert limitations(placement()) == ()
    assert limitations(placement(applyStrategy={"comparisonOption": "PartialComparison"})) == ()


def test_what_staged_runs_change_is_no_limitation() -> None:
    assert limitations(placement(type="External")) == ()


@pytest.mark.parametrize(
    ("strategy", "field"),
    [
        ({"reportBackStrategy": {"type": "Mirror", "destination": "OriginalResource"}}, "reportBackStrategy"),
    ],
)
def test_what_is_carried_out_in_a_simpler_way_is_said(strategy: dict, field: str) -> None:
    (found,) = limitations(placement(**strategy))
    assert (found.code, found.message) == ("limited", LIMITS[field])
    assert found.where == f"ClusterResourcePlacement/web spec.strategy.{field}"


def test_a_status_that_should_be_read_in_the_namespace_is_said() -> None:
    manifest = {"metadata": {"name": "web"}, "spec": {"statusReportingScope": "NamespaceAccessible"}}
    (found,) = limitations(decode(ClusterResourcePlacement, manifest))
    assert (found.code, found.where) == ("limited", "ClusterResourcePlacement/web spec.statusReportingScope")
