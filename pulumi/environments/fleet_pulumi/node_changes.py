# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a change of settings does to nodes: told, and refused where it cannot be, before any resource is registered."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from functools import partial

import pulumi
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.network_file import read_network
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.planned_nodes import NodesPlan
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError, Problem
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.environments.node_plan import (
    NodesWish,
    planned_nodes,
)
from ansible_collections.gitops.fleet.plugins.module_utils._kube.parallel import in_parallel
from ansible_collections.gitops.fleet.plugins.module_utils._local import cluster

from .components.nodes import MANAGER, owned
from .documents import Document, node_class, node_pool
from .existing_cluster import AWAY
from .labels import environment_labels, labelled
from .settings import Cluster, Settings


def classes_of(member: Cluster) -> list[Document]:
    """The documents of the node classes that the settings give the member, in their order."""
    return [node_class(each.name, each.spec) for each in member.node_classes]


def pools_of(member: Cluster) -> list[Document]:
    """The documents of the NodePools that the settings give the member, in their order."""
    return [node_pool(each.name, each.spec) for each in member.node_pools]


def tell_node_changes(settings: Settings) -> None:
    """A warning for each change that replaces nodes, with their names, and for each member that does not answer where
    that is borne. RunError with all that cannot be."""
    problems: list[Problem] = []
    asked = [each for each in settings.members if each.node_pools or each.node_classes]
    for name, found in in_parallel({each.name: partial(_planned, settings, each) for each in asked}).items():
        if not isinstance(found, FleetError):
            notes = found.notes
            problems += found.problems
        elif _is_borne(settings, found):
            notes = (f"{name}: what becomes of its nodes is not known, for it does not answer: {found.message}",)
        else:
            notes = ()
            problems += found.problems
        for note in notes:
            pulumi.warn(note)
    if problems:
        raise pulumi.RunError(f"nothing is changed: {FleetError.of(problems)}")


def _planned(settings: Settings, member: Cluster) -> NodesPlan:
    return planned_nodes(_wish(settings, member), os.environ, datetime.now(UTC))


def _is_borne(settings: Settings, error: FleetError) -> bool:
    """Of a member that does not answer, and is left as it is, or of kind: the run makes that again if it is gone."""
    borne = settings.skip_unreachable or settings.backend == "kind"
    return borne and all(each.code in AWAY for each in error.problems)


def _wish(settings: Settings, member: Cluster) -> NodesWish:
    kubeconfig, context = _reached(settings, member)
    documents = [*classes_of(member), *pools_of(member)]
    return NodesWish(
        name=member.name,
        kubeconfig=kubeconfig,
        context=context,
        documents=tuple(labelled(owned(each), settings.stack) for each in documents),
        labels=environment_labels(settings.stack),
        manager=MANAGER,
        network=read_network(member.network, "network"),
        allow_move=member.allow_subnet_move,
    )


def _reached(settings: Settings, member: Cluster) -> tuple[str, str]:
    """Its administrator's kubeconfig and context; empty of a cluster that is not there, or does not run: nobody can
    ask it, and the run that is planned makes or mends it first."""
    if settings.backend == "existing":
        return member.kubeconfig_path, member.context
    if settings.backend == "kind":
        place = settings.kind_kubeconfig(member)
        return (str(place), "") if place.is_file() else ("", "")
    now = cluster.status(settings.folder / "clusters", member.name)
    return (now.kubeconfig, "") if now.state == "running" else ("", "")
