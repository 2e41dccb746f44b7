# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What is said of names that are none."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import ObjectMeta
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.metadata_rules import (
    check_metadata,
    name_problem,
)


@pytest.mark.parametrize("name", ["", "a" * 254, "A", "a-"])
def test_a_name_that_is_none_is_told_all_that_is_wanted_of_one(name: str) -> None:
    """One that is only too long has nothing but letters in it."""
    assert "1 to 253 lower-case letters" in name_problem(name)
    assert name_problem("a" * 253) == ""


def test_a_namespace_that_is_too_long_is_told_how_long_one_may_be() -> None:
    metadata = ObjectMeta(name="web", namespace="a" * 64)
    (found,) = check_metadata(metadata, None, namespaced=True)
    assert found.code == "invalid-namespace" and "up to 63 lower-case letters" in found.message
