# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""JSON: one text for one value, canonical (``not-json``) or by lines that compare well; its SHA-256 digest; whether two
values are the same; a text strictly read; halves of surrogate pairs.

The digest is of our own form, not upstream's.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import typing as t

from ..errors import FleetError

_PAIR = re.compile(r"(?<!\\)((?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")


def canonical_json(value: t.Any) -> bytes:
    """The canonical JSON text of a value, in UTF-8, with sorted keys. FleetError ``not-json`` for what JSON does not
    have, such as dates, .nan and halves of surrogate pairs, and for keys that cannot be sorted; RecursionError for what
    is nested too deep."""
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return text.encode()
    except (TypeError, ValueError) as error:
        hint = "put dates and numbers such as .nan in quotes"
        raise FleetError("not-json", f"a value cannot be written as JSON: {error}", hint=hint) from error


def strict_json(text: str | bytes, pairs: t.Callable[[list[tuple[str, t.Any]]], t.Any] | None = None) -> t.Any:
    """The value of a JSON text, as ``json.loads`` reads it with ``pairs`` as its ``object_pairs_hook``; without one the
    last of equal keys counts. ValueError for anything else, for NaN, Infinity and floats that are too large (1e999),
    which pass there; RecursionError for what is nested too deep. Halves of surrogate pairs pass."""
    return json.loads(text, parse_constant=_no_number, parse_float=_finite, object_pairs_hook=pairs)


def is_unicode(text: str) -> bool:
    """Whether the text holds no half of a surrogate pair, which readers of JSON and YAML can give."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _no_number(name: str) -> t.NoReturn:
    """Always raises ValueError, with the first 20 characters of the number."""
    raise ValueError(f"there is no number {name:.20}")


def _finite(text: str) -> float:
    """The number of a text; ValueError if it is too large for 64 bits."""
    found = float(text)
    return found if math.isfinite(found) else _no_number(text)


def comparable_text(value: t.Any) -> str:
    """A text by which values of JSON are compared: the same for the same value, else another; 1, 1.0 and true, equal in
    Python, differ. What JSON does not have, such as a date, is written as Python does. ValueError for a value that
    holds itself, RecursionError for what is nested too deep."""
    try:
        return json.dumps(value, sort_keys=True, default=repr)
    except TypeError:
        return repr(value)


def is_same(one: t.Any, other: t.Any) -> bool:
    """Whether two values of JSON are the same: the order of keys does not count, 1, 1.0 and true differ, as do a list
    and a tuple. Errors as of ``comparable_text``."""
    return bool(one == other) and comparable_text(one) == comparable_text(other)


def digest_of(value: t.Any) -> str:
    """SHA-256 of the canonical JSON: 64 hexadecimal digits in lower case, without ``sha256:``. Errors as of
    ``canonical_json``."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def json_by_lines(document: t.Mapping[str, t.Any]) -> str:
    """JSON text that compares well by lines, in ASCII, with sorted keys, which must be texts: each entry of the
    document begins a line, as does each entry of a list or map right in it. TypeError for what JSON does not have, such
    as a date, but NaN and Infinity are written. Python's own indentation is several times slower."""
    parts = ",\n".join(f"{json.dumps(key)}: {_part(document[key])}" for key in sorted(document))
    return f"{{\n{parts}\n}}\n"


def _part(value: t.Any) -> str:
    """The JSON text of one value of the document: a line for each entry of a list or map, anything else on one line."""
    if isinstance(value, list) and value:
        return "[\n " + ",\n ".join(json.dumps(each, sort_keys=True) for each in value) + "\n]"
    if isinstance(value, dict) and value:
        rows = (f"{json.dumps(key)}: {json.dumps(value[key], sort_keys=True)}" for key in sorted(value))
        return "{\n " + ",\n ".join(rows) + "\n}"
    return json.dumps(value)


def joined_pairs(text: str) -> str:
    """The JSON text with each escaped surrogate pair replaced by its character: a YAML reader leaves them two
    halves."""
    return _PAIR.sub(lambda found: found[1] + bytes.fromhex(found[2] + found[3]).decode("utf-16-be"), text)
