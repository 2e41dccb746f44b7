# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Lists of Kubernetes objects read from an API server, in pages, whole or object by object, or their metadata only,
within limits of size and time (``too-large``, ``gone``). A list is whole, or it is an error: never fewer objects than
there are."""

from __future__ import annotations

import time
import typing as t
from dataclasses import dataclass, field

from .client import JSON, KubeClient
from .documents import check_name, unusable_answer
from .errors import ApiError

T = t.TypeVar("T")
Item = dict[str, t.Any]

_METADATA = f"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,{JSON}"
# A list of 500 objects a page, read within the time that one go may take. What is kept whole is bounded in memory too.
LIST_SECONDS, LIST_BYTES, _MOST_PAGES = 600.0, 256 << 20, 10_000
_PAGE = 500
_LONGEST_TOKEN = 16_384


@dataclass(frozen=True)
class Listing(t.Generic[T]):
    """``items`` are in the server's order; ``resource_version`` is that of the collection; empty where the server tells
    none."""

    items: tuple[T, ...] = field(repr=False)
    resource_version: str


@dataclass(frozen=True)
class _Wanted:
    """What is asked for. ``kind`` is that of the items where it is known, otherwise empty."""

    client: KubeClient
    path: str
    label_selector: str = ""
    field_selector: str = ""
    metadata_only: bool = False
    kind: str = ""

    def bad(self, why: str) -> ApiError:
        """The ApiError ``bad-answer``, given back; ``why`` ends the sentence that begins with the list."""
        return ApiError("bad-answer", f"the list {self.path} {why}", self.client.server_name, "try again")

    def too_large(self, limit: str) -> ApiError:
        """The ApiError ``too-large``, given back, for a list beyond the limit."""
        text, hint = f"the list {self.path} is larger than {limit}", "delete what is not needed any more"
        return ApiError("too-large", text, self.client.server_name, hint)


def list_objects(
    client: KubeClient,
    path: str,
    label_selector: str = "",
    field_selector: str = "",
    limit: int = _PAGE,
    metadata_only: bool = False,
    kind: str = "",
) -> t.Iterator[Item]:
    """The objects below ``path``, page by page, with apiVersion and kind filled in where they are missing. Each has a
    name; little else was looked at (see ``an_object``). ``limit`` is the most in a page, 0 for all in one; smaller
    pages are asked for where objects are large. With ``metadata_only`` they are of kind PartialObjectMetadata, if the
    server knows how.

    FleetError in the middle if a page cannot be had (ApiError ``gone`` if the list grew too old to be continued;
    ``bad-answer``, also for a list of neither metadata nor this ``kind``, if one is given): what was yielded until then
    must be thrown away by the caller, as ``read_list`` does.
    """
    for page in list_pages(client, path, label_selector, field_selector, limit, metadata_only, kind):
        yield from page


def list_pages(
    client: KubeClient,
    path: str,
    label_selector: str = "",
    field_selector: str = "",
    limit: int = _PAGE,
    metadata_only: bool = False,
    kind: str = "",
) -> t.Iterator[list[Item]]:
    """The objects below ``path`` as of ``list_objects``, all objects of a page at once; FleetError as there."""
    wanted = _Wanted(client, path, label_selector, field_selector, metadata_only, kind)
    for page, _size in _pages(wanted, limit):
        yield _items(wanted, page)


def read_list(
    client: KubeClient,
    path: str,
    label_selector: str = "",
    field_selector: str = "",
    limit: int = _PAGE,
    metadata_only: bool = False,
    kind: str = "",
) -> Listing[Item]:
    """The whole list, of at most 256 MiB (else ApiError ``too-large``); arguments and other FleetErrors as of
    ``list_objects``. One that grows too old while it is read is read once more in a single page, as by client-go, or in
    pages if that is too large."""
    wanted = _Wanted(client, path, label_selector, field_selector, metadata_only, kind)
    return _whole(wanted, limit, lambda item: item, None)


def read_each(client: KubeClient, path: str, make: t.Callable[[Item], T], kind: str, most_items: int) -> Listing[T]:
    """The whole list, of each object only what ``make`` makes of it: objects are not kept. A ValueError of ``make``
    becomes ApiError ``bad-answer``. More than ``most_items`` are ``too-large``; there is no limit of bytes. Otherwise
    as ``read_list``."""
    return _whole(_Wanted(client, path, kind=kind), _PAGE, make, most_items)


def _whole(wanted: _Wanted, limit: int, make: t.Callable[[Item], T], most_items: int | None) -> Listing[T]:
    """The whole list, read once more in a single page if it grew too old (``gone``). FleetError as of ``_listing``."""
    try:
        return _listing(wanted, limit, make, most_items)
    except ApiError as error:
        if error.code != "gone":
            raise
    return _listing(wanted, 0, make, most_items)


def _listing(wanted: _Wanted, limit: int, make: t.Callable[[Item], T], most_items: int | None) -> Listing[T]:
    """The list, read once, with what ``make`` makes of each object. ApiError ``too-large`` beyond ``most_items``, or
    beyond ``LIST_BYTES`` where that is None; ``bad-answer`` for a ValueError of ``make``; FleetError of ``_pages``."""
    found: list[T] = []
    version, bytes_read = "", 0
    for page, size in _pages(wanted, limit):
        version = version or str((page.get("metadata") or {}).get("resourceVersion") or "")
        bytes_read += size
        if most_items is None and bytes_read > LIST_BYTES:
            raise wanted.too_large(f"{LIST_BYTES >> 20} MiB")
        if most_items is not None and len(found) + len(page.get("items") or ()) > most_items:
            raise wanted.too_large(f"{most_items} objects")
        try:
            found.extend(map(make, _items(wanted, page)))
        except ValueError as error:
            raise unusable_answer(f"GET {wanted.path}", str(error), wanted.client) from None
    return Listing(tuple(found), version)


def _pages(wanted: _Wanted, limit: int) -> t.Iterator[tuple[Item, int]]:
    """Pages with their sizes in bytes; smaller ones are asked for where objects are large. FleetError as of ``_page``
    and ``_next``, ApiError ``bad-answer`` for a list that does not get on or does not end."""
    query: dict[str, str | int | bool] = {}
    if limit:
        query["limit"] = limit
    if wanted.label_selector:
        query["labelSelector"] = wanted.label_selector
    if wanted.field_selector:
        query["fieldSelector"] = wanted.field_selector
    end, tokens = time.monotonic() + LIST_SECONDS, {0}
    while True:
        page, size = _page(wanted, query)
        token = _next(page, wanted)
        yield page, size
        if not token:
            return
        if hash(token) in tokens or len(tokens) > _MOST_PAGES or len(token) > _LONGEST_TOKEN:
            raise wanted.bad("does not get on from one page to the next")
        if time.monotonic() > end:
            raise wanted.bad(f"did not end within {LIST_SECONDS:g} s")
        tokens.add(hash(token))
        query["continue"] = token


def _page(wanted: _Wanted, query: dict[str, str | int | bool]) -> tuple[Item, int]:
    """One page, and its size in bytes. One that is too large is asked for again with a tenth of its limit (``_PAGE``
    for none), which stays in ``query``. FleetError as of ``request``, ``too-large`` for one object."""
    accept = _METADATA if wanted.metadata_only else JSON
    while True:
        try:
            return wanted.client.sized("GET", wanted.path, query=query, accept=accept)
        except ApiError as error:
            limit = int(query.get("limit", 0))
            if error.code != "too-large" or limit == 1:
                raise
            query["limit"] = max(1, limit // 10) if limit else _PAGE


def _next(page: Item, wanted: _Wanted) -> str:
    """The token of the next page, empty after the last; ApiError ``bad-answer`` for a page that is none, is of another
    kind than is wanted, or leaves objects out."""
    kind, items, metadata = page.get("kind"), page.get("items", ""), page.get("metadata")
    is_list = isinstance(kind, str) and kind.endswith("List") and isinstance(items, (list, type(None)))
    if not is_list or not isinstance(metadata, (dict, type(None))):
        raise ApiError("bad-answer", f"the answer to GET {wanted.path} is not a list", wanted.client.server_name)
    kind, metadata = str(kind), metadata or {}
    if wanted.kind and kind not in (f"{wanted.kind}List", "PartialObjectMetadataList"):
        raise wanted.bad(f"is one of {wanted.client.hide(kind.removesuffix('List'))[:100]}, not of {wanted.kind}")
    token, remaining = metadata.get("continue") or "", metadata.get("remainingItemCount") or 0
    if not isinstance(token, str) or not isinstance(remaining, int):
        raise wanted.bad("has a page without a readable end")
    if not token and remaining > 0:
        raise wanted.bad("ended before its last object")
    return token


def _items(wanted: _Wanted, page: Item) -> list[Item]:
    """The objects of a page that ``_next`` has looked at, apiVersion and kind filled in where they are missing.
    ApiError ``bad-answer`` as of ``check_name``."""
    api_version, kind = page.get("apiVersion", ""), page["kind"].removesuffix("List")
    items: list[Item] = page.get("items") or []
    try:
        for item in items:
            check_name(item)
            item.setdefault("apiVersion", api_version)
            item.setdefault("kind", kind)
    except ValueError as error:
        raise unusable_answer(f"GET {wanted.path}", str(error), wanted.client) from None
    return items
