# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Field paths such as ``spec.budgets[0].nodes`` and ``metadata.labels[example.com/team]``: what stands there in a
document is read and set.

``field`` and ``with_field`` take plain names of fields; ``value_at`` and ``set_at``, any path of a finding.
"""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping

_INDEX = re.compile(r"\[([0-9]{1,9})\]")
_CUT = re.compile(r"[.\[]")
_CLOSING = re.compile(r"\](?=[.\[]|\Z)")
_BRACKET = re.compile(r"\[(?P<quote>['\"]?)(?P<key>.*?)(?P=quote)\](?=[.\[]|\Z)", re.DOTALL)
_NAME = re.compile(r"(?P<key>[^.\[]+)")


def below(path: str, key: t.Any) -> str:
    """The path of the field ``key`` of the object at ``path``, joined with a dot; the key alone if ``path`` is empty
    (the whole document)."""
    return f"{path}.{key}" if path else str(key)


def field(document: t.Any, path: str) -> t.Any:
    """What stands at a path of names such as ``spec.template``; None if it is not there, or null. Names hold no dots,
    and lists are not gone into."""
    for name in path.split("."):
        document = document.get(name) if isinstance(document, Mapping) else None
    return document


def with_field(document: Mapping[str, t.Any], path: str, value: t.Any) -> dict[str, t.Any]:
    """A copy of the document, sharing the rest, in which ``value`` stands at a path of names, or nothing for None.
    Where nothing, or an empty value, stands on the way, a mapping is made, for None too; where another value does,
    TypeError or AttributeError."""
    name, _dot, rest = path.partition(".")
    inner = with_field(document.get(name) or {}, rest, value) if rest else value
    return {key: each for key, each in {**document, name: inner}.items() if key != name or inner is not None}


def step(value: t.Any, path: str) -> tuple[str | int, str] | None:
    """The key or index that ``path``, which is not empty, goes through first, and the rest, without a dot in front;
    None if the document does not have it, or is neither a dict nor a list.

    Keys may hold dots and brackets: the longest one that fits wins. If none does, quotes in brackets are taken off.
    """
    if isinstance(value, list):
        index = _INDEX.match(path)
        return (int(index[1]), _rest(path, index.end())) if index and int(index[1]) < len(value) else None
    if not isinstance(value, dict):
        return None
    if not path.startswith("["):
        end = _longest(value, path, 0, [*(each.start() for each in _CUT.finditer(path)), len(path)])
        return None if end is None else (path[:end], _rest(path, end))
    end = _longest(value, path, 1, [each.start() for each in _CLOSING.finditer(path)])
    if end is not None:
        return path[1:end], _rest(path, end + 1)
    key, rest = _first_step(path)
    return (key, rest) if key in value else None


def _longest(value: dict[t.Any, t.Any], path: str, start: int, ends: list[int]) -> int | None:
    """Where in ``path`` the longest key of ``value`` that stands there from ``start`` on ends; only places in ``ends``,
    which are in order, count. None if no key fits."""
    if len(ends) <= len(value):
        return next((end for end in reversed(ends) if path[start:end] in value), None)
    fits = (start + len(key) for key in value if isinstance(key, str) and path.startswith(key, start))
    return max(set(fits) & set(ends), default=None)


def _rest(path: str, end: int) -> str:
    """What ``path`` has from ``end`` on, without one dot in front."""
    return path[end:].removeprefix(".")


def value_at(document: t.Any, path: str) -> t.Any:
    """What stands at ``path``, with keys and indexes as of ``step``; the document for an empty one. None if it is not
    there, or null."""
    while path:
        found = step(document, path)
        if found is None:
            return None
        key, path = found
        document = document[key]
    return document


def set_at(document: t.Any, path: str, value: t.Any) -> None:
    """Sets what stands at ``path``, which is not empty, in the document itself, or takes it away for None (an item of a
    list becomes null). Mappings that are missing on the way are made, but for None; an index into nothing becomes a
    key. Nothing happens where the way goes through something else than dicts and lists, or to an item that is not there
    or null."""
    while True:
        key, path = step(document, path) or _first_step(path)
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


def _first_step(path: str) -> tuple[str, str]:
    """The first key of a way that is not there yet, without brackets and quotes, and the rest; all of a path that
    begins with neither a name nor a bracket is one key."""
    found = _BRACKET.match(path) or _NAME.match(path)
    return (found["key"], _rest(path, found.end())) if found else (path, "")


def _item(document: t.Any, key: str | int) -> t.Any:
    """The item of a list at an index; None if there is none, or for another document or key."""
    return document[key] if isinstance(document, list) and isinstance(key, int) and key < len(document) else None
