# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From settings to resources: clusters, hub, members, applications; what is told to Ansible."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

import pulumi
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
from .components.hub import FleetHub, FleetHubArgs
from .components.member import FleetMember, FleetMemberArgs
from .labels import label_everything
from .local_cluster import LocalCluster
from .settings import Cluster, Settings

SCHEMA = 1


@dataclass(frozen=True, kw_only=True)
class Reached:
    """A cluster, made here or not: how its administrator reaches it. ``made`` is None for one that is not ours."""

    kubeconfig: pulumi.Input[str]
    context: pulumi.Input[str]
    version: pulumi.Input[str]
    made: LocalCluster | None = None


def make_fleet(settings: Settings) -> pulumi.Output[dict[str, t.Any]]:
    """Registers everything; gives the output ``fleet_inventory``."""
    label_everything(settings.stack)
    home = _cluster(settings, settings.hub)
    hub = FleetHub(
        "hub",
        FleetHubArgs(
            kubeconfig=home.kubeconfig,
            context=home.context,
            skip_unreachable=settings.skip_unreachable,
            cluster=home.made,
        ),
    )
    ready = pulumi.ResourceOptions(depends_on=hub.ready)
    rows = []
    for each in settings.members:
        reached = _cluster(settings, each)
        member = FleetMember(each.name, _member_args(settings, each, reached, hub, home.made), ready)
        rows.append(_row(each, reached, member.kubeconfig, each.name, settings.backend))
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
        return Reached(kubeconfig=cluster.kubeconfig, context=cluster.context, version="")
    made = LocalCluster(
        cluster.name,
        name=cluster.name,
        version=cluster.version,
        profile=cluster.profile,
        nodes=[vars(pool) for pool in cluster.nodes],
        region=cluster.region,
        root=str(settings.folder / "clusters"),
        ports=settings.ports,
        opts=pulumi.ResourceOptions(protect=settings.protect),
    )
    return Reached(kubeconfig=made.kubeconfig, context=made.context, version=made.running_version, made=made)


def _member_args(
    settings: Settings, member: Cluster, reached: Reached, hub: FleetHub, hub_cluster: LocalCluster | None
) -> FleetMemberArgs:
    return FleetMemberArgs(
        name=member.name,
        kubeconfig=reached.kubeconfig,
        context=reached.context,
        hub=hub.provider,
        login=str(settings.folder / "logins" / f"{member.name}.kubeconfig"),
        days=settings.token_days,
        labels=member.labels,
        group=member.group,
        driver="local" if reached.made is not None else "",
        kinds=[vars(kind) for kind in settings.placed_kinds],
        skip_unreachable=settings.skip_unreachable,
        cluster=reached.made,
        hub_cluster=hub_cluster,
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
