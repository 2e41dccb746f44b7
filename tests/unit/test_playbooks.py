# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every option of a verb reaches it through its playbook, and docs/playbooks.md says what the playbooks take."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.gitops.fleet.plugins.plugin_utils._variables import OURS_TO_LIST, known
from ansible_collections.gitops.fleet.tools import playbooks

ROOT = Path(__file__).resolve().parents[2]

FILES = [file for file in sorted((ROOT / "playbooks").glob("*.yml")) if file.stem != "demo"]


def play(file: Path) -> dict[str, t.Any]:
    (found,) = yaml.safe_load(file.read_text(encoding="utf-8"))
    return dict(found)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_option_is_a_variable_or_fixed(file: Path) -> None:
    given: dict[str, set[str]] = {}
    for verb, arguments in playbooks.calls(play(file)):
        given.setdefault(verb, set()).update(arguments)
    fixed = playbooks.FIXED.get(file.stem, set())
    for verb, there in given.items():
        assert set(playbooks.options(verb)) - there - fixed == set(), verb
        assert fixed <= set(playbooks.options(verb)), "a fixed option that the verb has not"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_variable_is_on_the_page(file: Path) -> None:
    assert known(str(file)) - set(playbooks.variables(play(file))) - {OURS_TO_LIST} == set()


def test_the_page_is_up_to_date() -> None:
    assert playbooks.PAGE.read_text(encoding="utf-8") == playbooks.page(), "make playbooks"
