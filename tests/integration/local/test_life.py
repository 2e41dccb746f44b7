# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A cluster is made, found unchanged, stopped, started and removed."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.environments.local import local_clusters
from ansible_collections.gitops.fleet.plugins.module_utils._kube.access import version
from ansible_collections.gitops.fleet.plugins.module_utils._local import cluster
from ansible_collections.gitops.fleet.plugins.module_utils._local.processes import processes_marked
from ansible_collections.gitops.fleet.plugins.module_utils._local.spec import ClusterSpec, NodesSpec, TokenUser

MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture(scope="module")
def one(module_clusters):
    return module_clusters("life")


def test_the_api_server_tells_its_true_version(one, open_client):
    with open_client(one.kubeconfig) as client:
        assert version(client) == "v1.36.3" == f"v{one.version}"


def test_a_second_present_changes_nothing(one, module_clusters):
    again = module_clusters("life")
    assert (again.changed, again.changes) == (False, ())
    assert again.processes == one.processes
    assert again.before == again.after


def test_check_mode_foretells_and_changes_nothing(one, module_clusters):
    root = module_clusters.root
    new = cluster.present(ClusterSpec("never"), root, check=True)
    assert new.changed and new.before.state == "absent" and not (root / "never").exists()
    same = cluster.present(ClusterSpec("life"), root, check=True)
    assert not same.changed
    audited = cluster.present(ClusterSpec("life", audit=True), root, check=True)
    assert audited.changes == ("restart kube-apiserver with other options",)
    assert cluster.absent("life", root, check=True).changed and cluster.stopped("life", root, check=True).changed
    assert cluster.status(root, "life").processes == one.processes


def test_everything_listens_on_loopback_only(one):
    listening = [row.split()[1] for row in Path("/proc/net/tcp").read_text().splitlines()[1:] if row.split()[3] == "0A"]
    ours = [address for address in listening if int(address.split(":")[1], 16) in one.ports.values()]
    assert len(ours) == 3 and all(address.startswith("0100007F:") for address in ours)
    assert not _listening_on_ipv6(one.ports.values())


def _listening_on_ipv6(ports):
    table = Path("/proc/net/tcp6")
    rows = table.read_text().splitlines()[1:] if table.exists() else []
    return [row for row in rows if row.split()[3] == "0A" and int(row.split()[1].split(":")[1], 16) in ports]


def test_keys_are_readable_by_their_owner_only(one):
    folder = Path(one.after.folder)
    secret = [*folder.glob("pki/*.key"), folder / "state.json", *folder.glob("*kubeconfig")]
    assert len(secret) > 8
    assert all(path.stat().st_mode & 0o077 == 0 for path in secret)


def test_stopped_keeps_objects_and_ports(one, module_clusters, open_client):
    root = module_clusters.root
    with open_client(one.kubeconfig) as client:
        client.post(MAPS, {"metadata": {"name": "kept"}, "data": {"a": "b"}})
    assert cluster.stopped("life", root).after.state == "stopped"
    assert not cluster.stopped("life", root).changed
    assert processes_marked(one.after.folder) == ()
    started = module_clusters("life")
    assert started.changes == ("start etcd", "start kube-apiserver")
    assert started.ports == one.ports
    with open_client(one.kubeconfig) as client:
        assert client.get(f"{MAPS}/kept")["data"] == {"a": "b"}


def test_started_is_as_it_was(module_clusters, open_client):
    """By its name alone: an older version stays, and so do nodes and users."""
    root = module_clusters.root
    pool, user = NodesSpec(2, "work"), TokenUser("secret-of-ann", "ann")
    made = module_clusters("as-it-was", version="1.35", profile="fleet", nodes=(pool,), tokens=(user,))
    assert not cluster.started("as-it-was", root).changed
    cluster.stopped("as-it-was", root)
    foretold = cluster.started("as-it-was", root, check=True)
    assert (foretold.before.state, foretold.after.state) == ("stopped", "running")
    assert cluster.status(root, "as-it-was").state == "stopped"
    options = dict.fromkeys(("root", "binaries_dir", "ports", "fleet", "timeout"))
    options |= {"root": str(root), "state": "started", "clusters": [{"name": "as-it-was"}], "timeout": 300.0}
    (started,) = local_clusters(options, False, lambda _text: None).outcomes
    assert started.changes == foretold.changes and started.changes[0] == "start etcd"
    assert (started.after.version, started.after.nodes, started.ports) == ("1.35.4", {"work": 2}, made.ports)
    assert not module_clusters("as-it-was", version="1.35", profile="fleet", nodes=(pool,), tokens=(user,)).changed
    with open_client(started.kubeconfig) as client:
        assert version(client) == "v1.35.4"
    cluster.absent("as-it-was", root)
    for check in (True, False):
        with pytest.raises(FleetError) as refused:
            cluster.started("as-it-was", root, check=check)
        assert refused.value.code == "no-such-cluster"


def test_absent_leaves_nothing(module_clusters):
    root = module_clusters.root
    gone = module_clusters("gone")
    assert cluster.absent("gone", root).changed
    assert not Path(gone.after.folder).exists() and processes_marked(gone.after.folder) == ()
    assert '"gone"' not in (root / "kubeconfig").read_text()
    assert not cluster.absent("gone", root).changed
    with pytest.raises(FleetError) as refused:
        cluster.stopped("gone", root)
    assert refused.value.code == "no-such-cluster"


def test_one_kubeconfig_has_a_context_for_every_cluster(one, module_clusters, open_client):
    from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.credentials import contexts

    assert "life" in contexts(module_clusters.root / "kubeconfig")
