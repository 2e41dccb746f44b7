# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every filter and test finds the function behind it, and refuses in words."""

from __future__ import annotations

import importlib
import typing as t
from pathlib import Path

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.gitops.fleet.plugins.plugin_utils import _pure

PLUGINS = Path(_pure.__file__).parents[1]
NAMES = [
    f"{folder}.{file.stem}"
    for folder in ("filter", "test")
    for file in sorted((PLUGINS / folder).glob("*.py"))
    if file.stem != "__init__"
]


def functions(name: str) -> dict[str, t.Callable[..., t.Any]]:
    module = importlib.import_module(f"ansible_collections.gitops.fleet.plugins.{name}")
    made: t.Any = module.FilterModule().filters() if name.startswith("filter") else module.TestModule().tests()
    return dict(made)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_behind_it_is_there(name: str) -> None:
    """Asked with arguments that no function has, it says so, and nothing else."""
    for function in functions(name).values():
        with pytest.raises(AnsibleFilterError, match="no_such_argument|missing a required argument|unexpected keyword"):
            function("x", no_such_argument=1)


def test_an_answer_and_a_refusal() -> None:
    quantity = functions("filter.quantity")["quantity"]
    assert quantity("1500m") == 1.5
    with pytest.raises(AnsibleFilterError, match="nonsense"):
        quantity("nonsense")
