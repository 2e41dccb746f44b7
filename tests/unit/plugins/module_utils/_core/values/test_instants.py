# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Instants are read and written as RFC 3339 in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.instants import (
    MICROSECONDS,
    SECONDS,
    later,
    parse_present,
    parse_time,
    without_instants,
    write_local,
    write_time,
)
from hypothesis import given
from hypothesis import strategies as st

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "instant", "written"),
    [
        ("2024-05-01T12:00:00Z", NOON, "2024-05-01T12:00:00Z"),
        ("2024-05-01T14:00:00+02:00", NOON, "2024-05-01T12:00:00Z"),
        ("2024-05-01T12:00:00.5Z", NOON + timedelta(milliseconds=500), "2024-05-01T12:00:00.500000Z"),
    ],
)
def test_instants_are_aware_utc(text: str, instant: datetime, written: str) -> None:
    assert parse_time(text) == instant
    assert parse_time(text).tzinfo is UTC
    assert write_time(instant.astimezone(timezone(timedelta(hours=-5)))) == written


@pytest.mark.parametrize(
    "text", ["soon", "2024-05-01T12:00:00", "2024-05-01", "0001-01-01T00:00:00+10:00", "9999-12-31T23:59:59-10:00"]
)
def test_what_is_no_instant_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_time(text)


def test_the_precision_can_be_fixed() -> None:
    """``metav1.Time`` has whole seconds, ``metav1.MicroTime`` always six digits."""
    half = NOON + timedelta(milliseconds=500)
    assert write_time(half, SECONDS) == "2024-05-01T12:00:00Z"
    assert write_time(NOON, MICROSECONDS) == "2024-05-01T12:00:00.000000Z"
    assert write_time(datetime(7, 1, 1, tzinfo=UTC), SECONDS) == "0007-01-01T00:00:00Z"


@given(st.datetimes(timezones=st.timezones(), min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1)))
def test_what_is_written_is_read_again(instant: datetime) -> None:
    # One that the clocks of its zone skip is equal to none of another zone.
    assert parse_time(write_time(instant)) == instant.astimezone(UTC)


def test_an_instant_that_no_calendar_has_is_none() -> None:
    end = datetime(9999, 12, 31, tzinfo=UTC)
    assert later(end, timedelta(hours=23)) == end + timedelta(hours=23) and later(end, timedelta(days=1)) is None


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("1000-01-01T00:00:00Z", True),
        ("0999-12-31T23:59:59Z", False),
        ("8999-12-31T23:59:59Z", True),
        ("9000-01-01T00:00:00Z", False),
    ],
)
def test_the_present_is_not_at_an_end_of_the_calendar(text: str, read: bool) -> None:
    if read:
        assert parse_present(text) == parse_time(text)
        return
    with pytest.raises(ValueError, match="too far away"):
        parse_present(text)


def test_the_last_instant_of_the_calendar_is_told_in_utc_where_the_zone_is_ahead() -> None:
    """A freeze for ever ends there."""
    last = datetime.max.replace(tzinfo=UTC)
    assert write_local(last, timezone(timedelta(hours=1))) == "Fri 9999-12-31 23:59 UTC"


def test_a_text_without_its_instants_stays_the_same_when_they_move() -> None:
    zone = timezone(timedelta(hours=5, minutes=30))
    for at in (datetime(2026, 8, 17, 7, tzinfo=UTC), datetime(2026, 11, 2, 3, 4, 5, 6, tzinfo=UTC)):
        text = f"a waits until {write_time(at)}, and b till {write_local(at, zone)}, {write_local(at, UTC)}: 2026"
        assert without_instants(text) == "a waits until ..., and b till ..., ...: 2026"
