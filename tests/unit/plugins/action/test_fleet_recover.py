# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was recovered is said, in check mode too."""

from __future__ import annotations

import typing as t
from unittest import mock

import pytest
from ansible_collections.gitops.fleet.plugins.action import fleet_recover
from ansible_collections.gitops.fleet.plugins.action.fleet_recover import ActionModule
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.recovery.recover import Recovered

OPTIONS = {"src": ["placements"], "resources": None, "former": [], "timeout": 5}


@pytest.mark.parametrize(("check", "words"), [(False, "are rebuilt"), (True, "would be rebuilt")])
def test_people_read_which_placements_and_which_no_manifest_describes(
    monkeypatch: pytest.MonkeyPatch, check: bool, words: str
) -> None:
    found = Recovered(recovered={"web": ("a",)}, unknown={"jobs": ("b",)})
    monkeypatch.setattr(fleet_recover, "recover_records", lambda _session, _asked, _former: found)
    run: t.Any = mock.MagicMock(check_mode=check)
    answer = ActionModule.carry_out(t.cast(t.Any, None), OPTIONS, run)
    said = [" ".join(each.args[0].split()) for each in run.say.call_args_list]
    assert said[1:] == [f"web {words} a", "jobs no manifest describes it b"]
    assert answer.changed and answer.data == {"recovered": {"web": ["a"]}, "unknown": {"jobs": ["b"]}}
