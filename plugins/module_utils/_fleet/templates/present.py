# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Instants as users give them to filters and tests (``invalid-time``), a text or nothing for the present; a time that
YAML has read already, as a text."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime

from ..._core.errors import FleetError
from ..._core.foreign import shown_value
from ..._core.values.instants import parse_present, write_time


def given_instant(value: t.Any = None, name: str = "now") -> datetime:
    """An aware instant; None and ``now`` are the present. FleetError ``invalid-time``, also for anything but text, for
    a text without a zone, which would mean another instant on another machine, and for the ends of the calendar."""
    if value is None or value == "now":
        return datetime.now(UTC)
    try:
        if isinstance(value, str):
            return parse_present(value)
    except ValueError:
        pass
    hint = "write it like 2026-05-01T12:00:00Z"
    raise FleetError("invalid-time", f"{shown_value(value, 60)} is not an instant", name, hint)


def utc_text(value: datetime) -> str:
    """The instant in RFC 3339; one without a zone, as YAML reads some, is taken to be in UTC."""
    return write_time(value if value.tzinfo else value.replace(tzinfo=UTC))
