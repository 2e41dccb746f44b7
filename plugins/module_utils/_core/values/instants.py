# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Instants read, and written as Kubernetes has them (RFC 3339 in UTC), for names, or for people in a time zone; taken
out of a text; and moved by a span."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, tzinfo

SECONDS, MICROSECONDS = "seconds", "microseconds"
# As ``write_time`` and ``write_local`` have them.
_WRITTEN = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z|\b[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d [\w+:-]*\w")


def parse_time(text: str) -> datetime:
    """An instant as aware UTC, in RFC 3339 or another form of ISO 8601 that Python reads, finer than microseconds cut.
    ValueError for others, without a time zone, and outside the years 1 to 9999 of UTC."""
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    try:
        return instant.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"{text!r} is too far away") from None


def parse_present(text: str) -> datetime:
    """As ``parse_time``, for an instant from which years ahead and back are looked at: ValueError outside the years
    1000 to 8999 too."""
    instant = parse_time(text)
    if not 1000 <= instant.year < 9000:
        raise ValueError(f"{text!r} is too far away")
    return instant


def later(instant: datetime, span: timedelta) -> datetime | None:
    """The instant so much later by the clock of its time zone, which over a clock change is not real time. None outside
    the years 1 to 9999."""
    try:
        return instant + span
    except OverflowError:
        return None


def write_time(instant: datetime, precision: str = "auto") -> str:
    """An aware instant in RFC 3339, in UTC with a ``Z``: with microseconds where there are any, by SECONDS never
    (``metav1.Time``), by MICROSECONDS always (``metav1.MicroTime``)."""
    return instant.astimezone(UTC).isoformat(timespec=precision).replace("+00:00", "Z")


def write_compact(instant: datetime) -> str:
    """An aware instant for names, in UTC and to the second: ``20261125t201258z``."""
    return instant.astimezone(UTC).strftime("%Y%m%dt%H%M%Sz")


def write_local(instant: datetime, zone: tzinfo) -> str:
    """An aware instant for people, by the clock of a zone: ``Mon 2026-11-23 07:00 CET``; in UTC where the zone's clock
    is outside the years 1 to 9999. Never for a server."""
    try:
        local = instant.astimezone(zone)
    except OverflowError:
        local = instant.astimezone(UTC)
    return local.strftime("%a %Y-%m-%d %H:%M %Z")


def without_instants(text: str) -> str:
    """The text with ``...`` in place of instants as ``write_time`` and ``write_local`` write them: it stays the same
    when they move."""
    return _WRITTEN.sub("...", text)


def write_day(day: date) -> str:
    """A day for people, in tables: ``Mon 11-23``, without the year."""
    return day.strftime("%a %m-%d")
