# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Parts of JSON documents that others wrote, each of the type that is wanted: text, name, whole number, map, list; and
the type of a value in words. ``null`` counts as absent.

ValueError names the part, and nothing of its value.
"""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

Part = t.Mapping[str, t.Any]

# Almost every map is a dict, and to ask that first is faster by far.
_MAP = (dict, Mapping)
_WORDS: t.Mapping[type, str] = {  # true is an int, too
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    list: "a list",
    Mapping: "a map",
    type(None): "null",
}


def text(of: Part, key: str) -> str:
    """The text under a key of a document; empty where it is absent. ValueError for anything else."""
    found = of.get(key)
    if isinstance(found, str):
        return found
    if found is None:
        return ""
    raise ValueError(f"{key} is no text")


def name(of: Part, key: str = "name") -> str:
    """The text under a key of a document. ValueError if it is absent, empty or no text."""
    found = text(of, key)
    if not found:
        raise ValueError(f"{key} is missing")
    return found


def number(of: Part, key: str) -> int:
    """The whole number under a key of a document, of any size and sign; 0 where it is absent. ValueError for anything
    else, 2.0 and true too."""
    found = _typed(of, key, int, "whole number", 0)
    if isinstance(found, bool):
        raise ValueError(f"{key} is no whole number")
    return t.cast(int, found)


def is_whole_number(value: t.Any, least: int) -> t.TypeGuard[int]:
    """Whether it is a whole number of at least ``least``; true and 2.0 are none."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def mapping(of: Part, key: str) -> Part:
    """The map under a key of a document, no copy; empty where it is absent. ValueError for anything else."""
    found = of.get(key)
    if found is None:
        return {}
    if isinstance(found, _MAP):
        return found
    raise ValueError(f"{key} is no map")


def texts(of: Part, key: str) -> t.Mapping[str, str]:
    """The map of texts under a key of a document; empty where it is absent. ValueError for anything else, and where a
    value in it is null or no text."""
    found = mapping(of, key)
    if not all(isinstance(each, str) for each in found.values()):
        raise ValueError(f"{key} is no map of texts")
    return found


def rows(of: Part, key: str) -> list[Part]:
    """The list of maps under a key of a document; empty where it is absent. ValueError for anything else, and where an
    item is null or no map."""
    found: list[Part] = _typed(of, key, list, "list", [])
    for each in found:
        if not isinstance(each, _MAP):
            raise ValueError(f"{key} is no list of maps")
    return found


def type_words(value: t.Any) -> str:
    """The JSON type of a value in words, such as ``a map``, where the value may be a secret; ``no JSON`` for others."""
    for kind, words in _WORDS.items():
        if isinstance(value, kind):
            return words
    return "no JSON"


def _typed(of: Part, key: str, kind: type, word: str, absent: t.Any) -> t.Any:
    """What stands under a key, or ``absent``; ValueError, which calls the type ``word``, if it is not of ``kind``."""
    value = of.get(key)
    if value is None:
        return absent
    if not isinstance(value, kind):
        raise ValueError(f"{key} is no {word}")
    return value
