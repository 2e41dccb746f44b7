# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a role is told of its member."""

from __future__ import annotations

import os
import typing as t
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_member import FleetMember
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.update_run import (
    CONTROL_PLANE_ONLY,
    FULL,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.contract import Work
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.role import variables

WORK = Work(operation="run-1.east.1", run="run", member="east", upgrade_type="ControlPlaneOnly", target="1.36.3")


@pytest.mark.parametrize(
    "written, told",
    [
        ("$HOME/.kube/config", "/home/anna/.kube/config"),
        ("${HOME}/.kube/config", "/home/anna/.kube/config"),
        ("/etc/$TOKEN", "/etc/$TOKEN"),
        ("/etc/${TOKEN}x", "/etc/${TOKEN}x"),
        ("", ""),
    ],
)
def test_paths_are_expanded_by_what_the_role_has_in_its_environment(
    written: str, told: str, monkeypatch: pytest.MonkeyPatch
):
    """Whoever may write FleetMembers does not read the runner's secrets out of a path."""
    monkeypatch.setenv("TOKEN", "s3cret")
    document = {"metadata": {"name": "east"}, "spec": {"connection": {"kubeconfig": written}}}
    found = variables(WORK, decode(FleetMember, document), {"HOME": "/home/anna"})
    assert found["cluster_upgrade_kubeconfig"] == told


def test_the_home_folder_is_ours():
    document = {"metadata": {"name": "east"}, "spec": {"connection": {"kubeconfig": "~/east"}}}
    assert variables(WORK, decode(FleetMember, document), {})["cluster_upgrade_kubeconfig"] == os.path.expanduser(
        "~/east"
    )


@pytest.mark.parametrize("run_type", [CONTROL_PLANE_ONLY, FULL])
def test_the_ready_made_role_takes_each_type_of_run_in_which_control_planes_are_upgraded(run_type: str):
    """A Full run upgrades members without node pools by a role, too."""
    specs = Path(__file__).parents[6] / "roles" / "cluster_upgrade" / "meta" / "argument_specs.yml"
    options = yaml.safe_load(specs.read_text(encoding="utf-8"))["argument_specs"]["main"]["options"]
    told = variables(replace(WORK, upgrade_type=run_type), None, {})
    assert told.keys() <= options.keys()
    assert told["cluster_upgrade_type"] in options["cluster_upgrade_type"]["choices"]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["upgrade", "--taint", "None", "null"], ["upgrade", "--taint", "None", "null"]),
        ("upgrade", ["upgrade"]),
        (None, []),
        ([], []),
    ],
)
def test_the_ready_made_role_leaves_no_word_of_the_command_out(command: t.Any, words: list[str]):
    file = Path(__file__).parents[6] / "roles" / "cluster_upgrade" / "vars" / "main.yml"
    template = trust_as_template(yaml.safe_load(file.read_text(encoding="utf-8"))["_cluster_upgrade_argv"])
    assert Templar(DataLoader(), variables={"cluster_upgrade_command": command}).template(template) == words
