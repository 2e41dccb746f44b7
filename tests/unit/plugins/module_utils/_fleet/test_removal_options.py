# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Options that say how much may go, and those that say from where things come."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.files import refuse_empty
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.checks import removal_limit


@pytest.mark.parametrize(
    ("text", "limit"), [("0", 0), ("7", 7), ("0%", "0%"), ("100%", "100%"), ("2147483647", 2**31 - 1)]
)
def test_a_limit_is_a_number_or_a_percentage(text: str, limit: int | str) -> None:
    assert removal_limit(text, "max_object_removals") == limit


@pytest.mark.parametrize(
    "text", ["", "%", "-1", "101%", "1.5", "all", "2147483648", "9" * 5000, "9" * 5000 + "%", "٣", "1e3"]
)
def test_everything_else_is_refused_with_its_option(text: str) -> None:
    with pytest.raises(FleetError) as refused:
        removal_limit(text, "max_object_removals")
    assert (refused.value.code, refused.value.where) == ("bad-option", "max_object_removals")
    assert len(str(refused.value)) < 250


def test_a_list_that_lost_its_content_is_not_taken_for_none() -> None:
    refuse_empty({"src": None, "resources": ["a"]}, "src", "resources")
    with pytest.raises(FleetError) as refused:
        refuse_empty({"src": [], "resources": [""]}, "src", "resources")
    assert [each.where for each in refused.value.problems] == ["src", "resources"]
