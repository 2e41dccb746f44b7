# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Azure's own JSON, in the forms that its users have it in; only a strategy by itself was judged."""

from __future__ import annotations

import copy
import typing as t
from datetime import UTC, datetime

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.lint.belonging import belongs
from ansible_collections.gitops.fleet.plugins.module_utils._core.lint.document import judge_document, mend

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


@pytest.mark.parametrize("resource", [RUN, STRATEGY, PROFILE], ids=["run", "strategy", "profile"])
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


def test_a_fleet_and_its_members_are_not_taken_for_something_else():
    members = [{"name": "m", "type": "Microsoft.ContainerService/fleets/members", "group": "a"}]
    assert not belongs(members)
    assert not belongs({"value": members})
