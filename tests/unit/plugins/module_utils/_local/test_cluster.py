# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What is said of a cluster, with processes of a test in place of its components."""

from __future__ import annotations

import subprocess
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._local import (
    cluster,
    control_plane,
    converge,
    processes,
    state,
)
from ansible_collections.gitops.fleet.plugins.module_utils._local.binaries import Binary
from ansible_collections.gitops.fleet.plugins.module_utils._local.ports import USERS
from ansible_collections.gitops.fleet.plugins.module_utils._local.spec import ClusterSpec

BINARIES = {name: Binary(name, Path("/none"), "1.36.3") for name in ("etcd", "kube-apiserver", "kubectl")}
Recorded = t.Callable[..., Path]


@pytest.fixture
def recorded(tmp_path: Path) -> t.Iterator[Recorded]:
    """The folder of cluster ``hub``, of which the named components live, and all others that it had have died."""
    begun: list[subprocess.Popen[bytes]] = []

    def make(*alive: str, died: t.Collection[str] = (), ready: bool = True) -> Path:
        folder = tmp_path / "hub"
        folder.mkdir()
        had = {name: state.Process(processes.ProcessId(4194304, "never"), "1.36.3") for name in died}
        for name in alive:
            begun.append(subprocess.Popen(["sleep", "60"]))
            had[name] = state.Process(processes.ProcessId(begun[-1].pid, processes._started(begun[-1].pid)), "1.36.3")
        ports = {user: 21000 + at for at, user in enumerate(USERS)}
        state.save(folder, state.State("hub", ports, version="1.36.3", ready=ready, processes=had))
        (folder / "kubeconfig").touch()
        return folder

    yield make
    for child in begun:
        child.kill()
        child.wait()


@pytest.mark.parametrize("died", ["etcd", "kube-apiserver"])
def test_a_cluster_of_which_a_server_died_is_not_asked_for_its_nodes(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch, died: str
):
    """It would answer with an error, after a while; what has to be done is known without."""

    def never(folder: Path) -> t.Any:
        raise AssertionError(f"{folder} is asked")

    monkeypatch.setattr(control_plane, "client", never)
    (alive,) = {"etcd", "kube-apiserver"} - {died}
    folder = recorded(alive, died=[died])
    found = state.load(folder)
    assert found is not None
    assert f"start {died}, which had died" in converge.planned(ClusterSpec("hub"), folder, found, BINARIES)
    status = cluster.status(folder.parent, "hub")
    assert (status.state, status.nodes) == ("degraded", None)


def test_a_cluster_that_never_became_ready_is_stopped_once(recorded: Recorded):
    root = recorded("etcd", ready=False).parent
    assert cluster.stopped("hub", root, check=True).changed
    assert cluster.stopped("hub", root).changed
    for check in (True, False):
        assert not cluster.stopped("hub", root, check=check).changed
    assert cluster.status(root, "hub").state == "incomplete"
