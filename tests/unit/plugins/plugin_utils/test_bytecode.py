# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What verbs, filters and the others import is compiled once and kept: by ansible-core's own loader of collections each
task would compile it anew."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.plugin_utils._bytecode import PLUGINS, KeptBytecode, keep_bytecode

ROOT = Path(__file__).resolve().parents[4]
CORE = ROOT / "plugins" / "module_utils" / "_core"
# As ansible-core does it for a task or a template: the plugin by its full name, through the finder of collections. The
# place for bytecode is another one only from there on, so that ansible-core itself is not compiled for it.
LOADS = """
import sys
from ansible.plugins import loader
loader.init_plugin_loader([])
kind, name, sys.pycache_prefix = sys.argv[1:]
plugins = getattr(loader, f"{kind}_loader")
assert plugins.get(f"gitops.fleet.{name}", class_only=True)
core = "ansible_collections.gitops.fleet.plugins.module_utils._core"
print(*sorted({type(each.__loader__).__name__ for name, each in sys.modules.items() if name.startswith(core)}))
"""


def test_files_of_ours_are_found_and_loaded_as_python_does() -> None:
    found = KeptBytecode.find_spec(f"{PLUGINS}module_utils._core.errors", [str(CORE)])
    assert found is not None and isinstance(found.loader, SourceFileLoader)
    assert found.origin == str(CORE / "errors.py")
    package = KeptBytecode.find_spec(f"{PLUGINS}module_utils._core.values", [str(CORE)])
    assert package is not None and package.submodule_search_locations == [str(CORE / "values")]


@pytest.mark.parametrize(
    "name", ["json", "ansible_collections.other.fleet.plugins.module_utils.errors", f"{PLUGINS}action.errors"]
)
def test_no_other_module_is_found(name: str) -> None:
    assert KeptBytecode.find_spec(name, [str(CORE)]) is None


def test_what_is_not_there_or_no_package_is_left_to_others(tmp_path: Path) -> None:
    (tmp_path / "bare").mkdir()
    assert KeptBytecode.find_spec(f"{PLUGINS}module_utils.bare", [str(tmp_path)]) is None
    assert KeptBytecode.find_spec(f"{PLUGINS}module_utils._core.nowhere", [str(CORE)]) is None
    assert KeptBytecode.find_spec(f"{PLUGINS}module_utils", None) is None


class _AnsibleCollectionFinder:
    """One of the name."""


def test_it_is_asked_once_and_just_before_the_finder_of_collections(monkeypatch: pytest.MonkeyPatch) -> None:
    others, finder = [object(), object()], _AnsibleCollectionFinder()
    monkeypatch.setattr(sys, "meta_path", [others[0], finder, others[1]])
    keep_bytecode()
    keep_bytecode()
    assert sys.meta_path == [others[0], KeptBytecode, finder, others[1]]
    monkeypatch.setattr(sys, "meta_path", others)
    keep_bytecode()
    assert sys.meta_path == others, "plain Python keeps bytecode itself"


@pytest.mark.parametrize(
    ("kind", "name"), [("action", "lint"), ("filter", "quantity"), ("lookup", "pulumi_output"), ("inventory", "fleet")]
)
def test_a_plugin_keeps_what_it_imports(kind: str, name: str, tmp_path: Path) -> None:
    assert loaded(kind, name, tmp_path) == "SourceFileLoader"
    assert list(tmp_path.rglob("errors.*.pyc"))


def test_a_place_that_cannot_be_written_to_costs_time_and_nothing_else(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("")
    assert loaded("action", "lint", taken) == "SourceFileLoader"
    assert not list(tmp_path.rglob("*.pyc"))


def loaded(kind: str, name: str, kept: Path) -> str:
    """The types of the loaders of all that such a plugin has imported in a fresh interpreter."""
    without = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", LOADS, kind, name, str(kept)]
    return subprocess.run(command, env=without, capture_output=True, text=True, check=True).stdout.strip()
