# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling import bitset


@pytest.mark.parametrize("members", [[], [0], [5], [0, 1, 7, 8, 9, 63, 64, 99], list(range(100))])
def test_members_come_back_in_order(members):
    bits = bitset.of(members, 100)
    assert bitset.positions(bits) == members
    assert bits.bit_count() == len(members)
    assert [position for position in range(100) if bitset.has(bits, position)] == members


def test_flags_have_one_byte_for_each_position():
    assert bitset.flags(0b0101, 6) == bytes([1, 0, 1, 0, 0, 0])
    assert bitset.flags(0, 0) == b""
