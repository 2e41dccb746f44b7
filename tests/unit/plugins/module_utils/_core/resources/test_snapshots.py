# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Snapshots."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.snapshots import (
    PART_LIMIT,
    in_parts,
    indices_to_drop,
    is_snapshot_of,
    next_index,
    policy_hash,
    policy_snapshot_name,
    resource_hash,
    resource_snapshot_name,
    snapshot_index,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.canonical import canonical_json


def test_scaling_alone_makes_no_new_policy_snapshot_d4_63() -> None:
    policy = {"placementType": "PickN", "numberOfClusters": 3, "tolerations": [{"key": "a"}]}
    assert policy_hash(policy) == policy_hash({**policy, "numberOfClusters": 5})
    assert policy_hash(policy) != policy_hash({**policy, "tolerations": []})
    assert policy_hash(None) == policy_hash({"placementType": "PickAll"})


def test_content_makes_a_new_resource_snapshot_and_its_order_does_not_d4_60() -> None:
    assert resource_hash(["a", "b"]) == resource_hash(["b", "a"])
    assert resource_hash(["a"]) != resource_hash(["a", "a"]) != resource_hash([])


def test_names() -> None:
    assert policy_snapshot_name("web", 0) == "web-0"
    assert [resource_snapshot_name("web", 2, part) for part in range(3)] == ["web-2-snapshot", "web-2-0", "web-2-1"]


@pytest.mark.parametrize(
    ("name", "index"),
    [("web-0", 0), ("web-12-snapshot", 12), ("a-1-2", 2), ("web", -1), ("web-x-snapshot", -1), ("web-" + "9" * 70, -1)],
)
def test_whatever_a_snapshot_is_called_has_an_index_or_none(name: str, index: int) -> None:
    assert snapshot_index(name) == index


@pytest.mark.parametrize("name", ["web-0", "web-7-snapshot"])
def test_a_name_is_that_of_a_snapshot_of_its_placement(name: str) -> None:
    assert is_snapshot_of("web", name)
    assert not is_snapshot_of("db", name) and not is_snapshot_of("we", name)
    assert not is_snapshot_of("web", "web-07-snapshot") and not is_snapshot_of("web", "web-snapshot")


def test_indices_start_at_zero_and_go_up() -> None:
    assert next_index([]) == 0
    assert next_index([3, 1]) == 4


def test_ten_of_twelve_policies_are_kept_d4_59() -> None:
    assert indices_to_drop(range(12), 10) == (0, 1)


def test_the_history_limit_counts_the_new_one_d4_62() -> None:
    assert indices_to_drop([7, 5, 6, 4], 3) == (4,)
    assert indices_to_drop([5], 3) == ()
    with pytest.raises(ValueError, match="at least one"):
        indices_to_drop([1], 0)


def test_parts_are_filled_in_order_up_to_the_limit() -> None:
    small, big = {"a": "x" * 100}, {"a": "x" * 1000}
    size = len(canonical_json(small))
    assert in_parts([small] * 5, limit=2 * size) == ((small, small), (small, small), (small,))
    assert in_parts([small, big, small], limit=2 * size) == ((small,), (big,), (small,))
    assert PART_LIMIT == 819200


def test_nothing_selected_still_makes_one_empty_part() -> None:
    assert in_parts([]) == ((),)
