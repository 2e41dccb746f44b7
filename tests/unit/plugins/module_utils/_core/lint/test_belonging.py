# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which files of a repository are looked at although nobody named them."""

from __future__ import annotations

import pytest
import yaml
from ansible_collections.gitops.fleet.plugins.module_utils._core.lint.belonging import belongs, may_belong

ALONE = """
- schedule: "0 9 * * 1-5"
  duration: 8h
- schedule: "@daily"
  duration: 1h
"""


@pytest.mark.parametrize(
    "text",
    [
        ALONE,
        '[{"nodes": "1"}]',
        '{"disruption": {"budgets": [{"nodes": "0"}]}}',
        '{"stages": [{"name": "one"}]}',
        '{"apiVersion": "v1", "kind": "Pod"}',
        '{"type": "microsoft.containerservice/fleets/members", "name": "m"}',
    ],
    ids=["budgets without nodes", "budgets", "disruption", "stages", "manifest", "Azure's, in lower case"],
)
def test_the_quick_look_lets_through_whatever_belongs(text: str) -> None:
    assert may_belong(text) and belongs(yaml.safe_load(text))


@pytest.mark.parametrize("text", ["- hosts: all\n", "schedule: daily\n", "a: 1\n"])
def test_other_files_are_not_looked_at(text: str) -> None:
    assert not may_belong(text) and not belongs(yaml.safe_load(text))
