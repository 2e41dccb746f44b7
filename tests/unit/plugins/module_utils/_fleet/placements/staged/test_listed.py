# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The staged update runs that placements have."""

from __future__ import annotations

from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.listed import staged_standings


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
