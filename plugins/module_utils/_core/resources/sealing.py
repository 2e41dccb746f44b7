# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Secrets in records: each value gives way to a keyed digest, or is ``left out`` without a key, and the object notes
where its content can be read again (``gitops.fleet/secret-source``); hashes of sealed objects, without that note.

Whoever reads a record without the key learns neither a value nor whether two Secrets hold the same one.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import typing as t

from ..objects.api_groups import PLACEMENT_GROUP
from ..objects.identity import (
    GIVEN,
    SET_BY_SERVERS,
    Manifest,
    annotations_of,
    group_version,
    metadata_of,
)
from ..objects.selectable import ENVELOPES
from ..values.canonical import canonical_json, digest_of
from .comparison.fields import may_be_shown

SOURCE_ANNOTATION = "gitops.fleet/secret-source"
PREFIX = "hmac-sha256:"
# What else stands in a Secret holds its values, or came there in the place of another field: no server would take it.
_OPEN = frozenset({"apiVersion", "kind", "metadata"})
# Fields of ObjectMeta. What else stands in metadata is of the Secret itself, under the wrong indentation.
_METADATA = frozenset({*GIVEN, *SET_BY_SERVERS})
LEFT_OUT = "left out"
Hidden = t.Callable[[tuple[str, ...], t.Any], str]
"""What stands in place of a value, by the names of its object and field."""


def sealed(manifest: Manifest, key: bytes, source: str) -> dict[str, t.Any]:
    """The manifest as it may be recorded: a Secret, also one inside an envelope, without its values, and with a note of
    where they are (``source``, such as ``git:<revision>``); other objects as they are, in a new dict. A Secret that is
    sealed already gets digests of its digests: who calls has to know.

    ``key`` is kept apart from the records; ValueError for an empty one. FleetError ``not-json`` for a value or name of
    a Secret that cannot be written as JSON, such as half of a surrogate pair, RecursionError for a value that is too
    deep. Annotations of a Secret count as values: tools keep whole copies of the object in them. So does what stands in
    ``metadata`` and is no field of it.
    """
    if not key:
        raise ValueError("sealing needs a key")
    return _sealed(manifest, lambda place, value: _digest(key, place, value), source)


def without_values(manifest: Manifest) -> dict[str, t.Any]:
    """The manifest where no key is kept: values and annotations of Secrets, also of those in envelopes, are
    ``LEFT_OUT``, and their source is empty; a hash that anybody can compute would let weak ones be guessed. Other
    objects come back as they are."""
    return _sealed(manifest, lambda _place, _value: LEFT_OUT, "")


def has_secrets(manifest: Manifest) -> bool:
    """Whether the manifest is a Secret, be it empty or sealed, or an envelope with one."""
    group, kind = group_version(str(manifest.get("apiVersion", "")))[0], manifest.get("kind")
    data = manifest.get("data")
    if (group, kind) == ("", "Secret"):
        return True
    inside = data.values() if group == PLACEMENT_GROUP and kind in ENVELOPES and isinstance(data, t.Mapping) else ()
    return any(isinstance(each, t.Mapping) and has_secrets(each) for each in inside)


def shows_left_out(manifest: Manifest) -> bool:
    """Whether ``without_values`` has left anything out of this v1 Secret; False for envelopes and other objects."""
    secret = (manifest.get("apiVersion"), manifest.get("kind")) == ("v1", "Secret")
    values = (each for part in manifest.values() if isinstance(part, t.Mapping) for each in part.values())
    return secret and any(each == LEFT_OUT for each in (*values, *annotations_of(manifest).values()))


def _sealed(manifest: Manifest, hidden: Hidden, source: str) -> dict[str, t.Any]:
    """A copy in which values of a Secret, also of those in an envelope, are what ``hidden`` makes of them; of others a
    plain copy."""
    out = dict(manifest)
    group, kind = group_version(str(out.get("apiVersion", "")))[0], out.get("kind")
    data = out.get("data")
    if (group, kind) == ("", "Secret"):
        return _sealed_secret(out, hidden, source)
    if group == PLACEMENT_GROUP and kind in ENVELOPES and isinstance(data, t.Mapping):
        out["data"] = {
            name: _sealed(inner, hidden, source) if isinstance(inner, t.Mapping) else inner
            for name, inner in data.items()
        }
    return out


def object_hash(manifest: Manifest) -> str:
    """Hex SHA-256 of a sealed manifest without its source. FleetError ``not-json``, and RecursionError for one that is
    too deep."""
    return digest_of(without_source(manifest))


def content_digest(value: t.Any, key: bytes) -> str:
    """Hex digest of any JSON value, made with the ``key`` if there is one (HMAC-SHA-256), else SHA-256 alone.
    FleetError ``not-json`` for any other, RecursionError for what is too deep."""
    return hmac.new(key, canonical_json(value), hashlib.sha256).hexdigest() if key else digest_of(value)


def secret_source(manifest: Manifest) -> str:
    """The annotation ``gitops.fleet/secret-source`` of the manifest, whoever wrote it, and on whatever object: where
    the content of a sealed Secret can be read. Empty without one, and for what ``without_values`` made."""
    return str(annotations_of(manifest).get(SOURCE_ANNOTATION, ""))


def _sealed_secret(secret: dict[str, t.Any], hidden: Hidden, source: str) -> dict[str, t.Any]:
    """The Secret given, changed in place: ``hidden`` values, annotations and strange fields of metadata, and ``source``
    as an annotation. Names, labels, ``type`` and ``immutable`` stay."""
    metadata = dict(metadata_of(secret))
    owner = (str(metadata.get("namespace", "")), str(metadata.get("name", "")))
    for part in secret.keys() - _OPEN:
        values = secret[part]
        if values and not may_be_shown(part, values):
            named = values if isinstance(values, t.Mapping) else {"": values}
            secret[part] = {name: hidden((*owner, str(name)), value) for name, value in named.items()}
    for part in metadata.keys() - _METADATA:
        metadata[part] = hidden((*owner, "metadata", str(part)), metadata[part])
    annotations = {
        name: hidden((*owner, "annotations", str(name)), value) for name, value in annotations_of(secret).items()
    }
    metadata["annotations"] = {**annotations, SOURCE_ANNOTATION: source}
    secret["metadata"] = metadata
    return secret


def _digest(key: bytes, place: tuple[str, ...], value: t.Any) -> str:
    """The keyed digest of a value and its place, so that equal values in two places differ. FleetError as of
    ``_content``, for the place too."""
    message = canonical_json(list(place)) + b"\0" + _content(value)
    return PREFIX + hmac.new(key, message, hashlib.sha256).hexdigest()


def _content(value: t.Any) -> bytes:
    """The bytes of a value: what a text in base64 stands for, any other text itself, of anything else the canonical
    JSON. FleetError ``not-json`` where there is none, and for a text with half of a surrogate pair."""
    if isinstance(value, str):
        try:
            return base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            canonical_json(value)  # refuses what cannot be encoded
            return value.encode()
    return canonical_json(value)


def without_source(manifest: Manifest) -> dict[str, t.Any]:
    """A sealed manifest without the annotation that says where its content came from, in envelopes too; the given one
    is not changed."""
    out = dict(manifest)
    metadata = metadata_of(out)
    annotations = dict(annotations_of(out))
    if annotations.pop(SOURCE_ANNOTATION, None) is not None:
        out["metadata"] = {key: value for key, value in metadata.items() if key != "annotations"}
        if annotations:
            out["metadata"]["annotations"] = annotations
    data = out.get("data")
    if out.get("kind") in ENVELOPES and isinstance(data, t.Mapping):
        out["data"] = {key: without_source(one) if isinstance(one, t.Mapping) else one for key, one in data.items()}
    return out
