# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Real local clusters for every integration test: ``hub``, and more on demand by ``local_cluster_factory``."""

from __future__ import annotations

import socket
import typing as t
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._local import cluster
from ansible_collections.gitops.fleet.plugins.module_utils._local.outcome import Outcome
from ansible_collections.gitops.fleet.plugins.module_utils._local.ports import PortRange
from ansible_collections.gitops.fleet.plugins.module_utils._local.spec import ClusterSpec

_BLOCK = 200


@dataclass
class LocalClusters:
    """Makes clusters below a root of this test run. Call it with a ClusterSpec, or with a name and its fields."""

    root: Path
    ports: PortRange
    made: list[str] = field(default_factory=list)

    def __call__(self, spec: ClusterSpec | str, **fields: t.Any) -> Outcome:
        wanted = spec if isinstance(spec, ClusterSpec) else ClusterSpec(spec, **fields)
        if wanted.name not in self.made:
            self.made.append(wanted.name)
        return cluster.present(wanted, self.root, ports=self.ports)

    def end(self) -> None:
        """Make every cluster of the root absent, also those that a test made by other means."""
        names = {one.name for one in cluster.clusters(self.root)} | set(self.made)
        ended = cluster.many({name: _absent(name, self.root) for name in sorted(names)}, at_once=4)
        assert not ended.errors, ended.errors


def _absent(name: str, root: Path) -> t.Callable[[], Outcome]:
    return lambda: cluster.absent(name, root)


def _own_ports() -> tuple[PortRange, socket.socket]:
    """A block of ports for this test run alone, as long as every run holds the last port of its block: the socket."""
    for first in range(23000, 32000, _BLOCK):
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
            clusters.end()


@pytest.fixture(scope="session")
def hub(local_cluster_factory: LocalClusters) -> Outcome:
    """A cluster of profile ``api`` whose requests are in ``hub.after.audit_log``; shared, so clean up after a test."""
    return local_cluster_factory("hub", audit=True)
