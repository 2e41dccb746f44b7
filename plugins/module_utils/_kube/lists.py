# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Lists in pages. A list is whole, or it is an error: never fewer objects than there are."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from .client import JSON, KubeClient
from .errors import ApiError

_METADATA = f"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,{JSON}"


@dataclass(frozen=True)
class Listing:
    """``resource_version`` is that of the collection, for all pages the same."""

    items: tuple[dict[str, t.Any], ...] = field(repr=False)
    resource_version: str


def list_objects(
    client: KubeClient,
    path: str,
    label_selector: str = "",
    field_selector: str = "",
    limit: int = 500,
    metadata_only: bool = False,
) -> t.Iterator[dict[str, t.Any]]:
    """The objects below ``path``, page by page, with apiVersion and kind filled in.

    With ``metadata_only`` they are of kind PartialObjectMetadata. Raises ApiError in the middle if a page cannot be had
    (``gone`` if the list grew too old to be continued): what was yielded until then must be thrown away by the caller.
    ``read_list`` does so, and starts again.
    """
    for page in _pages(client, path, label_selector, field_selector, limit, metadata_only):
        yield from _items(page)


def read_list(
    client: KubeClient,
    path: str,
    label_selector: str = "",
    field_selector: str = "",
    limit: int = 500,
    metadata_only: bool = False,
) -> Listing:
    """The whole list. One that grows too old while it is read is read again in a single page, as by client-go."""
    try:
        return _listing(_pages(client, path, label_selector, field_selector, limit, metadata_only))
    except ApiError as error:
        if error.code != "gone":
            raise
    return _listing(_pages(client, path, label_selector, field_selector, 0, metadata_only))


def _listing(pages: t.Iterator[dict[str, t.Any]]) -> Listing:
    items: list[dict[str, t.Any]] = []
    version = ""
    for page in pages:
        version = version or str((page.get("metadata") or {}).get("resourceVersion") or "")
        items.extend(_items(page))
    return Listing(tuple(items), version)


def _pages(
    client: KubeClient, path: str, label_selector: str, field_selector: str, limit: int, metadata_only: bool
) -> t.Iterator[dict[str, t.Any]]:
    query: dict[str, str | int | bool] = {}
    if limit:
        query["limit"] = limit
    if label_selector:
        query["labelSelector"] = label_selector
    if field_selector:
        query["fieldSelector"] = field_selector
    accept = _METADATA if metadata_only else JSON
    while True:
        page = client.request("GET", path, query=query, accept=accept)
        token = _next(page, path, client.server_name, str(query.get("continue", "")))
        yield page
        if not token:
            return
        query["continue"] = token


def _next(page: dict[str, t.Any], path: str, where: str, before: str) -> str:
    """The token of the next page; ApiError ``bad-answer`` for a page that is none, or that leaves objects out."""
    items, metadata = page.get("items"), page.get("metadata") or {}
    if not str(page.get("kind", "")).endswith("List") or not isinstance(items, (list, type(None))):
        raise ApiError("bad-answer", f"the answer to GET {path} is not a list", where)
    token = str(metadata.get("continue") or "")
    if not token and (metadata.get("remainingItemCount") or 0) > 0:
        raise ApiError("bad-answer", f"the list {path} ended before its last object", where, "try again")
    if token and token == before:
        raise ApiError("bad-answer", f"the list {path} does not get on from one page to the next", where, "try again")
    return token


def _items(page: dict[str, t.Any]) -> list[dict[str, t.Any]]:
    api_version, kind = page.get("apiVersion", ""), page["kind"].removesuffix("List")
    items = page.get("items") or []
    for item in items:
        item.setdefault("apiVersion", api_version)
        item.setdefault("kind", kind)
    return items
