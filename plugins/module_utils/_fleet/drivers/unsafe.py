# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Files for Ansible in which no text is a template, however deep it lies: YAML below the tag ``!unsafe``.

The JSON form (``{"__ansible_unsafe": ...}``) does not do: a file whose JSON is refused is read as YAML once more, and
then all of its texts are templates.
"""

from __future__ import annotations

import json
import math
import re
import typing as t
from collections.abc import Mapping

_LONGEST_KEY = 1000
_SURROGATES = re.compile(r"\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})")


def unsafe(document: t.Any) -> str:
    """The document as YAML in one line, keys as texts, tuples as lists; TypeError for what JSON has no form for, such
    as a date, RecursionError for one that is nested too deep."""
    return f"!unsafe {_flow(document)}\n"


def _flow(value: t.Any) -> str:
    """The value in one line of YAML. TypeError for what JSON has no form for."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(str(key))}: {_flow(each)}" for key, each in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, float):
        return _number(value)
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _key(value: str) -> str:
    """The text as a key; a long one has to say that it is one (YAML 1.1, 7.4.2: at most 1024 characters)."""
    text = _text(value)
    return text if len(text) <= _LONGEST_KEY else f"? {text} "


def _text(value: str) -> str:
    """The text in double quotes, where JSON is YAML, but for characters beyond 16 bits, and for DEL."""
    return _SURROGATES.sub(_character, json.dumps(value)).replace("\x7f", "\\x7f")


def _character(pair: re.Match[str]) -> str:
    """The one character that the pair of escapes stands for, as YAML escapes it."""
    high, low = int(pair[1], 16), int(pair[2], 16)
    return f"\\U{0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00):08x}"


def _number(value: float) -> str:
    """The number as YAML 1.1 wants it: with a point before an exponent, and words of its own for what is no number."""
    if not math.isfinite(value):
        return ".nan" if math.isnan(value) else f"{'-' if value < 0 else ''}.inf"
    text = repr(value)
    return text if "." in text else text.replace("e", ".0e")
