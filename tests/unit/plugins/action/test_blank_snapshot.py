# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A variable that lost its content makes no verb read members in place of a file."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.action import (
    maintenance_info,
    node_disruption_budget_info,
    node_disruption_info,
    node_rotation,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.plugin_utils._verb import Run


@pytest.mark.parametrize(
    "verb",
    [maintenance_info, node_disruption_budget_info, node_disruption_info, node_rotation],
    ids=lambda each: each.__name__,
)
@pytest.mark.parametrize("blank", ["", " "])
def test_an_empty_snapshot_is_refused(verb: t.Any, blank: str) -> None:
    run = Run(check_mode=True, say=lambda _line: None, environ={})
    with pytest.raises(FleetError) as refused:
        verb.ActionModule.carry_out(None, {"snapshot": blank}, run)
    assert (refused.value.code, refused.value.where) == ("bad-option", "snapshot")
