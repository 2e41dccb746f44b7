# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an apply tells where it cannot write its files in the end; what is asked for twice."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from unittest import mock

import pytest
from ansible_collections.gitops.fleet.plugins.action.placement import _asked, _came_to, _write_texts
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.plugin_utils._verb import Run


def test_a_file_that_cannot_be_written_takes_nothing_from_what_is_told(tmp_path: Path) -> None:
    """The members were written to before: a refusal would hide what was done there."""
    (tmp_path / "file").touch()
    plan, markdown = tmp_path / "file" / "plan.json", tmp_path / "plan.md"
    found = _write_texts({str(plan): lambda: "plan", str(markdown): lambda: "text", None: lambda: "nowhere"})
    assert [(each.code, each.where) for each in found] == [("unwritable-file", str(plan))]
    assert markdown.read_text() == "text"


def test_a_placement_that_is_named_twice_is_rolled_back_once() -> None:
    """Twice it would be planned twice by the same record, and be in its own way."""
    limits = {"max_removals": "30%", "max_object_removals": "30%"}
    options = defaultdict(lambda: None, limits, state="rolled_back", facts="read", prune_kinds=[], max_idle=0)
    run = Run(check_mode=True, say=print, environ={})
    assert _asked(options | {"names": ["web", "db", "web"]}, run, "").names == ("web", "db")
    one = _asked(options | {"names": ["web", "web"], "to": 3}, run, "")
    assert one.roll_back is not None and one.roll_back.to == 3


@pytest.mark.parametrize(
    ("outcome", "written", "waits", "goes_on_as"),
    [
        ("unfulfilled", True, {"web": "who waits"}, "waiting"),
        ("unfulfilled", True, {}, "done"),
        ("unfulfilled", False, {}, "unfulfilled"),
        ("partial", True, {"web": "who waits"}, "partial"),
    ],
)
def test_too_few_clusters_for_a_policy_take_no_command_away_by_which_the_rest_goes_on(
    outcome: str, written: bool, waits: dict[str, str], goes_on_as: str
) -> None:
    """Else nobody is told how the rollout, or the staged run, on the clusters that there are is carried on."""
    assert _came_to(outcome, mock.Mock(written=written, waits=waits)) == goes_on_as


@pytest.mark.parametrize("option", ["evacuate", "readmit"])
def test_an_evacuation_whose_clusters_were_lost_on_the_way_is_no_apply(option: str) -> None:
    """As ``-e evacuate=$REGION`` where nobody has set that."""
    options = defaultdict(lambda: None, state="present", facts="read")
    with pytest.raises(FleetError) as refused:
        _asked(options | {option: " "}, Run(check_mode=False, say=print, environ={}), "")
    assert (refused.value.code, refused.value.where) == ("bad-option", option)


@pytest.mark.parametrize("names", [[], [""]])
def test_names_of_which_nothing_is_left_are_not_all_placements(names: list[str]) -> None:
    options = defaultdict(lambda: None, state="present", names=names, facts="read")
    with pytest.raises(FleetError) as refused:
        _asked(options, Run(check_mode=False, say=print, environ={}), "")
    assert (refused.value.code, refused.value.where) == ("bad-option", "names")


@pytest.mark.parametrize("state", ["absent", "rolled_back"])
@pytest.mark.parametrize("names", [[], [""], ["web", " "]])
def test_a_name_that_lost_its_content_is_none(state: str, names: list[str]) -> None:
    options = defaultdict(lambda: None, state=state, names=names, facts="read")
    with pytest.raises(FleetError) as refused:
        _asked(options, Run(check_mode=False, say=print, environ={}), "")
    assert (refused.value.code, refused.value.where) == ("nothing-asked", "names")
