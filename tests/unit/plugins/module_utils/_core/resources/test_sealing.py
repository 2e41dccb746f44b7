# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Secrets in records."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.sealing import (
    has_secrets,
    object_hash,
    sealed,
    secret_source,
    without_values,
)

KEY = b"kept elsewhere"
SOURCE = "git:0123abc:apps/web.yaml"
# Of ``secret(pw="YQ==")`` under that key.
RECORDED = "51bf4cfd6c9bf68591bbd18ad34aebfead87098c4f4f66067c2295eb95c8a8fa"


def secret(name: str = "keys", **data: str) -> dict[str, t.Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "web"}, "data": data}


def test_no_value_survives_and_the_source_is_named() -> None:
    before = secret(pw="c2VjcmV0")
    out = sealed(before, KEY, SOURCE)
    assert "c2VjcmV0" not in str(out)
    assert out["data"]["pw"].startswith("hmac-sha256:")
    assert secret_source(out) == SOURCE
    assert before == secret(pw="c2VjcmV0")


def test_other_objects_stay_as_they_are() -> None:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "b"}}
    assert sealed(config, KEY, SOURCE) == config
    assert secret_source(config) == ""


def test_a_secret_inside_an_envelope_is_sealed_too() -> None:
    envelope = {
        "apiVersion": "placement.kubernetes-fleet.io/v1",
        "kind": "ResourceEnvelope",
        "metadata": {"name": "e"},
        "data": {"keys.yaml": secret(pw="c2VjcmV0")},
    }
    out = sealed(envelope, KEY, SOURCE)
    assert "c2VjcmV0" not in str(out)
    assert object_hash(out) == object_hash(sealed(envelope, KEY, "git:other"))


def test_the_hash_follows_the_content_and_not_the_source() -> None:
    old, moved = sealed(secret(pw="YQ=="), KEY, SOURCE), sealed(secret(pw="YQ=="), KEY, "git:other:path")
    assert object_hash(old) == object_hash(moved)
    assert object_hash(old) != object_hash(sealed(secret(pw="Yg=="), KEY, SOURCE))
    assert object_hash(old) != object_hash(sealed(secret(pw="YQ=="), b"another key", SOURCE))


def test_equal_values_do_not_look_equal() -> None:
    out = sealed(secret(one="YQ==", two="YQ=="), KEY, SOURCE)
    other = sealed(secret("other", one="YQ=="), KEY, SOURCE)
    assert len({out["data"]["one"], out["data"]["two"], other["data"]["one"]}) == 3


def test_string_data_that_could_not_be_folded_is_sealed_as_well() -> None:
    out = sealed({**secret(), "stringData": {"pin": 1234}}, KEY, SOURCE)
    assert out["stringData"]["pin"].startswith("hmac-sha256:")


def test_half_a_character_is_refused_and_not_told() -> None:
    with pytest.raises(FleetError) as error:
        sealed(secret(pw="canary \ud800"), KEY, SOURCE)
    assert error.value.code == "not-json" and "canary" not in str(error.value)


def test_sealing_without_a_key_is_refused() -> None:
    with pytest.raises(ValueError, match="key"):
        sealed(secret(pw="YQ=="), b"", SOURCE)


def test_values_in_the_place_of_other_fields_are_values() -> None:
    odd = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "datum": {"pw": "c2VjcmV0"}}
    odd |= {"immutable": "c2VjcmV0", "type": ["c2VjcmV0"], "stringData": "c2VjcmV0"}
    assert "c2VjcmV0" not in str(sealed(odd, KEY, SOURCE))
    good = secret() | {"immutable": True, "type": "kubernetes.io/tls"}
    out = sealed(good, KEY, SOURCE)
    assert (out["immutable"], out["type"]) == (True, "kubernetes.io/tls")


def test_values_that_came_into_metadata_by_their_indentation_are_values() -> None:
    odd = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "a", "stringData": {"pw": "c2VjcmV0"}, "pin": 1234},
    }
    for out in (sealed(odd, KEY, SOURCE), without_values(odd)):
        assert "c2VjcmV0" not in str(out) and out["metadata"]["pin"] != 1234 and out["metadata"]["name"] == "a"
    assert object_hash(sealed(odd, KEY, SOURCE)) != object_hash(sealed(odd, b"another key", SOURCE))


def test_fields_of_metadata_are_recorded_as_they_are() -> None:
    """Hashes that are recorded already stay what they are."""
    metadata = {
        "name": "keys",
        "namespace": "web",
        "labels": {"a": "b"},
        "finalizers": ["example.com/keep"],
        "ownerReferences": [{"kind": "Job", "name": "j"}],
    }
    out = sealed({**secret(pw="YQ=="), "metadata": metadata}, KEY, SOURCE)
    assert out["metadata"] == {**metadata, "annotations": {"gitops.fleet/secret-source": SOURCE}}
    assert object_hash(sealed(secret(pw="YQ=="), KEY, SOURCE)) == RECORDED


def test_copies_that_tools_keep_in_annotations_are_sealed_as_well() -> None:
    before = secret(pw="c2VjcmV0")
    before["metadata"]["annotations"] = {"kapp.k14s.io/original": "c2VjcmV0"}
    out = sealed(before, KEY, SOURCE)
    assert "c2VjcmV0" not in str(out) and secret_source(out) == SOURCE
    assert out["metadata"]["annotations"]["kapp.k14s.io/original"].startswith("hmac-sha256:")


def test_without_a_key_values_do_not_count() -> None:
    """Whoever knows how the hash is made could try out weak ones."""
    one, other = without_values(secret(pw="YQ==")), without_values(secret(pw="Yg=="))
    assert object_hash(one) == object_hash(other) and "YQ==" not in str(one)
    assert object_hash(without_values(secret(pin="YQ=="))) != object_hash(one)
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "b"}}
    assert without_values(config) == config
    assert has_secrets(secret(pw="YQ==")) and not has_secrets(config)
    assert has_secrets(one) and has_secrets(sealed(one, KEY, SOURCE)), "a Secret of which nothing is left to hide"
