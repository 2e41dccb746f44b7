# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Rights (RBAC) of people and pipelines on the hub, each for one part only (``hub_reader``, ``hub_approver``,
``hub_staged_approver``, ``hub_maintainer``, ``hub_conductor``, ``hub_scheduler``); and in the namespace where roles run
as Jobs (``jobs``)."""

from __future__ import annotations

import typing as t

from ..._core.objects.api_groups import CLUSTER_GROUP, FLEET_GROUP, PLACEMENT_GROUP
from ..._core.objects.identity import JOBS_NAMESPACE
from ..._core.objects.kinds import KIND_OF
from ..._core.objects.placements.key import PLACEMENT_KINDS
from ..._core.objects.staged.key import RUN_KINDS
from ..._kube.rbac import Grant, Manifest, Subject, role_manifests
from .member_lease import ID_SECRET

LEASES = "coordination.k8s.io"
ADMISSION = "admissionregistration.k8s.io"
POLICIES = ("validatingadmissionpolicies", "validatingadmissionpolicybindings")
READ, WRITE, UPDATE = ("get", "list"), ("get", "list", "create", "update"), ("update",)
ALL = (*WRITE, "delete")

_VOUCHED = Grant(ADMISSION, POLICIES, ("get",))
# Entries are added by whoever changes something, and neither changed nor deleted by anyone who works with the fleet.
_TESTIFIES = Grant(FLEET_GROUP, ("auditentries",), ("get", "list", "create"))
_MEMBERS = (Grant(FLEET_GROUP, ("fleetmembers",), READ), Grant(CLUSTER_GROUP, ("memberclusters",), READ))
_CONDUCTOR = (
    # Rotations are of node pools, as long as these are upgraded.
    Grant(FLEET_GROUP, ("updateruns", "updatestrategies", "gates", "noderotations"), ALL),
    Grant(FLEET_GROUP, ("fleetmaintenances", "releasecatalogs"), WRITE),
    Grant(
        FLEET_GROUP,
        ("updateruns/status", "gates/status", "fleetmembers/status", "noderotations/status"),
        UPDATE,
    ),
    *_MEMBERS,
    _VOUCHED,
    _TESTIFIES,
)
# It tells these records from others, on the Leases of members; joining makes it.
_OWN_ID = Grant("", ("secrets",), ("get",), (ID_SECRET,))
_HELD = {"gitops-fleet": (Grant(LEASES, ("leases",), ALL), _OWN_ID), "default": (Grant("", ("events",), WRITE[:3]),)}
READER, APPROVER, CONDUCTOR, SCHEDULER = "hub_reader", "hub_approver", "hub_conductor", "hub_scheduler"
STAGED_APPROVER, MAINTAINER = "hub_staged_approver", "hub_maintainer"
JOBS = "jobs"
_OF_JOBS = (
    Grant("batch", ("jobs",), ("get", "list", "create", "delete")),
    Grant("", ("secrets",), ("create",)),
    Grant("", ("pods", "events"), ("list",)),
)
# The digest of a staged run is computed by whoever approves it, from all that it covers.
_STAGED = (
    *(KIND_OF[kind].plural for each in RUN_KINDS for kind in (each.run, each.strategy, each.approval)),
    *(
        KIND_OF[kind].plural
        for each in PLACEMENT_KINDS
        for kind in (each.placement, each.binding, each.policy_snapshot, each.resource_snapshot)
    ),
)
# In all of the hub, and in namespaces of it.
PARTS: t.Mapping[str, tuple[tuple[Grant, ...], t.Mapping[str, tuple[Grant, ...]]]] = {
    READER: (
        (
            Grant(
                FLEET_GROUP,
                ("updateruns", "gates", "fleetmaintenances", "releasecatalogs", "autoupgradeprofiles", "auditentries"),
                READ,
            ),
            *_MEMBERS,
        ),
        {"gitops-fleet": (Grant(LEASES, ("leases",), READ),)},
    ),
    APPROVER: (
        (
            Grant(FLEET_GROUP, ("updateruns", "gates"), ("get",)),
            Grant(FLEET_GROUP, ("gates/status",), UPDATE),
            Grant(FLEET_GROUP, ("auditentries",), ("create",)),
            _VOUCHED,
        ),
        {},
    ),
    STAGED_APPROVER: (
        (
            Grant(PLACEMENT_GROUP, _STAGED, READ),
            Grant(PLACEMENT_GROUP, tuple(f"{KIND_OF[each.approval].plural}/status" for each in RUN_KINDS), UPDATE),
            Grant(CLUSTER_GROUP, ("memberclusters",), READ),
            Grant(FLEET_GROUP, ("auditentries",), ("create",)),
            _VOUCHED,
        ),
        {},
    ),
    MAINTAINER: (
        (
            Grant(FLEET_GROUP, ("fleetmaintenances",), ALL),
            Grant(FLEET_GROUP, ("updateruns",), ("get",)),
            Grant(FLEET_GROUP, ("releasecatalogs",), READ),
            *_MEMBERS,
            Grant(FLEET_GROUP, ("auditentries",), ("create",)),
        ),
        {},
    ),
    CONDUCTOR: (_CONDUCTOR, _HELD),
    SCHEDULER: (
        (
            *_CONDUCTOR,
            Grant(FLEET_GROUP, ("autoupgradeprofiles",), WRITE),
            Grant(FLEET_GROUP, ("autoupgradeprofiles/status",), UPDATE),
            Grant(PLACEMENT_GROUP, ("clusterstagedupdateruns", "stagedupdateruns"), READ),
        ),
        _HELD,
    ),
}


def hub_manifests(purpose: str, subject: Subject) -> tuple[Manifest, ...]:
    """Roles and bindings for one of ``PARTS``, to be applied on the hub by its owner. KeyError for any other
    purpose."""
    everywhere, inside = PARTS[purpose]
    return role_manifests(purpose.replace("_", "-"), subject, everywhere, inside)


def job_manifests(subject: Subject) -> tuple[Manifest, ...]:
    """What a conductor needs besides where roles run as Jobs, on the hub or elsewhere: their namespace, which takes
    only pods that are ``restricted``, and rights in it alone. Secrets are made there, and not read."""
    labels = {"app.kubernetes.io/managed-by": "gitops.fleet", "pod-security.kubernetes.io/enforce": "restricted"}
    metadata = {"name": JOBS_NAMESPACE, "labels": labels}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    return namespace, *role_manifests(JOBS, subject, (), {JOBS_NAMESPACE: _OF_JOBS})
