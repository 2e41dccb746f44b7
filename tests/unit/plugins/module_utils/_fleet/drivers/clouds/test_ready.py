# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The ready definitions as they are run: by the examples, with what tools may see."""

from __future__ import annotations

import sys
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from cloud_setup import control_plane

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")


@pytest.mark.parametrize(
    "definition, example, target, command",
    [
        ("az_aks", "with_aks.yml", "1.36.3", "az aks upgrade --name=aks-east --resource-group=shared "),
        ("eksctl", "with_eks.yml", "1.36", "eksctl upgrade cluster --name=east --region=eu-west-1 "),
        ("gcloud", "with_gke.yml", "1.36.3", "gcloud container clusters upgrade east --master "),
    ],
)
def test_the_examples_as_they_are(cloud: t.Any, definition: str, example: str, target: str, command: str) -> None:
    setup = cloud(definition)
    setup.example = example
    state = setup.read()
    state["clusters"]["aks-east"] = {**state["clusters"]["east"], "resourceGroup": "shared"}
    setup.write(state)
    assert setup.conduct(**control_plane(target)).outcome == "done", setup.row()
    assert [line.startswith(command) for line in setup.commands] == [True]


def test_tools_see_what_they_log_in_with_and_no_other_secret(cloud: t.Any, tmp_path: Path) -> None:
    """And no secret of theirs is an argument: settings are all that is."""
    aks = cloud("az_aks")
    program = tmp_path / "bin" / "az"
    program.write_text(f"#!/bin/sh\nenv > {tmp_path}/environment; echo '{{}}'\n")
    with pytest.raises(FleetError, match="no version"):
        aks.driver().observe("east")
    seen = dict(line.split("=", 1) for line in (tmp_path / "environment").read_text().splitlines() if "=" in line)
    assert seen["AZURE_CONFIG_DIR"] == str(tmp_path) and "TOKEN" not in seen
    assert "plugins" not in seen.get("PYTHONPATH", "")


def test_a_tool_that_is_not_installed_is_told(cloud: t.Any, tmp_path: Path) -> None:
    aks = cloud("az_aks")
    (tmp_path / "bin" / "az").unlink()
    with pytest.raises(FleetError, match="az cannot be started: No such file or directory"):
        aks.driver().observe("east")
