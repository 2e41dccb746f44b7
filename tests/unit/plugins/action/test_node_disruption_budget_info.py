# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A window that is asked for as budgets holds for the same instant as all else that is asked about; a file that was
written is named."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest
from ansible_collections.gitops.fleet.plugins.action import node_disruption_budget_info as verb
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.plugin_utils._verb import Answer

OPTIONS = {
    "src": [], "definition": [], "strict": False, "window": "22:00-06:00 Europe/Berlin", "window_nodes": "10%",
    "members": [], "threads": 1, "timeout": 1, "snapshot": None, "dest": None, "time_zone": "UTC", "reason": None,
    "pools": [], "week": False,
}  # fmt: skip


def asked(monkeypatch: pytest.MonkeyPatch, check_mode: bool = False, **options: str | None) -> Answer:
    """What the verb answers, asked in March of a fleet without pools."""
    found = SimpleNamespace(snapshot=SimpleNamespace(problems=()), answers=(), zone=UTC, findings=(), file="{}")
    monkeypatch.setattr(verb, "budget_report", lambda _session, _asked: found)
    run = mock.MagicMock(now=datetime(2026, 3, 1, 12, tzinfo=UTC), check_mode=check_mode)
    return verb.ActionModule(mock.Mock(), None, None, None, None, None).carry_out({**OPTIONS, **options}, run)


def utc_budgets(monkeypatch: pytest.MonkeyPatch, now: str | None) -> list[str | None]:
    """The schedules of the window's budgets."""
    return [each.get("schedule") for each in asked(monkeypatch, now=now).data["utc_budgets"]["budgets"]]


def test_clocks_are_as_they_are_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """In summer clocks in Berlin are two hours ahead, in winter one."""
    winter, summer = (utc_budgets(monkeypatch, f"2026-{month}-15T12:00:00Z") for month in ("01", "07"))
    assert winter == utc_budgets(monkeypatch, None) and summer != winter and len(summer) == len(winter)
    with pytest.raises(FleetError, match="is no instant"):
        utc_budgets(monkeypatch, "tomorrow")


def test_what_was_written_is_told_and_where(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    asked(monkeypatch, check_mode=True, now=None, window=None, dest="nodes.json")
    assert not Path("nodes.json").exists()
    told = asked(monkeypatch, now=None, window=None, dest="nodes.json").data["table"]
    assert told[-1:] == ["written to nodes.json"] and Path("nodes.json").read_text(encoding="utf-8") == "{}"
