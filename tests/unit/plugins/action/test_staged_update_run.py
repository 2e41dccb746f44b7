# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a printed command of a staged run repeats; what is told of one whose approvals cannot be read."""

from __future__ import annotations

import contextlib
import typing as t
from types import SimpleNamespace

import pytest
from ansible_collections.gitops.fleet.plugins.action import staged_update_run
from ansible_collections.gitops.fleet.plugins.action.staged_update_run import _repeated
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.staged.update_run import (
    ClusterStagedUpdateRun,
    StagedUpdateRunSpec,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import ObjectMeta
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.report import StagedReport
from ansible_collections.gitops.fleet.plugins.plugin_utils._verb import Run

GIVEN = {"src": ["fleet/web"], "resources": ["objects"], "time_limit": 5, "prune_kinds": []}


def test_a_run_whose_overrides_are_in_files_alone_goes_on_by_the_same_files() -> None:
    """Without these the overrides are not those that it began with (``overrides-changed``)."""
    runs, resources = {"runs": ["fleet/web"]}, {"resources": ["objects"]}
    assert _repeated(GIVEN, True) == ({**runs, **resources}, runs)
    assert _repeated(GIVEN, False) == (resources, runs)
    assert _repeated({}, True) == ({}, {})


def test_a_run_that_was_conducted_is_told_though_its_approvals_cannot_be_read_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(*_asked: object) -> t.Any:
        raise FleetError("hub-unreachable", "no answer", "hub")

    spec = StagedUpdateRunSpec(placement_name="web", staged_rollout_strategy_name="rings", state="Run")
    run = ClusterStagedUpdateRun(metadata=ObjectMeta(name="web-1"), spec=spec)
    report = StagedReport(run=run, digest="", plan=None, changed=True, why="waiting")
    warned: list[str] = []
    told = Run(check_mode=False, say=lambda _line: None, warn=warned.append, environ={})
    monkeypatch.setattr(Run, "open", lambda *_asked: contextlib.nullcontext(SimpleNamespace(records=None, hub=None)))
    monkeypatch.setattr(staged_update_run, "_wish", lambda _options: None)
    monkeypatch.setattr(staged_update_run, "staged_run", lambda *_asked, **_more: report)
    monkeypatch.setattr(staged_update_run, "approvers_of", refused)
    verb: t.Any = None
    options = {"src": [], "definition": [], "resources": [], "strict": False, "name": "web-1", "state": "conducted"}
    answer = staged_update_run.ActionModule.carry_out(verb, options, told)
    assert answer.changed and answer.outcome == "waiting"
    assert warned == ["who has given approvals is not known: hub: no answer [hub-unreachable]"]
