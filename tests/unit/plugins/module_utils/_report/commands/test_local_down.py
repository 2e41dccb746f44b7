# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The command by which local clusters that others made are taken away."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.gitops.fleet.plugins.module_utils._report.commands.next_steps import (
    after_local_down,
    next_lines,
)
from ansible_collections.gitops.fleet.plugins.plugin_utils._variables import PLAYBOOKS
from ansible_collections.gitops.fleet.tools import playbooks


def test_clusters_that_others_made_are_taken_away_by_a_command_that_names_them() -> None:
    (line,) = next_lines(after_local_down(["member-3", "north"], ""), {})
    assert line == "to take them away too: ansible-playbook gitops.fleet.local_down -e clusters=member-3,north"
    (elsewhere,) = after_local_down(["north"], "/srv/local")
    assert set(elsewhere.variables) <= set(playbooks.variables(Path(PLAYBOOKS) / "local_down.yml"))
    assert elsewhere.variables["local_root"] == "/srv/local" and after_local_down([], "/srv/local") == []
