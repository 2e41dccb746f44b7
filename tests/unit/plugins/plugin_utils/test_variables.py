# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A variable that a playbook does not know is refused; what is known is what the playbook uses."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest
from ansible import context
from ansible.parsing.dataloader import DataLoader
from ansible.utils import vars as ansible_vars
from ansible.utils.context_objects import CLIArgs
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.plugin_utils import _variables
from ansible_collections.gitops.fleet.plugins.plugin_utils._variables import (
    check_extra_variables,
    is_of_ours,
    known_variables,
    unknown_variables,
    variables_by_option,
    variables_for_missing,
)

PLAYBOOKS = sorted(Path(_variables.PLAYBOOKS).glob("*.yml"))
APPLY = Path(_variables.PLAYBOOKS) / "apply.yml"


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> t.Callable[..., list[str]]:
    """What is refused of these variables, for a playbook that was started by these names."""

    def work(given: dict[str, t.Any], *started: str, path: Path = APPLY) -> list[str]:
        options = {"extra_vars": (json.dumps(given),), "args": started or ("gitops.fleet.apply",)}
        monkeypatch.setattr(context, "CLIARGS", CLIArgs(options))
        monkeypatch.setattr(ansible_vars.load_extra_vars, "extra_vars", None, raising=False)
        try:
            check_extra_variables(f"{path}:12", DataLoader())
        except FleetError as error:
            assert error.code in ("unknown-variable", "bad-option")
            return [f"{each.where}: {each.hint.partition(';')[0]}" for each in error.problems]
        return []

    return work


def test_a_typing_error_is_refused_with_the_name_that_is_meant(refused: t.Callable[..., list[str]]) -> None:
    found = refused({"placements": "a", "resources": "b", "aproved_plan": "plan.json", "max_removal": "1"})
    assert found == ["aproved_plan: did you mean approved_plan?", "max_removal: did you mean max_removals?"]


def test_the_name_of_an_option_is_answered_with_the_variable_that_sets_it(refused: t.Callable[..., list[str]]) -> None:
    found = refused({"kubeconfig": "a", "context_pattern": "*"}, path=APPLY.with_name("join.yml"))
    assert found == ["context_pattern: did you mean pattern?"]


@pytest.mark.parametrize("playbook", ["apply", "tick", "update", "environment_up"])
def test_a_name_that_ansible_reserves_is_answered_with_ours(refused: t.Callable[..., list[str]], playbook: str) -> None:
    """``timeout`` belongs to every task; in a block of the playbook as well as outside one."""
    found = refused({"timeout": 30}, f"gitops.fleet.{playbook}", path=APPLY.with_name(f"{playbook}.yml"))
    assert found == ["timeout: did you mean timeout_seconds?"]


@pytest.mark.parametrize(
    ("playbook", "given", "meant"),
    [("leave", "clusters", "members"), ("evacuate", "clusters", "evacuate"), ("when", "members", "clusters"),
     ("disrupt", "cluster", "member"), ("end", "placement", "names"), ("explain", "names", "placement")],
)  # fmt: skip
def test_any_word_for_what_it_is_about_is_answered_with_that_of_the_playbook(
    refused: t.Callable[..., list[str]], playbook: str, given: str, meant: str
) -> None:
    path = APPLY.with_name(f"{playbook}.yml")
    assert refused({given: "a"}, f"gitops.fleet.{playbook}", path=path) == [f"{given}: did you mean {meant}?"]
    beside = refused({given: "a"}, "site.yml", path=path)
    assert all("did you mean" in each and meant in each for each in beside), "a variable of somebody else, unless near"


def test_any_other_name_is_refused_with_those_that_are_known(refused: t.Callable[..., list[str]]) -> None:
    (found,) = refused({"placements": "a", "tenant": "blue"})
    assert found.startswith("tenant: known are allow_empty, ") and "placements" in found


@pytest.mark.parametrize(
    "given",
    [
        {"placements": "a", "resources": "b", "records": {"type": "hub"}},
        {"ansible_python_interpreter": "x", "awx_job_id": 7, "tower_user_name": "anna"},
        {"tenant": "blue", "extra_variables": ["tenant"]},
        {"tenant": "blue", "area": "eu", "extra_variables": "tenant, area"},
    ],
)
def test_these_are_not(refused: t.Callable[..., list[str]], given: dict[str, t.Any]) -> None:
    assert refused(given) == []


def test_a_list_of_own_variables_hides_no_other(refused: t.Callable[..., list[str]]) -> None:
    """As text it is a list of words, not a place to look for parts of them."""
    found = refused({"diges": "abc", "extra_variables": "ci_digest_of_build"})
    assert found == ["diges: did you mean digest?"]
    (problem,) = refused({"diges": "abc", "extra_variables": 5})
    assert problem.startswith("extra_variables")


def test_in_a_larger_playbook_others_have_variables_too(refused: t.Callable[..., list[str]]) -> None:
    given = {"tenant": "blue", "aproved_plan": "plan.json"}
    assert refused(given, "site.yml") == ["aproved_plan: did you mean approved_plan?"]
    assert refused(given, "site.yml", path=Path("/somewhere/apply.yml")) == []


def test_what_a_playbook_makes_itself_is_not_to_be_given() -> None:
    names = known_variables(str(Path(_variables.PLAYBOOKS) / "update.yml"))
    assert {"updates", "run", "restart", "drivers", "records"} <= names and not {"update", "omit"} & names


@pytest.mark.parametrize("playbook", PLAYBOOKS, ids=lambda path: path.stem)
def test_every_playbook_can_be_read(playbook: Path) -> None:
    assert "extra_variables" in known_variables(str(playbook))
    assert set(variables_by_option(str(playbook)).values()) <= known_variables(str(playbook))


def test_an_option_may_be_called_as_a_condition_of_ansible_is(tmp_path: Path) -> None:
    playbook = tmp_path / "p.yml"
    tasks = '[{gitops.fleet.x: {until: "{{ end | default(omit) }}"}, until: told and enough}]'
    playbook.write_text(f"- {{hosts: localhost, tasks: {tasks}}}\n")
    assert known_variables(str(playbook)) == {"extra_variables", "end", "told", "enough"}


def test_names_of_any_length_are_compared() -> None:
    assert [each.where for each in unknown_variables({"a"}, ["x" * 5000], alone=True)] == ["x" * 100]


def test_a_name_that_is_longer_than_any_is_not_guessed_at() -> None:
    assert unknown_variables({"a" * 221}, ["a" * 220 + "b"], alone=False) == []


def test_a_value_whose_blanks_ansible_took_for_ends_is_told_how_to_be_written() -> None:
    """``-e reason="two words"``: Ansible splits at blanks, once the shell has taken the quotes."""
    (found,) = unknown_variables({"reason"}, ["_raw_params"], alone=True)
    assert (found.code, found.where) == ("unknown-variable", "-e") and "_raw_params" not in str(found)
    assert "-e reason=\"'it loses requests'\"" in found.message
    first, _other = unknown_variables({"reason"}, ["Reasom", "_raw_params"], alone=True)
    assert first == found, "it comes before what may have come of it"


def test_a_task_of_no_file_is_of_no_playbook_wherever_it_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """``ansible -m`` has no file, and the folder that it is started in may be one of ours."""
    monkeypatch.chdir(Path(_variables.PLAYBOOKS) / "files")
    assert not is_of_ours("") and variables_for_missing("", "missing required arguments: placement") == ""
    check_extra_variables("", DataLoader())


def test_a_missing_option_is_told_with_the_variable_that_sets_it() -> None:
    """A user of ``lint`` never wrote ``src``."""
    task = f"{_variables.PLAYBOOKS}/lint.yml:10"
    assert variables_for_missing(task, "missing required arguments: src") == "src is given by the variable manifests"
    assert variables_for_missing(task, "one of the following is required: members, context_pattern") == ""
    assert variables_for_missing(f"{_variables.PLAYBOOKS}/approve.yml:11", "missing required arguments: run") == ""
    assert variables_for_missing("/home/anna/site.yml:3", "missing required arguments: src") == ""
