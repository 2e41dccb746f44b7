# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A rotation of Karpenter's own nodes: we delete NodeClaims within the budgets, Karpenter drains and replaces."""

from __future__ import annotations

import json
import typing as t
from collections import Counter
from datetime import timedelta
from pathlib import Path

from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.replacing import ReplacementWish
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.rotating import RotationWish, conduct_rotation
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.rotation_report import rotation_verdict
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.sources import node_manifests
from karpenter_cluster import CLAIMS, Karpenter
from small_fleet import Document, Fleet
from watching import Watcher

POOL = "turn"
NODES = 5


def leaving(items: list[Document]) -> frozenset[str]:
    return frozenset(each["metadata"]["uid"] for each in items if "deletionTimestamp" in each["metadata"])


def deleted(karpenter: Karpenter, names: t.Container[str]) -> Counter[str]:
    """How often each of the NodeClaims was asked to go by an administrator, which we are, and Karpenter is not."""
    lines = Path(karpenter.made.after.audit_log).read_text(encoding="utf-8").splitlines()
    events: list[Document] = [json.loads(line) for line in lines if '"nodeclaims"' in line and '"delete"' in line]
    asked = (each["objectRef"]["name"] for each in events if each["user"]["username"] == "kubernetes-admin")
    return Counter(name for name in asked if name in names)


def test_node_claims_go_at_our_pace_and_karpenter_replaces_them(karpenter: Karpenter, karpenter_fleet: Fleet) -> None:
    """D0-56 beside Karpenter: five nodes, a budget of 40 %; each NodeClaim is deleted once."""
    karpenter.pool(POOL, [{"nodes": "40%"}], consolidateAfter="Never")
    try:
        karpenter.run(POOL, POOL, NODES)
        karpenter.settled(**{POOL: NODES})
        before = karpenter.claims(POOL)
        spec = {"nodes": {"byLabel": f"pool={POOL}"}, "pace": {"firstWave": NODES}, "budgets": [{"nodes": "3"}]}
        wanted = {
            "apiVersion": "gitops.fleet/v1alpha1",
            "kind": "NodeRotation",
            "metadata": {"name": POOL},
            "spec": spec,
        }
        wish = RotationWish(
            replacement=ReplacementWish(driver="karpenter"),
            max_idle=timedelta(minutes=5),
            interval=timedelta(seconds=1),
        )
        with Watcher(karpenter, CLAIMS, f"karpenter.sh/nodepool={POOL}", leaving) as watcher:
            report = conduct_rotation(karpenter_fleet.session(), POOL, node_manifests((), [wanted]), wish)
        assert (rotation_verdict(report)[0], report.state.count("Rotated")) == ("done", NODES), rotation_verdict(report)
        karpenter.settled(**{POOL: NODES})
        assert not set(karpenter.claims(POOL)) & set(before)
        assert 1 <= watcher.most <= 2
        assert frozenset().union(*watcher.samples) <= set(before)
        names = {each["metadata"]["name"] for each in before.values()}
        assert deleted(karpenter, names) == dict.fromkeys(names, 1)
    finally:
        karpenter.end_of(POOL)
