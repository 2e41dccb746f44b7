# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a plain YAML scalar means to kubectl (``yes``, ``0777``, ``1e3``): YAML 1.1 as its YAML library reads it, then
turned into JSON. So ``yes`` and ``on`` are booleans, ``0777`` is octal, ``1e3`` is 1000; but dates and ``1:30`` stay
text."""

from __future__ import annotations

import math
import re
import typing as t

Scalar = bool | int | float | str | None  # pylint: disable=unsupported-binary-operation  # Python 3.11 can

_WORDS: t.Mapping[str, Scalar] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
}
_INTEGERS = (
    (re.compile(r"[-+]?(0|[1-9][0-9]*)"), 10),
    (re.compile(r"[-+]?0o?[0-7]+"), 8),
    (re.compile(r"[-+]?0[xX][0-9a-fA-F]+"), 16),
    (re.compile(r"[-+]?0[bB][01]+"), 2),
)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NO_NUMBER = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_LONGEST_NUMBER = 400  # digits; Python refuses to convert very long ones
# As Go prints floats: below it without exponent, so whole numbers look like integers.
_WHOLE = 1e21


def resolve(text: str) -> Scalar:
    """The value of a plain scalar: null (an empty text too), a boolean, a number as of ``number``, or else the text.
    ValueError for a number that JSON cannot hold (infinite, or none)."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    return number(text)


def number(text: str) -> int | float | str:
    """The number that the text writes (decimal, octal, hexadecimal, binary), an int if it is written as one, or is
    whole and below 1e21; ``_`` does not count. The text if it writes none, or has over 400 characters. ValueError for
    one that JSON cannot hold (infinite, or none)."""
    if _NO_NUMBER.fullmatch(text):
        raise ValueError(text)
    digits = text.replace("_", "")
    if len(digits) > _LONGEST_NUMBER:
        return text
    for form, base in _INTEGERS:
        if form.fullmatch(digits):
            return int(digits.replace("o", ""), base)
    if not _FLOAT.fullmatch(digits):
        return text
    value = float(digits)
    if math.isinf(value):
        raise ValueError(text)
    return int(value) if value.is_integer() and abs(value) < _WHOLE else value
