# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Members as a staged run sees them, read once and again where their records have changed."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime
from pathlib import Path

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.snapshot_labels import (
    LATEST,
    POLICY_INDEX,
    RESOURCE_INDEX,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.staged.update_run import ClusterStagedUpdateRun
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import ObjectMeta
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.recorded import REVISION
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.sources import StagedManifests
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.world import (
    RunGround,
    SeenMembers,
    run_ground,
)
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
PLACEMENT, POLICY = "ClusterResourcePlacement", "ClusterSchedulingPolicySnapshot"
RUN = decode(
    ClusterStagedUpdateRun,
    {"metadata": {"name": "run"}, "spec": {"placementName": "web", "stagedRolloutStrategyName": "waves"}},
)


def test_labels_count_as_they_are_recorded_now(tmp_path: Path) -> None:
    records = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    for name in ("east", "west", "north"):
        metadata = {"name": name, "labels": {"ring": "canary"}}
        identity = {"kind": "User", "name": name, "apiGroup": "rbac.authorization.k8s.io"}
        spec = {"identity": identity}
        records.create(
            {
                "apiVersion": "cluster.kubernetes-fleet.io/v1beta1",
                "kind": "MemberCluster",
                "metadata": metadata,
                "spec": spec,
            }
        )
    roll, wanted = SeenMembers(), {"east", "west"}
    first = roll.clusters_named(records, wanted)
    assert [each.metadata.name for each in first] == ["east", "west"]
    again = roll.clusters_named(records, wanted)
    assert all(one is other for one, other in zip(first, again, strict=True))
    west = records.get("MemberCluster", "west")
    assert west
    west["metadata"]["labels"] = {"ring": "prod"}
    records.replace(west)
    records.delete("MemberCluster", "east")
    assert [dict(each.metadata.labels) for each in roll.clusters_named(records, wanted)] == [{"ring": "prod"}]
    records.close()


def test_a_snapshot_tells_the_revision_that_it_came_from() -> None:
    snapshots = (
        ObjectMeta(name="web-1", labels={RESOURCE_INDEX: "1"}),
        ObjectMeta(name="web-2", labels={RESOURCE_INDEX: "2"}, annotations={REVISION: "ab" * 20}),
    )
    ground = RunGround(recorded=t.cast(t.Any, None), placement=None, strategy=None, snapshots=snapshots)
    assert [ground.revision_of(index) for index in ("1", "2", "")] == ["", "ab" * 20, ""]


def test_what_an_apply_of_another_spec_said_of_the_clusters_is_of_an_older_generation(tmp_path: Path) -> None:
    """So that a run which has begun waits for the next apply, and is not refused for good."""
    records = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    api = "placement.kubernetes-fleet.io/v1beta1"
    spec = {"policy": {"placementType": "PickAll"}, "strategy": {"type": "External"}}
    made = records.create({"apiVersion": api, "kind": PLACEMENT, "metadata": {"name": "web"}, "spec": spec})
    labels = {"kubernetes-fleet.io/parent-CRP": "web", POLICY_INDEX: "0", LATEST: "true"}
    metadata = {"name": "web-0", "labels": labels}
    records.create({"apiVersion": api, "kind": POLICY, "metadata": metadata, "spec": {"policyHash": "h"}})

    def scheduled() -> list[tuple[str, bool]]:
        """Each condition of the policy, and whether it is of its present generation."""
        (policy,) = run_ground(records, RUN, StagedManifests()).policies
        of = policy.metadata.generation
        return [(each.type, each.observed_generation == of) for each in policy.status.conditions]

    assert scheduled() == []
    said = {"type": f"{PLACEMENT}Scheduled", "status": "True", "observedGeneration": made["metadata"]["generation"]}
    applied = records.replace({**made, "status": {"conditions": [said]}})
    assert scheduled() == [("Scheduled", True)]
    records.replace({**applied, "spec": {**spec, "revisionHistoryLimit": 5}})
    assert scheduled() == [("Scheduled", False)]
    records.close()
