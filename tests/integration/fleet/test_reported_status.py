# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Status for those who may not see everything: of a placement in its namespace, of one cluster's objects on the hub."""

from __future__ import annotations

import json
import re
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.brakes import BrakeLimits
from small_fleet import Document, Fleet, codes

ALL = BrakeLimits(max_removals="100%", max_object_removals="100%")
PAGE = Path(__file__).resolve().parents[3] / "docs" / "placement.md"
CRPS = "ClusterResourcePlacementStatus"


def documented(fleet: Fleet, field: str) -> Document:
    """The placement with this field as the page on placements shows it, under the fleet's own names."""
    blocks = re.findall(r"^```yaml\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    (found,) = [yaml.safe_load(each.replace("shop", fleet.namespace)) for each in blocks if field in each]
    return {**found, "metadata": {"name": fleet.name}}


def written(fleet: Fleet, document: Document | None = None, **spec: t.Any) -> None:
    document = document or fleet.placement()
    document["spec"] |= spec
    (fleet.folder / "placements" / f"{fleet.name}.yml").write_text(json.dumps(document), encoding="utf-8")


def on_hub(fleet: Fleet, *documents: Document) -> None:
    assert fleet.hub
    for each in documents:
        group = "" if each["apiVersion"] == "v1" else each["apiVersion"]
        base = f"/apis/{group}" if group else "/api/v1"
        namespace = each["metadata"].get("namespace")
        plural = f"{each['kind'].lower()}s"
        fleet.hub.client.post(f"{base}/namespaces/{namespace}/{plural}" if namespace else f"{base}/{plural}", each)


def a_namespace(fleet: Fleet) -> Document:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": fleet.namespace}}


def synced(fleet: Fleet) -> tuple[str, str]:
    """Status and reason of the placement's own condition."""
    record = fleet.record()
    assert record
    (found,) = (each for each in record["status"]["conditions"] if each["type"].endswith("StatusSynced"))
    return found["status"], found["reason"]


def without_own(status: Document) -> Document:
    kept = [each for each in status["conditions"] if not each["type"].endswith("StatusSynced")]
    return {**status, "conditions": kept}


def test_the_status_stands_in_the_namespace_and_is_kept_equal(hub_fleet: Fleet) -> None:
    """Written with the placement's, mended where somebody has changed it, gone with the placement."""
    fleet, name = hub_fleet, f"{hub_fleet.namespace}/{hub_fleet.name}"
    on_hub(fleet, a_namespace(fleet))
    fleet.join("m1")
    written(fleet, documented(fleet, "statusReportingScope"))
    assert not codes(fleet.apply())
    record, copy = fleet.record(), fleet.records.get(CRPS, name)
    assert record and copy and copy["sourceStatus"] == without_own(record["status"])
    assert synced(fleet) == ("True", "StatusSyncSucceeded") and copy["lastUpdatedTime"]
    with fleet.writing(but=("leases",)) as seen:
        again = fleet.apply()
    assert not again.changed and not seen
    fleet.records.replace({**copy, "sourceStatus": {"observedResourceIndex": "7"}})
    assert not codes(fleet.apply())
    mended = fleet.records.get(CRPS, name)
    assert mended and mended["sourceStatus"] == copy["sourceStatus"]
    fleet.join("m2")
    assert not codes(fleet.apply())
    more = fleet.records.get(CRPS, name)
    assert more and [each["clusterName"] for each in more["sourceStatus"]["placementStatuses"]] == ["m1", "m2"]
    assert not codes(fleet.end(limits=ALL))
    assert fleet.records.get(CRPS, name) is None and fleet.record() is None


def test_a_namespace_that_is_changed_on_the_hub_is_refused_and_nothing_stays_behind(hub_fleet: Fleet) -> None:
    """As with KubeFleet it is scheduled no more; with the placement goes the copy that nobody would write again."""
    fleet, name = hub_fleet, f"{hub_fleet.namespace}/{hub_fleet.name}"
    on_hub(fleet, a_namespace(fleet))
    fleet.join("m1")
    written(fleet, documented(fleet, "statusReportingScope"))
    assert not codes(fleet.apply())
    record = fleet.record()
    assert record and fleet.records.get(CRPS, name)
    selectors = [{"group": "", "version": "v1", "kind": "Namespace", "name": "default"}]
    fleet.records.replace({**record, "spec": {**record["spec"], "resourceSelectors": selectors}})
    with pytest.raises(FleetError) as refused:
        fleet.apply(src=())
    assert refused.value.code == "reporting-namespace-changed" and fleet.namespace in str(refused.value)
    assert not codes(fleet.end(limits=ALL))
    assert fleet.records.get(CRPS, name) is None and fleet.record() is None


def test_a_namespace_that_the_hub_lacks_is_told_and_the_placement_goes_on(hub_fleet: Fleet) -> None:
    fleet = hub_fleet
    fleet.join("m1")
    written(fleet, statusReportingScope="NamespaceAccessible")
    report = fleet.apply()
    assert codes(report) == {"no-such-namespace"} and fleet.holders() == ["m1"]
    assert synced(fleet) == ("False", "StatusSyncFailed")
    on_hub(fleet, a_namespace(fleet))
    assert not codes(fleet.apply())
    assert synced(fleet) == ("True", "StatusSyncSucceeded")


def test_records_in_a_file_have_no_namespace_and_the_plan_says_so(file_fleet: Fleet) -> None:
    file_fleet.join("m1")
    written(file_fleet, statusReportingScope="NamespaceAccessible")
    report = file_fleet.apply()
    assert [each.code for each in report.plan.plans[0].findings] == ["limited"] and not codes(report)
    assert file_fleet.records.list(CRPS) == ()


def test_the_status_of_the_one_members_objects_is_on_those_of_the_hub(hub_fleet: Fleet) -> None:
    """As it was seen by the apply; not that of the namespace, by which the hub itself lives."""
    fleet = hub_fleet
    on_hub(fleet, a_namespace(fleet), fleet.deployment("web:1"))
    fleet.join("m1")
    written(fleet, documented(fleet, "reportBackStrategy"))
    assert not codes(fleet.apply(resources=None))
    path = f"/apis/apps/v1/namespaces/{fleet.namespace}/deployments/web"
    assert fleet.hub
    assert not (fleet.hub.client.get(path).get("status") or {}).get("availableReplicas")
    fleet.available("m1")
    with fleet.writing(but=("leases",)) as seen:
        report = fleet.apply(resources=None)
    assert report.changed and not codes(report)
    assert f"hub: update deployments {fleet.namespace}/web" in seen and not any("namespaces" in one for one in seen)
    theirs = fleet.servers["m1"].client.get(path)["status"]
    assert fleet.hub.client.get(path)["status"] == theirs and theirs["availableReplicas"] == 3
    with fleet.writing(but=("leases",)) as seen:
        again = fleet.apply(resources=None)
    assert not again.changed and not seen


def test_of_several_clusters_nothing_is_mirrored_and_the_plan_says_so(hub_fleet: Fleet) -> None:
    fleet = hub_fleet
    on_hub(fleet, a_namespace(fleet), fleet.deployment("web:1"))
    fleet.join("m1", "m2")
    written(fleet, strategy={"reportBackStrategy": {"type": "Mirror", "destination": "OriginalResource"}})
    with fleet.hub.writing(but=("leases",)) as seen:  # type: ignore[union-attr]  # it is on a hub
        report = fleet.apply(resources=None)
    assert [each.code for each in report.plan.plans[0].findings] == ["limited"]
    assert not any("deployments" in each for each in seen)
