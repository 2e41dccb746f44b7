# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Names in a sentence."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.listed import listed, number_of


@pytest.mark.parametrize(
    ("names", "text"),
    [((), ""), (("a",), "a"), (("a", "b", "c"), "a, b, c"), (("a", "b", "c", "d", "e"), "a, b, c and 2 more")],
)
def test_the_first_names_and_how_many_more_there_are(names: tuple[str, ...], text: str) -> None:
    assert listed(names, 3) == text


def test_what_holds_commas_is_parted_by_semicolons() -> None:
    assert listed(["a, b", "c, d", "e"], 2, "; ") == "a, b; c, d; and 1 more"


def test_one_is_no_plural() -> None:
    assert [number_of(count, "object") for count in (0, 1, 2)] == ["0 objects", "1 object", "2 objects"]
    found = [number_of(count, "more node", "counts", "count") for count in (0, 1, 2_000)]
    assert found == ["0 more nodes count", "1 more node counts", "2,000 more nodes count"]
