# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The ready definitions as they are run: by the examples, with what tools may see."""

from __future__ import annotations

import sys
import typing as t
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.contract import Work
from cloud_setup import control_plane, full

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


@pytest.mark.parametrize("definition, option", [("az_aks", "kubernetes-version"), ("gcloud", "cluster-version")])
def test_a_target_that_is_written_with_a_v_is_asked_for_as_the_cloud_writes_it(
    cloud: t.Any, definition: str, option: str
) -> None:
    setup = cloud(definition)
    assert setup.conduct(**full("v1.36.3")).outcome == "done", setup.row()
    assert [f" --{option}=1.36.3 " in line for line in setup.commands] == [True, True]


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


def test_a_tool_that_hangs_is_ended_and_told(cloud: t.Any, tmp_path: Path) -> None:
    """Its last answer would be waited for as long as the machine runs."""
    aks = cloud("az_aks", patience=1)
    (tmp_path / "bin" / "az").write_text("#!/bin/sh\nsleep 30 &\nexec sleep 60\n")
    with pytest.raises(FleetError, match="az aks show gave no answer within 1 s"):
        aks.driver().observe("east")


def test_a_tool_that_leaves_somebody_behind_is_not_waited_for(cloud: t.Any, tmp_path: Path) -> None:
    aks = cloud("az_aks")
    (tmp_path / "bin" / "az").write_text("""#!/bin/sh\nsleep 30 &\necho '{"kubernetesVersion": "1.36.3"}'\n""")
    assert aks.driver().observe("east").version == "1.36.3"


@pytest.mark.parametrize("definition, tool", [("az_aks", "az"), ("gcloud", "gcloud")])
@pytest.mark.parametrize("told", ["[]", "{}", "7", '{"status": "DONE", "error": "x"}', "{" * 100_000])
def test_what_a_tool_does_not_tell_is_no_end(cloud: t.Any, tmp_path: Path, definition: str, tool: str, told: str):
    """Nor is it one if we go wrong over it: Python ends with 1 then, which says that the upgrade has failed."""
    setup = cloud(definition)
    (tmp_path / "told").write_text(told)
    (tmp_path / "bin" / tool).write_text(f"#!/bin/sh\ncat {tmp_path}/told\n")
    work = Work(operation="o", run="r", member="east", upgrade_type="Full", target="1.36.3", reference="platform:x")
    with pytest.raises(FleetError) as refused:
        setup.driver().poll(work)
    assert refused.value.code == "poll-failed"


def test_where_the_program_of_ours_does_not_start_nothing_is_said_to_have_failed(cloud: t.Any, tmp_path: Path):
    """While the collection is installed anew, for example."""
    driver = replace(cloud("az_aks").driver(), environ={"PYTHONPATH": str(tmp_path)})
    work = Work(operation="o", run="r", member="east", upgrade_type="Full", target="1.36.3", reference="platform:x")
    with pytest.raises(FleetError) as refused:
        driver.poll(work)
    assert refused.value.code == "poll-failed" and "No module named" in refused.value.message
