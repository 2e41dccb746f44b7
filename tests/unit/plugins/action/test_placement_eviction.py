# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who names a placement and clusters means these alone, also where a variable has lost its content."""

from __future__ import annotations

import typing as t
from unittest import mock

import pytest
from ansible_collections.gitops.fleet.plugins.action import placement_eviction
from ansible_collections.gitops.fleet.plugins.action.placement_eviction import ActionModule
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError

OPTIONS = {"src": None, "prune_kinds": [], "removal_timeout": 60, "timeout": 5}


def evict(run: t.Any, placement: str | None, clusters: list[str] | None) -> None:
    ActionModule.carry_out(t.cast(t.Any, None), {**OPTIONS, "placement": placement, "clusters": clusters}, run)


@pytest.mark.parametrize(
    ("placement", "clusters"),
    [
        *(("", ["m1"]), (" ", ["m1"]), ("web", []), ("web", [""]), ("", [])),
        *((None, ["m1"]), (None, []), (None, [""]), ("web", None)),
    ],
)
def test_an_empty_name_never_means_all_evictions(placement: str | None, clusters: list[str] | None) -> None:
    run = mock.Mock()
    with pytest.raises(FleetError) as refused:
        evict(run, placement, clusters)
    assert refused.value.code == "nothing-asked" and not run.open.called


def test_without_both_all_of_files_and_records_are_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[t.Any] = []
    report = mock.Mock(results=(), findings=(), problems=(), refused=(), outcome="done", changed=False)
    monkeypatch.setattr(placement_eviction, "run_evictions", lambda _session, each: asked.append(each) or report)
    evict(mock.MagicMock(check_mode=False), None, None)
    assert [(each.placement, each.clusters) for each in asked] == [("", ())]
