# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import base64
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import identify
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.changes import (
    CHANGED,
    NEW,
    UNKNOWN,
    Earlier,
    ObjectChange,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.document import Rendered
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.object_changes import live_changes, object_changes
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.sealing import (
    object_hash,
    sealed,
    without_values,
)

Document = dict[str, t.Any]
KEY = b"key"


def deployment(image: str = "web:1", **spec: t.Any) -> Document:
    pod = {"containers": [{"name": "web", "image": image}]}
    metadata = {"name": "web", "namespace": "shop", "labels": {"app.kubernetes.io/version": "1"}}
    spec = {"template": {"spec": pod}, **spec}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def secret(**values: str) -> Document:
    data = {name: base64.b64encode(value.encode()).decode() for name, value in values.items()}
    metadata = {"name": "login", "namespace": "shop", "annotations": {"note": "canary-note"}}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}


def rendered(manifest: Document, key: bytes = KEY, source: str = "git:b") -> Rendered:
    hidden = sealed(manifest, key, source) if key else without_values(manifest)
    return Rendered(id=identify(manifest), hash=object_hash(hidden), manifest=manifest, sealed=hidden)


def between(old: Document | None, new: Document, key: bytes = KEY) -> tuple[ObjectChange, ...]:
    manifests = (sealed(old, KEY, "git:a"),) if old else ()
    return object_changes([rendered(new, key)], Earlier(manifests=manifests))


def told(found: tuple[ObjectChange, ...]) -> list[tuple[str, t.Any, t.Any, str]]:
    (change,) = found
    return [(each.path, each.old, each.new, each.effect) for each in change.fields]


def test_a_changed_field_has_its_old_and_its_new_value() -> None:
    assert told(between(deployment(), deployment("web:2"))) == [
        ('.spec.template.spec.containers[name="web"].image', "web:1", "web:2", "")
    ]
    assert between(deployment(), deployment()) == ()


def test_a_field_that_is_given_up_says_what_the_server_does() -> None:
    """Removing ``replicas`` scales down to one."""
    assert told(between(deployment(replicas=5), deployment())) == [
        (".spec.replicas", 5, None, "goes to the server's default, 1")
    ]
    ((path, old, new, effect),) = told(between(deployment(paused=True), deployment()))
    assert (path, old, new) == (".spec.paused", True, None) and effect.startswith("is removed")


def test_a_label_of_kubernetes_that_goes_is_told() -> None:
    new = deployment()
    new["metadata"] = {"name": "web", "namespace": "shop"}
    ((path, old, now, _effect),) = told(between(deployment(), new))
    assert "app.kubernetes.io/version" in path and (old, now) == ("1", None)


def test_a_new_object_is_new() -> None:
    assert [each.action for each in between(None, deployment())] == [NEW]


@pytest.mark.parametrize("old, new", [({"a": "x"}, {"a": "canary-y"}), ({"a": "canary-x"}, {"b": "canary-x"})])
def test_of_a_secret_keys_are_told_and_no_value(old: dict[str, str], new: dict[str, str]) -> None:
    """F23: neither the value nor its length."""
    found = between(secret(**old), secret(**new))
    text = str([each.as_dict() for each in found])
    assert found[0].action == CHANGED and "<masked>" in text and "data.a" in text
    for value in ("canary", base64.b64encode(b"canary-x").decode()[:8], "bytes", "hmac"):
        assert value not in text
    assert between(secret(**old), secret(**old)) == ()


def test_without_the_key_it_cannot_be_told_whether_a_secret_changes() -> None:
    assert [each.action for each in between(secret(a="x"), secret(a="x"), key=b"")] == [UNKNOWN]


def test_with_hashes_alone_the_objects_are_told_and_not_their_fields() -> None:
    old, new = rendered(deployment()), rendered(deployment("web:2"))
    earlier = Earlier(hashes={old.id.key: old.hash})
    assert object_changes([old], earlier) == ()
    assert object_changes([new], earlier) == (ObjectChange(id=new.id, action=CHANGED),)
    hidden = rendered(secret(a="x"), b"")
    for digest in ("other", hidden.hash):
        (change,) = object_changes([hidden], Earlier(hashes={hidden.id.key: digest}))
        assert change.action == UNKNOWN, "without the key a hash covers no values"


def test_of_what_was_rebuilt_from_members_only_names_are_known() -> None:
    old = {key: deployment()[key] for key in ("apiVersion", "kind", "metadata")}
    assert [each.action for each in between(old, deployment())] == [UNKNOWN]


def live(manifest: Document, *managers: tuple[str, Document]) -> Document:
    rows = [
        {"manager": name, "operation": "Apply" if name == "gitops-fleet" else "Update", "fieldsV1": fields}
        for name, fields in managers
    ]
    return {**manifest, "metadata": {**manifest["metadata"], "managedFields": rows}}


OWNED = {
    "f:spec": {
        "f:replicas": {},
        "f:template": {
            "f:spec": {
                "f:containers": {
                    'k:{"name":"web"}': {".": {}, "f:name": {}, "f:image": {}},
                    'k:{"name":"proxy"}': {".": {}, "f:name": {}},
                }
            }
        },
    }
}


def test_what_is_live_is_compared_and_what_we_give_up_is_told() -> None:
    seen = deployment(replicas=5)
    seen["spec"]["template"]["spec"]["containers"].append({"name": "proxy"})
    found = live_changes(
        deployment("web:2"), live(seen, ("gitops-fleet", OWNED)), "gitops-fleet", identify(deployment())
    )
    assert [(each.path, each.old, each.new) for each in found] == [
        ('.spec.template.spec.containers[name="web"].image', "web:1", "web:2"),
        (".spec.replicas", 5, None),
        ('.spec.template.spec.containers[name="proxy"]', {"name": "proxy"}, None),
    ]
    assert found[1].effect == "goes to the server's default, 1"


def test_what_another_manager_owns_too_stays() -> None:
    seen = live(deployment(replicas=5), ("gitops-fleet", OWNED), ("hpa", {"f:spec": {"f:replicas": {}}}))
    found = live_changes(deployment(), seen, "gitops-fleet", identify(deployment()))
    assert [(each.path, each.effect) for each in found] == [(".spec.replicas", "stays as it is, since hpa owns it too")]


def test_what_only_others_own_is_none_of_ours() -> None:
    seen = live(deployment(replicas=5), ("hpa", {"f:spec": {"f:replicas": {}}}))
    assert live_changes(deployment(), seen, "gitops-fleet", identify(deployment())) == ()


def test_a_value_of_a_live_secret_is_masked() -> None:
    owned = {"f:data": {"f:a": {}, "f:b": {}}}
    seen = live(secret(a="canary-1", b="canary-2"), ("gitops-fleet", owned))
    found = live_changes(secret(a="canary-3"), seen, "gitops-fleet", identify(secret()))
    assert [(each.path, each.old, each.new) for each in found] == [
        (".data.a", "<masked>", "<masked>"),
        (".data.b", "<masked>", None),
    ]
