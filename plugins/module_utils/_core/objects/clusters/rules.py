# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Rules of MemberCluster and FleetMember over several fields: taints (``invalid-taint``), identity, the label of an
Azure subscription; connection (``connection-source``, ``context-in-cluster``), status."""

from __future__ import annotations

import re
import typing as t

from ...schema.finding import Finding
from ...schema.rules import Found
from ...values.selector import label_key_problem, label_value_problem
from .fleet_member import FleetMember, FleetMemberStatus
from .maintenance_rules import check_windows_and_freezes
from .member_cluster import MemberCluster, Taint

SUBSCRIPTION = "fleet.azure.com/subscription-id"
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)


def check_member_cluster(member: MemberCluster) -> t.Iterator[Found]:
    """What is wrong with a MemberCluster: an identity without kind or name (``empty-text``), then taints with a
    malformed key or value (``invalid-taint``), or with key, value and effect of an earlier one (``duplicate-taint``;
    KubeFleet's webhook)."""
    if member.spec:
        for name, value in (("kind", member.spec.identity.kind), ("name", member.spec.identity.name)):
            if not value:
                yield Found("empty-text", f"spec.identity.{name}", f"{name} must not be empty")
    seen: set[Taint] = set()
    for index, taint in enumerate(member.taints):
        path = f"spec.taints[{index}]"
        for name, problem in (("key", label_key_problem(taint.key)), ("value", label_value_problem(taint.value))):
            if problem:
                yield Found("invalid-taint", f"{path}.{name}", problem)
        if taint in seen:
            yield Found("duplicate-taint", path, "this taint stands twice")
        seen.add(taint)


def warn_member_cluster(member: MemberCluster) -> t.Iterator[Finding]:
    """The finding ``subscription-id-no-uuid`` if a MemberCluster has the label ``fleet.azure.com/subscription-id``, and
    its value is no UUID: a name is easily taken for it."""
    written = member.metadata.labels.get(SUBSCRIPTION)
    if written is not None and not _UUID.fullmatch(written):
        path = f"metadata.labels[{SUBSCRIPTION}]"
        reason = f"{written!r:.80} is no UUID, and the id of a subscription is one"
        yield Finding("subscription-id-no-uuid", path, path, written, written, reason)


def check_member_status(status: FleetMemberStatus) -> t.Iterator[Found]:
    """What is wrong with the windows and freezes in the status of a FleetMember, those of the cluster itself, as of
    ``check_windows_and_freezes``."""
    if status.maintenance is not None:
        yield from check_windows_and_freezes(status.maintenance, "status.maintenance")


def check_fleet_member(member: FleetMember) -> t.Iterator[Found]:
    """What is wrong with the status of a FleetMember, as of ``check_member_status``, then with its connection: not
    exactly one of kubeconfig, secretRef and ``inCluster: true`` (``connection-source``), a context beside ``inCluster``
    (``context-in-cluster``), a Secret without name or namespace (``empty-text``)."""
    yield from check_member_status(member.status)
    connection = member.spec.connection
    given = [bool(connection.kubeconfig), connection.secret_ref is not None, connection.in_cluster]
    if given.count(True) != 1:
        message = "exactly one of kubeconfig, secretRef and inCluster: true is wanted"
        yield Found("connection-source", "spec.connection", message)
    if connection.in_cluster and connection.context:
        message = "a context is chosen in a kubeconfig, and there is none inside the cluster"
        yield Found("context-in-cluster", "spec.connection.context", message)
    reference = connection.secret_ref
    for name, value in (("name", reference.name), ("namespace", reference.namespace)) if reference else ():
        if not value:
            yield Found("empty-text", f"spec.connection.secretRef.{name}", f"{name} must not be empty")
