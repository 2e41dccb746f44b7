# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the fleet runs and how it is updated, as typed resources on the hub."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.cluster_resource_placement import (
    PlacementSpec,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.strategy import UpdateStrategySpec
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import encode

from ..documents import Document, placement, update_strategy
from ..manifests import manifest


@dataclass(frozen=True, kw_only=True)
class FleetApplicationArgs:
    """``spec`` says what is placed, where (policy), and how it is rolled out (strategy)."""

    provider: k8s.Provider
    spec: PlacementSpec
    cluster: pulumi.Resource | None = None


class FleetApplication(pulumi.ComponentResource):
    """A ClusterResourcePlacement; the verb ``placement`` carries it out."""

    placement: pulumi.Output[str]

    def __init__(self, name: str, args: FleetApplicationArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gitops-fleet:environments:FleetApplication", name, {}, opts)
        self.placement = _named(self, placement(name, encode(args.spec)), args.provider, args.cluster)
        self.register_outputs({"placement": self.placement})


@dataclass(frozen=True, kw_only=True)
class FleetUpdateStrategyArgs:
    """``spec`` is the sequence of stages and groups."""

    provider: k8s.Provider
    spec: UpdateStrategySpec
    cluster: pulumi.Resource | None = None


class FleetUpdateStrategy(pulumi.ComponentResource):
    """An UpdateStrategy; the verb ``update_run`` follows it."""

    strategy: pulumi.Output[str]

    def __init__(self, name: str, args: FleetUpdateStrategyArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gitops-fleet:environments:FleetUpdateStrategy", name, {}, opts)
        self.strategy = _named(self, update_strategy(name, encode(args.spec)), args.provider, args.cluster)
        self.register_outputs({"strategy": self.strategy})


def _named(
    component: pulumi.Resource, document: Document, provider: k8s.Provider, cluster: pulumi.Resource | None
) -> pulumi.Output[str]:
    opts = pulumi.ResourceOptions(parent=component, provider=provider, deleted_with=cluster)
    made: t.Any = manifest("hub", document, opts)
    return t.cast(pulumi.Output[str], made.metadata["name"])
