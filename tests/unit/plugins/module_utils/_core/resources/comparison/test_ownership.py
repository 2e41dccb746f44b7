# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Drift by field ownership. The trees are of the shapes that kube-apiserver 1.36 writes after an apply and an edit."""

from __future__ import annotations

import typing as t

from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.comparison.ownership import FieldDrift, drift

OURS = "gitops-fleet"


def entry(manager: str, operation: str, fields: dict[str, t.Any], **more: str) -> dict[str, t.Any]:
    head = {"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1"}
    return {**head, **more, "fieldsV1": fields}


def live(manifest: dict[str, t.Any], *entries: dict[str, t.Any]) -> dict[str, t.Any]:
    return {**manifest, "metadata": {**manifest.get("metadata", {}), "managedFields": list(entries)}}


def spec(fields: dict[str, t.Any], manager: str = OURS, operation: str = "Apply") -> dict[str, t.Any]:
    return entry(manager, operation, {"f:spec": fields})


def paths(found: tuple[FieldDrift, ...]) -> list[str]:
    return [one.path for one in found]


def test_what_we_own_is_unchanged() -> None:
    desired = {"apiVersion": "v1", "kind": "X", "metadata": {"name": "x"}, "spec": {"replicas": 2}}
    assert drift(desired, live(desired, spec({"f:replicas": {}})), OURS) == ()


def test_an_edited_field_names_its_new_manager_and_both_values() -> None:
    desired = {"spec": {"replicas": 2, "paused": True}}
    there = live(
        {"spec": {"replicas": 5, "paused": True}},
        spec({"f:paused": {}}),
        spec({"f:replicas": {}}, "kubectl-edit", "Update"),
    )
    (found,) = drift(desired, there, OURS)
    assert found == FieldDrift(".spec.replicas", 2, 5, ("kubectl-edit",))
    assert found.as_dict() == {
        "path": ".spec.replicas",
        "valueInHub": 2,
        "valueInMember": 5,
        "managers": ["kubectl-edit"],
    }


def test_a_field_changed_back_is_still_not_ours() -> None:
    desired = {"spec": {"replicas": 2, "paused": True}}
    there = live(desired, spec({"f:paused": {}}), spec({"f:replicas": {}}, "kubectl-edit", "Update"))
    assert [(one.path, one.desired == one.live) for one in drift(desired, there, OURS)] == [(".spec.replicas", True)]


def test_co_owned_fields_are_ours() -> None:
    desired = {"spec": {"replicas": 2}}
    there = live(desired, spec({"f:replicas": {}}), spec({"f:replicas": {}}, "other", "Apply"))
    assert drift(desired, there, OURS) == ()


def test_our_name_by_update_is_somebody_else() -> None:
    desired = {"spec": {"replicas": 2, "paused": True}}
    there = live({"spec": {"replicas": 6}}, spec({"f:paused": {}}), spec({"f:replicas": {}}, OURS, "Update"))
    assert drift(desired, there, OURS)[0].managers == ("gitops-fleet (Update)",)


def test_a_change_through_a_subresource_is_seen() -> None:
    desired = {"spec": {"replicas": 2, "paused": True}}
    scaled = entry("hpa", "Update", {"f:spec": {"f:replicas": {}}}, subresource="scale")
    assert drift(desired, live({"spec": {"replicas": 4}}, spec({"f:paused": {}}), scaled), OURS)[0].managers == ("hpa",)


def test_an_object_that_we_never_applied_drifts_in_every_field() -> None:
    desired = {"kind": "X", "metadata": {"name": "x", "labels": {"a": "b"}}, "spec": {"replicas": 2, "deep": {"x": 1}}}
    assert paths(drift(desired, live(desired), OURS)) == [".spec.replicas", ".spec.deep.x", ".metadata.labels.a"]


def test_identity_status_and_nulls_are_never_drift() -> None:
    desired = {
        "apiVersion": "v1",
        "kind": "X",
        "metadata": {"name": "x", "namespace": "y"},
        "spec": {"none": None},
        "status": {"ready": True},
    }
    assert drift(desired, live({"spec": {}}), OURS) == ()


def test_labels_with_dots_and_removed_annotations() -> None:
    desired = {"metadata": {"labels": {"app.kubernetes.io/name": "x", "team": "a"}, "annotations": {"note": "n"}}}
    there = live(
        {"metadata": {"labels": {"app.kubernetes.io/name": "y", "team": "a"}}},
        entry(OURS, "Apply", {"f:metadata": {"f:labels": {"f:team": {}}}}),
        entry("kubectl-edit", "Update", {"f:metadata": {"f:labels": {"f:app.kubernetes.io/name": {}}}}),
    )
    assert drift(desired, there, OURS) == (
        FieldDrift('.metadata.labels["app.kubernetes.io/name"]', "x", "y", ("kubectl-edit",)),
        FieldDrift(".metadata.annotations", {"note": "n"}, None, ()),
    )


CONTAINERS = "f:containers"
WEB, SIDE = 'k:{"name":"web"}', 'k:{"name":"side"}'


def test_items_of_a_keyed_list_are_matched_by_key_not_by_position() -> None:
    desired = {"spec": {"containers": [{"name": "web", "image": "a"}, {"name": "side", "image": "b"}]}}
    there = live(
        {"spec": {"containers": [{"name": "side", "image": "b"}, {"name": "web", "image": "evil"}]}},
        spec({CONTAINERS: {SIDE: {".": {}, "f:name": {}, "f:image": {}}, WEB: {".": {}, "f:name": {}}}}),
        spec({CONTAINERS: {WEB: {"f:image": {}}}}, "kubectl-set", "Update"),
    )
    assert drift(desired, there, OURS) == (
        FieldDrift('.spec.containers[name="web"].image', "a", "evil", ("kubectl-set",)),
    )


def test_a_removed_item_is_one_drift() -> None:
    side = {"name": "side", "image": "b"}
    desired = {"spec": {"containers": [{"name": "web", "image": "a"}, side]}}
    there = live(
        {"spec": {"containers": [{"name": "web", "image": "a"}]}},
        spec({CONTAINERS: {WEB: {".": {}, "f:name": {}, "f:image": {}}}}),
    )
    assert drift(desired, there, OURS) == (FieldDrift('.spec.containers[name="side"]', side, None, ()),)


def test_items_added_by_others_are_not_our_business() -> None:
    desired = {"spec": {"containers": [{"name": "web", "image": "a"}]}}
    there = live(
        {"spec": {"containers": [{"name": "web", "image": "a"}, {"name": "proxy", "image": "p"}]}},
        spec({CONTAINERS: {WEB: {".": {}, "f:name": {}, "f:image": {}}}}),
        spec({CONTAINERS: {'k:{"name":"proxy"}': {".": {}, "f:name": {}, "f:image": {}}}}, "injector", "Update"),
    )
    assert drift(desired, there, OURS) == ()


TCP, UDP = 'k:{"containerPort":53,"protocol":"TCP"}', 'k:{"containerPort":53,"protocol":"UDP"}'
PORT = {".": {}, "f:containerPort": {}, "f:name": {}}


def test_a_key_that_the_server_defaults_matches_and_a_full_key_goes_first() -> None:
    desired = {
        "spec": {"ports": [{"containerPort": 53, "name": "a"}, {"containerPort": 53, "protocol": "UDP", "name": "b"}]}
    }
    ports = [
        {"containerPort": 53, "protocol": "UDP", "name": "b"},
        {"containerPort": 53, "protocol": "TCP", "name": "x"},
    ]
    there = live(
        {"spec": {"ports": ports}},
        spec({"f:ports": {UDP: {**PORT, "f:protocol": {}}, TCP: {".": {}, "f:containerPort": {}}}}),
        spec({"f:ports": {TCP: {"f:name": {}}}}, "kubectl-edit", "Update"),
    )
    assert drift(desired, there, OURS) == (
        FieldDrift('.spec.ports[containerPort=53,protocol="TCP"].name', "a", "x", ("kubectl-edit",)),
    )


def test_items_with_the_same_key_twice_are_owned_as_one() -> None:
    desired = {"spec": {"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}}
    assert drift(desired, live(desired, spec({"f:env": {'k:{"name":"A"}': {}}})), OURS) == ()


def test_an_atomic_list_is_one_field() -> None:
    desired = {"spec": {"args": ["a", "b"], "x": 1}}
    assert drift(desired, live(desired, spec({"f:args": {}, "f:x": {}})), OURS) == ()
    there = live({"spec": {"args": ["a", "c"]}}, spec({"f:x": {}}), spec({"f:args": {}}, "kubectl-edit", "Update"))
    assert drift(desired, there, OURS)[0] == FieldDrift(".spec.args", ["a", "b"], ["a", "c"], ("kubectl-edit",))


def test_an_atomic_map_is_one_field() -> None:
    desired = {"spec": {"selector": {"app": "shop"}, "x": 1}}
    assert drift(desired, live(desired, spec({"f:selector": {}, "f:x": {}})), OURS) == ()
    there = live(
        {"spec": {"selector": {"app": "shop", "more": "y"}}},
        spec({"f:x": {}}),
        spec({"f:selector": {}}, "kubectl-edit", "Update"),
    )
    (found,) = drift(desired, there, OURS)
    assert (found.path, found.live) == (".spec.selector", {"app": "shop", "more": "y"})


def test_elements_of_a_set_stand_for_themselves() -> None:
    desired = {"metadata": {"finalizers": ["example.com/one", "example.com/two"]}}
    there = live(
        {"metadata": {"finalizers": ["example.com/two"]}},
        entry(OURS, "Apply", {"f:metadata": {"f:finalizers": {'v:"example.com/two"': {}}}}),
    )
    assert paths(drift(desired, there, OURS)) == ['.metadata.finalizers[="example.com/one"]']


def test_quantities_are_owned_however_the_server_spells_them() -> None:
    desired = {"spec": {"resources": {"limits": {"cpu": "1000m", "memory": "1024Mi"}}}}
    there = live(
        {"spec": {"resources": {"limits": {"cpu": "1", "memory": "2Gi"}}}},
        spec({"f:resources": {"f:limits": {"f:cpu": {}}}}),
        spec({"f:resources": {"f:limits": {"f:memory": {}}}}, "vpa", "Update"),
    )
    assert paths(drift(desired, there, OURS)) == [".spec.resources.limits.memory"]


def test_structures_in_a_map_keep_their_mark_when_all_below_is_gone() -> None:
    desired = {"spec": {"m": {"one": {"a": 1}, "two": {"a": 2}}}}
    there = live(
        {"spec": {"m": {"one": {}, "two": {"a": 9}}}},
        spec({"f:m": {"f:one": {}, "f:two": {}}}),
        spec({"f:m": {"f:two": {"f:a": {}}}}, "kubectl-edit", "Update"),
    )
    assert drift(desired, there, OURS) == (
        FieldDrift(".spec.m.one.a", 1, None, ()),
        FieldDrift(".spec.m.two.a", 2, 9, ("kubectl-edit",)),
    )


def test_empty_containers_count_as_owned_unless_somebody_filled_them() -> None:
    desired = {"metadata": {"labels": {}}, "spec": {"podSelector": {}, "ingress": []}}
    labels = entry("other", "Update", {"f:metadata": {"f:labels": {"f:x": {}}}})
    assert drift(desired, live({"metadata": {"labels": {"x": "y"}}, "spec": {}}, labels), OURS) == ()
    there = live(
        {"spec": {"podSelector": {"matchLabels": {"a": "b"}}}}, spec({"f:podSelector": {}}, "kubectl-edit", "Update")
    )
    assert paths(drift(desired, there, OURS)) == [".spec.podSelector"]


def test_values_of_secrets_show_as_lengths() -> None:
    desired = {
        "apiVersion": "v1",
        "kind": "Secret",
        "data": {"tls.crt": "aGVsbG8=", "pw": "c2VjcmV0"},
        "type": "Opaque",
    }
    there = live(
        {"data": {"pw": "b3RoZXJzZWNyZXQ="}, "type": "Opaque"},
        entry(OURS, "Apply", {"f:type": {}}),
        entry("kubectl-edit", "Update", {"f:data": {"f:pw": {}}}),
    )
    found = drift(desired, there, OURS)
    assert found == (
        FieldDrift('.data["tls.crt"]', "<masked, 5 bytes>", None, ()),
        FieldDrift(".data.pw", "<masked, 6 bytes>", "<masked, 11 bytes>", ("kubectl-edit",)),
    )
    gone = drift(desired, live({"type": "Opaque"}, entry(OURS, "Apply", {"f:type": {}})), OURS)
    assert "c2VjcmV0" not in repr(gone)


def test_values_of_a_secret_in_other_fields_are_not_shown() -> None:
    """Spelt wrong, or in the place of a field that says nothing."""
    desired = {"apiVersion": "v1", "kind": "Secret", "stringdata": {"pw": "hunter2"}, "type": {"pw": "hunter2"}}
    desired |= {"immutable": True}
    found = drift(desired, live({}), OURS)
    assert [one.path for one in found] == [".stringdata", ".type", ".immutable"] and "hunter2" not in repr(found)
    assert found[2].desired is True
