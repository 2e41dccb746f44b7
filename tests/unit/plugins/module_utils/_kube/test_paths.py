# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Where objects live."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.paths import BUILT_IN, Resource, object_path

POD = BUILT_IN["v1", "Pod"]
WEB = Resource("example.org", "v1", "Web", "webs", namespaced=False)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (POD.path(), "/api/v1/pods"),
        (POD.path("default"), "/api/v1/namespaces/default/pods"),
        (POD.path("default", "a", "eviction"), "/api/v1/namespaces/default/pods/a/eviction"),
        (WEB.path("ignored", "a"), "/apis/example.org/v1/webs/a"),
        (
            BUILT_IN["rbac.authorization.k8s.io/v1", "ClusterRole"].path(name="system:a/b"),
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:a%2Fb",
        ),
    ],
)
def test_paths(path, expected):
    assert path == expected


@pytest.mark.parametrize(
    ("metadata", "code"), [({}, "missing-name"), (None, "missing-name"), ({"name": "a"}, "missing-namespace")]
)
def test_an_object_without_its_name_has_no_path(metadata, code):
    with pytest.raises(FleetError) as caught:
        object_path(POD, {"metadata": metadata})
    assert caught.value.code == code
