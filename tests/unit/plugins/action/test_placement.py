# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an apply tells where it cannot write its files in the end."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.gitops.fleet.plugins.action.placement import _unwritten


def test_a_file_that_cannot_be_written_takes_nothing_from_what_is_told(tmp_path: Path) -> None:
    """The members were written to before: a refusal would hide what was done there."""
    (tmp_path / "file").touch()
    plan, markdown = tmp_path / "file" / "plan.json", tmp_path / "plan.md"
    found = _unwritten({str(plan): lambda: "plan", str(markdown): lambda: "text", None: lambda: "nowhere"})
    assert [(each.code, each.where) for each in found] == [("unwritable-file", str(plan))]
    assert markdown.read_text() == "text"
