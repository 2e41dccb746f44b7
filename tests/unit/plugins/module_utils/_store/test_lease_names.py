# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.other_rotations import TURN
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.automatic import profiles
from ansible_collections.gitops.fleet.plugins.module_utils._store.lease_names import from_object_name, to_object_name

NAMES = (
    TURN,
    profiles.LEASE,
    "placement/web",
    "placement/shop/web",
    "placement/shop.web",
    "placement/shop/a.b",
    "member/a.b",
    "run/r",
)


@pytest.mark.parametrize("name", NAMES)
def test_a_lease_is_found_under_its_own_name(name: str) -> None:
    assert from_object_name(to_object_name(name)) == name


def test_no_two_leases_are_one_object() -> None:
    """F6: a placement of a namespace is not held by one of no namespace that is called like both together."""
    assert len(set(map(to_object_name, NAMES))) == len(NAMES)
    assert all("/" not in to_object_name(each) for each in NAMES)


def test_a_lease_without_a_kind_is_refused() -> None:
    """The list of leases on a hub would not have it, and so nobody could tell that its holder has died."""
    with pytest.raises(ValueError, match="'web' is no name of a lease"):
        to_object_name("web")


def test_names_that_are_too_long_stay_apart() -> None:
    long = [to_object_name(f"placement/{'a' * 63}/{'b' * 200}{end}") for end in "cd"]
    assert long[0] != long[1] and all(len(each) <= 253 for each in long)
