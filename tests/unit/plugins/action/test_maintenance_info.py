# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command that records what was supposed names the files that it was read from."""

from __future__ import annotations

from types import SimpleNamespace
from unittest import mock

import pytest
from ansible_collections.gitops.fleet.plugins.action import maintenance_info


@pytest.mark.parametrize("given", ["windows.yml", ["windows.yml"]])
def test_the_command_has_the_path_however_it_was_given(monkeypatch: pytest.MonkeyPatch, given: object) -> None:
    """Ansible makes a list of a text, but only among the options that it has looked at."""
    found = SimpleNamespace(
        clusters=(), before=(), pools=(), now=None, days=1, findings=(), appointments=(), unrecorded=True
    )
    monkeypatch.setattr(maintenance_info, "openings_report", lambda _session, _asked: found)
    monkeypatch.setattr(maintenance_info, "update_manifests", lambda *_arguments: None)
    monkeypatch.setattr(maintenance_info, "openings_text", lambda *_arguments: [])
    run = mock.MagicMock(given={"src": given})
    options = {
        "src": ["windows.yml"],
        "definition": None,
        "names": [],
        "days": 1,
        "strict": False,
        "snapshot": None,
        "write_calendar": None,
    }
    verb = maintenance_info.ActionModule(mock.Mock(), None, None, None, None, None)
    verb.carry_out(options, run)
    ((_answer, (step,)), _named) = run.with_next.call_args
    assert step.variables == {"maintenance": "windows.yml"}
