# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The examples in the documentation of filters and tests, run as they stand there by a real ansible-playbook."""

from __future__ import annotations

import ast
import json
import re
import shutil
import typing as t
from pathlib import Path

import pytest
import yaml
from playing import HERE, ROOT, Played, Player

FOLDERS = (ROOT / "plugins" / "filter", ROOT / "plugins" / "test")
NAMES = sorted(file.stem for folder in FOLDERS for file in (*folder.glob("*.py"), *folder.glob("*.yml")))
# What examples of placements take for granted.
PLACEMENT = {
    "apiVersion": "placement.kubernetes-fleet.io/v1",
    "kind": "ClusterResourcePlacement",
    "metadata": {"name": "web"},
    "spec": {
        "resourceSelectors": [{"group": "", "version": "v1", "kind": "Namespace", "name": "shop"}],
        "policy": {"placementType": "PickAll"},
    },
}
INSTANT = "2026-01-15T12:00:00Z"
CONDITIONS = [{"type": kind, "status": "True", "lastTransitionTime": INSTANT} for kind in ("Joined", "Healthy")]
AGENT = {"type": "MemberAgent", "lastReceivedHeartbeat": INSTANT, "conditions": CONDITIONS}
FACTS = {
    "schema": 1,
    "capturedAt": INSTANT,
    "members": [{"metadata": {"name": "prod-eu-3"}, "status": {"agentStatus": [AGENT]}}],
}


def examples(name: str) -> list[dict[str, t.Any]]:
    """The tasks of the documentation, which stands in the plugin or beside it."""
    for folder in FOLDERS:
        if (beside := folder / f"{name}.yml").exists():
            text = yaml.safe_load(beside.read_text(encoding="utf-8"))["EXAMPLES"]
            return list(yaml.safe_load(text))
        if (plugin := folder / f"{name}.py").exists():
            tree = ast.parse(plugin.read_text(encoding="utf-8"))
            texts = {
                target.id: node.value.value
                for node in tree.body
                if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
                for target in node.targets
                if isinstance(target, ast.Name)
            }
            return list(yaml.safe_load(texts["EXAMPLES"]))
    raise AssertionError(name)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """One run of all of them, each plugin in a play of its own."""
    folder = tmp_path_factory.mktemp("examples")
    (folder / "facts.json").write_text(json.dumps(FACTS))
    (folder / "all.yml").write_text(
        json.dumps(
            [
                {
                    "name": name,
                    "hosts": "localhost",
                    "gather_facts": False,
                    "vars": {"placement": PLACEMENT, "facts": FACTS},
                    "tasks": examples(name),
                }
                for name in NAMES
            ]
        )
    )
    return Player(folder)(folder / "all.yml")


def test_every_example_runs_and_what_it_says_is_true(played: Played):
    played.clean()
    assert len(re.findall(r"^TASK \[", played.output, re.MULTILINE)) == sum(len(examples(name)) for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_examples_use_the_plugin_under_its_full_name_and_check_what_comes_out(name: str):
    text = json.dumps(examples(name))
    assert f"gitops.fleet.{name}" in text
    assert all(task.get("name") for task in examples(name))


def test_the_example_of_lint_runs(play: Player):
    """It names folders of manifests, which are put there."""
    text = ast.parse((ROOT / "plugins" / "modules" / "lint.py").read_text(encoding="utf-8"))
    (example,) = [node.value.value for node in text.body if _is(node, "EXAMPLES")]
    (task,) = yaml.safe_load(example)
    sources = {"placements": "placements", "pools": "resources", "updates": "resources"}
    assert set(task["gitops.fleet.lint"]["src"]) == set(sources)
    for name, source in sources.items():
        shutil.copytree(HERE / "manifests" / source, play.folder / name)
    playbook = play.folder / "lint.yml"
    playbook.write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": [task]}]))
    assert play(playbook).clean().changed == 0
    assert Path(play.folder / "build" / "lint.sarif").exists()


def _is(node: ast.stmt, name: str) -> bool:
    return isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == name
