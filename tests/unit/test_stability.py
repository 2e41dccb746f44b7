# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every plugin and role, and each of their options, has a stability level in docs/stability.md."""

from __future__ import annotations

import ast
import re
import typing as t
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "stability.md").read_text(encoding="utf-8")
LEVELS = {"stable", "beta", "alpha"}
OF_PLUGINS = dict(re.findall(r"^\| (\w+ `\w+`) \| (\w+) \|$", PAGE, re.MULTILINE))
OF_OPTIONS = {
    (plugin, option): level
    for plugin, option, level in re.findall(r"^\| (\w+ `\w+`): `(\w+)` \| (\w+) \|$", PAGE, re.MULTILINE)
}


def documentation(file: Path) -> dict[str, t.Any]:
    if file.suffix == ".yml":
        return yaml.safe_load(file.read_text(encoding="utf-8"))["DOCUMENTATION"]
    for each in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == "DOCUMENTATION":
            return yaml.safe_load(ast.literal_eval(each.value))
    return {}


def fragment(name: str) -> dict[str, t.Any]:
    _namespace, _collection, file, *part = name.split(".")
    module = ast.parse((ROOT / "plugins" / "doc_fragments" / f"{file}.py").read_text(encoding="utf-8"))
    wanted = (part[0] if part else "documentation").upper()
    (cls,) = (each for each in module.body if isinstance(each, ast.ClassDef))
    texts = {ast.unparse(each.targets[0]): each.value for each in cls.body if isinstance(each, ast.Assign)}
    return yaml.safe_load(ast.literal_eval(texts[wanted]))


def plugins() -> dict[str, set[str]]:
    """Names of the options of each."""
    found: dict[str, set[str]] = {}
    for folder, word in (
        ("modules", "module"),
        ("filter", "filter"),
        ("test", "test"),
        ("lookup", "lookup"),
        ("inventory", "inventory"),
    ):
        for file in (ROOT / "plugins" / folder).iterdir():
            document = documentation(file) if file.suffix in (".py", ".yml") else {}
            if document:
                fragments = document.get("extends_documentation_fragment", ())
                parts = [document, *map(fragment, (each for each in fragments if each.startswith("gitops.fleet.")))]
                options = {option for part in parts for option in part.get("options", ())}
                found[f"{word} `{document.get('name', file.stem)}`"] = options
    for role in (ROOT / "roles").iterdir():
        specs = yaml.safe_load((role / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))
        entries = specs["argument_specs"].values()
        found[f"role `{role.name}`"] = {option for each in entries for option in each.get("options", ())}
    return found


PLUGINS = plugins()


def test_every_plugin_has_a_level_d1_05():
    assert sorted(OF_PLUGINS) == sorted(PLUGINS)
    assert set(OF_PLUGINS.values()) <= LEVELS


@pytest.mark.parametrize("plugin", sorted(PLUGINS))
def test_every_option_has_a_level_d1_05(plugin):
    """Its own, or that of its plugin."""
    for option in PLUGINS[plugin]:
        assert OF_OPTIONS.get((plugin, option), OF_PLUGINS[plugin]) in LEVELS


def test_no_option_is_listed_that_is_not_there_or_has_the_level_of_its_plugin_d1_05():
    for (plugin, option), level in OF_OPTIONS.items():
        assert option in PLUGINS[plugin]
        assert level != OF_PLUGINS[plugin]


def test_the_page_states_the_level_of_profiles_and_that_they_are_opt_in_d3_84():
    assert "`AutoUpgradeProfile` and `ReleaseCatalog` are alpha; profiles are opt-in" in PAGE
