# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Quantities: the recorded answers hold the breadth, these are the rules."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.quantity import (
    approximate,
    parse_quantity,
    read_quantity,
)


@pytest.mark.parametrize(("one", "other"), [("1", "1000m"), ("1Gi", "1024Mi"), ("1e3", "1k"), ("0", "-0Ki")])
def test_equal_by_value_not_by_spelling_d1_16(one: str, other: str) -> None:
    assert parse_quantity(one) == parse_quantity(other)
    assert hash(parse_quantity(one)) == hash(parse_quantity(other))


def test_order_follows_the_value_across_formats() -> None:
    texts = ["-1Ki", "-1", "0", "1n", "999m", "1", "1k", "1Ki", "1M", "1Mi"]
    assert sorted(set(texts), key=parse_quantity) == texts


@pytest.mark.parametrize("text", ["", "five", "1K", "1_000", "1 Gi", " 1", "1e", "1e3Ki", "--1", "１", "1e99999999999"])
def test_what_apimachinery_refuses_is_refused_by_name_d1_19(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity") as refused:
        parse_quantity(text)
    assert repr(text) in str(refused.value)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("0.5", "500m"),
        ("1.5Gi", "1536Mi"),
        ("1000Mi", "1000Mi"),
        ("1024", "1024"),
        ("1023Ki", "1023Ki"),
        ("12e3", "12e3"),
    ],
)
def test_canonical_form(text: str, canonical: str) -> None:
    assert parse_quantity(text).canonical == canonical


@pytest.mark.parametrize(
    ("text", "zero"),
    [("Ti", True), ("Pi", False), ("+0Pi", True), (".Pi", False), (".Ki", True), ("e-9", True), ("-e-10", False)],
)
def test_a_suffix_alone_is_zero_in_upstreams_64_bits_and_nothing_beyond(text: str, zero: bool) -> None:
    if zero:
        assert parse_quantity(text).canonical == "0"
    else:
        with pytest.raises(ValueError, match="no digits"):
            parse_quantity(text)


def test_finer_than_nano_rounds_away_from_zero() -> None:
    assert parse_quantity("0.1n").canonical == "1n"
    assert parse_quantity("-0.1n").canonical == "-1n"


def test_binary_forms_are_capped_and_decimal_forms_are_not() -> None:
    assert parse_quantity("100Ei").value == str(2**63 - 1)
    assert parse_quantity("100E").value == "1" + "0" * 20


def test_a_quantity_above_exa_never_loses_its_suffix() -> None:
    assert parse_quantity("1000E").canonical == "1000E"


def test_a_sum_keeps_the_left_format_unless_it_is_zero() -> None:
    assert (parse_quantity("1Gi") + parse_quantity("1024")).canonical == "1048577Ki"
    assert (parse_quantity("0") + parse_quantity("1Gi")).canonical == "1Gi"
    assert (parse_quantity("4") - parse_quantity("500m")).canonical == "3500m"


def test_the_float_of_a_sorter_depends_on_the_spelling() -> None:
    assert approximate("0.3") == 0.30000000000000004
    assert approximate("300m") == 0.3
    assert approximate("16") == 16.0
    assert approximate("0e309") == 0.0 and approximate("1e309") == float("inf")


def test_manifests_may_hold_numbers_and_spaces() -> None:
    assert read_quantity(2) == read_quantity(" 2 ") == parse_quantity("2")
    for odd in (True, None, ["1"]):
        with pytest.raises(ValueError, match="is not a quantity"):
            read_quantity(odd)


@pytest.mark.parametrize(
    "text", ["1" * 1000, "1" * 4290 + "E", "0." + "1" * 5000, *("1" * 5000 + s for s in ("Mi", "e9"))]
)
def test_a_number_of_very_many_digits_is_refused_by_name(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity: it has more than 999 digits"):
        parse_quantity(text)


@pytest.mark.parametrize("text", ["9" * 999 + "e999", "9" * 999 + "E", "9" * 999 + "Ei", "0" * 5000 + "1"])
def test_every_quantity_that_is_read_is_printed(text: str) -> None:
    quantity = parse_quantity(text)
    assert all((quantity.value, quantity.canonical, quantity.as_text, (quantity + quantity).value))
