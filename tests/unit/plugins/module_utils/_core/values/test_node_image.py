# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Names of node images: which is older."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.node_image import image_order, oldest_image


def test_numbers_count_as_numbers_however_many_digits_they_have() -> None:
    ordered = ["a", "2023.9", "2023.10", "2023." + "9" * 5000, "2023.1" + "0" * 5000]
    assert sorted(set(ordered), key=image_order) == ordered
    assert image_order("2023.010") == image_order("2023.10")


@pytest.mark.parametrize(
    ("images", "oldest"),
    [
        ([], ""),
        (["one"], "one"),
        (["ubuntu-2.10", "ubuntu-2.9"], "ubuntu-2.9"),
        (["ubuntu-1", "azure-1"], ""),
        (["ubuntu-" + "9" * 5000, "ubuntu-7"], "ubuntu-7"),
    ],
)
def test_the_oldest_of_one_family(images: list[str], oldest: str) -> None:
    assert oldest_image(images) == oldest
