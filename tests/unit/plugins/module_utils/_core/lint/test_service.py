# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Azure's own JSON, in the forms that its users have it in; only a strategy by itself was judged."""

from __future__ import annotations

import copy
import json
import typing as t
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.lint.belonging import belongs
from ansible_collections.gitops.fleet.plugins.module_utils._core.lint.document import judge_document, mend
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.sources import update_manifests

NOW = datetime(2026, 11, 2, tzinfo=UTC)
FLEETS = "/subscriptions/0/resourceGroups/g/providers/Microsoft.ContainerService/fleets/f"
ADDED = {"eTag": "e", "provisioningState": "Succeeded", "resourceGroup": "g", "systemData": {"createdBy": "a"}}
STAGES = {"stages": [{"name": "one", "groups": [{"name": "a"}], "afterStageWaitInSeconds": None}]}
UPDATE = {
    "upgrade": {"type": "Full", "kubernetesVersion": "1.34.2"},
    "nodeImageSelection": {"type": "Latest", "customNodeImageVersions": None},
}
RUN = {
    **ADDED,
    "id": f"{FLEETS}/updateRuns/r",
    "name": "r",
    "type": "Microsoft.ContainerService/fleets/updateRuns",
    "updateStrategyId": f"{FLEETS}/updateStrategies/waves",
    "strategy": None,
    "managedClusterUpdate": UPDATE,
    "status": {"status": {"state": "Completed"}, "stages": [{"anything": 1}]},
}
STRATEGY = {**ADDED, "name": "waves", "type": "Microsoft.ContainerService/fleets/updateStrategies", "strategy": STAGES}
PROFILE = {"name": "p", "type": "microsoft.containerservice/fleets/autoUpgradeProfiles", "channel": "Stable"}

GATE = {
    **ADDED,
    "id": f"{FLEETS}/gates/0a0a0a0a-0000-4000-8000-000000000000",
    "name": "0a0a0a0a-0000-4000-8000-000000000000",
    "type": "Microsoft.ContainerService/fleets/gates",
    "displayName": "go on",
    "gateType": "Approval",
    "target": {
        "id": f"{FLEETS}/updateRuns/r",
        "updateRunProperties": {"name": "r", "stage": "one", "timing": "Before"},
    },
    "state": "Pending",
}
MEMBER = {
    **ADDED,
    "id": f"{FLEETS}/members/m",
    "name": "m",
    "type": "Microsoft.ContainerService/fleets/members",
    "clusterResourceId": "/subscriptions/0/resourcegroups/g/providers/Microsoft.ContainerService/managedClusters/c",
    "group": "canary",
    "labels": {"env": "prod"},
}
NODE_OS = "aksManagedNodeOSUpgradeSchedule"
CLUSTERS = "/subscriptions/0/resourceGroups/g/providers/Microsoft.ContainerService/managedClusters"
MAINTENANCE: dict[str, t.Any] = {
    "id": f"{CLUSTERS}/My_Cluster/maintenanceConfigurations/aksManagedAutoUpgradeSchedule",
    "maintenanceWindow": {
        "durationHours": 8,
        "notAllowedDates": [{"start": "2026-12-23", "end": "2027-01-05"}],
        "schedule": {
            "absoluteMonthly": None,
            "daily": None,
            "relativeMonthly": None,
            "weekly": {"dayOfWeek": "Friday", "intervalWeeks": 1},
        },
        "startDate": "2026-01-02",
        "startTime": "00:00",
        "utcOffset": "+05:30",
    },
    "name": "aksManagedAutoUpgradeSchedule",
    "notAllowedTime": None,
    "resourceGroup": "g",
    "systemData": None,
    "timeInWeek": None,
    "type": None,
}


def nested(resource: dict[str, t.Any]) -> dict[str, t.Any]:
    """As REST has it: flat only by the command."""
    outer = {key: resource[key] for key in ("id", "name", "type", "eTag", "systemData") if key in resource}
    return {**outer, "properties": {key: each for key, each in resource.items() if key not in outer}}


def template(resource: dict[str, t.Any]) -> dict[str, t.Any]:
    inner = {**nested(resource), "apiVersion": "2025-03-01", "name": "[format('{0}/{1}', parameters('fleet'), 'r')]"}
    schema = "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#"
    return {"$schema": schema, "parameters": {}, "resources": [{"type": "Microsoft.Storage/x"}, inner]}


FORMS: list[tuple[t.Callable[[dict[str, t.Any]], t.Any], str]] = [
    (lambda each: each, ""),
    (lambda each: [each], "[0]."),
    (nested, "properties."),
    (lambda each: {"value": [nested(each)], "nextLink": None}, "value[0].properties."),
    (template, "resources[1].properties."),
]


@pytest.mark.parametrize(
    "resource",
    [RUN, STRATEGY, PROFILE, GATE, MEMBER, MAINTENANCE],
    ids=["run", "strategy", "profile", "gate", "member", "maintenance"],
)
@pytest.mark.parametrize("form", range(len(FORMS)))
def test_what_the_service_prints_is_right(resource: dict[str, t.Any], form: int):
    document = FORMS[form][0](resource)
    judged = judge_document(document, NOW)
    assert judged.checked and belongs(document)
    assert judged.remarks == ()


@pytest.mark.parametrize("form", range(len(FORMS)))
def test_all_of_a_run_is_judged_and_not_its_strategy_alone(form: int):
    wrong = copy.deepcopy(RUN)
    wrong["managedClusterUpdate"]["upgrade"] = {"type": "full", "kubernetesVersion": "1.34.2"}
    wrong["managedClusterUpdates"] = {}
    make, path = FORMS[form]
    judged = judge_document(make(wrong), NOW)
    assert {(each.code, each.path) for each in judged.remarks} == {
        ("not-one-of", f"{path}managedClusterUpdate.upgrade.type"),
        ("unknown-field", f"{path}managedClusterUpdates"),
    }
    assert mend(judged) is not None


def test_what_a_template_computes_is_not_judged():
    run = {**RUN, "managedClusterUpdate": {"upgrade": {"type": "[parameters('type')]", "kubernetesVersion": "[x()]"}}}
    assert judge_document(template(run), NOW).remarks == ()


def test_a_fleet_itself_is_not_taken_for_something_else():
    fleets = [{"name": "f", "type": "Microsoft.ContainerService/fleets", "location": "a", "hubProfile": None}]
    assert not belongs(fleets)
    assert not belongs({"value": fleets})
    assert not belongs({"kind": "X", "resources": [MEMBER]})


def mistakes(resource: dict[str, t.Any], **changes: t.Any) -> list[tuple[set[tuple[str, str]], str]]:
    """Codes and paths of what is wrong in each form of the resource, and the path of its fields there."""
    wrong = copy.deepcopy(resource) | changes
    found = []
    for make, path in FORMS:
        judged = judge_document(make(wrong), NOW)
        found.append(({(each.code, each.path) for each in judged.remarks if each.level == "error"}, path))
    return found


@pytest.mark.parametrize(
    ("changes", "code", "field"),
    [
        ({"gateType": "Approved"}, "not-one-of", "gateType"),
        ({"gate": 1}, "unknown-field", "gate"),
        ({"target": {"updateRunProperties": {"name": "r", "timing": "Later"}}}, "not-one-of", "target.*.timing"),
    ],
)
def test_gates_are_judged_wholly(changes: dict[str, t.Any], code: str, field: str):
    for found, path in mistakes(GATE, **changes):
        assert found == {(code, path + field.replace("*", "updateRunProperties"))}


@pytest.mark.parametrize(
    ("changes", "code", "field"),
    [
        ({"clusterResourceId": "aks-1"}, "wrong-form", "clusterResourceId"),
        ({"clusterResourceId": None}, "missing-field", "clusterResourceId"),
        ({"group": "Canary!"}, "wrong-form", "group"),
        ({"labels": {"a b": "c"}}, "invalid-label", "labels[a b]"),
        ({"labls": {}}, "unknown-field", "labls"),
    ],
)
def test_members_are_judged_wholly(changes: dict[str, t.Any], code: str, field: str):
    for found, path in mistakes(MEMBER, **changes):
        assert found == {(code, path + field)}


@pytest.mark.parametrize(
    ("changes", "code", "field"),
    [
        ({"durationHours": 2}, "out-of-range", "durationHours"),
        ({"startTime": "9"}, "wrong-form", "startTime"),
        ({"utcOffset": "2"}, "wrong-form", "utcOffset"),
        (
            {"schedule": {"weekly": {"intervalWeeks": 9, "dayOfWeek": "Friday"}}},
            "out-of-range",
            "schedule.weekly.intervalWeeks",
        ),
        ({"duration": 4}, "unknown-field", "duration"),
    ],
)
def test_maintenance_configurations_are_judged_wholly(changes: dict[str, t.Any], code: str, field: str):
    window = {**MAINTENANCE["maintenanceWindow"], **changes}
    for found, path in mistakes(MAINTENANCE, maintenanceWindow=window):
        assert found == {(code, f"{path}maintenanceWindow.{field}")}


def test_the_older_form_of_maintenance_is_judged_and_other_names_are_told():
    older = {**MAINTENANCE, "name": "default", "maintenanceWindow": None}
    hours = [{"day": "Monday", "hourSlots": [1, 24]}]
    for found, path in mistakes(older, timeInWeek=hours):
        assert {each for each, _path in found} == {"out-of-range"} and all(p.startswith(path) for _code, p in found)
    remarks = judge_document({**MAINTENANCE, "name": "mine"}, NOW).remarks
    assert [(each.code, each.path) for each in remarks] == [("wrong-form", "name")]


def test_a_body_without_a_type_is_known_by_its_fields():
    for each in (GATE, MEMBER, MAINTENANCE):
        properties = {key: value for key, value in each.items() if key not in ("id", "name", "type", *ADDED)}
        document = {"properties": properties}
        assert belongs(document) and judge_document(document, NOW).remarks == ()


def test_what_the_service_prints_is_input(tmp_path: Path):
    """A strategy and a run of a fleet, and the windows of a cluster, as their files hold them."""
    second = {**MAINTENANCE, "id": MAINTENANCE["id"].replace("Upgrade", "NodeOSUpgrade"), "name": NODE_OS}
    for name, document in (("run", RUN), ("all", [STRATEGY]), ("windows", [MAINTENANCE, second])):
        (tmp_path / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    given = update_manifests([str(tmp_path)], (), strict=False)
    assert given.findings == () and list(given.strategies) == ["waves"]
    run = given.runs["r"]
    assert (run.spec.strategy_name, run.target) == ("waves", "1.34.2")
    assert [each.configuration for each in given.maintenance["my-cluster"].spec.windows] == ["kubernetes", "nodeImage"]


def test_input_that_is_wrong_is_refused_with_its_file(tmp_path: Path):
    wrong = {**RUN, "managedClusterUpdate": {"upgrade": {"type": "full", "kubernetesVersion": "1.34.2"}}}
    (tmp_path / "run.json").write_text(json.dumps([wrong]), encoding="utf-8")
    with pytest.raises(FleetError) as refused:
        update_manifests([str(tmp_path)], (), strict=True)
    assert refused.value.code == "not-one-of" and "run.json" in refused.value.where


@pytest.mark.parametrize("field", ["id", "name"])
def test_input_that_does_not_tell_whose_it_is_is_refused(tmp_path: Path, field: str):
    """Windows of two clusters were put together under a name that was made up."""
    resource = MAINTENANCE if field == "id" else RUN
    document = nested({key: each for key, each in resource.items() if key != field})
    (tmp_path / "two.json").write_text(json.dumps([document, document]), encoding="utf-8")
    with pytest.raises(FleetError) as refused:
        update_manifests([str(tmp_path)], (), strict=False)
    assert {(each.code, each.message) for each in refused.value.problems} == {
        ("missing-field", "metadata.name is missing")
    }
    assert "two.json" in refused.value.where and "the id and the name that the service prints" in refused.value.hint
