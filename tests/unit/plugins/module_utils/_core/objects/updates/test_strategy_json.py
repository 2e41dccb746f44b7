# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The documented JSON of update strategies."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.reading import read
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.strategy_json import (
    judge_strategy,
    strategy_from_json,
)
from ansible_collections.gitops.fleet.tests.data.bad_update_manifests import BAD_UPDATES
from ansible_collections.gitops.fleet.tests.data.good_update_manifests import GOOD_UPDATES
from ansible_collections.gitops.fleet.tests.data.manifest_parts import Row
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.random_json import gone_wrong
from hypothesis import given, settings
from hypothesis import strategies as st

STAGES = [
    {"name": "stage1", "groups": [{"name": "group-a1"}, {"name": "group-a2"}], "afterStageWaitInSeconds": 3600},
    {"name": "stage2", "groups": [{"name": "group-b1"}], "afterGates": [{"displayName": "ok?", "type": "Approval"}]},
]
RESOURCE = {
    "eTag": '"0"',
    "id": "/subscriptions/0/resourceGroups/g/providers/Microsoft.ContainerService/fleets/f/updateStrategies/s",
    "name": "s",
    "type": "Microsoft.ContainerService/fleets/updateStrategies",
    "systemData": {"createdAt": "2026-08-21T12:00:00Z"},
}
OF_STRATEGIES = tuple(row for row in GOOD_UPDATES if row.manifest["kind"] == "UpdateStrategy")
SMALL = tuple(row for row in GOOD_UPDATES if len(str(row.manifest)) < 10_000)
BAD = tuple(row for row in BAD_UPDATES if all("spec.strategy.stages" in each for each in row.expected))


def refusal(document, where=""):
    with pytest.raises(FleetError) as refused:
        strategy_from_json(document, where)
    return [f"{each.code} {each.where}" for each in refused.value.problems]


@pytest.mark.parametrize(
    "document",
    [
        {"stages": STAGES},
        {"strategy": {"stages": STAGES}},
        {"properties": {"strategy": {"stages": STAGES}}},
        {**RESOURCE, "properties": {"provisioningState": "Succeeded", "strategy": {"stages": STAGES}}},
        {**RESOURCE, "provisioningState": "Succeeded", "strategy": {"stages": STAGES}},
        {"kind": "UpdateStrategy", "spec": {"strategy": {"stages": STAGES}}},
    ],
)
def test_d2_06_d3_18_every_documented_form_is_the_same_sequence(document):
    strategy = strategy_from_json(document)
    assert [stage.name for stage in strategy.stages] == ["stage1", "stage2"]
    assert [group.name for group in strategy.stages[0].groups] == ["group-a1", "group-a2"]
    assert strategy.stages[0].after_stage_wait_in_seconds == 3600
    assert strategy.stages[1].after_gates[0].type == "Approval"


@pytest.mark.parametrize("row", OF_STRATEGIES, ids=lambda row: row.name)
def test_it_says_the_same_as_a_manifest(row: Row):
    given = row.manifest["spec"]["strategy"]
    problems, findings = judge_strategy(given)
    assert problems == () and strategy_from_json(given) == read(row.manifest).object.spec.strategy
    assert [f"{each.code} spec.strategy.{each.old_path}" for each in findings] == list(row.expected)


@pytest.mark.parametrize("row", BAD, ids=lambda row: row.name)
def test_and_refuses_the_same(row: Row):
    found = refusal(row.manifest["spec"]["strategy"])
    assert [each.replace(" ", " spec.strategy.", 1) for each in found] == list(row.expected)


@pytest.mark.parametrize("row", SMALL, ids=lambda row: row.name)
@settings(max_examples=settings().max_examples // 4)
@given(data=st.data())
def test_documents_gone_wrong_are_refused_or_read(row: Row, data: st.DataObject):
    document = data.draw(gone_wrong(row.manifest))
    for judge in (read, strategy_from_json):
        try:
            judge(document)
        except FleetError as error:
            assert error.problems


def test_a_limit_of_very_many_digits_is_refused():
    assert refusal({"stages": [{"name": "a", "groups": [{"name": "b"}], "maxConcurrency": "9" * 5000}]}) == [
        "wrong-length stages[0].maxConcurrency"
    ]


def test_the_place_stands_before_the_path():
    assert refusal({"properties": {"strategy": {"stages": []}}}, "rings.json") == [
        "too-few-items rings.json properties.strategy.stages"
    ]


@pytest.mark.parametrize("document", [None, [], STAGES, "stages", 5, {}, {"properties": None}, {"properties": {}}])
def test_what_is_no_strategy(document):
    assert refusal(document)
