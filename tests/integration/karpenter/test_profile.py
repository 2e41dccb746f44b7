# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The profile itself: Karpenter makes nodes for pending pods, and nobody but this machine can talk to it."""

from __future__ import annotations

import os
import signal
import typing as t
from pathlib import Path

import yaml
from ansible_collections.gitops.fleet.plugins.module_utils._local import cluster
from karpenter_cluster import CLASSES, NODES, POOLS, Karpenter, holds

README = Path(__file__).resolve().parents[3] / "roles" / "local_fleet" / "README.md"


def documented() -> dict[str, t.Any]:
    """The pool and the node class of the role's README, by kind."""
    text = README.read_text(encoding="utf-8")
    (block,) = [each for each in text.split("```") if each.startswith("yaml") and "kind: NodePool" in each]
    return {each["kind"]: each for each in yaml.safe_load_all(block.removeprefix("yaml"))}


def listeners(pid: int) -> list[str]:
    """Addresses that a process listens on, as the kernel writes them: 0100007F is 127.0.0.1."""
    sockets = {link.readlink().name for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink()}
    inodes = {
        each.removeprefix("socket:[").removesuffix("]") for each in map(str, sockets) if each.startswith("socket:")
    }
    rows = [
        row.split() for kind in ("tcp", "tcp6") for row in Path(f"/proc/{pid}/net/{kind}").read_text().splitlines()[1:]
    ]
    return [row[1].partition(":")[0] for row in rows if row[3] == "0A" and row[9] in inodes]


def test_it_makes_nodes_for_pending_pods_and_listens_on_loopback_alone(karpenter: Karpenter) -> None:
    """The example of the role's README, as it stands."""
    found = documented()
    assert karpenter.get(f"{CLASSES}/{found['KWOKNodeClass']['metadata']['name']}") is not None
    name = found["NodePool"]["metadata"]["name"]
    karpenter.client.post(POOLS, found["NodePool"])
    try:
        karpenter.run("first", name, 2, nodeSelector={"karpenter.sh/nodepool": name})
        karpenter.until(lambda: len(karpenter.claims(name)) == 2, "no two NodeClaims came")
        karpenter.until(lambda: all(holds(each, "Initialized") for each in karpenter.claims(name).values()), "no nodes")
        nodes = karpenter.listed(NODES, f"karpenter.sh/nodepool={name}")
        assert all(each["spec"]["providerID"].startswith("kwok://") for each in nodes)
        made = karpenter.made.after
        assert set(listeners(made.processes["karpenter"]["pid"])) == {"0100007F"}
        assert len(set(made.ports.values())) == 7
        assert karpenter.metrics("karpenter_build_info")
    finally:
        karpenter.end_of(name)


def test_it_is_started_again_after_it_died_and_alone(karpenter: Karpenter, local_cluster_factory: t.Any) -> None:
    """By the next run, which finds everything else as it was; one more run changes nothing."""
    before = karpenter.made.after.processes
    os.kill(before["karpenter"]["pid"], signal.SIGKILL)
    root = local_cluster_factory.root
    karpenter.until(lambda: not cluster.status(root, "k1").processes["karpenter"]["running"], "it did not die")
    outcome = local_cluster_factory("k1", profile="karpenter", audit=True)
    assert outcome.changes == ("start karpenter, which had died",)
    after = outcome.after.processes
    assert [name for name in after if after[name]["pid"] != before[name]["pid"]] == ["karpenter"]
    assert outcome.after.ports == karpenter.made.after.ports
    karpenter.made = outcome
    assert not local_cluster_factory("k1", profile="karpenter", audit=True).changed
    karpenter.until(lambda: bool(karpenter.metrics("karpenter_build_info")), "it told nothing of itself")


def test_two_of_them_run_beside_each_other(karpenter: Karpenter, local_cluster_factory: t.Any) -> None:
    """No port is one that the other one has, told or not."""
    other = Karpenter(local_cluster_factory("k2", profile="karpenter"))
    try:
        other.until(lambda: bool(other.metrics("karpenter_build_info")), "it told nothing of itself")
        assert karpenter.metrics("karpenter_build_info")
        assert set(other.made.after.ports.values()).isdisjoint(karpenter.made.after.ports.values())
    finally:
        other.client.close()
        cluster.absent("k2", local_cluster_factory.root)
