# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Random worlds, a few of each type of run; SIMULATIONS=<factor> for more, ``make simulate`` for very many.

Type and seed are in the message of whatever fails.
"""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.update_run import (
    CONTROL_PLANE_ONLY,
    FULL,
    NODE_IMAGE_ONLY,
)
from ansible_collections.gitops.fleet.tests.simulation.random_worlds import KINDS, simulated


@pytest.mark.parametrize(("kind", "usual"), [(CONTROL_PLANE_ONLY, 30), (FULL, 10), (NODE_IMAGE_ONLY, 10)])
def test_random_worlds(new_path, many, kind, usual):
    """D3-22, D3-24, D3-25, F5: whatever happens, nothing is upgraded twice, and every run comes to its end."""
    for seed in many(usual):
        simulated(new_path(), kind, seed)


@pytest.mark.parametrize("seed", [6518, 6526, 7813])
def test_a_member_that_leaves_the_fleet_in_its_upgrade_holds_nobody_up(new_path, seed):
    """D3-22, U15: its place is free at once; the pool that is being replaced there is brought to its end."""
    simulated(new_path(), KINDS[seed % len(KINDS)], seed)
