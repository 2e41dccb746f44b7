# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A plan that was changed between its approval and its apply, in any of its places (F18)."""

from __future__ import annotations

import copy
import json
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.files import approved_plan
from hypothesis import given, settings
from hypothesis import strategies as st
from small_fleet import Document, Fleet

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@pytest.fixture
def plan(file_fleet: Fleet) -> Document:
    """A plan that gains, keeps and loses clusters, and deletes and releases objects."""
    fleet = file_fleet
    fleet.join("m1", "m2", "m3")
    fleet.resources(fleet.configmap(), fleet.configmap("old"))
    fleet.place({"placementType": "PickFixed", "clusterNames": ["m1", "m2"]})
    fleet.apply()
    fleet.resources(fleet.configmap())
    fleet.place({"placementType": "PickFixed", "clusterNames": ["m2", "m3"]})
    return json.loads(json.dumps(fleet.look().plan.as_dict()))


def written(fleet: Fleet, document: t.Any) -> str:
    path = fleet.folder / "plan.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return str(path)


def code(fleet: Fleet, document: t.Any) -> str:
    with pytest.raises(FleetError) as refused:
        approved_plan(written(fleet, document))
    assert refused.value.problems[0].hint
    return refused.value.code


def test_an_honest_plan_is_taken_and_carried_out(file_fleet: Fleet, plan: Document) -> None:
    approved = approved_plan(written(file_fleet, plan))
    assert approved.digest == plan["digest"]
    assert approved.changes == (f"{file_fleet.name}: m1 lost, m2 kept, m3 gained",)
    report = file_fleet.apply(approved=approved.digest)
    assert not report.problems and file_fleet.holders() == ["m2", "m3"]


def doctored() -> dict[str, t.Callable[[Document], t.Any]]:
    def row(document: Document) -> Document:
        return t.cast(Document, document["placements"][0])

    return {
        "a cluster that would lose it": lambda plan: row(plan)["clusters"].pop(0),
        "a cluster is kept": lambda plan: row(plan)["clusters"][0].update(change="kept"),
        "another cluster": lambda plan: row(plan)["clusters"][0].update(cluster="m9"),
        "a cluster twice": lambda plan: row(plan)["clusters"].insert(0, {**row(plan)["clusters"][0], "change": "kept"}),
        "nothing is deleted": lambda plan: row(plan)["clusters"][1].update(prune=[]),
        "deleted becomes released": lambda plan: row(plan)["clusters"][1].update(
            prune=[], release=row(plan)["clusters"][1]["prune"]
        ),
        "an object": lambda plan: row(plan)["objects"].pop(),
        "another content": lambda plan: row(plan)["objects"][0].update(hash="0" * 64),
        "another group": lambda plan: row(plan)["objects"][0].update(apiVersion="example.org/v1"),
        "another spec": lambda plan: row(plan).update(spec="0" * 64),
        "it ends": lambda plan: row(plan).update(deleting=True),
        "a brake is lifted": lambda plan: row(plan)["brakes"].append({"name": "allow_empty", "lifted": True}),
        "another placement": lambda plan: row(plan).update(placement="other"),
        "one more placement": lambda plan: plan["placements"].append(copy.deepcopy(plan["placements"][0])),
        "no placement": lambda plan: plan.update(placements=[]),
        "another digest": lambda plan: plan.update(digest="0" * 64),
        "another digest of the placement": lambda plan: row(plan).update(digest="0" * 64),
        "another digest everywhere": lambda plan: (plan.update(digest="0" * 64), row(plan).update(digest="0" * 64)),
    }


@pytest.mark.parametrize("what", doctored())
def test_a_plan_that_shows_something_else_is_refused(file_fleet: Fleet, plan: Document, what: str) -> None:
    doctored()[what](plan)
    assert code(file_fleet, plan) == "plan-doctored"


def test_a_plan_of_another_release_is_refused_with_a_hint(file_fleet: Fleet, plan: Document) -> None:
    older = {key: value for key, value in plan.items() if key != "schema"}
    assert code(file_fleet, older) == "plan-too-old"
    assert code(file_fleet, {**plan, "schema": 3}) == "plan-too-new"
    for odd in ("2", None, True, [2], {}):
        assert code(file_fleet, {**plan, "schema": odd}) == "plan-invalid"


def paths_of(value: t.Any, path: tuple[t.Any, ...] = ()) -> t.Iterator[tuple[t.Any, ...]]:
    yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from paths_of(inner, (*path, key))


def test_no_value_anywhere_gives_a_traceback(file_fleet: Fleet, plan: Document) -> None:
    places = list(paths_of(plan))

    @settings(max_examples=300, deadline=None)
    @given(st.sampled_from(places), JSON)
    def odd(place: tuple[t.Any, ...], value: t.Any) -> None:
        document = copy.deepcopy(plan)
        inner = document
        if place:
            for key in place[:-1]:
                inner = inner[key]
            inner[place[-1]] = value
        else:
            document = value
        try:
            approved_plan(written(file_fleet, document))
        except FleetError as error:
            assert error.code.startswith("plan-")

    odd()
