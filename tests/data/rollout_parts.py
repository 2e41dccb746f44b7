# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Short ways to write overrides, envelopes, evictions with their budgets, and staged updates of a placement."""

from __future__ import annotations

import typing as t

from ansible_collections.gitops.fleet.tests.data.manifest_parts import Manifest

RULES, STAGES = "spec.policy.overrideRules", "spec.stages"
ALL: Manifest = {"clusterSelectorTerms": []}
ROLE: Manifest = {"group": "rbac.authorization.k8s.io", "version": "v1", "kind": "ClusterRole", "name": "reader"}
WEB: Manifest = {"group": "apps", "version": "v1", "kind": "Deployment", "name": "web"}
PATCH: Manifest = {"op": "add", "path": "/metadata/labels/on", "value": "${MEMBER-CLUSTER-NAME}"}
RULE: Manifest = {"clusterSelector": ALL, "jsonPatchOverrides": [PATCH]}
WAIT: Manifest = {"type": "TimedWait", "waitTime": "1h30m"}
APPROVE: Manifest = {"type": "Approval"}


def _placement(kind: str, name: str, **fields: t.Any) -> Manifest:
    return {
        "apiVersion": "placement.kubernetes-fleet.io/v1beta1",
        "kind": kind,
        "metadata": {"name": name},
        **fields,
    }


def in_shop(manifest: Manifest) -> Manifest:
    return {**manifest, "metadata": {**manifest["metadata"], "namespace": "shop"}}


def override(*rules: t.Any, selectors: t.Any = (ROLE,), **spec: t.Any) -> Manifest:
    """``selectors`` None leaves them out."""
    chosen = {} if selectors is None else {"clusterResourceSelectors": list(selectors)}
    fields = {**chosen, "policy": {"overrideRules": list(rules) or [RULE]}, **spec}
    return _placement("ClusterResourceOverride", "roles", spec=fields)


def resource_override(*rules: t.Any, selectors: t.Any = (WEB,), **spec: t.Any) -> Manifest:
    fields = {"resourceSelectors": list(selectors), "policy": {"overrideRules": list(rules) or [RULE]}, **spec}
    return in_shop(_placement("ResourceOverride", "web", spec=fields))


def patched(**patch: t.Any) -> Manifest:
    """An override with one patch, with these fields changed; None leaves a field out."""
    fields = {key: each for key, each in {**PATCH, **patch}.items() if each is not None}
    return override({**RULE, "jsonPatchOverrides": [fields]})


def chosen(*terms: t.Any) -> Manifest:
    return override({**RULE, "clusterSelector": {"clusterSelectorTerms": list(terms)}})


def inner(kind: str = "ClusterRole", name: t.Any = "reader", group: str = "rbac.authorization.k8s.io/v1") -> Manifest:
    return {"apiVersion": group, "kind": kind, "metadata": {"name": name}}


def config(name: str = "settings", namespace: str = "shop") -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": {"colour": "blue"},
    }


def envelope(**data: t.Any) -> Manifest:
    return _placement("ClusterResourceEnvelope", "roles", data=data)


def resource_envelope(**data: t.Any) -> Manifest:
    return in_shop(_placement("ResourceEnvelope", "settings", data=data))


def eviction(**spec: t.Any) -> Manifest:
    fields = {"placementName": "web", "clusterName": "eu-1", **spec}
    kept = {key: each for key, each in fields.items() if each is not None}
    return _placement("ClusterResourcePlacementEviction", "web-eu-1", spec=kept)


def budget(**spec: t.Any) -> Manifest:
    return _placement("ClusterResourcePlacementDisruptionBudget", "web", spec=spec)


def staged(name: t.Any = "canary", **fields: t.Any) -> Manifest:
    """A stage of all clusters; None leaves a field out."""
    stage = {"name": name, "labelSelector": {}, **fields}
    return {key: each for key, each in stage.items() if each is not None}


def staged_strategy(*stages: t.Any) -> Manifest:
    return _placement("ClusterStagedUpdateStrategy", "rings", spec={"stages": list(stages)})


def staged_run(state: t.Any = None, **spec: t.Any) -> Manifest:
    fields = {"placementName": "web", "stagedRolloutStrategyName": "rings", "state": state, **spec}
    kept = {key: each for key, each in fields.items() if each is not None}
    return _placement("ClusterStagedUpdateRun", "web-7", spec=kept)


def approval_request(**spec: t.Any) -> Manifest:
    fields = {"parentStageRollout": "web-7", "targetStage": "canary", **spec}
    kept = {key: each for key, each in fields.items() if each is not None}
    return _placement("ClusterApprovalRequest", "web-7-after-canary", spec=kept)


def twin(manifest: Manifest) -> Manifest:
    """The namespaced kind with the same fields."""
    return in_shop({**manifest, "kind": manifest["kind"].removeprefix("Cluster")})
