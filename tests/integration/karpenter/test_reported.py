# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Two nodes on their way at once, one by the rules of its pool and one by hand, in one report; and how Karpenter ends
them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.manual import ManualWish, manual
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.node_info import node_report
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.reading import ReadingWish
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.sources import NodeManifests
from karpenter_cluster import CLAIMS, NODES, PDBS, POOLS, Karpenter
from small_fleet import Document, Fleet

RULED, MANUAL = "ruled", "byhand"
FINALIZER = "karpenter.sh/termination"


def on_their_way(fleet: Fleet) -> dict[str, Document]:
    """What ``node_disruption_info`` tells of nodes that somebody disrupts, by pool."""
    found = node_report(fleet.session(), NodeManifests(), ReadingWish(), "").answers
    return {each.pool: each.as_dict() for each in found if each.origin}


def only(karpenter: Karpenter, path: str, pool: str) -> Document:
    (found,) = karpenter.listed(path, f"karpenter.sh/nodepool={pool}")
    return found


def looked_at(karpenter: Karpenter, fleet: Fleet) -> dict[str, Document]:
    """The report while both nodes are held: by then, and not before, their pods may go."""
    try:
        karpenter.until(lambda: set(on_their_way(fleet)) == {RULED, MANUAL}, "not both were disrupted")
        karpenter.until(lambda: "deletionTimestamp" in only(karpenter, NODES, RULED)["metadata"], "it was not deleted")
        told = on_their_way(fleet)
        # Drained it is not, so that Node and NodeClaim are still there, both on their way.
        for path in (NODES, CLAIMS):
            found = only(karpenter, path, RULED)["metadata"]
            assert FINALIZER in found["finalizers"] and "deletionTimestamp" in found, path
        assert [each["status"]["phase"] for each in karpenter.pods(RULED)] == ["Running"]
        return told
    finally:
        for pool in (RULED, MANUAL):
            karpenter.gone(f"{PDBS}/{pool}")


def test_rules_and_people_stand_in_one_report_and_a_node_goes_once_it_is_drained(
    karpenter: Karpenter, karpenter_fleet: Fleet
) -> None:
    """D0-05, D0-49, D0-54: a drifted node with a grace period, whose pod a PodDisruptionBudget holds, beside a node
    that we delete and whose pod is held, too."""
    try:
        for pool in (RULED, MANUAL):
            karpenter.pool(pool, [{"nodes": "100%"}], consolidateAfter="Never")
            grace: Document = {"terminationGracePeriod": "1h"} if pool == RULED else {}
            karpenter.patch(f"{POOLS}/{pool}", {"spec": {"template": {"spec": grace}}})
            karpenter.run(pool, pool, 1)
            karpenter.hold(pool)
        karpenter.settled(**{RULED: 1, MANUAL: 1})
        before = {pool: only(karpenter, NODES, pool)["metadata"] for pool in (RULED, MANUAL)}
        edit = {"spec": {"template": {"metadata": {"labels": {"edition": "second"}}}}}
        karpenter.patch(f"{POOLS}/{RULED}", edit)
        wish = ManualWish(member="k1", state="deleted", names=(before[MANUAL]["name"],), timeout=600.0)
        with ThreadPoolExecutor(1) as beside:
            looking = beside.submit(looked_at, karpenter, karpenter_fleet)
            report = manual(karpenter_fleet.session(), wish, True)
            told = looking.result()
        assert {pool: row["origin"] for pool, row in told.items()} == {RULED: "Drift", MANUAL: "manual"}
        assert told[RULED]["drain"].startswith("1 pod left, until ")
        assert told[MANUAL]["drain"] == "1 pod left, no deadline"
        assert report.changed and report.failed == ()
        karpenter.until(lambda: karpenter.get(f"{NODES}/{before[RULED]['name']}") is None, "the drifted node stayed")
        karpenter.settled(**{RULED: 1, MANUAL: 1})
        for pool in (RULED, MANUAL):
            assert only(karpenter, NODES, pool)["metadata"]["uid"] != before[pool]["uid"]
    finally:
        karpenter.end_of(RULED, MANUAL)
