# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fleet as hosts, from records or a stack's output: all that is wrong with it at once, and nothing guessed."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.inventory import hosts_of_output, recorded_hosts
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.random_json import any_json
from hypothesis import given

HUB = {"name": "hub", "backend": "local", "version": "1.36.3", "kubeconfig": "/hub", "context": "hub", "labels": {}}
MEMBER = {
    "name": "m1",
    "backend": "local",
    "version": "1.35.4",
    "region": "eu",
    "group": "canary",
    "labels": {"environment": "ci"},
    "kubeconfig": "/m1",
    "context": "m1",
}
WHOLE: dict[str, t.Any] = {"schema_version": 1, "environment": "ci", "hub": HUB, "members": [MEMBER]}


def test_hub_and_members_with_references_to_how_they_are_reached():
    hub, member = hosts_of_output(WHOLE)
    assert (hub.name, hub.role, hub.driver) == ("hub", "hub", "")
    assert member.variables() == {
        "fleet_role": "member",
        "fleet_group": "canary",
        "fleet_region": "eu",
        "fleet_version": "1.35.4",
        "fleet_environment": "ci",
        "fleet_kubeconfig": "/m1",
        "fleet_context": "m1",
        "fleet_secret": {},
        "fleet_in_cluster": False,
        "fleet_driver": "local",
        "fleet_provider": "",
        "fleet_labels": {"environment": "ci"},
    }


@pytest.mark.parametrize("value", [None, [], "x", {}, {**WHOLE, "schema_version": 2}, {"schema_version": "1"}])
def test_another_schema_is_refused(value):
    with pytest.raises(FleetError) as refused:
        hosts_of_output(value, "stack dev, output fleet_inventory:")
    assert refused.value.code == "bad-inventory" and "schema_version" in refused.value.message


def test_all_that_is_wrong_is_told_at_once():
    members = [MEMBER, MEMBER, "m2", {"name": ""}, {"name": "m3", "labels": {"a": 1}}, {"name": "m4", "context": 5}]
    with pytest.raises(FleetError) as refused:
        hosts_of_output({**WHOLE, "members": members}, "here")
    found = {each.where: each.message for each in refused.value.problems}
    assert found == {
        "here members[2]": "'m2' is no cluster",
        "here members[3]": "it has no name",
        "here members[4].labels": "{'a': 1} are no labels",
        "here members[5].context": "5 is no text",
        "here": "'m1' is there twice",
    }


@pytest.mark.parametrize("members", [{}, {"m1": MEMBER}, "m1", 7])
def test_members_that_are_no_list_are_not_none(members: t.Any):
    with pytest.raises(FleetError) as refused:
        hosts_of_output({**WHOLE, "members": members}, "here")
    assert [(each.code, each.where) for each in refused.value.problems] == [("bad-inventory", "here members")]


@pytest.mark.parametrize("names", [(["a"], ["a"]), (1, 1, "m2", "m2"), ({}, {}), (None, None)])
def test_names_of_other_types_are_told_too(names: tuple[t.Any, ...]):
    with pytest.raises(FleetError) as refused:
        hosts_of_output({**WHOLE, "members": [{**MEMBER, "name": name} for name in names]})
    assert {each.code for each in refused.value.problems} == {"bad-inventory"}


@given(any_json())
def test_whatever_it_holds_it_is_read_or_refused_in_words(value):
    for broken in (value, {**WHOLE, "hub": value}, {**WHOLE, "members": value}, {**WHOLE, "members": [value]}):
        try:
            hosts_of_output(broken)
        except FleetError as error:
            assert error.code == "bad-inventory"


@pytest.mark.parametrize("there", [False, True], ids=["missing", "empty"])
def test_records_that_are_not_there_or_empty_are_no_fleet_of_nobody(tmp_path: Path, there: bool):
    """An empty inventory would let a play over all members end well, with nothing done."""
    path = tmp_path / "fleet.db"
    if there:
        path.touch()
    with pytest.raises(FleetError) as refused:
        recorded_hosts({"path": str(path)}, {})
    assert (refused.value.code, refused.value.where) == ("no-records", str(path))
    assert path.exists() is there
