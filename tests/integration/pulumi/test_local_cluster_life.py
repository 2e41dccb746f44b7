# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The provider of local clusters, called as the engine calls it, on a real control plane."""

from __future__ import annotations

import os
import signal
import time
import typing as t
from pathlib import Path

from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.credentials import connection_from_kubeconfig
from ansible_collections.gitops.fleet.plugins.module_utils._local import cluster
from ansible_collections.gitops.fleet.plugins.module_utils._local.ports import is_free

from fleet_pulumi.local_cluster import LocalClusterProvider

NAME = "pulumi-east"
MAPS = "/api/v1/namespaces/default/configmaps"
Properties = dict[str, t.Any]


def processes(root: str) -> dict[str, int]:
    status = cluster.status(Path(root), NAME)
    return {name: row["pid"] for name, row in status.processes.items() if row["running"]}


def kill(root: str, name: str) -> None:
    pid = processes(root)[name]
    os.kill(pid, signal.SIGKILL)
    end = time.monotonic() + 300
    while name in processes(root):
        assert time.monotonic() < end, f"{name} goes on"
        time.sleep(0.05)


def test_from_its_making_to_its_end(wanted: Properties):
    """Made; the same again is no change; died, seen and mended; a minor up in place with its objects; gone for good."""
    provider, root = LocalClusterProvider(), wanted["root"]
    assert provider.check({}, wanted).failures == []
    made = provider.create(wanted)
    assert made.id == f"{root}/{NAME}" and made.outs is not None
    outs = made.outs
    assert (outs["state"], outs["running_version"], outs["context"]) == ("running", "1.35.4", NAME)
    with KubeClient(connection_from_kubeconfig(outs["kubeconfig"])) as client:
        client.post(MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept"}})
    assert provider.diff(made.id, outs, wanted).changes is False
    assert provider.read(made.id, outs).outs == outs

    kill(root, "kube-apiserver")
    seen = provider.read(made.id, outs)
    assert (seen.id, seen.outs["state"]) == (made.id, "degraded")
    found = provider.diff(made.id, outs, wanted)
    assert (found.changes, found.replaces) == (True, [])
    mended = provider.update(made.id, seen.outs, wanted).outs
    assert mended is not None and mended["state"] == "running"

    newer = {**wanted, "version": "1.36"}
    found = provider.diff(made.id, mended, newer)
    assert (found.changes, found.replaces) == (True, [])
    upgraded = provider.update(made.id, mended, newer).outs
    assert upgraded is not None and upgraded["running_version"] == "1.36.3"
    with KubeClient(connection_from_kubeconfig(upgraded["kubeconfig"])) as client:
        assert client.get(f"{MAPS}/kept")["metadata"]["name"] == "kept"
    (failure,) = provider.check(upgraded, wanted).failures
    assert "downgrade-refused" in failure.reason

    ports, folder = cluster.status(Path(root), NAME).ports, Path(root) / NAME
    provider.delete(made.id, upgraded)
    assert not folder.exists() and all(map(is_free, ports.values()))
    assert provider.read(made.id, upgraded).id == ""
    provider.delete(made.id, upgraded)
