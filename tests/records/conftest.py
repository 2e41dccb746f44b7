# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What the contract is tested on: a fresh file for each test, and one real API server, emptied for each test."""

from __future__ import annotations

import json
import os
import sys
import time
import typing as t
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.lists import read_list
from ansible_collections.gitops.fleet.plugins.module_utils._kube.paths import BUILT_IN, Resource
from ansible_collections.gitops.fleet.plugins.module_utils._store.hub import NAMESPACE
from ansible_collections.gitops.fleet.plugins.module_utils._store.kinds import KINDS
from ansible_collections.gitops.fleet.plugins.module_utils._store.manifests import read_manifests
from ansible_collections.gitops.fleet.plugins.module_utils._store.open_records import open_records
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Record, Records

sys.path.insert(0, str(Path(__file__).parent))

from api_server import ApiServer  # noqa: E402

CRDS = Path(__file__).resolve().parents[2] / "roles" / "hub" / "files" / "crds"


@dataclass
class Watch:
    """A clock that is set by hand. It starts at the present: an API server has a clock of its own."""

    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    def __call__(self) -> datetime:
        return self.now

    def forward(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@dataclass
class Place:
    """Where records are, and as many openings of it as a test wants; ``options`` open it in another process too."""

    options: dict[str, t.Any]
    watch: Watch = field(default_factory=Watch)
    opened: list[Records] = field(default_factory=list)

    def open(self) -> Records:
        records = open_records(self.options, {}, self.watch)
        self.opened.append(records)
        return records

    @property
    def json(self) -> str:
        return json.dumps(self.options)


def member(name: str = "one", labels: t.Mapping[str, str] | None = None, **changes: t.Any) -> Record:
    """A MemberCluster with every field that has a default spelled out, so that no store adds any."""
    spec = {"identity": {"kind": "User", "name": "fleet", "apiGroup": "x", "namespace": "y"}, "heartbeatPeriodSeconds": 60}
    metadata: dict[str, t.Any] = {"name": name}
    if labels:
        metadata["labels"] = dict(labels)
    kind = KINDS["MemberCluster"]
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": spec} | changes


@pytest.fixture(scope="session")
def api_server(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[ApiServer]:
    binaries = Path(os.environ.get("GITOPS_FLEET_BINARIES", ""))
    if not (binaries / "etcd" / "server").is_file():
        pytest.skip("GITOPS_FLEET_BINARIES names no folder with etcd/server")
    server = ApiServer(tmp_path_factory.mktemp("hub"), binaries)
    try:
        server.start()
        with server.client() as client:
            _install_crds(client)
        yield server
    finally:
        server.stop()


def _install_crds(client: KubeClient) -> None:
    crds = [manifest.document for manifest in read_manifests([CRDS])] if CRDS.is_dir() else map(_any_schema, KINDS.values())
    for crd in crds:
        client.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd)
    end = time.monotonic() + 60
    for resource in KINDS.values():
        while True:
            try:
                client.get(resource.path())
                break
            except ApiError as error:
                assert error.code == "not-found" and time.monotonic() < end, error
                time.sleep(0.1)


def _any_schema(resource: Resource) -> Record:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"served": True, "schema": {"openAPIV3Schema": schema}, "subresources": {"status": {}}}
    names = {"kind": resource.kind, "plural": resource.plural}
    versions = [version | {"name": resource.version, "storage": True}]
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{resource.plural}.{resource.group}"},
        "spec": {"group": resource.group, "names": names, "scope": "Cluster", "versions": versions},
    }


def _empty(client: KubeClient) -> None:
    others = (("coordination.k8s.io/v1", "Lease", NAMESPACE), ("v1", "Secret", NAMESPACE), ("v1", "Event", "default"))
    paths = [BUILT_IN[version, kind].path(namespace) for version, kind, namespace in others]
    for path in [resource.path() for resource in KINDS.values()] + paths:
        for found in read_list(client, path).items:
            one = f"{path}/{found['metadata']['name']}"
            if found["metadata"].get("finalizers"):
                patch = {"metadata": {"finalizers": None}}
                client.request("PATCH", one, patch, content_type="application/merge-patch+json")
            try:
                client.delete(one)
            except ApiError as error:
                assert error.code == "not-found", error


@pytest.fixture
def typed_hub() -> bool:
    return CRDS.is_dir()


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
