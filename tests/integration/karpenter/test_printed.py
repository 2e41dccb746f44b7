# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Parts of objects, as documentation prints them, on a server with Karpenter's own definitions: patches of what is
there, and never something new."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.reading import examine
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.manual import ManualWish, manual
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.node_info import node_report
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.reading import ReadingWish
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.sources import NodeManifests
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from karpenter_cluster import DEPLOYMENTS, DO_NOT_DISRUPT, NODES, POOLS, Karpenter
from small_fleet import MERGE, Document, Fleet

PRINTED = Path(__file__).parents[2] / "data" / "lint"
POOL = "printed"
TRY = {"dryRun": "All", "fieldValidation": "Strict"}


def printed(name: str) -> Document:
    return t.cast(Document, yaml.safe_load((PRINTED / f"{name}.yml").read_text(encoding="utf-8")))


def tried(karpenter: Karpenter, path: str, document: Document) -> Document:
    """The object as it would be with the patch."""
    body = {key: each for key, each in document.items() if key not in ("apiVersion", "kind", "metadata")}
    notes = (document.get("metadata") or {}).get("annotations")
    return karpenter.client.request(
        "PATCH", path, body | ({"metadata": {"annotations": notes}} if notes else {}), TRY, MERGE
    )


def refused(karpenter: Karpenter, path: str, document: Document) -> str:
    with pytest.raises(ApiError) as error:
        karpenter.client.post(path, document, TRY)
    return str(error.value)


def test_what_is_printed_changes_what_is_there_and_makes_nothing(karpenter: Karpenter, karpenter_fleet: Fleet) -> None:
    """D0-01, D0-55, D0-93, D0-95: dry runs on the server beside our own words."""
    karpenter.pool(POOL, [{"nodes": "0"}])
    try:
        karpenter.run(POOL, POOL, 2)
        karpenter.settled(**{POOL: 2})

        grace = printed("pool_grace_period")
        part = {**grace, "metadata": {"name": POOL}}
        stored = tried(karpenter, f"{POOLS}/{POOL}", part)["spec"]["template"]["spec"]
        assert stored["terminationGracePeriod"] == "10m" and stored["nodeClassRef"]["name"] == "default"
        missing = refused(karpenter, POOLS, grace)
        assert examine(grace).missing and all(path in missing for path in examine(grace).missing), missing
        wish = ManualWish(member="k1", state="patched", patches=(part,))
        told = manual(karpenter_fleet.session(), wish, False)
        assert set(told.nodes) == {each["status"]["nodeName"] for each in karpenter.claims(POOL).values()}

        pods = printed("deployment_protected")
        stored = tried(karpenter, f"{DEPLOYMENTS}/{POOL}", pods)["spec"]["template"]
        assert stored["metadata"]["annotations"] == {DO_NOT_DISRUPT: "true"} and stored["spec"]["containers"]
        assert "spec.selector" in refused(karpenter, DEPLOYMENTS, {**pods, "metadata": {"name": "new"}})
        pods["spec"]["template"]["metadata"]["annotations"][DO_NOT_DISRUPT] = True
        with pytest.raises(ApiError):
            tried(karpenter, f"{DEPLOYMENTS}/{POOL}", pods)

        node = printed("node_protected")
        assert "name" in refused(karpenter, NODES, node)
        name = sorted(told.nodes)[0]
        assert tried(karpenter, f"{NODES}/{name}", node)["metadata"]["annotations"][DO_NOT_DISRUPT] == "true"
        assert candidates(karpenter_fleet) == set(told.nodes)
        assert manual(
            karpenter_fleet.session(), ManualWish(member="k1", state="protected", names=(name,)), True
        ).changed
        assert candidates(karpenter_fleet) == set(told.nodes) - {name}
    finally:
        karpenter.end_of(POOL)


def candidates(fleet: Fleet) -> set[str]:
    """Nodes that may be consolidated, budgets aside."""
    found = node_report(fleet.session(), NodeManifests(), ReadingWish(), "").answers
    return {each.node for each in found if each.as_dict()["candidate"]}
