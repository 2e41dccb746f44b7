# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Floats as Go reads them, and in no more time than their length takes."""

from __future__ import annotations

import math
import time

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.go_float import parse_float


@pytest.mark.parametrize(
    ("text", "value"),
    [("1e6", 1e6), (".5", 0.5), ("5.", 5), ("0x1p27", 2.0**27), ("1_000", 1000), ("-Infinity", -math.inf)],
)
def test_floats_as_go_reads_them(text: str, value: float) -> None:
    assert parse_float(text) == value


@pytest.mark.parametrize(
    "text", ["", " 1", "1 ", "٣", "1__0", "_1", "1_", "1e400", "0x10", "0x1p99999", ".", "+nan", "1,5"]
)
def test_what_go_refuses_is_no_number(text: str) -> None:
    assert parse_float(text) is None


@pytest.mark.parametrize(
    "text", ["1" * 200_000 + "x", "0x" + "a" * 200_000, "1_" * 100_000, "0x" + "_a" * 100_000 + "q"]
)
def test_a_long_text_that_is_no_number_is_read_once(text: str) -> None:
    start = time.process_time()
    assert parse_float(text) is None and time.process_time() - start < 2


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1_0.5_0e1_0", 10.5e10),
        ("1.", 1.0),
        (".5", 0.5),
        ("0x_1.8p1", 3.0),
        ("0x.8p1", 1.0),
        ("0x1p-2", 0.25),
        ("0xp1", None),
    ],
)
def test_numbers_of_all_forms_are_read(text: str, number: float | None) -> None:
    assert parse_float(text) == number
