# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Kinds that no verb carries out are told where they lie, on the hub and in files, and never passed over in silence."""

from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.placement import Report
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.sources import written
from small_fleet import Document, Fleet

API = "placement.kubernetes-fleet.io/v1beta1"
PROFILE = {
    "apiVersion": "gitops.fleet/v1alpha1",
    "kind": "AutoUpgradeProfile",
    "metadata": {"name": "stable"},
    "spec": {"channel": "Stable"},
}


def staged_run(name: str) -> Document:
    spec = {"placementName": "web", "stagedRolloutStrategyName": "all"}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": API, "kind": "StagedUpdateRun", "metadata": metadata, "spec": spec}


def told(report: Report) -> list[str]:
    return [each.message for each in report.plan.findings if each.code == "not-carried-out"]


@pytest.fixture
def lying(hub_fleet: Fleet) -> t.Iterator[Fleet]:
    """A staged run and a profile lie on the hub."""
    hub = hub_fleet.hub
    assert hub
    paths = {
        f"/apis/{API}/namespaces/default/stagedupdateruns": staged_run("blue"),
        "/apis/gitops.fleet/v1alpha1/autoupgradeprofiles": PROFILE,
    }
    for path, document in paths.items():
        hub.client.request("POST", path, document)
    yield hub_fleet
    for path, document in paths.items():
        hub.client.request("DELETE", f"{path}/{document['metadata']['name']}")


def test_what_lies_on_the_hub_is_told(lying: Fleet) -> None:
    lying.join("m1")
    lying.place()
    for report in (lying.look(), lying.apply()):
        assert told(report) == [
            "StagedUpdateRun blue: no verb carries out this kind yet",
            "AutoUpgradeProfile stable: no verb carries out this kind yet",
        ]
        assert not report.problems


def test_nothing_is_told_where_nothing_lies(hub_fleet: Fleet) -> None:
    hub_fleet.join("m1")
    hub_fleet.place()
    found = hub_fleet.look()
    assert told(found) == [] and "not-looked-for" not in [each.code for each in found.plan.findings]


def test_what_lies_in_files_is_told(file_fleet: Fleet) -> None:
    """A profile beside a run, or beside placements; a staged run among the resources."""
    fleet = file_fleet
    fleet.join("m1")
    fleet.place()
    fleet.resources(fleet.configmap(), staged_run("blue"))
    path = fleet.folder / "placements" / "profile.yml"
    path.write_text(json.dumps(PROFILE), encoding="utf-8")
    assert sorted(told(fleet.look())) == [
        "AutoUpgradeProfile stable: no verb carries out this kind yet",
        "StagedUpdateRun blue: no verb carries out this kind yet",
    ]
    (finding,) = written([str(path)], [], strict=False).findings
    assert finding.code == "not-carried-out" and finding.where.startswith(str(path))
