# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which snapshot the clusters of a staged run held before it, by their bindings."""

from __future__ import annotations

import typing as t
from dataclasses import replace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.binding import (
    BOUND,
    HELD_BEFORE,
    BindingSpec,
    ClusterDecision,
    ClusterResourceBinding,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.staged.update_run import ClusterStagedUpdateRun
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.content import RolloutBinding
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.way_back import index_before, run_after
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import ObjectMeta

BEGUN = {"type": "Started", "status": "True", "reason": "ClusterUpdatingStarted", "message": ""}


def run(*conditions: dict[str, t.Any]) -> ClusterStagedUpdateRun:
    spec = {"placementName": "web", "stagedRolloutStrategyName": "rings", "state": "Run"}
    stage = {"stageName": "a", "clusters": [{"clusterName": "m1", "conditions": list(conditions)}]}
    status = {"resourceSnapshotIndexUsed": "2", "stagesStatus": [stage]}
    return decode(ClusterStagedUpdateRun, {"metadata": {"name": "one"}, "spec": spec, "status": status})


def binding(cluster: str, holds: int | None, before: int | None = None) -> RolloutBinding:
    def name(index: int | None) -> str:
        return f"web-{index}-snapshot" if index is not None else ""

    marks = {HELD_BEFORE: name(before)} if before is not None else {}
    spec = BindingSpec(
        state=BOUND,
        target_cluster=cluster,
        scheduling_policy_snapshot_name="web-0",
        cluster_decision=ClusterDecision(cluster_name=cluster, selected=True),
        resource_snapshot_name=name(holds),
    )
    metadata = ObjectMeta(name=f"web-{cluster}", annotations=marks)
    return RolloutBinding(binding=ClusterResourceBinding(metadata=metadata, spec=spec))


@pytest.mark.parametrize(
    ("bindings", "index"),
    [
        ([binding("m1", 2, before=1)], "1"),
        ([binding("m1", 2), binding("m2", 2, before=0), binding("m3", 0), binding("m4", 1)], "0"),
        ([binding("m1", 2), binding("m2", 0), binding("m3", 1)], "1"),
        ([binding("m1", 2), binding("m2", None)], ""),
        ([binding("m1", 1, before=1), binding("m2", 1)], ""),
        ([], ""),
    ],
    ids=["in flight", "most of them", "the later of two", "the first version", "gone back already", "nobody"],
)
def test_what_most_clusters_held_before_is_what_one_goes_back_to(bindings: list[RolloutBinding], index: str) -> None:
    assert index_before(run(BEGUN), bindings) == index


def test_a_run_that_has_given_nothing_has_no_way_back() -> None:
    assert index_before(run(), [binding("m1", 1)]) == ""


def test_the_name_of_a_run_after_another_fits_and_is_another_one() -> None:
    """However often it is tried once more: the command has to work."""
    last, names = replace(run(), metadata=ObjectMeta(name="rollout-of-" + "x" * 52)), list[str]()
    for _time in range(4):
        names.append(run_after(last, "again", "")["metadata"]["name"])
        last = replace(last, metadata=ObjectMeta(name=names[-1]))
    assert len(set(names)) == 4 and all(len(each) <= 63 and each.endswith("-again") for each in names)
    assert run_after(run(), "again", "")["metadata"]["name"] == "one-again"
