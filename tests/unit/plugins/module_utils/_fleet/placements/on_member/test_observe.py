# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a member keeps of what was placed there is foreign."""

from __future__ import annotations

import typing as t
from types import SimpleNamespace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.on_member.observe import parsed_parent
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient

SECRET = 'it\'s "ours" alone'


@pytest.mark.parametrize(
    "parent",
    [
        {"metadata": {"name": "web"}, "data": {"inventory": SECRET}},
        {"metadata": {"name": "web"}, "data": {SECRET: "{}"}},
    ],
    ids=["a value", "a key"],
)
def test_a_parent_with_what_we_log_in_with_is_refused_whatever_quotes_are_in_it(parent: t.Any) -> None:
    client = SimpleNamespace(hide=lambda text: text.replace(SECRET, "***"), server_name="m1")
    with pytest.raises(FleetError) as refused:
        parsed_parent(parent, t.cast(KubeClient, client))
    assert (refused.value.code, refused.value.where) == ("applyset-invalid", "m1")
    assert "holds a credential of ours" in refused.value.message and SECRET not in str(refused.value)
