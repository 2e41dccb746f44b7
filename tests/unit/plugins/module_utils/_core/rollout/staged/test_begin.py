# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.content import Overrides
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.begin import begin
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.world import RunContext, RunRefused
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.rollout.made import NOW, held, pick_n
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.rollout.staged_made import (
    external,
    policy_snapshot,
    resources,
    run,
    world,
)

UNLABELLED = {"kubernetes-fleet.io/policy-index": ""}
POLICY = "scheduling_policy_snapshot_name"
SUPERSEDED = {"kubernetes-fleet.io/is-latest-snapshot": "false"}


def scene(asked=None, upstream=False, **changes):
    return RunContext(run=asked or run(), world=replace(world(), **changes), now=NOW, upstream=upstream)


def refusal(**changes):
    with pytest.raises(RunRefused) as error:
        begin(scene(**changes))
    return error.value.failure.code


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"placement": None}, "placement-not-found"),
        ({"placement": external(type="RollingUpdate")}, "strategy-not-external"),
        ({"policy_snapshots": ()}, "no-latest-policy-snapshot"),
        ({"policy_snapshots": (policy_snapshot(labels=SUPERSEDED),)}, "no-latest-policy-snapshot"),
        (
            {"policy_snapshots": (policy_snapshot(), policy_snapshot()), "upstream": True},
            "multiple-latest-policy-snapshots",
        ),
        ({"policy_snapshots": (policy_snapshot(labels=UNLABELLED),)}, "no-policy-index"),
        ({"policy_snapshots": (policy_snapshot(pick_n(3)),)}, "no-cluster-count"),
        ({"policy_snapshots": (policy_snapshot(pick_n(3), "-1"),)}, "no-cluster-count"),
        ({"policy_snapshots": (policy_snapshot(scheduled="False"),)}, "not-fully-scheduled"),
        ({"policy_snapshots": (policy_snapshot(generation=2),)}, "not-fully-scheduled"),
        ({"policy_snapshots": (policy_snapshot(pick_n(5), "5"),)}, "cluster-count-mismatch"),
        ({"bindings": ()}, "no-bindings"),
        ({"strategy": None}, "update-strategy-not-found"),
        ({"asked": run(resourceSnapshotIndex="x")}, "invalid-resource-snapshot-index"),
        ({"asked": run(resourceSnapshotIndex="-1")}, "invalid-resource-snapshot-index"),
        ({"asked": run(resourceSnapshotIndex="7")}, "resource-snapshot-not-found"),
        (
            {"asked": run(resourceSnapshotIndex=""), "resource_snapshots": (resources(0),)},
            "resource-snapshot-not-found",
        ),
    ],
)
def test_what_keeps_a_run_from_beginning(changes, code):
    assert refusal(**changes) == code


def test_the_first_part_of_the_resources_counts():
    part = replace(resources(1), name="web-1-0", annotations={})
    assert refusal(resource_snapshots=(part,)) == "resource-snapshot-not-found"
    begun = begin(scene(resource_snapshots=(part, resources(1))))
    assert begun.status.resource_snapshot_index_used == "1"


@pytest.mark.parametrize(("upstream", "used"), [(False, "10"), (True, "9")])
def test_of_several_latest_resources_the_newest_are_rolled_out_and_upstream_takes_the_first(upstream, used):
    """An apply was killed after it wrote a snapshot, and before it took the mark off the one before."""
    both = (resources(9, latest=True), resources(10, latest=True))
    begun = begin(scene(run(resourceSnapshotIndex=""), upstream, resource_snapshots=both))
    assert begun.status.resource_snapshot_index_used == used


def test_of_several_latest_policies_the_newest_counts():
    newer = policy_snapshot(name="web-10", labels={"kubernetes-fleet.io/policy-index": "10"})
    older = policy_snapshot(name="web-9", labels={"kubernetes-fleet.io/policy-index": "9"}, scheduled="False")
    bindings = tuple(
        replace(each, binding=replace(each.binding, spec=replace(each.binding.spec, **{POLICY: "web-10"})))
        for each in world().bindings
    )
    for both in ((newer, older), (older, newer)):
        begun = begin(scene(policy_snapshots=both, bindings=bindings))
        assert begun.status.policy_snapshot_index_used == "10"


def test_counts_of_the_three_policies():
    fixed = {"placementType": "PickFixed", "clusterNames": ["a", "b", "c"]}
    for snapshot in (policy_snapshot(), policy_snapshot(pick_n(3), "3"), policy_snapshot(fixed)):
        assert begin(scene(policy_snapshots=(snapshot,))).status.policy_observed_cluster_count == 3


def test_overrides_are_resolved_once_for_each_cluster():
    begun = begin(scene(overrides={"b": Overrides(cluster=("tune-3",))}))
    stage_clusters = begun.status.stages_status[0].clusters
    assert [each.cluster_resource_override_snapshots for each in stage_clusters] == [(), ("tune-3",), ()]
    assert begun.content(stage_clusters[1]).overrides.cluster == ("tune-3",)


def test_clusters_that_lose_the_placement_form_the_delete_stage_by_name():
    bindings = (held("a"), held("z", state="Unscheduled"), held("d", state="Unscheduled"))
    begun = begin(scene(bindings=bindings))
    assert [each.cluster_name for each in begun.status.deletion_stage_status.clusters] == ["d", "z"]
