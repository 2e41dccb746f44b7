# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Simulated nodes, Node objects that kwok keeps ready: which are wanted, to be made, replaced or deleted, and doing so;
their successors when nodes are rotated; which are not ready, how many a pool has."""

from __future__ import annotations

import hashlib
import json
import typing as t
from dataclasses import dataclass

from .._kube.apply import delete_object
from .._kube.client import KubeClient
from .._kube.lists import read_list
from .spec import LONGEST_NAME, ClusterSpec, NodesSpec, node_name

Node = dict[str, t.Any]

POOL = "karpenter.sh/nodepool"
SIMULATED = "gitops.fleet/simulated"
# How much older than its creationTimestamp a node is to be taken for.
AGE = "gitops.fleet/simulated-age"
# The node whose place it has, where that is another name.
PLACE = "gitops.fleet/simulated-place"
_SHAPE = "gitops.fleet/simulated-shape"
_NODES = "/api/v1/nodes"


@dataclass(frozen=True)
class NodeChanges:
    """``delete`` are names, ``make`` manifests. A node that shall be of another shape is in both, a successor under the
    name of its place: it is deleted and made anew, as node pools do it."""

    make: tuple[Node, ...] = ()
    delete: tuple[str, ...] = ()

    def words(self) -> tuple[str, ...]:
        """What is to be done, a step each, such as ``make 3 simulated nodes``; none where there is nothing to do."""
        made = {node["metadata"]["name"] for node in self.make}
        replaced = made & set(self.delete)
        counts = (("make", len(made - replaced)), ("replace", len(replaced)), ("delete", len(set(self.delete) - made)))
        return tuple(f"{verb} {count} simulated node{'s' if count > 1 else ''}" for verb, count in counts if count)


def wanted_nodes(spec: ClusterSpec, cluster_version: str) -> tuple[Node, ...]:
    """Node manifests of all pools; kubelets without a version of their own get the cluster's."""
    return tuple(_node(spec, pool, number, cluster_version) for pool in spec.nodes for number in range(pool.count))


def changes(wanted: t.Iterable[Node], there: t.Iterable[Node]) -> NodeChanges:
    """What turns ``there`` (our simulated nodes) into ``wanted``. A node, or a successor in its place, that has the
    shape wanted stays, with labels, taints and cordons put on later; of two such in one place the first stays."""
    nodes = {node["metadata"]["name"]: node for node in wanted}
    held, delete = set(), []
    for node in there:
        place = _place_of(node)
        if place in nodes and place not in held and _shape_of(node) == _shape_of(nodes[place]):
            held.add(place)
        else:
            delete.append(node["metadata"]["name"])
    return NodeChanges(tuple(node for name, node in nodes.items() if name not in held), tuple(delete))


def successor(node: Node, version: str, image: str) -> Node:
    """The manifest of the node that comes in the place of a simulated one, given as the server has it, with its uid:
    young, empty, of the same shape and with its labels (but its own hostname), without its taints and cordon; its name
    follows from the place and the uid. ``version`` is the kubelet's and ``image`` the OS image; where empty, those of
    the old one."""
    metadata, status = node["metadata"], node.get("status") or {}
    place, old = _place_of(node), metadata["name"]
    own = hashlib.sha256(str(metadata["uid"]).encode()).hexdigest()[:5]
    name = f"{place[: LONGEST_NAME - len(own) - 1].rstrip('-')}-{own}"
    labels = {**(metadata.get("labels") or {}), "kubernetes.io/hostname": name}
    info = {**(status.get("nodeInfo") or {})}
    info |= {key: value for key, value in (("kubeletVersion", version), ("osImage", image)) if value}
    provider = str((node.get("spec") or {}).get("providerID", "")).removesuffix(old)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": {PLACE: place, _SHAPE: _shape_of(node)}},
        "spec": {"providerID": f"{provider}{name}"} if provider else {},
        "status": {"capacity": status.get("capacity"), "allocatable": status.get("allocatable"), "nodeInfo": info},
    }


def read_nodes(client: KubeClient) -> tuple[Node, ...]:
    """Our simulated nodes as the API server has them. FleetError as of ``read_list``."""
    return read_list(client, _NODES, label_selector=f"{SIMULATED}=true").items


def carry_out(client: KubeClient, todo: NodeChanges) -> None:
    """Deletes what is to go, unless it is gone already, then makes what is new. ApiError at the first that is refused;
    what is behind it is not done then. FleetError as of ``request``."""
    for name in todo.delete:
        delete_object(client, f"{_NODES}/{name}")
    for node in todo.make:
        client.post(_NODES, node)


def unready(nodes: t.Iterable[Node]) -> tuple[str, ...]:
    """Names of those nodes on which no pod would land yet: not Ready, or with the taint
    ``node.kubernetes.io/not-ready``."""
    return tuple(node["metadata"]["name"] for node in nodes if not _is_ready(node))


def count_by_pool(nodes: t.Iterable[Node]) -> dict[str, int]:
    """Nodes by the name of their pool, in order of the names; empty is the name for none. KeyError for one without
    labels."""
    counts: dict[str, int] = {}
    for node in nodes:
        pool = node["metadata"]["labels"].get(POOL, "")
        counts[pool] = counts.get(pool, 0) + 1
    return dict(sorted(counts.items()))


def _is_ready(node: Node) -> bool:
    """Whether its condition Ready is True, and it lacks the taint ``node.kubernetes.io/not-ready``."""
    conditions = {row["type"]: row["status"] for row in node.get("status", {}).get("conditions", ())}
    taints = {taint["key"] for taint in node.get("spec", {}).get("taints", ())}
    return conditions.get("Ready") == "True" and "node.kubernetes.io/not-ready" not in taints


def _place_of(node: Node) -> str:
    """The name of the wanted node in whose place it is: its own, but for successors."""
    return str((node["metadata"].get("annotations") or {}).get(PLACE) or node["metadata"]["name"])


def _shape_of(node: Node) -> str:
    """The digest, in an annotation, of the manifest that it, or the node it came in the place of, was wanted by; empty
    without."""
    return str((node["metadata"].get("annotations") or {}).get(_SHAPE, ""))


def _node(spec: ClusterSpec, pool: NodesSpec, number: int, cluster_version: str) -> Node:
    """The manifest of the pool's node of that number, its shape noted. Labels of ours win over those of the pool, but
    for empty ones, which are left out."""
    name = node_name(spec.name, pool, number)
    ours = {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": pool.instance_type,
        "topology.kubernetes.io/region": spec.region,
        "topology.kubernetes.io/zone": pool.zone,
        POOL: pool.pool,
        SIMULATED: "true",
    }
    amounts = {"cpu": pool.cpu, "memory": pool.memory, "pods": str(pool.pods)}
    node: Node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {**pool.labels, **{key: value for key, value in ours.items() if value}},
            "annotations": {AGE: pool.age} if pool.age else {},
        },
        "spec": {"providerID": f"simulated://{spec.name}/{name}"},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "nodeInfo": _node_info(pool),
        },
    }
    node["metadata"]["annotations"][_SHAPE] = _digest(node)
    node["status"]["nodeInfo"]["kubeletVersion"] = f"v{(pool.version or cluster_version).removeprefix('v')}"
    return node


def _node_info(pool: NodesSpec) -> dict[str, str]:
    """``status.nodeInfo``, which counts for the shape. ``kubeletVersion`` is empty if not asked for: the shape of a
    node does not change when the control plane is upgraded."""
    empty = ("bootID", "containerRuntimeVersion", "kernelVersion", "kubeProxyVersion", "machineID", "systemUUID")
    return {
        **dict.fromkeys(empty, ""),
        "architecture": "amd64",
        "kubeletVersion": pool.version,
        "operatingSystem": "linux",
        "osImage": pool.image,
    }


def _digest(node: Node) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of its JSON."""
    return hashlib.sha256(json.dumps(node, sort_keys=True).encode()).hexdigest()[:16]
