# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A staged update run as a tree: what each cluster in flight waits for stands beside it."""

from __future__ import annotations

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.staged.update_run import ClusterStagedUpdateRun
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._report.staged_text import staged_text

BEGUN = {"type": "Started", "status": "True", "reason": "ClusterUpdatingStarted", "message": ""}
DONE = {"type": "Succeeded", "status": "True", "reason": "ClusterUpdatingSucceeded", "message": ""}


def tree(lacks, begun=BEGUN):
    clusters = [{"clusterName": name, "conditions": rows} for name, rows in (("a", [DONE]), ("b", [begun]), ("c", []))]
    started = {"type": "Initialized", "status": "True", "reason": "UpdateRunInitializedSuccessfully", "message": ""}
    run = {
        "metadata": {"name": "one"},
        "spec": {"placementName": "web", "stagedRolloutStrategyName": "rings", "state": "Run"},
        "status": {"conditions": [started], "stagesStatus": [{"stageName": "prod", "clusters": clusters}]},
    }
    return staged_text(decode(ClusterStagedUpdateRun, run), "Running", "", lacks=lacks)


def test_what_a_cluster_in_flight_waits_for_stands_beside_it():
    lacks = dict.fromkeys("abc", "Deployment shop/web has 1 of 2 available")
    rows = [line.split(maxsplit=1) for line in tree(lacks)[-3:]]
    assert rows == [["a", "done"], ["b", "in flight  Deployment shop/web has 1 of 2 available"], ["c"]]
    assert [line.split() for line in tree({})[-3:]] == [["a", "done"], ["b", "in", "flight"], ["c"]]


def test_what_a_cluster_says_stays_on_its_line():
    assert "\x1b" not in "".join(tree({"b": "\x1b[31mred"}))


def test_since_when_a_cluster_is_in_flight_stands_before_what_it_waits_for():
    begun = {**BEGUN, "lastTransitionTime": "2026-01-15T12:01:00Z"}
    text = " ".join(" ".join(tree({"b": "Deployment shop/web has 1 of 2 available"}, begun)).split())
    assert "b in flight since Thu 2026-01-15 12:01 UTC: Deployment shop/web has 1 of 2 available" in text
    assert "one Running b in flight since Thu 2026-01-15 12:01 UTC" in text
