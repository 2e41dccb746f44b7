# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Comparison by value before a takeover: only what the manifest names counts."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.comparison.compare import (
    MAX_DIFFS,
    FieldDiff,
    added_by_others,
    differences,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.comparison.left_alone import (
    as_live,
    ignored_paths,
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


def test_another_order_of_named_items_is_a_difference_of_the_list() -> None:
    """Containers for the start run one after the other; a plan that compares two manifests has to tell."""

    def start(*names: str) -> dict[str, t.Any]:
        return {"spec": {"initContainers": [{"name": name} for name in names]}}

    assert [one.path for one in differences(start("a", "b"), start("b", "a"), full=True)] == [".spec.initContainers"]
    assert differences(start("a", "b"), start("a", "side", "b")) == ()


def test_a_selector_with_a_label_too_many_is_another_selector() -> None:
    wanted, live = {"spec": {"selector": {"a": "b"}}}, {"spec": {"selector": {"a": "b", "c": "d"}}}
    assert [one.path for one in differences(wanted, live)] == [".spec.selector"]
    assert len(differences({"spec": {"podSelector": {}}}, {"spec": {"podSelector": {"matchLabels": {"a": "b"}}}})) == 1


def test_what_servers_leave_out_is_no_difference_and_a_meaningful_zero_is() -> None:
    assert differences({"spec": {"hostNetwork": False, "nodeSelector": {}, "rules": [], "x": None}}, {"spec": {}}) == ()
    assert len(differences({"spec": {"runAsUser": 0, "emptyDir": {}}}, {"spec": {}})) == 2


def test_an_empty_text_that_servers_leave_out_is_no_difference() -> None:
    """Charts write ``value: ""`` for variables, and the like; the server does not keep it."""
    wanted = pod(env=[{"name": "A", "value": ""}], ports=[{"containerPort": 80, "hostPort": 0}], workingDir="")
    live = pod(env=[{"name": "A"}], ports=[{"containerPort": 80}])
    assert differences(wanted, live) == ()
    assert [one.path for one in differences({"spec": {"params": [{"name": "a", "value": False}]}}, {"spec": {}})]


def test_what_servers_leave_out_of_definitions_is_no_difference() -> None:
    """Generators print it into every CustomResourceDefinition."""
    column = {"name": "Ready", "type": "string", "jsonPath": ".status.ready"}
    wanted, live = ({"additionalPrinterColumns": [{**column, **more}]} for more in ({"priority": 0, "format": ""}, {}))
    definition = {"kind": "CustomResourceDefinition", "spec": {"preserveUnknownFields": False, "versions": [wanted]}}
    assert differences(definition, {**definition, "spec": {"versions": [live]}}) == ()


@pytest.mark.parametrize("part", ["data", "labels"])
def test_an_empty_entry_of_a_map_of_texts_is_a_difference_where_it_is_missing(part: str) -> None:
    """There the names are the author's, and servers keep what is empty."""
    wanted: dict[str, t.Any] = {part: {"description": "", "value": "", "paused": ""}}
    live: dict[str, t.Any] = {part: {"other": ""}}
    if part == "labels":
        wanted, live = {"metadata": wanted}, {"metadata": live}
    assert len(differences({"kind": "ConfigMap", **wanted}, {"kind": "ConfigMap", **live})) == 3


def test_base64_is_compared_without_line_ends() -> None:
    """Manifests wrap it, servers keep it on one line."""
    secret = {"apiVersion": "v1", "kind": "Secret"}
    wrapped, plain, other = "YWJj\nZGVm\n", "YWJjZGVm", "YWJjZGVn"
    assert differences({**secret, "data": {"a": wrapped}}, {**secret, "data": {"a": plain}}) == ()
    assert differences({**secret, "data": {"a": wrapped}}, {**secret, "data": {"a": other}}) == (
        FieldDiff(".data.a", "<masked, 6 bytes>", "<masked, 6 bytes>"),
    )
    hook = {"kind": "ValidatingWebhookConfiguration"}
    rows = ({**hook, "webhooks": [{"name": "a", "clientConfig": {"caBundle": text}}]} for text in (wrapped, plain))
    assert differences(*rows) == ()
    config = {"apiVersion": "v1", "kind": "ConfigMap"}
    assert differences({**config, "binaryData": {"a": wrapped}}, {**config, "binaryData": {"a": plain}}) == ()
    assert len(differences({**config, "data": {"a": wrapped}}, {**config, "data": {"a": plain}})) == 1


def test_values_of_secrets_show_as_lengths() -> None:
    wanted, live = ({"apiVersion": "v1", "kind": "Secret", "data": {"pw": text}} for text in ("c2VjcmV0", "b3RoZXI="))
    assert differences(wanted, live) == (FieldDiff(".data.pw", "<masked, 6 bytes>", "<masked, 5 bytes>"),)


def test_a_value_of_a_secret_in_a_field_that_is_spelt_wrong_is_not_shown() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "type": "Opaque"}
    hidden = {"pw": "<masked, 7 bytes>"}
    wanted, live = {**secret, "stringdata": {"pw": "hunter2"}}, {**secret, "type": "kubernetes.io/tls"}
    assert differences(wanted, live) == (
        FieldDiff(".type", "Opaque", "kubernetes.io/tls"),
        FieldDiff(".stringdata", hidden, None),
    )
    assert differences(secret, wanted, full=True) == (FieldDiff(".stringdata", None, hidden),)


def test_the_list_of_differences_is_limited() -> None:
    wanted = {"data": {f"key{number}": "a" for number in range(150)}}
    assert len(differences(wanted, {"data": dict.fromkeys(wanted["data"], "b")})) == MAX_DIFFS == 100


def paths(wanted: t.Any, live: t.Any) -> list[str]:
    return [one.path for one in differences(wanted, live, full=True)]


def test_a_full_comparison_counts_what_only_the_live_object_has() -> None:
    wanted = {"spec": {"replicas": 1, "template": {"spec": {"containers": [{"name": "web", "image": "a"}]}}}}
    live = {
        "spec": {
            "replicas": 2,
            "paused": False,
            "template": {"spec": {"containers": [{"name": "web", "image": "a", "tty": True}, {"name": "side"}]}},
        },
        "status": {"ready": True},
        "data": {"a": "b"},
    }
    assert differences(wanted, live) == (FieldDiff(".spec.replicas", 1, 2),)
    assert differences(wanted, live, full=True) == (
        FieldDiff(".spec.replicas", 1, 2),
        FieldDiff('.spec.template.spec.containers[name="web"].tty', None, True),
        FieldDiff('.spec.template.spec.containers[name="side"]', None, {"name": "side"}),
        FieldDiff(".spec.paused", None, False),
        FieldDiff(".data", None, {"a": "b"}),
    )


def test_null_in_the_manifest_is_as_good_as_nothing() -> None:
    assert paths({"spec": {"a": None}}, {"spec": {"a": 1, "b": None}}) == [".spec.a"]
    assert differences({"spec": {"a": None}}, {"spec": {"a": 1}}) == ()


def test_a_full_comparison_leaves_identity_and_the_marks_of_others_alone() -> None:
    wanted = {"apiVersion": "v1", "kind": "X", "metadata": {"name": "x", "labels": {"a": "b"}}}
    metadata = {
        "name": "x",
        "uid": "1",
        "resourceVersion": "5",
        "finalizers": ["example.com/keep"],
        "ownerReferences": [{}],
        "labels": {"a": "b", "c": "d", "app.kubernetes.io/name": "x", "gitops.fleet/x": "y"},
        "annotations": {"note": "n", "deployment.kubernetes.io/revision": "3", "kubernetes-fleet.io/spec-hash": "h"},
    }
    live = {"apiVersion": "v1", "kind": "X", "metadata": metadata}
    assert paths(wanted, live) == [".metadata.labels.c", ".metadata.annotations.note"]
    assert paths({"apiVersion": "v1", "kind": "X"}, live)[0] == ".metadata.labels.a"


def test_items_that_only_the_live_list_has_count_too() -> None:
    keyed = {"f:ports": {'k:{"port":80}': {".": {}}, 'k:{"port":81}': {".": {}}}, "f:tags": {'v:"a"': {}}}
    live = {
        "metadata": {"managedFields": [{"manager": "m", "operation": "Update", "fieldsV1": {"f:spec": keyed}}]},
        "spec": {"ports": [{"port": 80}, {"port": 81}], "tags": ["b", "a"], "args": ["x", "y"]},
    }
    wanted = {"spec": {"ports": [{"port": 80}], "tags": ["a"], "args": ["x", "y"]}}
    assert differences(wanted, live) == ()
    assert paths(wanted, live) == [".spec.ports[port=81]", '.spec.tags[="b"]']


def test_what_only_a_live_secret_has_shows_as_a_length() -> None:
    wanted = {"apiVersion": "v1", "kind": "Secret", "data": {"pw": "c2VjcmV0"}}
    live = {**wanted, "data": {"pw": "c2VjcmV0", "other": "b3RoZXI="}}
    assert differences(wanted, live, full=True) == (FieldDiff(".data.other", None, "<masked, 5 bytes>"),)
    assert differences({"apiVersion": "v1", "kind": "Secret"}, live, full=True) == (
        FieldDiff(".data", None, {"pw": "<masked, 6 bytes>", "other": "<masked, 5 bytes>"}),
    )


def test_equal_objects_are_equal_in_full() -> None:
    live = {"apiVersion": "v1", "kind": "X", "spec": {"a": [{"name": "b"}, {"name": "c"}], "d": {"e": [1, "2"]}}}
    assert differences(live, live, full=True) == ()


def test_annotations_of_secrets_are_not_shown() -> None:
    def secret(text: str) -> dict[str, t.Any]:
        return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "annotations": {"copy": text}}}

    (found,) = differences(secret("hunter2"), secret("letmein!"))
    assert (found.desired, found.live) == ("<masked, 7 bytes>", "<masked, 8 bytes>")
    (extra,) = differences({**secret("x"), "metadata": {"name": "s"}}, secret("letmein!"), full=True)
    assert extra.live == "<masked, 8 bytes>"


@pytest.mark.parametrize("named", [["x"], "x", 7])
def test_labels_that_are_no_map_are_a_difference_and_no_fault(named: t.Any) -> None:
    """No server takes them; a manifest in a file may have them."""
    wanted, live = {"metadata": {"labels": named}}, {"metadata": {"labels": {"a": "b"}}}
    assert paths(wanted, live) == [".metadata.labels"]


def owned(manager: str, **fields: t.Any) -> dict[str, t.Any]:
    return {"manager": manager, "operation": "Apply", "fieldsV1": fields}


def test_what_others_have_added_counts_and_what_servers_filled_in_does_not() -> None:
    ports = {'k:{"port":80}': {".": {}, "f:port": {}}}
    theirs = {**ports, 'k:{"port":81}': {".": {}, "f:port": {}}}
    live = {
        "metadata": {
            "annotations": {"note": "x", "deployment.kubernetes.io/revision": "1"},
            "managedFields": [
                owned("us", **{"f:spec": {"f:ports": ports, "f:replicas": {}, "f:former": {}}}),
                owned("helm", **{"f:spec": {"f:paused": {}, "f:ports": theirs}}),
                owned("kubectl", **{"f:metadata": {"f:annotations": {"f:note": {}, "f:b": {}}}}),
                owned("manager", **{"f:status": {"f:ready": {}}}),
            ],
        },
        "spec": {
            "replicas": 1,
            "paused": True,
            "policy": "Default",
            "former": 1,
            "ports": [{"port": 80}, {"port": 81}],
        },
        "status": {"ready": True},
    }
    wanted = {"metadata": {"annotations": {}}, "spec": {"replicas": 1, "ports": [{"port": 80}]}}
    found = added_by_others(wanted, live, "us")
    assert {(each.path, each.desired, str(each.live), each.managers) for each in found} == {
        (".spec.ports[port=81]", None, "{'port': 81}", ("helm",)),
        (".spec.paused", None, "True", ("helm",)),
        (".metadata.annotations.note", None, "x", ("kubectl",)),
    }
    assert added_by_others(live, live, "us") == ()


def test_an_item_that_others_have_added_can_be_ignored_as_it_is_shown() -> None:
    """A side car that a mesh injects: its path goes into ``gitops.fleet/ignore`` as it is."""
    item = {".": {}, "f:name": {}, "f:image": {}}
    trees = [{"f:spec": {"f:containers": {f'k:{{"name":"{name}"}}': item}}} for name in ("web", "proxy")]
    live = {
        "metadata": {"managedFields": [owned("us", **trees[0]), owned("mesh", **trees[1])]},
        "spec": {"containers": [{"name": "web", "image": "a"}, {"name": "proxy", "image": "b"}]},
    }
    wanted: dict[str, t.Any] = {"spec": {"containers": [{"name": "web", "image": "a"}]}}
    (found,) = added_by_others(wanted, live, "us")
    assert (found.path, found.managers) == ('.spec.containers[name="proxy"]', ("mesh",))
    paths = ignored_paths({"metadata": {"annotations": {"gitops.fleet/ignore": found.path}}})
    assert added_by_others(as_live(wanted, live, paths), live, "us") == ()


def test_values_that_others_have_added_to_a_set_are_theirs_whatever_letters_they_have() -> None:
    """API servers write ``grün`` as it is and ``<`` as an escape in the names of values; Python does it the other way
    round."""
    ours, theirs = {"f:spec": {"f:tags": {'v:"a"': {}}}}, {"f:spec": {"f:tags": {'v:"grün"': {}, 'v:"a\\u003cb"': {}}}}
    live = {
        "metadata": {"managedFields": [owned("us", **ours), owned("kubectl", **theirs)]},
        "spec": {"tags": ["a", "grün", "a<b"]},
    }
    found = added_by_others({"spec": {"tags": ["a"]}}, live, "us")
    assert [(str(each.live), each.managers) for each in found] == [("grün", ("kubectl",)), ("a<b", ("kubectl",))]


def test_what_others_have_added_to_a_secret_is_not_shown() -> None:
    live = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"managedFields": [owned("kubectl", **{"f:data": {"f:b": {}}})]},
        "data": {"a": "YQ==", "b": "c2VjcmV0"},
    }
    (found,) = added_by_others({"apiVersion": "v1", "kind": "Secret", "data": {"a": "YQ=="}}, live, "us")
    assert (found.path, found.live) == (".data.b", "<masked, 6 bytes>")
