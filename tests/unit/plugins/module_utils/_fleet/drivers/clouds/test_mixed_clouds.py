# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""One run over members of three clouds, each upgraded by the tool of its own, beside programs that stand in for
them."""

from __future__ import annotations

import sys
import typing as t

import pytest
from cloud_setup import control_plane, full

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")


def test_each_member_goes_by_the_tool_of_its_provider(cloud: t.Any) -> None:
    clouds = cloud("az_aks")
    clouds.also(west="eksctl", north="gcloud")
    assert clouds.conduct(**full("1.36")).outcome == "done", clouds.rows()
    lines = [line.replace("=", " ").split() for line in clouds.commands]
    asked = {(words[0], name) for words in lines for name in {"east", "west", "north"}.intersection(words)}
    assert asked == {("az", "east"), ("eksctl", "west"), ("gcloud", "north")}
    assert {state for state, _words in clouds.rows().values()} == {"Completed"}
    at = clouds.read()["clusters"]
    versions = [at["east"]["currentKubernetesVersion"], at["west"]["Version"], at["north"]["currentMasterVersion"]]
    assert all(each.startswith("1.36") for each in versions), "one target, resolved by each cloud"


def test_members_whose_cloud_never_has_the_target_are_skipped_and_told(cloud: t.Any) -> None:
    clouds = cloud("az_aks")
    clouds.also(west="eksctl", north="gcloud")
    came = clouds.conduct(**control_plane("1.36.3"))
    rows = clouds.rows()
    assert {name: state for name, (state, _words) in rows.items()} == {
        "east": "Completed",
        "north": "Completed",
        "west": "Skipped",
    }, rows
    assert 'write kubernetesVersion: "1.36"' in rows["west"][1]
    assert (came.outcome, came.code) == ("partial", "not-all-members") and "west Skipped" in came.message
    assert came.brief == "not upgraded: west", "why stands in the tree of the run"
    assert not any(line.startswith("eksctl") for line in clouds.commands)
