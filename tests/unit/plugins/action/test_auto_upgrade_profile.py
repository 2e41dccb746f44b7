# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock

import pytest
from ansible_collections.gitops.fleet.plugins.action import auto_upgrade_profile
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.api_groups import FLEET_API
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

# A wait that no stage follows.
STRATEGY = {
    "apiVersion": FLEET_API,
    "kind": "UpdateStrategy",
    "metadata": {"name": "s"},
    "spec": {"strategy": {"stages": [{"name": "only", "groups": [{"name": "g"}], "afterStageWaitInSeconds": 60}]}},
}


@pytest.mark.parametrize("state", ["present", "generated", "evaluated"])
def test_what_was_found_in_the_files_is_told_in_every_state(tmp_path: Path, state: str) -> None:
    def now() -> datetime:
        return datetime(2026, 8, 17, 12, tzinfo=UTC)

    options = {"src": None, "definition": [STRATEGY], "strict": False, "names": None, "state": state}
    run = mock.MagicMock(check_mode=False)
    with contextlib.closing(SqliteRecords(tmp_path / "records.db", now)) as records:
        run.open.return_value.__enter__.return_value = Session(records=records, holder="tests", clock=now, environ={})
        run.open.return_value.__exit__.return_value = None
        verb = auto_upgrade_profile.ActionModule(mock.Mock(), None, None, None, None, None)
        answer = verb.carry_out(options, run)
    assert [each["code"] for each in answer.data["notes"]] == ["wait-not-served"]
    assert any("no stage follows" in call.args[0] for call in run.say.call_args_list)
