# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Comparison by value before a takeover: only what the manifest names counts."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.compare import (
    MAX_DIFFS,
    FieldDiff,
    differences,
)


def pod(**container: t.Any) -> dict[str, t.Any]:
    return {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"containers": [{"name": "web", **container}]}}


def test_fields_that_only_the_live_object_has_are_no_difference() -> None:
    live = pod(image="a", terminationMessagePath="/dev/termination-log")
    live["spec"]["replicas"] = 1
    live["status"] = {"ready": True}
    assert differences(pod(image="a"), live) == ()


def test_each_difference_has_its_path_and_both_values() -> None:
    (found,) = differences(pod(image="a"), pod(image="b"))
    assert found == FieldDiff('.spec.containers[name="web"].image', "a", "b")
    assert found.as_dict() == {
        "path": '.spec.containers[name="web"].image',
        "valueInHub": "a",
        "valueInMember": "b",
    }


@pytest.mark.parametrize(("one", "other"), [("1000m", "1"), ("1024Mi", "1Gi"), (0.5, "500m"), (1, "1")])
def test_quantities_are_compared_by_value(one: t.Any, other: t.Any) -> None:
    wanted, live = (pod(resources={"limits": {"cpu": value}}) for value in (one, other))
    assert differences(wanted, live) == ()


def test_texts_that_only_look_like_quantities_are_compared_as_texts() -> None:
    wanted, live = ({"apiVersion": "v1", "kind": "ConfigMap", "data": {"limits": text}} for text in ("1000m", "1"))
    assert len(differences(wanted, live)) == 1
    assert len(differences(pod(args=["1000m"]), pod(args=["1"]))) == 1
    assert len(differences({"spec": {"port": "80"}}, {"spec": {"port": 80}})) == 1
    assert len(differences({"spec": {"flag": True}}, {"spec": {"flag": 1}})) == 1


def test_lists_are_told_apart_as_the_live_object_owns_them() -> None:
    keyed = {"f:ports": {'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:port": {}}}, "f:tags": {'v:"a"': {}}}
    live = {
        "metadata": {"managedFields": [{"manager": "m", "operation": "Update", "fieldsV1": {"f:spec": keyed}}]},
        "spec": {"ports": [{"port": 81, "protocol": "TCP"}, {"port": 80, "protocol": "TCP"}], "tags": ["b", "a"]},
    }
    assert differences({"spec": {"ports": [{"port": 80}], "tags": ["a"]}}, live) == ()
    assert [one.path for one in differences({"spec": {"tags": ["c"]}}, live)] == ['.spec.tags[="c"]']


def test_other_lists_are_compared_as_a_whole_or_by_position() -> None:
    assert [one.path for one in differences({"spec": {"args": ["a"]}}, {"spec": {"args": ["a", "b"]}})] == [
        ".spec.args"
    ]
    assert [one.path for one in differences({"spec": {"args": ["a", "b"]}}, {"spec": {"args": ["a", "c"]}})] == [
        ".spec.args[1]"
    ]


def test_a_selector_with_a_label_too_many_is_another_selector() -> None:
    wanted, live = {"spec": {"selector": {"a": "b"}}}, {"spec": {"selector": {"a": "b", "c": "d"}}}
    assert [one.path for one in differences(wanted, live)] == [".spec.selector"]
    assert len(differences({"spec": {"podSelector": {}}}, {"spec": {"podSelector": {"matchLabels": {"a": "b"}}}})) == 1


def test_what_servers_leave_out_is_no_difference_and_a_meaningful_zero_is() -> None:
    assert differences({"spec": {"hostNetwork": False, "nodeSelector": {}, "rules": [], "x": None}}, {"spec": {}}) == ()
    assert len(differences({"spec": {"runAsUser": 0, "emptyDir": {}}}, {"spec": {}})) == 2


def test_values_of_secrets_show_as_lengths() -> None:
    wanted, live = ({"apiVersion": "v1", "kind": "Secret", "data": {"pw": text}} for text in ("c2VjcmV0", "b3RoZXI="))
    assert differences(wanted, live) == (FieldDiff(".data.pw", "<masked, 6 bytes>", "<masked, 5 bytes>"),)


def test_the_list_of_differences_is_limited() -> None:
    wanted = {"data": {f"key{number}": "a" for number in range(150)}}
    assert len(differences(wanted, {"data": dict.fromkeys(wanted["data"], "b")})) == MAX_DIFFS == 100
