# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Verbs that only read write no file in check mode either, as others do not."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.action import fleet_rbac_info, lint, update_run_info
from ansible_collections.gitops.fleet.plugins.plugin_utils._verb import Run

RIGHTS = {"purpose": "nodes", "subject": {"kind": "User", "name": "ann"}, "kinds": [], "resources": []}
LINT = {"src": [__file__], "now": None, "consent": False, "holes": False, "exclude": [], "strict": False}
REPORTS = {"write_json": None, "write_sarif": None}
RUNS = {
    "names": [],
    "forecast": False,
    "calendar": False,
    "waiting": False,
    "days": 7,
    "src": [],
    "definition": [],
    "strict": True,
}


@pytest.mark.parametrize("check_mode", [True, False])
@pytest.mark.parametrize(
    ("verb", "options", "option"),
    [
        (fleet_rbac_info, RIGHTS, "dest"),
        (update_run_info, RUNS, "write_calendar"),
        (lint, {**LINT, **REPORTS}, "write_json"),
        (lint, {**LINT, **REPORTS}, "write_sarif"),
    ],
)
def test_a_file_is_written_unless_it_is_check_mode(
    tmp_path: Path, verb: t.Any, options: dict[str, t.Any], option: str, check_mode: bool
) -> None:
    said: list[str] = []
    run = Run(check_mode=check_mode, say=said.append, environ={})
    records = {"path": str(tmp_path / "records.db")}
    given = {**options, option: str(tmp_path / "written"), "records": records}
    assert verb.ActionModule.carry_out(None, given, run).changed is False
    assert (tmp_path / "written").exists() is not check_mode
    assert not any("apiVersion" in line for line in said)
