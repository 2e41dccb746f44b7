# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Instants as Kubernetes writes them, RFC 3339 in UTC, and for people. Nobody else writes them."""

from __future__ import annotations

from datetime import UTC, date, datetime, tzinfo

SECONDS, MICROSECONDS = "seconds", "microseconds"


def parse_time(text: str) -> datetime:
    """An instant as aware UTC, in RFC 3339 or another form of ISO 8601 that Python reads; ValueError otherwise. An
    instant without a zone is none, nor is one outside the years 1 to 9999 of UTC."""
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    try:
        return instant.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"{text!r} is too far away") from None


def write_time(instant: datetime, precision: str = "auto") -> str:
    """An aware instant: microseconds only where there are any, or cut to whole SECONDS (``metav1.Time``), or always
    with MICROSECONDS (``metav1.MicroTime``)."""
    return instant.astimezone(UTC).isoformat(timespec=precision).replace("+00:00", "Z")


def write_local(instant: datetime, zone: tzinfo) -> str:
    """An aware instant for people, by the clock of a zone: ``Mon 2026-11-23 07:00 CET``. Never for a server."""
    return instant.astimezone(zone).strftime("%a %Y-%m-%d %H:%M %Z")


def write_day(day: date) -> str:
    """A day for tables: ``Mon 11-23``."""
    return day.strftime("%a %m-%d")
