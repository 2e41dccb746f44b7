# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What verbs of their own carry out may lie beside placements, on the hub and in files, and changes nothing of them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.update_run import (
    ManagedClusterUpdate,
    ManagedClusterUpgradeSpec,
    UpdateRun,
    UpdateRunSpec,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import ObjectMeta
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.placement import Report
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.defining import define_run
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.sources import update_manifests
from small_fleet import Document, Fleet

API = "placement.kubernetes-fleet.io/v1beta1"
PROFILE = {
    "apiVersion": "gitops.fleet/v1alpha1",
    "kind": "AutoUpgradeProfile",
    "metadata": {"name": "stable"},
    "spec": {"channel": "Stable"},
}


UPGRADE = ManagedClusterUpgradeSpec(type="ControlPlaneOnly", kubernetes_version="1.36.3")
RUN = UpdateRun(
    metadata=ObjectMeta(name="web"), spec=UpdateRunSpec(managed_cluster_update=ManagedClusterUpdate(upgrade=UPGRADE))
)


def staged_run(name: str) -> Document:
    spec = {"placementName": "web", "stagedRolloutStrategyName": "all"}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": API, "kind": "StagedUpdateRun", "metadata": metadata, "spec": spec}


def codes(report: Report) -> list[str]:
    return [each.code for each in report.plan.findings]


def test_what_lies_beside_on_the_hub_is_left_to_its_verbs(hub_fleet: Fleet) -> None:
    """A staged run of a namespace and a profile: an apply goes its own way, and leaves both as they are."""
    fleet = hub_fleet
    fleet.join("m1")
    fleet.place()
    before = codes(fleet.look())
    for each in (staged_run("blue"), PROFILE):
        fleet.records.create(each)
    beside = (("StagedUpdateRun", "default/blue"), ("AutoUpgradeProfile", "stable"))
    lying = [fleet.records.get(*each) for each in beside]
    assert all(lying) and codes(fleet.look()) == before
    assert not fleet.apply().problems
    assert [fleet.records.get(*each) for each in beside] == lying


def test_what_lies_beside_in_files_is_left_to_its_verbs(file_fleet: Fleet) -> None:
    """Staged runs of a namespace among placements and resources are none of either; a broken one is refused. A profile
    is evaluated by a verb of its own, which is told beside a run."""
    fleet = file_fleet
    fleet.join("m1")
    fleet.place()
    before = codes(fleet.look())
    fleet.resources(fleet.configmap(), staged_run("blue"))
    path = fleet.folder / "placements" / "profile.yml"
    path.write_text(json.dumps(PROFILE), encoding="utf-8")
    run = fleet.folder / "placements" / "run.yml"
    run.write_text(json.dumps(staged_run("green")), encoding="utf-8")
    report = fleet.look()
    assert codes(report) == before and [each.name for each in report.plan.plans] == [fleet.name]
    assert not [each for each in report.plan.plans[0].objects if each.id.kind == "StagedUpdateRun"]
    broken = {**staged_run("green"), "spec": {"placementName": "web"}}
    run.write_text(json.dumps(broken), encoding="utf-8")
    with pytest.raises(FleetError) as refused:
        fleet.look()
    assert [each.code for each in refused.value.problems] == ["missing-field"]
    given = update_manifests([str(path)], [], strict=False)
    assert list(given.profiles) == ["stable"] and not given.findings
    beside = replace(given, runs={"web": RUN})
    (note,) = define_run(fleet.records, "web", beside, write=False).notes
    assert note.code == "profile-beside" and "stable is not evaluated by this verb" in note.message
