# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Quantities become numbers of a unit, exactly where there is an exact one."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.templates.amounts import quantity


@pytest.mark.parametrize(
    ("value", "unit", "number"),
    [
        ("1500m", "", 1.5),
        ("1500m", "m", 1500),
        ("16Gi", "", 17179869184),
        ("16Gi", "Mi", 16384),
        ("1G", "Gi", 0.9313225746154785),
        ("1e3", "k", 1),
        (4, "", 4),
        (0.5, "m", 500),
        ("-2", "", -2),
        ("0", "Ti", 0),
        ("9223372036854775807", "", 9223372036854775807),
    ],
)
def test_amounts_in_units(value, unit, number):
    assert quantity(value, unit) == number
    assert isinstance(quantity(value, unit), type(number))


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        ("lots", "", "'lots'"),
        ("1" * 400 + ".5", "", "larger than any number"),
        ("1e3m", "", "'1e3m'"),
        (True, "", "True"),
        (None, "", "None"),
        (["1"], "", "1"),
        ("1", "MB", "'MB'"),
        ("1", "gi", "did you mean Gi"),
    ],
)
def test_bad_input_is_named(value, unit, words):
    with pytest.raises(FleetError) as caught:
        quantity(value, unit)
    assert words in str(caught.value)
