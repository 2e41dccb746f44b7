# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The command by which local clusters that others made are taken away."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template
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


@pytest.mark.parametrize("names", [["010", "8"], ["no", "on", "007"], ["0x1f", "2026-11-28"], [" north", "south "], []])
def test_the_playbook_takes_away_the_clusters_of_just_these_names(names: list[str]) -> None:
    """YAML would take ``010`` for the number 8, which is the name of another cluster, and ``no`` for false."""
    (task,) = playbooks.play(Path(PLAYBOOKS) / "local_down.yml")["tasks"]
    own = {name: trust_as_template(each) for name, each in (task.get("vars") or {}).items()}
    for clusters in (names, *([",".join(names)] if names else [])):
        templar = Templar(DataLoader(), variables={**own, "clusters": clusters})
        found = templar.template(trust_as_template(task["gitops.fleet.local_cluster"]["clusters"]))
        assert found == [{"name": each.strip()} for each in names]
