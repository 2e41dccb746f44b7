# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Floating-point numbers as Go reads them (``strconv.ParseFloat``)."""

from __future__ import annotations

import math
import re

# No spaces around, ASCII only, single underscores between digits.
_DECIMAL = re.compile(
    r"[+-]?(?:[0-9]+(?:_[0-9]+)*(?:\.(?:[0-9]+(?:_[0-9]+)*)?)?|\.[0-9]+(?:_[0-9]+)*)(?:[eE][+-]?[0-9]+(?:_[0-9]+)*)?"
)
_HEXADECIMAL = re.compile(
    r"[+-]?0[xX](?:_?[0-9a-fA-F])*(?:\.[0-9a-fA-F]*(?:_[0-9a-fA-F]+)*)?[pP][+-]?[0-9]+(?:_[0-9]+)*"
)
_WORD = re.compile(r"([+-]?)(inf|infinity)|nan", re.IGNORECASE | re.ASCII)


def parse_float(text: str) -> float | None:
    """The floating-point number of a text, in decimal or hexadecimal, also with ``_`` between digits, or in words
    (infinite, NaN); None where Go reports an error, as for numbers too large for 64 bits."""
    word = _WORD.fullmatch(text)
    if word is not None:
        return float(text)
    try:
        if _DECIMAL.fullmatch(text):
            number = float(text)
        elif _HEXADECIMAL.fullmatch(text):
            number = float.fromhex(text.replace("_", ""))
        else:
            return None
    except (ValueError, OverflowError):
        return None
    return None if math.isinf(number) else number
