# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.history import (
    KeptSnapshot,
    RolledBack,
    SnapshotRow,
    history,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.sealing import object_hash, sealed
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.snapshots import resource_hash

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)


def configmap(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "shop"}, "data": data}


def secret(name: str, source: str) -> dict[str, Any]:
    manifest = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": {"word": "YQ=="}}
    return sealed(manifest, b"key", source)


def kept(index: int, *manifests: dict[str, Any], **more: Any) -> KeptSnapshot:
    digest = resource_hash(map(object_hash, manifests))
    return KeptSnapshot(name=f"web-{index}-snapshot", index=index, hash=digest, manifests=manifests, **more)


def names(objects: Any) -> list[str]:
    return [str(each) for each in objects]


def test_each_differs_from_the_one_before_and_the_first_from_none():
    steps = history(
        [
            kept(3, configmap("a"), configmap("b")),
            kept(4, configmap("a", x="1"), configmap("c")),
            kept(6, configmap("c"), configmap("a", x="1")),
        ]
    )
    assert [(names(each.added), names(each.removed), names(each.changed)) for each in steps] == [
        ([], [], []),
        (["ConfigMap shop/c"], ["ConfigMap shop/b"], ["ConfigMap shop/a"]),
        ([], [], []),
    ]
    assert history([]) == ()


def test_where_a_secret_came_from_is_no_difference():
    steps = history([kept(0, secret("login", "git:a")), kept(1, secret("login", "git:b"))])
    assert steps[1].changed == ()


def test_what_is_kept_elsewhere_is_told_of_envelopes_too():
    envelope = {
        "apiVersion": "placement.kubernetes-fleet.io/v1beta1",
        "kind": "ResourceEnvelope",
        "metadata": {"name": "box", "namespace": "shop"},
        "data": {"plain": configmap("a"), "hidden": secret("inner", "git:c")},
    }
    found = kept(0, secret("login", "git:b"), configmap("a"), envelope)
    assert {str(each): source for each, source in found.secret_sources.items()} == {
        "Secret login": "git:b",
        "ResourceEnvelope shop/box": "git:c",
    }
    assert found.is_whole


def test_an_annotation_makes_no_secret_of_another_object():
    """As of one that was copied out of records."""
    plain = configmap("a")
    plain["metadata"]["annotations"] = {"gitops.fleet/secret-source": "git:b"}
    assert kept(0, plain).secret_sources == {}


def test_content_that_is_not_that_of_its_hash_is_not_whole():
    whole = kept(0, configmap("a", x="1"))
    cut = KeptSnapshot(name=whole.name, index=0, hash=whole.hash, manifests=(configmap("a"),))
    assert whole.is_whole and not cut.is_whole


def test_a_row_is_plain_data():
    back = RolledBack(index=0, revision="abc")
    (step,) = history([kept(2, configmap("a"), created=NOW, revision="abc", rolled_back=back)])
    row = SnapshotRow(placement="web", step=step, latest=True, clusters=("m1",), age=61.5).as_dict()
    assert {key: row[key] for key in ("index", "created", "ageSeconds", "revision", "rolledBackTo", "objects")} == {
        "index": 2,
        "created": "2026-01-15T12:00:00Z",
        "ageSeconds": 61,
        "revision": "abc",
        "rolledBackTo": 0,
        "objects": 1,
    }
    unknown = SnapshotRow(placement="web", step=history([kept(0)])[0], latest=False, clusters=(), age=None).as_dict()
    assert (unknown["ageSeconds"], unknown["created"], unknown["rolledBackTo"]) == (None, "", None)
