# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Durations as Go reads and writes them (``time.ParseDuration``), in whole nanoseconds; whole minutes as in budgets and
windows (``120h``, ``1h30m``); spans in words for people (``2 h 5 min``).

Karpenter's ``NillableDuration`` also takes the word ``Never``.
"""

from __future__ import annotations

import re
from datetime import timedelta

from .int_or_percent import INT64

NEVER = "Never"
MICROSECOND, MILLISECOND, SECOND = 10**3, 10**6, 10**9
MINUTE, HOUR = 60 * SECOND, 3600 * SECOND
# The micro sign and the Greek letter are two characters that look alike.
UNITS = {"ns": 1, "us": 10**3, "\u00b5s": 10**3, "\u03bcs": 10**3, "ms": 10**6, "s": SECOND, "m": MINUTE, "h": HOUR}
TOO_LONG = "is longer than 292 years, which is all that 64 bits hold"

_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]+)")
# Go counts in unsigned 64 bits and allows for the one magnitude that only a negative duration has.
_LIMIT = 2**63


def parse_duration(text: str) -> int:
    """Nanoseconds of a text such as ``1h30m`` or ``-1.5s``; ValueError if Go refuses it.

    Several units add up in any order, fractions are cut to nanoseconds, ``0`` needs no unit.
    """
    negative, body = text.startswith("-"), text[1:] if text[:1] in ("+", "-") else text
    if body == "0":
        return 0
    total, end = 0, 0
    while end < len(body):
        part = _PART.match(body, end)
        if part is None or not (part[1] or part[2]) or part[3] not in UNITS:
            raise ValueError(f"{text!r:.60} is not a duration such as '1h30m'")
        total += _nanoseconds(part[1], part[2] or "", UNITS[part[3]], text)
        end = part.end()
    signed = -total if negative else total
    if not body:
        raise ValueError("an empty text is not a duration")
    if signed not in INT64:
        raise ValueError(f"{text!r:.60} {TOO_LONG}")
    return signed


def parse_or_never(text: str) -> int | None:
    """As ``parse_duration``, ValueError included; None for ``Never``."""
    return None if text == NEVER else parse_duration(text)


def as_timedelta(nanoseconds: int) -> timedelta:
    """Nanoseconds as a timedelta, rounded down (negative ones too) to whole microseconds."""
    return timedelta(microseconds=nanoseconds // MICROSECOND)


def format_duration(nanoseconds: int) -> str:
    """Nanoseconds as the text that Go prints: ``1h30m0s``, ``1m0.5s``, ``0s``, and below a second one unit with a
    fraction: ``1.5ms``."""
    sign, size = ("-" if nanoseconds < 0 else ""), abs(nanoseconds)
    if size == 0:
        return "0s"
    if size < SECOND:
        unit, word = next(
            (each for each in ((MILLISECOND, "ms"), (MICROSECOND, "\u00b5s")) if size >= each[0]), (1, "ns")
        )
        return f"{sign}{_decimal(size, unit)}{word}"
    hours, rest = divmod(size, HOUR)
    minutes, rest = divmod(rest, MINUTE)
    lead = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{sign}{lead}{_decimal(rest, SECOND)}s"


def duration_text(minutes: int) -> str:
    """A duration of whole minutes, 0 or more, as the schema of Karpenter's budgets takes it: ``120h``, ``1h30m``, and
    ``0m`` for 0."""
    hours, rest = divmod(minutes, 60)
    return (f"{hours}h" if hours else "") + (f"{rest}m" if rest or not hours else "")


def _nanoseconds(whole: str, fraction: str, unit: int, text: str) -> int:
    """Nanoseconds of ``whole.fraction`` units of ``unit`` nanoseconds each, the fraction cut; ValueError, which names
    ``text``, if the whole ones are beyond 2^63."""
    digits_read = whole.lstrip("0")[:20]  # one more than 64 bits hold
    count = int(digits_read or "0")
    if count * unit > _LIMIT:
        raise ValueError(f"{text!r:.60} {TOO_LONG}")
    # Digits that do not fit 63 bits are dropped, and the product is a 64-bit float, as in Go.
    digits = fraction[:18] if int(fraction[:19] or "0") > _LIMIT else fraction[:19]
    return count * unit + (int(float(int(digits)) * (float(unit) / 10.0 ** len(digits))) if digits else 0)


def _decimal(size: int, unit: int) -> str:
    """``size`` / ``unit`` as an exact decimal without trailing zeros; neither is negative, and ``unit`` is a power of
    ten."""
    whole, rest = divmod(size, unit)
    digits = str(rest).rjust(len(str(unit)) - 1, "0").rstrip("0")
    return f"{whole}.{digits}" if digits else str(whole)


def span_words(span: timedelta) -> str:
    """A span for people, cut to whole seconds, from an hour on to minutes: ``4 s``, ``3 min 20 s``, ``2 h 5 min``. A
    negative one is ``0 s``."""
    seconds = max(int(span.total_seconds()), 0)
    minutes, hours = seconds // 60, seconds // 3600
    if hours:
        return f"{hours} h {minutes % 60} min"
    return f"{minutes} min {seconds % 60} s" if minutes else f"{seconds} s"
