# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What goes wrong with processes, ports and files is found, and mended where nobody else is hurt by it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.access import server_readiness
from ansible_collections.gitops.fleet.plugins.module_utils._local import cluster
from ansible_collections.gitops.fleet.plugins.module_utils._local.ports import PortRange
from ansible_collections.gitops.fleet.plugins.module_utils._local.processes import processes_marked
from ansible_collections.gitops.fleet.plugins.module_utils._local.spec import ClusterSpec


@pytest.fixture(scope="module")
def one(module_clusters):
    return module_clusters("repair")


def test_only_a_killed_component_is_started_again(one, module_clusters, eventually):
    os.kill(one.processes["kube-apiserver"]["pid"], signal.SIGKILL)
    eventually(lambda: cluster.status(module_clusters.root, "repair").state == "degraded")
    mended = module_clusters("repair")  # at once: the killed one must have let go of its port by then
    assert mended.changes == ("start kube-apiserver, which had died",)
    assert mended.processes["etcd"] == one.processes["etcd"]
    assert mended.after.state == "running"


def test_a_process_that_took_over_a_pid_is_never_signalled(one, module_clusters, edit_state):
    stranger = subprocess.Popen(["sleep", "60"])
    try:
        edit_state(one.after.folder, lambda state: state["processes"]["kube-apiserver"].update(pid=stranger.pid))
        mended = module_clusters("repair")
        assert mended.changes == ("end 1 leftover process", "start kube-apiserver, which had died")
        assert mended.after.state == "running"
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_a_process_that_nobody_noted_is_ended(one, module_clusters, edit_state):
    edit_state(one.after.folder, lambda state: state["processes"].pop("kube-apiserver"))
    mended = module_clusters("repair")
    assert mended.changes == ("end 1 leftover process", "start kube-apiserver")
    assert len(processes_marked(one.after.folder)) == 2


def test_a_lost_kubeconfig_is_written_again(one, module_clusters):
    Path(one.kubeconfig).unlink()
    assert module_clusters("repair").changes == ("write the kubeconfig",)


def test_a_stopped_cluster_whose_port_was_taken_says_which(one, module_clusters):
    cluster.stopped("repair", module_clusters.root)
    port = one.ports["kube-apiserver"]
    with socket.create_server(("127.0.0.1", port)), pytest.raises(FleetError) as refused:
        module_clusters("repair")
    assert refused.value.code == "port-taken"
    assert f"port {port}, reserved for this cluster, is in use by process {os.getpid()} (" in refused.value.message
    assert refused.value.where == "repair"
    assert module_clusters("repair").after.state == "running"


def test_a_new_cluster_goes_where_ports_are_free(module_clusters):
    root = module_clusters.root
    first = module_clusters.ports.last - 13
    within = PortRange(first, first + 11)
    with socket.create_server(("127.0.0.1", first + 3)):
        made = cluster.present(ClusterSpec("elsewhere"), root, ports=within)
        assert min(made.ports.values()) == first + 6
        with pytest.raises(FleetError) as refused:
            cluster.present(ClusterSpec("nowhere"), root, ports=within)
    assert refused.value.code == "no-free-ports"
    cluster.absent("nowhere", root)
    cluster.absent("elsewhere", root)


def test_a_component_that_dies_shows_the_end_of_its_log(one, module_clusters):
    """The data of etcd are damaged; it ends at its start, and what it said is in the error."""
    cluster.stopped("repair", module_clusters.root)
    kept = Path(one.after.folder) / "data" / "member" / "snap" / "db"
    good = kept.read_bytes()
    kept.write_bytes(b"damaged")
    with pytest.raises(FleetError) as refused:
        module_clusters("repair")
    assert refused.value.code == "component-died"
    assert "etcd" in refused.value.message and "\n" in refused.value.message
    kept.write_bytes(good)
    assert module_clusters("repair").after.state == "running"


def test_a_damaged_state_is_refused_and_can_be_removed(module_clusters):
    root = module_clusters.root
    made = module_clusters("damaged")
    (Path(made.after.folder) / "state.json").write_text("{half")
    with pytest.raises(FleetError) as refused:
        module_clusters("damaged")
    assert refused.value.code == "state-unreadable"
    assert cluster.status(root, "damaged").state == "incomplete"
    assert cluster.absent("damaged", root).changed
    assert processes_marked(made.after.folder) == ()


@pytest.mark.parametrize("seconds", [0.1, 0.7])
def test_a_run_killed_in_the_middle_is_finished_by_the_next(seconds, module_clusters, open_client):
    """kill -9 while keys are made, and while processes start."""
    clusters, name = module_clusters, f"half-{int(seconds * 100)}"
    program = (
        "import sys; from pathlib import Path\n"
        "from ansible_collections.gitops.fleet.plugins.module_utils._local.cluster import present\n"
        "from ansible_collections.gitops.fleet.plugins.module_utils._local.spec import ClusterSpec\n"
        "from ansible_collections.gitops.fleet.plugins.module_utils._local.ports import PortRange\n"
        "print('begins', flush=True)\n"
        f"present(ClusterSpec({name!r}), Path({str(clusters.root)!r}),"
        f" ports=PortRange({clusters.ports.first}, {clusters.ports.last}))\n"
    )
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    run = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=environ)
    assert run.stdout is not None and run.stdout.readline() == b"begins\n"
    time.sleep(seconds)
    run.kill()
    run.communicate()
    assert cluster.status(clusters.root, name).state in ("absent", "incomplete")
    finished = clusters(name)
    assert finished.changed
    assert finished.after.state == "running"
    assert len(processes_marked(finished.after.folder)) == 2
    with open_client(finished.kubeconfig) as client:
        assert server_readiness(client)
    cluster.absent(name, clusters.root)


def test_a_root_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    for root in (tmp_path / "file" / "root", Path("/proc/root-of-clusters")):
        with pytest.raises(FleetError) as refused:
            cluster.present(ClusterSpec("one"), root)
        assert refused.value.code == "unwritable-folder"
