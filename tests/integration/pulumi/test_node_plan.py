# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a program's node classes and pools do to nodes, asked of a real API server: told, and nothing written."""

from __future__ import annotations

import sys
import typing as t
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.subnet_change import Network, Subnet
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.environments.node_plan import (
    NodesWish,
    planned_nodes,
)
from ansible_collections.gitops.fleet.plugins.module_utils._kube.apply import apply_object
from small_fleet import Server

sys.path.insert(0, str(Path(__file__).parent))

from karpenter_kinds import CLASSES, POOLS, VNET, claimed, install, uninstall

LABELS = {"gitops.fleet/environment": "test"}
NETWORK = Network(subnets={f"{VNET}nodes": Subnet(prefixes=("10.2.0.0/24",))})
MANAGER = "pulumi-kubernetes"


def a_class(subnet: str) -> dict[str, t.Any]:
    metadata = {"name": "default", "labels": LABELS}
    spec = {"vnetSubnetID": f"{VNET}{subnet}"}
    return {"apiVersion": "karpenter.azure.com/v1beta1", "kind": "AKSNodeClass", "metadata": metadata, "spec": spec}


def a_pool(expiry: str) -> dict[str, t.Any]:
    spec = {"template": {"spec": {"expireAfter": expiry}}}
    metadata = {"name": "general", "labels": LABELS}
    return {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": metadata, "spec": spec}


@pytest.fixture
def server(servers: dict[str, Server]) -> Iterator[Server]:
    """With Karpenter's kinds, one class, one pool, and one node that came of them."""
    server = servers["m2"]
    install(server.client)
    claimed(server.client, "node-of-a-program")
    apply_object(server.client, a_class("gone"), MANAGER)
    apply_object(server.client, a_pool("720h"), MANAGER)
    yield server
    server.client.delete("/api/v1/nodes/node-of-a-program")
    uninstall(server.client)


def wish(server: Server, *documents: dict[str, t.Any], **more: t.Any) -> NodesWish:
    given = {"network": NETWORK, **more}
    path = server.made.kubeconfig
    return NodesWish(
        name="m2", kubeconfig=path, context="", documents=documents, labels=LABELS, manager=MANAGER, **given
    )


def test_nodes_that_a_program_replaces_are_named_and_nothing_is_written(server: Server):
    """D0-47. By a class, by a pool, by a pool that is left out; a range that overlaps is refused."""

    def told(*documents: dict[str, t.Any], **more: t.Any) -> t.Any:
        return planned_nodes(wish(server, *documents, **more), {}, datetime.now(UTC))

    with server.writing() as seen:
        assert told(a_class("gone"), a_pool("720h")).notes == ()
        moved = told(a_class("nodes"), a_pool("720h"))
        pool = told(a_class("gone"), a_pool("24h"))
        without = told(a_class("gone"))
        overlap = told(a_class("nodes"), network=Network(subnets=NETWORK.subnets, service_cidrs=("10.2.0.0/16",)))
    assert [each for each in seen if not each.startswith("patch")] == []
    assert server.client.get(f"{CLASSES}/default")["spec"] == {"vnetSubnetID": f"{VNET}gone"}
    assert server.client.get(f"{POOLS}/general")["spec"]["template"]["spec"] == {"expireAfter": "720h"}
    node = "1 node: node-of-a-program"
    assert moved.notes[0] == f"m2: this change of AKSNodeClass default replaces {node}" and moved.problems == ()
    assert pool.notes == (f"m2: this change of NodePool general replaces {node}",)
    assert without.notes == (f"m2: deleting NodePool general ends {node}",)
    assert [each.code for each in overlap.problems] == ["subnet-overlap"]


def test_a_member_without_karpenter_is_told_as_such(servers: dict[str, Server]):
    with pytest.raises(FleetError) as refused:
        planned_nodes(wish(servers["m1"], a_class("nodes")), {}, datetime.now(UTC))
    assert refused.value.code == "no-karpenter" and "install Karpenter" in refused.value.hint


def test_of_a_member_that_is_not_there_yet_the_network_alone_is_judged():
    network = Network(subnets=NETWORK.subnets, pod_cidrs=("10.2.0.0/16",))
    new = NodesWish(
        name="new",
        kubeconfig="",
        context="",
        documents=(a_class("nodes"), a_pool("720h")),
        labels=LABELS,
        manager=MANAGER,
        network=network,
    )
    assert [each.code for each in planned_nodes(new, {}, datetime.now(UTC)).problems] == ["subnet-overlap"]
