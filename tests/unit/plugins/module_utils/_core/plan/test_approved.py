# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.approved import read_approved
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.digest import plans_digest
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan.made import (
    facts,
    pick_n,
    placed,
    plan,
    wanted,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.random_json import gone_wrong
from hypothesis import given

FLEET = facts("a", "b", "c")
MADE = plan(wanted(pick_n(1)), FLEET, placed(pick_n(2), FLEET))


def document(**changes: t.Any) -> dict[str, t.Any]:
    whole = {"schema": 2, "digest": plans_digest({"web": MADE.digest}), "placements": [MADE.as_dict()], **changes}
    return t.cast("dict[str, t.Any]", json.loads(json.dumps(whole)))


def code(value: t.Any) -> str:
    with pytest.raises(FleetError) as refused:
        read_approved(value, "plan.json")
    assert {each.where for each in refused.value.problems} == {"plan.json"}
    return refused.value.code


def test_the_digest_is_computed_and_the_changes_are_told() -> None:
    found = read_approved(document(), "plan.json")
    assert found.digest == MADE.digest
    assert found.changes == ("web: b lost, c kept",)


def test_a_digest_that_stands_for_something_else_is_found() -> None:
    assert code(document(digest="0" * 64)) == "plan-doctored"


@pytest.mark.parametrize("odd", [None, [], "x", 5, {}, {"placements": []}])
def test_what_is_no_plan_is_refused(odd: t.Any) -> None:
    assert code(odd) == "plan-invalid"


def test_another_schema_is_refused() -> None:
    assert code(document(schema=1)) == code({"digest": "0" * 64, "placements": []}) == "plan-too-old"
    assert code(document(schema=9)) == "plan-too-new"


def test_a_schema_that_is_no_number_is_told_as_that() -> None:
    with pytest.raises(FleetError, match="schema is no whole number, but '2'"):
        read_approved(document(schema="2"), "plan.json")


def test_every_value_of_a_wrong_type_is_named_at_once() -> None:
    broken = document()
    broken["placements"][0] |= {"deleting": "no", "emptyFirst": "no", "objects": {}}
    broken["placements"][0]["clusters"][0] |= {"change": "stolen", "prune": [5]}
    del broken["placements"][0]["spec"]
    with pytest.raises(FleetError) as refused:
        read_approved(broken, "plan.json")
    assert [each.message for each in refused.value.problems] == [
        "placements[0].spec: is missing",
        "placements[0].deleting: true or false is wanted",
        "placements[0].emptyFirst: true or false is wanted",
        "placements[0].objects: a list is wanted",
        "placements[0].clusters[0].change: one of gained, kept, lost is wanted",
        "placements[0].clusters[0].prune[0]: an object is wanted",
    ]


@pytest.mark.parametrize("key", ["spec", "placement"])
def test_a_text_that_no_digest_can_cover_is_named(key: str) -> None:
    broken = document()
    broken["placements"][0][key] = "\ud800"
    with pytest.raises(FleetError) as refused:
        read_approved(broken, "plan.json")
    (problem,) = refused.value.problems
    assert (problem.code, problem.where) == ("plan-invalid", "plan.json")
    assert problem.message.startswith(f"placements[0].{key}: ")


@given(value=gone_wrong(document()))
def test_no_document_gives_anything_but_an_answer_or_a_refusal(value: t.Any) -> None:
    try:
        read_approved(value, "plan.json")
    except FleetError as error:
        assert error.code.startswith("plan-")
