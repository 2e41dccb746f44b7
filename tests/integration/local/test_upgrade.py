# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A newer API server on the same data: one minor up, never down, never two (the version skew policy of Kubernetes)."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.access import version
from ansible_collections.gitops.fleet.plugins.module_utils._local import cluster
from ansible_collections.gitops.fleet.plugins.module_utils._local.spec import ClusterSpec

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


@pytest.fixture(scope="module")
def upgraded(module_clusters):
    """A cluster of profile control, with a Deployment made under 1.35, as it is under 1.36."""
    from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
    from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.credentials import connection_from_kubeconfig

    old = module_clusters("skew", version="1.35", profile="control")
    with KubeClient(connection_from_kubeconfig(old.kubeconfig)) as client:
        assert version(client) == "v1.35.4"
        made = client.post(DEPLOYMENTS, _deployment())
    foretold = cluster.present(ClusterSpec("skew", version="1.36", profile="control"), module_clusters.root, check=True)
    new = module_clusters("skew", version="1.36", profile="control")
    assert foretold.changes == new.changes
    return old, new, made


def test_each_kubernetes_component_is_replaced_in_place(upgraded):
    old, new, _made = upgraded
    assert new.changes == (
        "change kube-apiserver from 1.35.4 to 1.36.3",
        "change kube-controller-manager from 1.35.4 to 1.36.3",
    )
    assert new.processes["etcd"] == old.processes["etcd"]
    assert new.ports == old.ports


def test_objects_survive(upgraded, open_client):
    _old, new, made = upgraded
    with open_client(new.kubeconfig) as client:
        assert version(client) == "v1.36.3"
        found = client.get(f"{DEPLOYMENTS}/before")
    assert found["metadata"]["uid"] == made["metadata"]["uid"]
    assert found["spec"]["replicas"] == 2


def test_there_is_no_way_back(upgraded, module_clusters):
    with pytest.raises(FleetError) as refused:
        module_clusters("skew", version="1.35", profile="control")
    assert refused.value.code == "downgrade-refused"
    assert "v1.36.3" in refused.value.message and "v1.35.4" in refused.value.message


def test_a_minor_is_never_skipped(upgraded, module_clusters, edit_state):
    """No older API server is at hand, so the cluster is told that it has been one."""
    _old, new, _made = upgraded
    edit_state(new.after.folder, lambda state: state.update(version="1.34.2"))
    with pytest.raises(FleetError) as refused:
        module_clusters("skew", version="1.36", profile="control")
    assert refused.value.code == "minor-skipped" and "1.35" in refused.value.hint
    edit_state(new.after.folder, lambda state: state.update(version="1.36.3"))
    assert not module_clusters("skew", version="1.36", profile="control").changed


def _deployment():
    labels = {"app": "before"}
    container = {"name": "one", "image": "example.com/one:1"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    return {
        "metadata": {"name": "before"},
        "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": template},
    }
