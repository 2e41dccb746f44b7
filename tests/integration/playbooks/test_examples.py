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
FILES = (file for folder in FOLDERS for file in (*folder.glob("[!_]*.py"), *folder.glob("*.yml")))
NAMES = sorted(file.stem for file in FILES)
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
    (example,) = [ast.literal_eval(node.value) for node in text.body if _is(node, "EXAMPLES")]
    (task,) = yaml.safe_load(example)
    sources = {"placements": "placements", "pools": "resources", "updates": "resources"}
    assert set(task["gitops.fleet.lint"]["src"]) == set(sources)
    for name, source in sources.items():
        shutil.copytree(HERE / "manifests" / source, play.folder / name)
    playbook = play.folder / "lint.yml"
    playbook.write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": [task]}]))
    assert play(playbook).clean().changed == 0
    assert Path(play.folder / "build" / "lint.sarif").exists()


# A template, and words that must all be in its message.
WRONG: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("'web' | gitops.fleet.allowed_disruptions(5)", ("an object is wanted", "'web'")),
    ("[{'nodes': 5}] | gitops.fleet.allowed_disruptions(5)", ("budgets[0].nodes", 'write it in quotes: "5"')),
    ("[{'nodes': '5'}] | gitops.fleet.allowed_disruptions('x')", ("nodes", "'x'")),
    ("[{'nodes': '5'}] | gitops.fleet.allowed_disruptions", ("missing a required argument: 'nodes'",)),
    ("[{'nodes': '5'}] | gitops.fleet.allowed_disruptions(5, when='now')", ("'when'",)),
    ("[{'nodes': '5'}] | gitops.fleet.disruption_openings(5, 'Drift')", ("did you mean Drifted?",)),
    ("5 | gitops.fleet.lint_budgets", ("an object is wanted", "5")),
    ("{'stages': [{}]} | gitops.fleet.update_stages([])", ("stages[0].name",)),
    ("'latest' | gitops.fleet.upgrade_path('v1.34.2')", ("'latest'", "v1.34.2")),
    ("1.30 | gitops.fleet.upgrade_path('v1.34.2')", ("a version in quotes",)),
    ("'lots' | gitops.fleet.quantity", ("'lots' is not a quantity",)),
    ("'1' | gitops.fleet.quantity('MB')", ("'MB' is not one of",)),
    ("{} | gitops.fleet.placement_decisions({})", ("apiVersion is required", "kind is required")),
    ("placement | gitops.fleet.explain_placement(facts, 'prod-eu-4')", ("prod-eu-4", "prod-eu-3")),
    ("placement is gitops.fleet.selected_by('env in')", ("kubectl -l",)),
    ("placement is gitops.fleet.disruptable", ("a Pod, a Node or a NodePool is wanted",)),
    ("'noon' is gitops.fleet.within_window({'schedule': '@daily', 'duration': '1h'})", ("'noon' is not an instant",)),
    ("'now' is gitops.fleet.within_window({'schedule': '@reboot', 'duration': '1d'})", ("schedule", "duration")),
)


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], Played]:
    """The messages of all wrong templates, from one run."""
    folder = tmp_path_factory.mktemp("wrong")
    tasks: list[dict[str, t.Any]] = [
        {"debug": {"msg": f"{{{{ {template} }}}}"}, "register": f"wrong_{number}", "ignore_errors": True}
        for number, (template, _words) in enumerate(WRONG)
    ]
    everything = ", ".join(f"wrong_{number}.msg" for number in range(len(WRONG)))
    tasks.append({"copy": {"dest": "{{ folder }}/messages.json", "content": f"{{{{ [{everything}] | to_json }}}}"}})
    play = {"hosts": "localhost", "gather_facts": False, "vars": {"placement": PLACEMENT, "facts": FACTS}}
    (folder / "wrong.yml").write_text(json.dumps([{**play, "tasks": tasks}]))
    done = Player(folder)(folder / "wrong.yml", "-vvv")
    return json.loads((folder / "messages.json").read_text()), done


@pytest.mark.parametrize("number", range(len(WRONG)), ids=[template for template, _words in WRONG])
def test_what_is_wrong_is_named_once_and_in_words(number: int, refused: tuple[list[str], Played]):
    message = refused[0][number]
    assert [word for word in WRONG[number][1] if word not in message] == [], message
    assert message.count("[") == message.count("]")
    assert message.count("Traceback") == 0


def test_no_traceback_in_all_the_output(refused: tuple[list[str], Played]):
    assert refused[1].code == 0
    assert "Traceback" not in refused[1].output


def test_values_of_yaml_and_of_modules_are_understood(play: Player):
    """Tagged values of ansible-core 2.19: an instant that YAML reads as such, results of a module, loop variables."""
    playbook = play.folder / "tagged.yml"
    playbook.write_text(
        """
- hosts: localhost
  gather_facts: false
  vars:
    at: 2026-11-02T09:00:00Z
    pool: {apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: web}, spec: {disruption: {budgets: [
      {nodes: "10%"}, {nodes: "0", schedule: "0 8 * * *", duration: 2h}]}}}
  tasks:
    - ansible.builtin.set_fact:
        read: {resources: ["{{ pool }}", "{{ pool | combine({'metadata': {'name': 'db'}}) }}"]}
    - ansible.builtin.assert:
        that:
          - read | gitops.fleet.allowed_disruptions(10, item, now=at) | map(attribute='allowed') == [0, 0]
          - read | gitops.fleet.lint_budgets(now=at) | map(attribute='code') | unique == ['patch-only']
          - at is gitops.fleet.within_window({'schedule':'0 8 * * *', 'duration':'2h'})
          - read.resources | select('gitops.fleet.disruptable', nodes=10, now='2026-11-02T11:00:00Z') | length == 2
      loop: [Empty, Drifted]
"""
    )
    play(playbook).clean()


def _is(node: ast.stmt, name: str) -> t.TypeGuard[ast.Assign]:
    return isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == name
