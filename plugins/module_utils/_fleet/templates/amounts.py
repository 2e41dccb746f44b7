# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Kubernetes quantities as numbers in a unit, for templates (filter ``quantity``, ``invalid-quantity``)."""

from __future__ import annotations

import typing as t
from fractions import Fraction

from ..._core.errors import FleetError
from ..._core.values.quantity import (
    BINARY_SUFFIXES,
    DECIMAL_SUFFIXES,
    NANO,
    read_quantity,
)
from .given import one_of

UNITS: t.Mapping[str, Fraction] = {
    **{suffix: Fraction(10) ** exponent for suffix, exponent in DECIMAL_SUFFIXES.items()},
    **{suffix: Fraction(2) ** exponent for suffix, exponent in BINARY_SUFFIXES.items()},
}


def quantity(value: t.Any, unit: str = "") -> int | float:
    """The amount, a text or a number, in a unit such as m, Mi or G, or in ones; an int where it is whole, else the
    nearest float. FleetError ``invalid-quantity``, also where no float is as large; ``bad-argument`` for another
    unit."""
    size = UNITS[one_of(unit, tuple(UNITS), "unit")]
    try:
        found = Fraction(read_quantity(value).nanos, NANO) / size
    except ValueError as error:
        raise FleetError("invalid-quantity", str(error), "input") from None
    try:
        return int(found) if found.denominator == 1 else float(found)
    except OverflowError:
        raise FleetError("invalid-quantity", "it is larger than any number with a point", "input") from None
