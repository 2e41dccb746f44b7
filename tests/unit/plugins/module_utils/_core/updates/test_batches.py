# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Batches of a stage hold its limits and those of its groups, and leave nobody out."""

from __future__ import annotations

import random

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.batches import batches
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import GroupRow, MemberRow, StageRow


def stage(at_once: int, **groups: tuple[int, int]) -> StageRow:
    """Groups by name, each with its number of members and its limit."""
    rows = tuple(
        GroupRow(
            name=name,
            members=tuple(MemberRow(name=f"{name}{index}") for index in range(size)),
            max_concurrency=limit,
            max_allowed_failures=0,
        )
        for name, (size, limit) in groups.items()
    )
    return StageRow(name="s", groups=rows, max_concurrency=at_once, max_allowed_failures=0)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (stage(50, a=(3, 1)), (("a0",), ("a1",), ("a2",))),
        (stage(50, a=(3, 2), b=(1, 1)), (("a0", "a1", "b0"), ("a2",))),
        (stage(2, a=(2, 2), b=(2, 2)), (("a0", "a1"), ("b0", "b1"))),
        (stage(50, a=(0, 0), b=(1, 1)), (("b0",),)),
        (stage(50), ()),
    ],
)
def test_groups_go_side_by_side(given, expected):
    assert batches(given) == expected


@pytest.mark.parametrize("seed", range(50))
def test_no_limit_is_exceeded_and_nobody_is_left_out(seed):
    chance = random.Random(seed)
    groups = {name: (chance.randrange(9), chance.randrange(1, 5)) for name in "abcd"[: chance.randrange(1, 5)]}
    given = stage(chance.randrange(1, 7), **groups)
    found = batches(given)
    assert sorted(name for batch in found for name in batch) == sorted(
        member.name for group in given.groups for member in group.members
    )
    for batch in found:
        assert len(batch) <= given.max_concurrency
        assert all(sum(name[0] == key for name in batch) <= limit for key, (_size, limit) in groups.items())
