# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Integers or percentages (``intstr.IntOrString`` of k8s.io/apimachinery) and what they come to for a total; 64-bit
integers in digits."""

from __future__ import annotations

import math
import re

INT32 = range(-(2**31), 2**31)
INT64 = range(-(2**63), 2**63)

_PERCENT = re.compile(r"([+-]?[0-9]+)%")
_INTEGER = re.compile(r"([+-]?)0*([0-9]{1,19})")


def int64(text: str) -> int | None:
    """A signed 64-bit integer in decimal digits (Go's ``strconv.ParseInt``), with or without a sign and zeros in front;
    None for anything else, with spaces around too."""
    found = _INTEGER.fullmatch(text)
    number = int(found[1] + found[2]) if found else INT64.stop
    return number if number in INT64 else None


def is_int_or_text(value: object) -> bool:
    """Whether a manifest's value fits the type: a 32-bit integer, which a truth value is not, or any text."""
    if isinstance(value, bool):
        return False
    return isinstance(value, str) or (isinstance(value, int) and value in INT32)


def scaled(value: int | str, total: int, round_up: bool) -> int:
    """The number that ``value`` stands for: a 32-bit integer itself, even above ``total``; a percentage of ``total``,
    in 64-bit floats like upstream's, rounded up, or without ``round_up`` down. Negative ones and those above 100% count
    too. ValueError for anything else, plain numbers in quotes too, as upstream has it."""
    if not is_int_or_text(value):
        raise ValueError(f"{value!r:.60} is neither a 32-bit integer nor a percentage")
    if isinstance(value, int):
        return value
    found = _PERCENT.fullmatch(value)
    percentage = int64(found[1]) if found else None
    if percentage is None:
        raise ValueError(f"{value!r:.60} is not a percentage such as '25%'")
    share = float(percentage) * float(total) / 100
    return math.ceil(share) if round_up else math.floor(share)
