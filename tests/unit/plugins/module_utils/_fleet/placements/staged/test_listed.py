# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The staged update runs that placements have."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.listed import (
    runs_upset,
    staged_standings,
)


class Recorded:
    """Records that list these runs, and say what was asked."""

    def __init__(self, **runs):
        self.runs, self.asked = runs, []

    def list(self, kind):
        self.asked.append(kind)
        return self.runs.get(kind, [])


def placement(name, kind="External", namespace=""):
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {
        "kind": "ResourcePlacement" if namespace else "ClusterResourcePlacement",
        "metadata": metadata,
        "spec": {"strategy": {"type": kind}},
    }


def run(name, of="web", namespace="", **more):
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"metadata": metadata, "spec": {"placementName": of, "stagedRolloutStrategyName": "rings"}, **more}


def test_runs_are_told_with_their_placement_and_those_of_others_are_not():
    records = Recorded(
        ClusterStagedUpdateRun=[run("b"), run("a"), run("other", of="api")],
        StagedUpdateRun=[run("a", namespace="shop")],
    )
    found = staged_standings(
        records, [placement("web"), placement("web", namespace="shop"), placement("api", "RollingUpdate")]
    )
    assert [(each.placement, each.name) for each in found] == [("shop/web", "shop/a"), ("web", "a"), ("web", "b")]


def test_nothing_is_read_where_no_placement_waits_for_runs():
    records = Recorded()
    assert staged_standings(records, [placement("web", "RollingUpdate"), {**placement("x"), "spec": {}}]) == ()
    assert records.asked == []


def test_a_damaged_run_is_named_with_why():
    damaged = run("a") | {"status": {"stagesStatus": "none"}}
    (found,) = staged_standings(Recorded(ClusterStagedUpdateRun=[damaged]), [placement("web")])
    assert (found.state, found.stages) == ("Damaged", 0) and "stagesStatus" in found.message


def test_a_run_that_has_succeeded_says_whose_clusters_hold_something_else_by_now():
    def at(kind, minute):
        return {"type": kind, "status": "True", "reason": "x", "lastTransitionTime": f"2026-03-01T12:{minute:02}:00Z"}

    done = [{"clusterName": "a", "conditions": [at("Started", 1), at("Succeeded", 2)]}]
    conditions = [at("Initialized", 1), at("Succeeded", 2)]
    stages = [{"stageName": "all", "clusters": done}]
    status = {"conditions": conditions, "resourceSnapshotIndexUsed": "1", "stagesStatus": stages}
    records = Recorded(ClusterStagedUpdateRun=[run("newer", status=status)])

    def binding(cluster, snapshot, labels):
        spec = {"state": "Bound", "targetCluster": cluster, "resourceSnapshotName": snapshot}
        return {
            "kind": "ClusterResourceBinding",
            "metadata": {"name": f"web-{cluster}", "labels": labels},
            "spec": spec,
        }

    labels = {"kubernetes-fleet.io/parent-CRP": "web"}
    damaged = {**binding("b", "web-0-snapshot", labels), "spec": "none"}
    (found,) = staged_standings(records, [placement("web")], [damaged, binding("a", "web-0-snapshot", labels)])
    lost = "a no longer holds what it gave, but snapshot 0; make a new run to give it again"
    assert (found.state, found.message) == ("Succeeded", lost)
    (found,) = staged_standings(records, [placement("web")], [binding("a", "web-1-snapshot", labels)])
    assert found.message == ""


@pytest.mark.parametrize("fulfilled", [True, False])
def test_a_plan_that_finds_too_few_clusters_upsets_a_run_that_has_begun(fulfilled):
    """The same clusters by a greater number that is asked for: the run ends as not fully scheduled."""
    begun = {"type": "Progressing", "status": "True", "reason": "UpdateRunStarted", "message": "",
             "lastTransitionTime": "2026-03-02T10:00:00Z"}  # fmt: skip
    stages = [{"stageName": "canary", "clusters": [{"clusterName": "m1"}]}]
    records = Recorded(ClusterStagedUpdateRun=[run("a", status={"conditions": [begun], "stagesStatus": stages})])
    held = SimpleNamespace(spec=SimpleNamespace(target_cluster="m1", state="Bound"))
    plan = SimpleNamespace(
        name="web",
        is_by_staged_runs=True,
        clusters=(SimpleNamespace(cluster="m1", change="kept"),),
        policy_snapshot_new=False,
        fulfilled=fulfilled,
    )
    found = runs_upset(records, [plan], {"web": SimpleNamespace(known=SimpleNamespace(bindings=(held,)))})
    assert [each.code for each in found] == ([] if fulfilled else ["run-upset"])
