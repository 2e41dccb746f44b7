# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What stands beside placements and would change them is never passed over in silence."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.sources import placements_in
from ansible_collections.gitops.fleet.plugins.module_utils._store.manifests import Manifest
from ansible_collections.gitops.fleet.tests.data.manifest_parts import crp
from ansible_collections.gitops.fleet.tests.data.rollout_parts import (
    approval_request,
    budget,
    eviction,
    override,
    resource_override,
    staged,
    staged_run,
    staged_strategy,
    twin,
)


def read_all(*documents):
    return placements_in(
        [Manifest(each, f"web.yml:{at}", "web.yml") for at, each in enumerate(documents)], strict=False
    )


@pytest.mark.parametrize(
    "document",
    [
        override(),
        resource_override(),
        eviction(),
        budget(maxUnavailable=1),
        staged_strategy(staged()),
        twin(staged_run()),
        approval_request(),
    ],
    ids=lambda document: document["kind"],
)
def test_what_would_change_a_placement_and_is_not_carried_out_is_refused(document):
    with pytest.raises(FleetError) as refused:
        read_all(crp(), document)
    assert (refused.value.code, refused.value.where) == ("not-a-placement", "web.yml:1")
    assert document["kind"] in refused.value.message and "not carried out yet" in refused.value.hint


def test_a_broken_one_is_told_what_is_wrong_with_it():
    with pytest.raises(FleetError) as refused:
        read_all(crp(), eviction(clusterName=None))
    assert [each.code for each in refused.value.problems] == ["missing-field"]


def test_the_fleet_s_own_objects_may_stand_beside_placements():
    update_strategy = {"apiVersion": "gitops.fleet/v1alpha1", "kind": "UpdateStrategy", "metadata": {"name": "a"}}
    assert [each.placement.name for each in read_all(crp(), update_strategy)] == ["crp"]
