# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What must never be placed."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.identity import identify
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.selectable import (
    is_reserved_namespace,
    refusal,
)


def manifest(api_version: str, kind: str, name: str = "x", **more: t.Any) -> dict[str, t.Any]:
    metadata = {"name": name, "namespace": "web", **more.pop("metadata", {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **more}


@pytest.mark.parametrize(("name", "reserved"), [("default", True), ("kube-system", True), ("fleet-system", True)])
def test_reserved_namespaces_d4_10(name: str, reserved: bool) -> None:
    assert is_reserved_namespace(name) is reserved
    assert not is_reserved_namespace(f"my-{name}")


@pytest.mark.parametrize(
    "never",
    [
        manifest("v1", "Pod"),
        manifest("v1", "Node"),
        manifest("events.k8s.io/v1", "Event"),
        manifest("coordination.k8s.io/v1", "Lease"),
        manifest("cluster.kubernetes-fleet.io/v1", "MemberCluster"),
        manifest("placement.kubernetes-fleet.io/v1", "ClusterResourcePlacement"),
        manifest("gitops.fleet/v1alpha1", "FleetMember"),
        manifest("apps/v1", "ReplicaSet", metadata={"ownerReferences": [{"kind": "Deployment"}]}),
        manifest("apps/v1", "ControllerRevision", metadata={"ownerReferences": [{"kind": "DaemonSet"}]}),
        manifest("v1", "ConfigMap", "kube-root-ca.crt"),
        manifest("v1", "ServiceAccount", "default"),
        manifest("v1", "Secret", type="kubernetes.io/service-account-token"),
        manifest("v1", "Endpoints", "shop"),
        manifest(
            "discovery.k8s.io/v1", "EndpointSlice", metadata={"labels": {"endpointslice.kubernetes.io/managed-by": "x"}}
        ),
    ],
)
def test_never_placed_with_a_reason_d4_10(never: dict[str, t.Any]) -> None:
    problem = refusal(identify(never), never, services={("web", "shop")})
    assert problem is not None
    assert problem.code == "never-placed"
    assert "is left out: " in problem.message


@pytest.mark.parametrize(
    "placed",
    [
        manifest("apps/v1", "ReplicaSet"),
        manifest("v1", "ConfigMap"),
        manifest("v1", "ServiceAccount"),
        manifest("v1", "Secret", type="Opaque"),
        manifest("v1", "Endpoints", "elsewhere"),
        manifest("v1", "PersistentVolumeClaim"),
        manifest("placement.kubernetes-fleet.io/v1", "ResourceEnvelope"),
        manifest("example.com/v1", "Pod"),
    ],
)
def test_their_neighbours_are_placed(placed: dict[str, t.Any]) -> None:
    assert refusal(identify(placed), placed, services={("web", "shop")}) is None
