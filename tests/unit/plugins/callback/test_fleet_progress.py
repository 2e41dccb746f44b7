# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose lines are looked at for how far something is: those of our verbs, in tasks and in handlers."""

from __future__ import annotations

import typing as t
from unittest import mock

import pytest
from ansible_collections.gitops.fleet.plugins.callback.fleet_progress import CallbackModule


@pytest.mark.parametrize("start", ["v2_playbook_on_task_start", "v2_playbook_on_handler_task_start"])
@pytest.mark.parametrize(("action", "ours"), [("gitops.fleet.update_run", True), ("ansible.builtin.debug", False)])
def test_verbs_are_heard_in_handlers_too(start: str, action: str, ours: bool) -> None:
    callback = CallbackModule()
    task = mock.Mock(resolved_action=action)
    given: tuple[t.Any, ...] = (task,) if "handler" in start else (task, False)
    getattr(callback, start)(*given)
    assert callback._ours is ours
    callback.v2_runner_on_ok(None)
    assert callback._ours is False
