# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Objects that an API server sent, judged where they come in, so that all code can rely on name, metadata, managed
fields and depth; the error ``bad-answer`` for an answer that cannot be used."""

from __future__ import annotations

import typing as t
from urllib.parse import unquote

from .._core.resources.comparison.managed_fields import check_managed_fields
from .._core.values.parts import (
    mapping,
    name,
    number,
    rows,
    text,
    texts,
)
from .answers import MAX_DEPTH, is_too_deep
from .client import KubeClient
from .errors import ApiError


def read_object(client: KubeClient, path: str, kind: str) -> dict[str, t.Any]:
    """The object at ``path``, which is of that ``kind`` and has the name in the path, looked at as of
    ``checked_object``. ApiError ``bad-answer`` for anything else, ``not-found`` where there is none; FleetError as of
    ``request``."""
    return checked_object_named(client.get(path), f"GET {path}", kind, unquote(path.rpartition("/")[2]), client)


def checked_object_named(document: t.Any, request: str, kind: str, name: str, client: KubeClient) -> dict[str, t.Any]:
    """The document itself, once it was looked at as of ``checked_object``, and is of that ``kind`` and ``name``; its
    namespace is not compared. ApiError ``bad-answer`` for anything else, a Status among them."""
    found = checked_object(document, request, client)
    if (found.get("kind"), found["metadata"]["name"]) != (kind, name):
        raise unusable_answer(request, "it is another object than the one that was asked for", client)
    return found


def checked_object(document: t.Any, request: str, client: KubeClient) -> dict[str, t.Any]:
    """The document itself, once it was looked at: it has name, uid and resourceVersion, metadata and managedFields are
    of their types, and it has at most ``MAX_DEPTH`` levels; types in spec and status are not looked at. ApiError
    ``bad-answer`` for anything else; ``request`` (method and path) is for the message."""
    try:
        if not isinstance(document, dict):
            raise ValueError("it is no map")
        if is_too_deep(document):
            raise ValueError(f"it has more than {MAX_DEPTH} levels")
        _check_metadata(document)
        check_managed_fields(document)
    except ValueError as error:
        raise unusable_answer(request, str(error), client) from None
    return document


def unusable_answer(request: str, why: str, client: KubeClient) -> ApiError:
    """The ApiError ``bad-answer``, given back, which says ``why`` the answer to ``request`` (method and path) cannot be
    used."""
    hint = "see the object with kubectl, and what stands before the API server"
    return ApiError("bad-answer", f"the answer to {request} is damaged: {why}", client.server_name, hint)


def check_name(document: t.Any) -> None:
    """ValueError if this is no object with a name, or its namespace is no text; for lists, where nothing else is looked
    at."""
    metadata = document.get("metadata") if isinstance(document, dict) else None
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or not metadata["name"]:
        raise ValueError("it holds something that is no object with a name")
    if not isinstance(metadata.get("namespace"), (str, type(None))):
        raise ValueError("namespace is no text")


def _check_metadata(document: t.Mapping[str, t.Any]) -> None:
    """ValueError if the object has no name, uid or resourceVersion, or if another part of it that code relies on is of
    another type."""
    text(document, "apiVersion")
    text(document, "kind")
    metadata = mapping(document, "metadata")
    name(metadata)
    name(metadata, "uid")
    name(metadata, "resourceVersion")
    for key in ("namespace", "deletionTimestamp"):
        text(metadata, key)
    number(metadata, "generation")
    texts(metadata, "labels")
    texts(metadata, "annotations")
    rows(metadata, "ownerReferences")
