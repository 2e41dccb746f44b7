# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Fields as drift and differences show them: paths such as ``.spec.ports[port=80]``, values cut or, of Secrets, masked
(``<masked, 12 bytes>``), and whether two are equal as JSON."""

from __future__ import annotations

import base64
import binascii
import json
import re
import typing as t
from itertools import islice

from ...objects.identity import Manifest, group_version
from ...values.listed import number_of


class Absent:
    """The type of ``ABSENT``: a field that is not there, which is not the same as null."""

    def __bool__(self) -> bool:
        return False


ABSENT = Absent()

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_DEEPEST, _MOST_VALUES, _LONGEST = 32, 5_000, 1 << 16
_SAYS_NOTHING: t.Mapping[str, type] = {"type": str, "immutable": bool}


def field_path(parent: str, key: str) -> str:
    """The path of a key below ``parent``: ``.spec.replicas``, ``.metadata.labels["app.kubernetes.io/name"]``."""
    return f"{parent}.{key}" if _PLAIN.fullmatch(key) else f"{parent}[{_json(key)}]"


def item_path(parent: str, keys: t.Mapping[str, t.Any]) -> str:
    """The path of an item of a list by its keys: ``.spec.ports[port=80,protocol="TCP"]``."""
    return f"{parent}[{','.join(f'{key}={_json(value)}' for key, value in keys.items())}]"


def value_path(parent: str, value: t.Any) -> str:
    """The path of an element of a list that is a set: ``.metadata.finalizers[="example.com/keep"]``."""
    return f"{parent}[={_json(value)}]"


def is_secret(manifest: Manifest) -> bool:
    """Whether the manifest is a Secret of the core group, of whatever version, whose values are never shown."""
    return manifest.get("kind") == "Secret" and group_version(str(manifest.get("apiVersion", "")))[0] == ""


def may_be_shown(key: str, value: t.Any) -> bool:
    """Whether the value of that field of a Secret may be shown: a ``type`` that is a text, an ``immutable`` that is
    true or false. What else stands there holds values, or came there in the place of another field."""
    return key in _SAYS_NOTHING and isinstance(value, _SAYS_NOTHING[key])


def is_masked(key: str, desired: Manifest, live: Manifest) -> bool:
    """Whether a field beside ``metadata`` is shown by the lengths of its values alone: in a Secret (``desired`` tells
    the kind), unless it ``may_be_shown`` in both, or in the one that has it."""
    found = [each[key] for each in (desired, live) if each.get(key) is not None]
    return is_secret(desired) and not all(may_be_shown(key, each) for each in found)


def shown(value: t.Any, masked: bool) -> t.Any:
    """A value as drift and differences show it: None where it is ``ABSENT`` or null. If ``masked`` only the lengths of
    what is in it, under the same keys down to 32 levels; else texts are cut after 65,536 characters, structures after
    32 levels and about 5,000 values."""
    if isinstance(value, Absent):
        return None
    if not masked or value is None:
        return _readable(value, _DEEPEST, [_MOST_VALUES])
    return _lengths(value, _DEEPEST)


def _lengths(value: t.Any, depth: int) -> t.Any:
    """``<masked, 12 bytes>`` for each value of a map, down to ``depth``, or for a value that is none; null stays."""
    if isinstance(value, t.Mapping) and depth > 0:
        return {key: None if one is None else _lengths(one, depth - 1) for key, one in value.items()}
    return f"<masked, {number_of(_length(value), 'byte')}>"


def _readable(value: t.Any, depth: int, left: list[int]) -> t.Any:
    """The value with long texts cut, and lists and maps as far as ``depth`` and the number ``left`` go, which each
    value lowers."""
    left[0] -= 1
    if isinstance(value, str):
        return (
            value
            if len(value) <= _LONGEST
            else f"{value[:_LONGEST]}... ({number_of(len(value) - _LONGEST, 'more character')})"
        )
    if not isinstance(value, (t.Mapping, list)):
        return value
    if depth <= 0 or left[0] <= 0:
        return "..."
    if isinstance(value, list):
        return [_readable(each, depth - 1, left) for each in value[: left[0]]]
    return {key: _readable(each, depth - 1, left) for key, each in islice(value.items(), left[0])}


def same_json(one: t.Any, other: t.Any) -> bool:
    """Whether two JSON values are equal: 1 is 1.0, but, unlike in Python, true is not 1."""
    if isinstance(one, t.Mapping) and isinstance(other, t.Mapping):
        return one.keys() == other.keys() and all(same_json(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_json, one, other))
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def one_line(text: str) -> str:
    """The text without line ends, which API servers pass over in base64."""
    return text.replace("\n", "").replace("\r", "")


def _length(value: t.Any) -> int:
    """Bytes of a text, of base64 those of what it stands for; characters of the JSON of anything else."""
    if not isinstance(value, str):
        return len(_json(value))
    try:
        return len(base64.b64decode(one_line(value), validate=True))
    except (binascii.Error, ValueError):
        return len(value.encode())


def _json(value: t.Any) -> str:
    """Compact JSON; what JSON does not have becomes a text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
