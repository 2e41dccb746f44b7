# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From settings to resources: clusters, hub, members, applications; what is told to Ansible."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.cluster_resource_placement import (
    PlacementSpec,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.strategy import UpdateStrategySpec
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode

from .components.applications import (
    FleetApplication,
    FleetApplicationArgs,
    FleetUpdateStrategy,
    FleetUpdateStrategyArgs,
)
from .components.hub import Care, FleetHub, FleetHubArgs
from .components.member import FleetMember, FleetMemberArgs
from .components.nodes import FleetNodes, FleetNodesArgs
from .existing_cluster import ExistingCluster
from .kind_cluster import KindCluster
from .kind_commands import KindSpec
from .labels import label_everything
from .local_cluster import LocalCluster
from .node_changes import classes_of, pools_of, tell_node_changes
from .settings import Cluster, Settings

SCHEMA = 1


@dataclass(frozen=True, kw_only=True)
class Reached:
    """A cluster, made here or not: how its administrator reaches it. ``made`` is None for one that is not ours;
    ``labels`` are what that tells of its cloud."""

    kubeconfig: pulumi.Input[str]
    context: pulumi.Input[str]
    version: pulumi.Input[str]
    made: pulumi.Resource | None = None
    labels: pulumi.Output[dict[str, str]] | None = None


def make_fleet(settings: Settings) -> pulumi.Output[dict[str, t.Any]]:
    """Registers everything; gives the output ``fleet_inventory``. RunError before that for what cannot be."""
    tell_node_changes(settings)
    label_everything(settings.stack)
    home = _cluster(settings, settings.hub)
    hub = FleetHub(
        "hub",
        FleetHubArgs(
            kubeconfig=home.kubeconfig,
            context=home.context,
            care=_care(settings),
            cluster=home.made,
            protect=settings.protect,
        ),
    )
    ready = pulumi.ResourceOptions(depends_on=hub.ready)
    rows = []
    for each in settings.members:
        reached = _cluster(settings, each)
        member = FleetMember(each.name, _member_args(settings, each, reached, hub, home.made), ready)
        rows.append(_row(each, reached, member.kubeconfig, each.name, settings.backend))
        if each.node_classes or each.node_pools:
            FleetNodes(f"{each.name}/nodes", _nodes_args(settings, each, reached, member.provider))
    for application in settings.applications:
        spec = decode(PlacementSpec, application.spec)
        args = FleetApplicationArgs(provider=hub.provider, spec=spec, cluster=home.made)
        FleetApplication(application.name, args, ready)
    for strategy in settings.update_strategies:
        sequence = decode(UpdateStrategySpec, strategy.spec)
        FleetUpdateStrategy(
            strategy.name, FleetUpdateStrategyArgs(provider=hub.provider, spec=sequence, cluster=home.made), ready
        )
    hub_row = _row(settings.hub, home, home.kubeconfig, home.context, settings.backend)
    return pulumi.Output.from_input(
        {"schema_version": SCHEMA, "environment": settings.stack, "hub": hub_row, "members": rows}
    )


def _cluster(settings: Settings, cluster: Cluster) -> Reached:
    if settings.backend == "existing":
        return _existing(settings, cluster)
    if settings.backend == "kind":
        return _kind(settings, cluster)
    made = LocalCluster(
        cluster.name,
        name=cluster.name,
        version=cluster.version,
        profile=cluster.profile,
        nodes=[vars(pool) for pool in cluster.nodes],
        region=cluster.region,
        root=str(settings.folder / "clusters"),
        ports=settings.ports,
        owner=settings.owner,
        opts=pulumi.ResourceOptions(protect=settings.protect),
    )
    return Reached(kubeconfig=made.kubeconfig, context=made.context, version=made.running_version, made=made)


def _existing(settings: Settings, cluster: Cluster) -> Reached:
    """Its kubeconfig is known before anything is asked, so that a preview can look at what is in it."""
    there = ExistingCluster(
        cluster.name,
        kubeconfig=cluster.kubeconfig_path,
        context=cluster.context,
        skip_unreachable=settings.skip_unreachable,
    )
    return Reached(
        kubeconfig=cluster.kubeconfig_path, context=cluster.context, version=there.version, labels=there.labels
    )


def _kind(settings: Settings, cluster: Cluster) -> Reached:
    """Its name has that of the stack, for all kind clusters of a machine share their names."""
    spec = KindSpec(
        name=f"{settings.stack}-{cluster.name}",
        image=cluster.image,
        port=cluster.port,
        workers=cluster.workers,
        kubeconfig=str(settings.kind_kubeconfig(cluster)),
    )
    made = KindCluster(cluster.name, spec, pulumi.ResourceOptions(protect=settings.protect))
    return Reached(kubeconfig=made.kubeconfig, context=made.context, version="", made=made)


def _care(settings: Settings) -> Care:
    """Whatever is in a cluster that this stack made is of this stack."""
    own = settings.backend != "existing"
    return Care(skip_unreachable=settings.skip_unreachable, take_over=own or settings.take_over)


def _member_args(
    settings: Settings, member: Cluster, reached: Reached, hub: FleetHub, hub_cluster: pulumi.Resource | None
) -> FleetMemberArgs:
    return FleetMemberArgs(
        name=member.name,
        kubeconfig=reached.kubeconfig,
        context=reached.context,
        hub=hub.provider,
        login=str(settings.folder / "logins" / f"{member.name}.kubeconfig"),
        days=settings.token_days,
        labels=member.labels,
        cloud=reached.labels,
        group=member.group,
        location=member.region,
        driver="local" if settings.backend == "local" else "",
        kinds=[vars(kind) for kind in settings.placed_kinds],
        care=_care(settings),
        owner=settings.owner,
        cluster=reached.made,
        hub_cluster=hub_cluster,
    )


def _nodes_args(settings: Settings, member: Cluster, reached: Reached, provider: k8s.Provider) -> FleetNodesArgs:
    return FleetNodesArgs(
        member=member.name,
        provider=provider,
        classes=classes_of(member),
        pools=pools_of(member),
        cluster=reached.made,
        protect=settings.protect,
    )


def _row(
    cluster: Cluster, reached: Reached, kubeconfig: pulumi.Input[str], context: pulumi.Input[str], backend: str
) -> dict[str, t.Any]:
    """References only: a path and a context, never what is in the file."""
    return {
        "name": cluster.name,
        "backend": backend,
        "version": reached.version,
        "region": cluster.region,
        "group": cluster.group,
        "labels": cluster.labels,
        "kubeconfig": kubeconfig,
        "context": context,
    }
