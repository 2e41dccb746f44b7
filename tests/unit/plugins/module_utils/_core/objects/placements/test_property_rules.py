# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Requirements on one property, D1-22: refused only where no value satisfies all of them."""

from __future__ import annotations

from itertools import product

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.policy import PropertyRequirement
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.property_rules import (
    OPERATORS,
    check_property_requirements,
)

HOLDS = {
    "Gt": lambda value, bound: value > bound,
    "Ge": lambda value, bound: value >= bound,
    "Eq": lambda value, bound: value == bound,
    "Ne": lambda value, bound: value != bound,
    "Lt": lambda value, bound: value < bound,
    "Le": lambda value, bound: value <= bound,
}
CONDITIONS = list(product(OPERATORS, (1, 2, 3)))
# Between and beyond the bounds, one value each stands for all others.
SAMPLES = [half / 2 for half in range(9)]


def can_hold(*conditions):
    wanted = [PropertyRequirement(name="x/y", operator=one, values=(str(bound),)) for one, bound in conditions]
    found = {each.code for each in check_property_requirements(wanted, "terms")}
    assert found <= {"contradictory-requirements"}
    return not found


@pytest.mark.parametrize("count", [1, 2, 3])
def test_against_trying_every_value(count):
    for conditions in product(CONDITIONS, repeat=count):
        wanted = any(all(HOLDS[operator](value, bound) for operator, bound in conditions) for value in SAMPLES)
        assert can_hold(*conditions) is wanted, conditions


def test_values_are_compared_not_spellings():
    assert not can_hold(("Eq", "1"), ("Ne", "1000m"))
    assert can_hold(("Eq", "1Gi"), ("Eq", "1024Mi"))
