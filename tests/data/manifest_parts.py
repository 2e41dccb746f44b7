# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Short ways to write the manifests of the tables beside this file."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

Manifest = dict[str, t.Any]

NAMESPACE: Manifest = {"group": "", "version": "v1", "kind": "Namespace", "name": "shop"}
REQUIRED, PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
TERMS = f"spec.policy.affinity.clusterAffinity.{REQUIRED}.clusterSelectorTerms"
WISHES = f"spec.policy.affinity.clusterAffinity.{PREFERRED}"
PICK_N: Manifest = {"placementType": "PickN", "numberOfClusters": 2}


@dataclass(frozen=True)
class Row:
    """``expected`` are ``code path`` of problems (BAD) or findings (the others)."""

    name: str
    manifest: t.Any
    expected: tuple[str, ...] = ()


@dataclass(frozen=True)
class Update:
    """``before`` is stored, ``after`` is written over it."""

    name: str
    before: Manifest
    after: Manifest
    expected: tuple[str, ...] = ()


def crp(policy: t.Any = None, selectors: t.Any = (NAMESPACE,), version: str = "v1beta1", **spec: t.Any) -> Manifest:
    """A placement; ``policy`` and ``spec`` as in a manifest."""
    given = {
        "resourceSelectors": list(selectors) if isinstance(selectors, tuple) else selectors,
        "policy": policy,
        **spec,
    }
    return {
        "apiVersion": f"placement.kubernetes-fleet.io/{version}",
        "kind": "ClusterResourcePlacement",
        "metadata": {"name": "crp"},
        "spec": {key: value for key, value in given.items() if value is not None},
    }


def rp(namespace: str = "shop", **spec: t.Any) -> Manifest:
    """A ResourcePlacement of all ConfigMaps."""
    selectors = ({"group": "", "version": "v1", "kind": "ConfigMap"},)
    metadata = {"name": "web", **({"namespace": namespace} if namespace else {})}
    return {**crp(selectors=selectors, **spec), "kind": "ResourcePlacement", "metadata": metadata}


def required(*terms: t.Any, **policy: t.Any) -> Manifest:
    affinity = {"clusterAffinity": {REQUIRED: {"clusterSelectorTerms": list(terms)}}}
    return {"placementType": "PickAll", **policy, "affinity": affinity}


def preferred(terms: t.Any, **policy: t.Any) -> Manifest:
    return {**PICK_N, **policy, "affinity": {"clusterAffinity": {PREFERRED: terms}}}


def wish(weight: t.Any = 20, **preference: t.Any) -> Manifest:
    return {"weight": weight, "preference": preference}


def needs(*expressions: t.Any) -> Manifest:
    return {"propertySelector": {"matchExpressions": list(expressions)}}


def want(name: str = "kubernetes-fleet.io/node-count", operator: str = "Ge", *values: t.Any) -> Manifest:
    return {"name": name, "operator": operator, "values": list(values)}


def sorter(name: str = "kubernetes-fleet.io/node-count", order: str = "Descending") -> Manifest:
    return {"name": name, "sortOrder": order}


def tolerate(*tolerations: t.Any) -> Manifest:
    return crp({**PICK_N, "tolerations": list(tolerations)})


def strategy(**fields: t.Any) -> Manifest:
    return crp(strategy=fields)


def cluster(taints: t.Any = None, **spec: t.Any) -> Manifest:
    given = {"identity": {"kind": "User", "name": "fleet"}, "taints": taints, **spec}
    return {
        "apiVersion": "cluster.kubernetes-fleet.io/v1beta1",
        "kind": "MemberCluster",
        "metadata": {"name": "member-1"},
        "spec": {key: value for key, value in given.items() if value is not None},
    }


def member(connection: t.Any, **spec: t.Any) -> Manifest:
    return {
        "apiVersion": "gitops.fleet/v1alpha1",
        "kind": "FleetMember",
        "metadata": {"name": "member-1"},
        "spec": {"connection": connection, **spec},
    }


def named(manifest: Manifest, **metadata: t.Any) -> Manifest:
    return {**manifest, "metadata": {**manifest["metadata"], **metadata}}


def scoped(**fields: t.Any) -> Manifest:
    return {**NAMESPACE, "selectionScope": "NamespaceWithResourceSelectors", **fields}


EAST = {"labelSelector": {"matchLabels": {"region": "east"}}}
SPREAD = {"topologyKey": "region"}
DEPLOYMENT = {"group": "apps", "version": "v1", "kind": "Deployment", "name": "web"}
SECRET_REF = {"name": "member-1", "namespace": "fleet"}
