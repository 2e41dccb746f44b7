# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Integers or percentages."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.int_or_percent import (
    int64,
    is_int_or_text,
    scaled,
)


def test_an_integer_is_itself_and_a_percentage_is_taken_of_the_total() -> None:
    assert scaled(5, 3, round_up=True) == 5
    assert scaled("25%", 10, round_up=True) == 3
    assert scaled("25%", 10, round_up=False) == 2
    assert scaled("150%", 10, round_up=True) == 15


@pytest.mark.parametrize("value", ["5", "10.5%", "%", "10 %", "٣%", "", "1_0%", True, 2**31, 1.5])
def test_anything_else_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="percentage"):
        scaled(value, 10, round_up=True)  # type: ignore[arg-type]


def test_any_text_decodes_but_only_small_integers_do() -> None:
    assert is_int_or_text("anything")
    assert is_int_or_text(-(2**31))
    assert not is_int_or_text(2**31)
    assert not is_int_or_text(True)


@pytest.mark.parametrize(
    ("text", "number"),
    [("+5", 5), ("-0", 0), ("007", 7), ("9223372036854775807", 2**63 - 1), ("-9223372036854775808", -(2**63))]
    + [("0" * 5000, 0), ("-" + "0" * 5000 + "7", -7)],
)
def test_integers_are_those_of_64_bits(text: str, number: int) -> None:
    assert int64(text) == number


@pytest.mark.parametrize(
    "text", ["", "+", "-", "1.5", "1_0", " 1", "1 ", "9223372036854775808", "9" * 5000, "0" * 5000 + "9" * 20, "٣"]
)
def test_any_other_text_is_none(text: str) -> None:
    assert int64(text) is None


def test_a_percentage_of_very_many_digits_is_read_or_refused() -> None:
    assert scaled("0" * 5000 + "25%", 10, round_up=True) == 3
    with pytest.raises(ValueError, match="percentage"):
        scaled("9" * 5000 + "%", 10, round_up=True)
