# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Go durations: the recorded answers hold the breadth, these are the rules."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.duration import (
    HOUR,
    MINUTE,
    SECOND,
    format_duration,
    parse_duration,
    parse_or_never,
)
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("1h30m", HOUR + 30 * MINUTE),
        ("30m1h", HOUR + 30 * MINUTE),
        ("1h1h", 2 * HOUR),
        ("-1.5h", -90 * MINUTE),
        (".5s", SECOND // 2),
        ("1.9ns", 1),
        ("0", 0),
        ("1µs", 1000),
        ("1μs", 1000),
    ],
)
def test_parts_add_up(text: str, nanoseconds: int) -> None:
    assert parse_duration(text) == nanoseconds


@pytest.mark.parametrize("text", ["", "5", "1d", "1h 30m", "1h-30m", ".h", "h", "1_0s", "٣h", "--1s", "+", "Never"])
def test_what_go_refuses_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["2562048h", "99999999999999999999h", "9" * 5000 + "h", "2562047h47m16.854775808s"])
def test_64_bits_are_the_limit(text: str) -> None:
    with pytest.raises(ValueError, match="longer than 292 years"):
        parse_duration(text)
    assert parse_duration("-2562047h47m16.854775808s") == -(2**63)


def test_never_is_a_word_of_its_own_d0_17() -> None:
    assert parse_or_never("Never") is None
    assert parse_or_never("720h") == 720 * HOUR
    with pytest.raises(ValueError, match="never"):
        parse_or_never("never")


@given(nanoseconds=st.integers(-(2**63) + 1, 2**63 - 1) | st.integers(-(10**6), 10**6))
def test_printing_and_parsing_is_the_identity(nanoseconds: int) -> None:
    assert parse_duration(format_duration(nanoseconds)) == nanoseconds
