# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every option of a verb reaches it through its playbook, and docs/playbooks.md says what the playbooks take."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml
from ansible.vars.reserved import get_reserved_names
from ansible_collections.gitops.fleet.plugins.plugin_utils._variables import OURS_TO_LIST, known_variables, names_in
from ansible_collections.gitops.fleet.tools import playbooks

ROOT = Path(__file__).resolve().parents[2]

FILES = [file for file in sorted((ROOT / "playbooks").glob("*.yml")) if file.stem != "demo"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_option_is_a_variable_or_fixed(file: Path) -> None:
    given: dict[str, set[str]] = {}
    for verb, arguments in playbooks.calls(playbooks.play(file)):
        given.setdefault(verb, set()).update(arguments)
    fixed = playbooks.FIXED.get(file.stem, set())
    for verb, there in given.items():
        assert set(playbooks.options(verb)) - there - fixed == set(), verb
    of_verbs = {option for verb in given for option in playbooks.options(verb)}
    assert fixed <= of_verbs, "a fixed option that no verb has"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_variable_that_is_not_given_is_left_to_the_verb(file: Path) -> None:
    """Ansible stops at a task whose options use a variable that is not there, before the verb can say which one was
    misspelt, or is missing. This is of the first task, which checks variables for all."""
    play = playbooks.play(file)
    (_verb, arguments), *_others = playbooks.calls(play)
    defined = set(play.get("vars") or ())
    for option, value in arguments.items():
        for name in {each.name for each in names_in(str(value))} & known_variables(str(file)) - defined:
            free = (f"{name} is not defined", f"{name} is defined", f"{name} | default(", f"[{name} | default(")
            assert any(each in str(value) for each in free), f"{option}: {name}"


def named(rows: t.Any) -> t.Iterator[str]:
    """The names of plays and of their tasks, those in blocks with them."""
    for row in rows or ():
        if "name" in row:
            yield row["name"]
        for part in ("pre_tasks", "tasks", "post_tasks", "handlers", "block", "rescue", "always"):
            yield from named(row.get(part))


@pytest.mark.parametrize("file", sorted((ROOT / "playbooks").glob("*.yml")), ids=lambda file: file.stem)
def test_the_line_of_a_play_or_a_task_fits_a_terminal(file: Path) -> None:
    """``PLAY [Stop it] ***`` has at least three stars, and a terminal 80 columns."""
    plays = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert [name for name in named(plays) if len(f"PLAY [{name}] ***") > 80] == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_manifests_that_a_verb_finds_on_the_hub_need_not_be_given(file: Path) -> None:
    """The tick alone gives members nothing without ``placements``."""
    for verb, arguments in playbooks.calls(playbooks.play(file)):
        for option in {"src", "resources"} & arguments.keys():
            free = "is not defined" in arguments[option] or "default(" in arguments[option]
            needed = playbooks.options(verb)[option].get("required") or (file.stem, verb) == ("tick", "placement")
            assert free or needed or file.stem == "lint", f"{verb} {option}"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_variable_is_on_the_page_with_its_meaning(file: Path) -> None:
    rows = playbooks.section(file).splitlines()
    for name in known_variables(str(file)) - {OURS_TO_LIST}:
        (row,) = [each for each in rows if each.startswith(f"| `{name}` |")]
        assert not row.endswith("|  |"), row
    own = playbooks.OWN.get(file.stem, {})
    assert set(own) - known_variables(str(file)) <= {"nodes", "version"}, "a meaning of what the playbook does not take"


@pytest.mark.parametrize("file", sorted((ROOT / "playbooks").glob("*.yml")), ids=lambda file: file.stem)
def test_no_variable_has_a_name_that_ansible_keeps_for_itself(file: Path) -> None:
    """It would warn of each, and take the name of one of its own functions for a value that somebody gave."""
    given = known_variables(str(file)) | {
        each for play in yaml.safe_load(file.read_text()) for each in play.get("vars") or ()
    }
    own = {"lookup"} if file.stem == "demo" else set()  # which is that function
    assert given & get_reserved_names() - own == set()


def test_the_page_is_up_to_date() -> None:
    assert playbooks.PAGE.read_text(encoding="utf-8") == playbooks.page(), "make playbooks"


def test_a_number_that_is_none_makes_no_fleet_without_members() -> None:
    """Jinja takes ``three`` for 0, and ``local_up`` would make a hub alone."""
    first, *_others = playbooks.play(ROOT / "playbooks" / "local_up.yml")["tasks"]
    conditions = first["ansible.builtin.assert"]["that"]
    assert [name for name in ("members", "nodes") if f"({name} | string) is match('^[0-9]+$')" in conditions] == [
        "members",
        "nodes",
    ]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_whether_a_text_is_a_truth_is_judged_by_the_verb(file: Path) -> None:
    """The filter takes ``-e strict=ture`` for false, with a warning at most; a verb refuses it."""
    for verb, arguments in playbooks.calls(playbooks.play(file)):
        assert [option for option, value in arguments.items() if "| bool" in str(value)] == [], verb


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_command_that_is_told_can_be_pasted(file: Path) -> None:
    """A folder may have a blank in its name."""
    for line in file.read_text(encoding="utf-8").splitlines():
        _before, export, value = line.partition('msg: "export ')
        assert not export or "| quote }}" in value
