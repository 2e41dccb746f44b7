# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What the contract is tested on: a fresh file for each test, and one real API server, emptied for each test."""

from __future__ import annotations

import sys
import time
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import NAMESPACE
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.lists import read_list
from ansible_collections.gitops.fleet.plugins.module_utils._kube.paths import BUILT_IN
from ansible_collections.gitops.fleet.plugins.module_utils._store.kinds import KINDS
from ansible_collections.gitops.fleet.plugins.module_utils._store.manifests import read_manifests
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Records

sys.path.insert(0, str(Path(__file__).parent))

from records_places import Place
from records_server import ApiServer

CRDS = Path(__file__).resolve().parents[2] / "roles" / "hub" / "files" / "crds"


@pytest.fixture(scope="session")
def api_server(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[ApiServer]:
    server = ApiServer(tmp_path_factory.mktemp("hub"))
    try:
        server.start()
        with server.client() as client:
            _install_crds(client)
        yield server
    finally:
        server.stop()


def _install_crds(client: KubeClient) -> None:
    for manifest in read_manifests([CRDS]):
        client.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", manifest.document)
    end = time.monotonic() + 300
    for resource in KINDS.values():
        while True:
            try:
                client.get(resource.path())
                break
            except ApiError as error:
                assert error.code == "not-found" and time.monotonic() < end, error
                time.sleep(0.1)


def _empty(client: KubeClient) -> None:
    others = (("coordination.k8s.io/v1", "Lease", NAMESPACE), ("v1", "Secret", NAMESPACE), ("v1", "Event", ""))
    paths = [(BUILT_IN[version, kind], namespace) for version, kind, namespace in others]
    for resource, namespace in [*((each, "") for each in KINDS.values()), *paths]:
        for found in read_list(client, resource.path(namespace)).items:
            one = resource.path(found["metadata"].get("namespace", ""), found["metadata"]["name"])
            if found["metadata"].get("finalizers"):
                patch = {"metadata": {"finalizers": None}}
                client.request("PATCH", one, patch, content_type="application/merge-patch+json")
            try:
                client.delete(one)
            except ApiError as error:
                assert error.code == "not-found", error


@pytest.fixture
def hub_place(api_server: ApiServer) -> t.Iterator[Place]:
    with api_server.client() as client:
        _empty(client)
    yield from _closed(Place({"type": "hub", "kubeconfig": str(api_server.kubeconfig), "context": "admin"}))


@pytest.fixture(params=["sqlite", "hub"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> t.Iterator[Place]:
    if request.param == "hub":
        yield request.getfixturevalue("hub_place")
    else:
        yield from _closed(Place({"type": "sqlite", "path": str(tmp_path / "records.db")}))


def _closed(place: Place) -> t.Iterator[Place]:
    yield place
    for records in place.opened:
        records.close()


@pytest.fixture
def records(place: Place) -> Records:
    return place.open()
