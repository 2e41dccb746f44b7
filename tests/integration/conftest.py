# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Real local clusters for every integration test: ``hub``, and more on demand by ``local_cluster_factory``.

``fleet``, ``file_fleet`` and ``hub_fleet`` are four members with records of their own, in a file or on the hub.
"""

from __future__ import annotations

import itertools
import socket
import sys
import time
import typing as t
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.environments.hub import install, not_established
from ansible_collections.gitops.fleet.plugins.module_utils._kube.parallel import in_parallel
from ansible_collections.gitops.fleet.plugins.module_utils._local import cluster
from ansible_collections.gitops.fleet.plugins.module_utils._local.outcome import LocalOutcome
from ansible_collections.gitops.fleet.plugins.module_utils._local.ports import PortRange
from ansible_collections.gitops.fleet.plugins.module_utils._local.spec import ClusterSpec
from ansible_collections.gitops.fleet.plugins.module_utils._store.kinds import KINDS

sys.path.insert(0, str(Path(__file__).parent))

from small_fleet import Fleet, Server

_BLOCK = 200
NAMES = ("m1", "m2", "m3", "m4")
_numbers = itertools.count(1)


@dataclass
class LocalClusters:
    """Makes clusters below a root of this test run. Call it with a ClusterSpec, or with a name and its fields."""

    root: Path
    ports: PortRange
    made: list[str] = field(default_factory=list)

    def __call__(self, spec: ClusterSpec | str, **fields: t.Any) -> LocalOutcome:
        wanted = spec if isinstance(spec, ClusterSpec) else ClusterSpec(spec, **fields)
        if wanted.name not in self.made:
            self.made.append(wanted.name)
        return cluster.present(wanted, self.root, ports=self.ports)

    def end(self, *others: str) -> None:
        """Make those absent that were made by it, and these others of the root."""
        names = sorted({*self.made, *others})
        ended = cluster.work_on_clusters({each: partial(cluster.absent, each, self.root) for each in names}, at_once=4)
        assert not ended.errors, ended.errors


def _own_ports() -> tuple[PortRange, socket.socket]:
    """A block of ports for this test run alone, as long as every run holds the last port of its block: the socket.

    Below 16000, from where on some sandboxes take ports for outgoing connections (Linux: 32768).
    """
    for first in range(11000, 16000, _BLOCK):
        held = socket.socket()
        try:
            held.bind(("127.0.0.1", first + _BLOCK - 1))
        except OSError:
            held.close()
            continue
        return PortRange(first, first + _BLOCK - 2), held
    raise RuntimeError("no free block of ports")


@pytest.fixture(scope="session")
def local_cluster_factory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalClusters]:
    ports, held = _own_ports()
    with held:
        clusters = LocalClusters(tmp_path_factory.mktemp("clusters"), ports)
        try:
            yield clusters
        finally:
            # Also those that a test made by other means.
            clusters.end(*(one.name for one in cluster.clusters(clusters.root)))


@pytest.fixture(scope="module")
def module_clusters(local_cluster_factory: LocalClusters) -> Iterator[LocalClusters]:
    """For clusters that no other file needs: one that stays takes 2 % of a processor, to the end of the run."""
    clusters = LocalClusters(local_cluster_factory.root, local_cluster_factory.ports)
    try:
        yield clusters
    finally:
        clusters.end()


@pytest.fixture(scope="session")
def hub(local_cluster_factory: LocalClusters) -> LocalOutcome:
    """A cluster of profile ``api`` whose requests are in ``hub.after.audit_log``; shared, so clean up after a test."""
    return local_cluster_factory("hub", audit=True)


@pytest.fixture(scope="session")
def hub_server(hub: LocalOutcome) -> Server:
    """The shared hub with our CRDs, all of them served."""
    server = Server(hub)
    names = [f"{each.plural}.{each.group}" for each in KINDS.values()]
    install(server.client, write=True)
    end = time.monotonic() + 300
    while not_established(server.client, names) or not all(_served(server, each.path()) for each in KINDS.values()):
        assert time.monotonic() < end, "the kinds are not served in time"
        time.sleep(0.1)
    return server


def _served(server: Server, path: str) -> bool:
    return server.client.send("GET", path, expect=(404,)).status == 200


@pytest.fixture(scope="session")
def servers(local_cluster_factory: t.Any) -> dict[str, Server]:
    def make(name: str) -> t.Callable[[], LocalOutcome]:
        return lambda: t.cast(LocalOutcome, local_cluster_factory(name, audit=True))

    made = in_parallel({name: make(name) for name in NAMES}, threads=2)
    assert all(isinstance(each, LocalOutcome) for each in made.values()), made
    return {name: Server(each) for name, each in made.items() if isinstance(each, LocalOutcome)}


@pytest.fixture(params=["sqlite", "hub"])
def fleet(request: pytest.FixtureRequest, tmp_path: Path, servers: dict[str, Server]) -> t.Iterator[Fleet]:
    """Empty records, members that hold nothing of ours, nobody joined yet. Both stores in turn."""
    yield from _fleet(request, tmp_path, servers, request.param)


@pytest.fixture
def file_fleet(request: pytest.FixtureRequest, tmp_path: Path, servers: dict[str, Server]) -> t.Iterator[Fleet]:
    """The same with records in a file: for what the store makes no difference to."""
    yield from _fleet(request, tmp_path, servers, "sqlite")


@pytest.fixture
def hub_fleet(request: pytest.FixtureRequest, tmp_path: Path, servers: dict[str, Server]) -> t.Iterator[Fleet]:
    """The same with records on the hub: for what only a hub has."""
    yield from _fleet(request, tmp_path, servers, "hub")


def _fleet(request: pytest.FixtureRequest, folder: Path, servers: dict[str, Server], store: str) -> t.Iterator[Fleet]:
    hub: Server | None = None
    options = {"type": "sqlite", "path": str(folder / "records.db")}
    if store == "hub":
        hub = t.cast(Server, request.getfixturevalue("hub_server"))
        options = {"type": "hub", "kubeconfig": hub.made.kubeconfig}
        hub.forget_records()
    for each in servers.values():
        each.empty()
    fleet = Fleet(number=next(_numbers), folder=folder, options=options, hub=hub, servers=servers)
    fleet.resources(fleet.configmap())
    yield fleet
    for records in fleet.opened:
        records.close()
