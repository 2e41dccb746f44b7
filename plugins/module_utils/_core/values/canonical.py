# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""JSON: one text for one value, canonical (``not-json``) or by lines that compare well, its SHA-256 digest, whether two
values are the same; the value of a text, strictly read; and halves of surrogate pairs.

The digest is of our own form; upstream's are not matched. A text is read as strictly as the standard has it.
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
    """The one JSON text of a value: UTF-8, sorted keys, no spaces; 1 and 1.0 differ, and keys that are numbers, true or
    null become texts. FleetError ``not-json`` for YAML dates, .nan, halves of surrogate pairs, keys of mixed types and
    the like; RecursionError for what is too deep."""
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return text.encode()
    except (TypeError, ValueError) as error:
        hint = "put dates and numbers such as .nan in quotes"
        raise FleetError("not-json", f"a value cannot be written as JSON: {error}", hint=hint) from error


def strict_json(text: str | bytes, pairs: t.Callable[[list[tuple[str, t.Any]]], t.Any] | None = None) -> t.Any:
    """The value of a JSON text, as ``json.loads`` reads it, ``pairs`` being its ``object_pairs_hook``; without one the
    last of equal keys counts. ValueError for anything else, and for NaN, Infinity and numbers without end such as
    1e999, which the standard does not have; RecursionError for what is too deep. Halves of surrogate pairs pass."""
    return json.loads(text, parse_constant=_no_number, parse_float=_finite, object_pairs_hook=pairs)


def is_unicode(text: str) -> bool:
    """Whether there is no half of a surrogate pair in it: readers of JSON and YAML give such, and it is no text."""
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
    """A text that is the same for the same value of JSON, and for no other: 1, 1.0 and true, which are equal in Python,
    differ. Of what JSON has not, such as a date or a map with dates as keys, what Python writes for it, and nothing is
    refused; RecursionError for what is too deep."""
    try:
        return json.dumps(value, sort_keys=True, default=repr)
    except TypeError:
        return repr(value)


def is_same(one: t.Any, other: t.Any) -> bool:
    """Whether these are the same value of JSON, as of ``comparable_text``, which is asked only where Python calls the
    two equal. Lists are compared in order, maps whatever theirs."""
    return bool(one == other) and comparable_text(one) == comparable_text(other)


def digest_of(value: t.Any) -> str:
    """SHA-256 of the canonical JSON, 64 hexadecimal digits in lower case without ``sha256:``. FleetError and
    RecursionError as of ``canonical_json``."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def json_by_lines(document: t.Mapping[str, t.Any]) -> str:
    """JSON text with a line for each entry of each list or map right in the document, keys, which are to be texts,
    sorted, with a newline at its end, all in ASCII. TypeError for a value that JSON does not have, such as a date; NaN
    and Infinity are written as such. Made several times faster than with indentation, and still to be compared by
    lines."""
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
    """The text of JSON with each escaped surrogate pair as its character: YAML is read with the character alone."""
    return _PAIR.sub(lambda found: found[1] + bytes.fromhex(found[2] + found[3]).decode("utf-16-be"), text)
