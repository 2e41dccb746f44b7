# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A member of the fleet: what it grants us, the login that uses it, and its two objects on the hub."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import NAMESPACE
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.rights import rights

from ..documents import fleet_member, member_cluster
from ..manifests import manifest
from ..member_login import MemberLogin
from .hub import Care, cluster_provider

ACCOUNT = "gitops-fleet"
# What most applications are made of; more is named by placedKinds.
COMMON_KINDS = (
    ("v1", "Namespace"),
    ("v1", "ConfigMap"),
    ("v1", "Secret"),
    ("v1", "Service"),
    ("v1", "ServiceAccount"),
    ("apps/v1", "Deployment"),
)


@dataclass(frozen=True, kw_only=True)
class FleetMemberArgs:
    """``kubeconfig`` and ``context`` are the member's administrator; ``login`` is the path of the file that is made for
    the service account and marked as that of the stack ``owner``, its token good for ``days``. ``cluster`` and
    ``hub_cluster`` go with all that is in them when they are deleted. ``kinds`` has the keys api_version, kind, plural
    and namespaced. ``labels`` are those of people, and stand above those that its ``cloud`` gives it."""

    name: str
    kubeconfig: pulumi.Input[str]
    context: pulumi.Input[str]
    hub: k8s.Provider
    login: str
    days: int
    labels: t.Mapping[str, str]
    cloud: pulumi.Output[dict[str, str]] | None = None
    group: str = ""
    driver: str = ""
    location: str = ""
    kinds: t.Sequence[t.Mapping[str, t.Any]] = ()
    care: Care = Care()
    owner: str = ""
    cluster: pulumi.Resource | None = None
    hub_cluster: pulumi.Resource | None = None


class FleetMember(pulumi.ComponentResource):
    """``kubeconfig`` is the path of the login that playbooks use, which may do what ``fleet_rbac_info`` prints;
    ``provider``, its administrator's, is for further objects on it."""

    kubeconfig: pulumi.Output[str]
    provider: k8s.Provider

    def __init__(self, name: str, args: FleetMemberArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gitops-fleet:environments:FleetMember", name, {}, opts)
        own = pulumi.ResourceOptions(parent=self)
        self.provider = cluster_provider(args.name, args.kubeconfig, args.context, args.care, own)
        there = pulumi.ResourceOptions(parent=self, provider=self.provider, deleted_with=args.cluster)
        namespace, *documents = member_documents(args.kinds)
        home = manifest(args.name, namespace, there)
        inside = pulumi.ResourceOptions.merge(there, pulumi.ResourceOptions(depends_on=[home]))
        granted = [manifest(args.name, document, inside) for document in documents]
        login = MemberLogin(
            f"{args.name}/login",
            kubeconfig=args.kubeconfig,
            context=args.context,
            namespace=NAMESPACE,
            account=ACCOUNT,
            path=args.login,
            name=args.name,
            days=args.days,
            owner=args.owner,
            opts=pulumi.ResourceOptions(parent=self, depends_on=granted),
        )
        self.kubeconfig = login.path
        on_hub = pulumi.ResourceOptions(parent=self, provider=args.hub, deleted_with=args.hub_cluster)
        for document in (
            _member_cluster(args),
            fleet_member(args.name, login.path, args.name, args.group, args.driver, args.location),
        ):
            manifest("hub", document, on_hub)
        self.register_outputs({"kubeconfig": self.kubeconfig})


def _member_cluster(args: FleetMemberArgs) -> dict[str, t.Any]:
    document = member_cluster(args.name, args.labels)
    if args.cloud is not None:
        document["metadata"]["labels"] = args.cloud.apply(lambda told: {**told, **args.labels})
    return document


def member_documents(kinds: t.Sequence[t.Mapping[str, t.Any]]) -> list[dict[str, t.Any]]:
    """Namespace, service account, and its rights for applying ``kinds`` and the common ones."""
    subject = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE}
    common = [
        {"api_version": version, "kind": kind, "plural": "", "namespaced": True} for version, kind in COMMON_KINDS
    ]
    namespace, *granted = rights("apply", subject, [*common, *kinds])
    metadata = {"name": ACCOUNT, "namespace": NAMESPACE}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    return [namespace, account, *granted]
