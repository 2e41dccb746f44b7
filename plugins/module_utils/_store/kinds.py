# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The kinds that are kept as records, and under which API version.

Records are known by kind and name, so that kinds that lie in a namespace are none; envelopes are resources to place.
"""

from __future__ import annotations

import re
import typing as t

from .._core.errors import FleetError
from .._kube.paths import Resource

_PLACEMENT, _OURS = "placement.kubernetes-fleet.io", "gitops.fleet"
_STORED = (
    Resource("cluster.kubernetes-fleet.io", "v1beta1", "MemberCluster", "memberclusters", False),
    Resource(_OURS, "v1alpha1", "FleetMember", "fleetmembers", False),
    Resource(_OURS, "v1alpha1", "UpdateStrategy", "updatestrategies", False),
    Resource(_OURS, "v1alpha1", "UpdateRun", "updateruns", False),
    Resource(_OURS, "v1alpha1", "Gate", "gates", False),
    Resource(_OURS, "v1alpha1", "FleetMaintenance", "fleetmaintenances", False),
    Resource(_OURS, "v1alpha1", "ReleaseCatalog", "releasecatalogs", False),
    Resource(_OURS, "v1alpha1", "AutoUpgradeProfile", "autoupgradeprofiles", False),
    Resource(_PLACEMENT, "v1beta1", "ClusterResourcePlacement", "clusterresourceplacements", False),
    Resource(_PLACEMENT, "v1beta1", "ClusterSchedulingPolicySnapshot", "clusterschedulingpolicysnapshots", False),
    Resource(_PLACEMENT, "v1beta1", "ClusterResourceSnapshot", "clusterresourcesnapshots", False),
    Resource(_PLACEMENT, "v1beta1", "ClusterResourceBinding", "clusterresourcebindings", False),
    Resource(_PLACEMENT, "v1beta1", "ClusterResourceOverride", "clusterresourceoverrides", False),
    Resource(_PLACEMENT, "v1beta1", "ClusterResourcePlacementEviction", "clusterresourceplacementevictions", False),
    Resource(
        _PLACEMENT,
        "v1beta1",
        "ClusterResourcePlacementDisruptionBudget",
        "clusterresourceplacementdisruptionbudgets",
        False,
    ),
    Resource(_PLACEMENT, "v1beta1", "ClusterStagedUpdateStrategy", "clusterstagedupdatestrategies", False),
    Resource(_PLACEMENT, "v1beta1", "ClusterStagedUpdateRun", "clusterstagedupdateruns", False),
    Resource(_PLACEMENT, "v1beta1", "ClusterApprovalRequest", "clusterapprovalrequests", False),
)
KINDS: t.Mapping[str, Resource] = {resource.kind: resource for resource in _STORED}
_ALSO_SERVED = {
    f"{group}/v1": f"{group}/v1beta1" for group in ("cluster.kubernetes-fleet.io", "placement.kubernetes-fleet.io")
}
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def stored_resource(kind: str) -> Resource:
    """Where records of this kind are kept. FleetError ``unknown-kind``, also for Secrets, which are never records."""
    if kind not in KINDS:
        raise FleetError(
            "unknown-kind",
            f"{kind or 'an object without kind'} is not kept as a record",
            hint=f"records are {', '.join(KINDS)}",
        )
    return KINDS[kind]


def stored_version(record: t.Mapping[str, t.Any]) -> str:
    """The API version under which the record is kept: v1 and v1beta1 have one schema, and the latter is stored.

    FleetError ``unknown-kind`` for an API version that the kind does not have.
    """
    kind, version = str(record.get("kind", "")), str(record.get("apiVersion", ""))
    kept = stored_resource(kind).api_version
    if _ALSO_SERVED.get(version, version) != kept:
        raise FleetError("unknown-kind", f"{kind} has no API version {version!r}", hint=f"write {kept}")
    return kept


def is_name(name: str) -> bool:
    """Whether this is a DNS subdomain of at most 253 characters (RFC 1123), as names of all our kinds are."""
    return len(name) <= 253 and _SUBDOMAIN.fullmatch(name) is not None
