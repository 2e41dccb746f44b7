# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Field paths such as ``spec.budgets[0].nodes`` and ``metadata.labels[example.com/team]``: written, and followed in
documents, here and nowhere else.

``field`` and ``with_field`` take plain names of fields, known beforehand; ``at`` and ``put``, any path of a finding.
"""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping

_BRACKET = re.compile(r"\[(?P<index>\d+)\]|\[(?P<quote>['\"]?)(?P<key>[^\]]*?)(?P=quote)\]")
_NAME = re.compile(r"[^.\[]+")


def below(path: str, key: t.Any) -> str:
    """The path of a field of the object at ``path``, which is empty for the whole document."""
    return f"{path}.{key}" if path else str(key)


def field(document: t.Any, path: str) -> t.Any:
    """What stands at a path of names such as ``spec.template``; None if it is not there. Names hold no dots."""
    for name in path.split("."):
        document = document.get(name) if isinstance(document, Mapping) else None
    return document


def with_field(document: Mapping[str, t.Any], path: str, value: t.Any) -> dict[str, t.Any]:
    """A copy in which ``value`` stands at a path of names, or nothing for None; what is there on the way must be
    mappings, and those that are not there are made. Only what stands on the way is copied, the rest is shared."""
    name, _dot, rest = path.partition(".")
    inner = with_field(document.get(name) or {}, rest, value) if rest else value
    return {key: each for key, each in {**document, name: inner}.items() if key != name or inner is not None}


def step(value: t.Any, path: str) -> tuple[str | int, str] | None:
    """The key or index that ``path`` goes through first, and the rest; None if the document does not have it.

    Keys may hold dots: the longest one that fits wins.
    """
    bracket = _BRACKET.match(path)
    if isinstance(value, list):
        index = int(bracket["index"]) if bracket and bracket["index"] else -1
        return (index, path[bracket.end() :].lstrip(".")) if bracket and 0 <= index < len(value) else None
    if not isinstance(value, dict):
        return None
    if bracket and (bracket["key"] or bracket["index"]) in value:
        return bracket["key"] or bracket["index"], path[bracket.end() :].lstrip(".")
    fits = [key for key in value if path.startswith(key) and path[len(key) : len(key) + 1] in ("", ".", "[")]
    if not fits:
        return None
    key = max(fits, key=len)
    return key, path[len(key) :].lstrip(".")


def at(document: t.Any, path: str) -> t.Any:
    """What stands at ``path``; None if it is not there."""
    while path:
        found = step(document, path)
        if found is None:
            return None
        key, path = found
        document = document[key]
    return document


def put(document: t.Any, path: str, value: t.Any) -> None:
    """Sets what stands at ``path``, or takes it away for None (an item of a list becomes null); mappings that are not
    there on the way are made.

    Nothing happens where the way goes through something else than mappings and lists.
    """
    while True:
        key, path = step(document, path) or _new(path)
        there = document.get(key) if isinstance(document, dict) else _item(document, key)
        if not path:
            break
        if there is None:
            if value is None or not isinstance(document, dict):
                return
            there = document[key] = {}
        document = there
    if isinstance(document, dict) and value is None:
        document.pop(key, None)
    elif isinstance(document, dict) or there is not None:
        document[key] = value


def _new(path: str) -> tuple[str | int, str]:
    """The first step of a way that is not there yet."""
    bracket = _BRACKET.match(path)
    if bracket:
        return int(bracket["index"]) if bracket["index"] else bracket["key"], path[bracket.end() :].lstrip(".")
    name = _NAME.match(path)
    return (name[0], path[name.end() :].lstrip(".")) if name else (path, "")


def _item(document: t.Any, key: str | int) -> t.Any:
    return document[key] if isinstance(document, list) and isinstance(key, int) and key < len(document) else None
