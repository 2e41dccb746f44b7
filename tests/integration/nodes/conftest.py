# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""One cluster with controllers, scheduler and twelve simulated nodes, and a fleet of it, for what is done to nodes."""

from __future__ import annotations

import itertools
import sys
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._local.spec import NodesSpec
from small_fleet import Fleet, Server

sys.path.insert(0, str(Path(__file__).parent))
_numbers = itertools.count(7000)
NODES = 12


@pytest.fixture(scope="session")
def node_server(local_cluster_factory: t.Any) -> Server:
    """Member ``n1``: nodes ``n1-blue-0`` to ``-11``, of which the first pretend to be old."""
    spec = NodesSpec(NODES, "blue", labels={"pool": "blue"}, image="Simulated Linux 1", age="40d")
    return Server(local_cluster_factory("n1", profile="fleet", nodes=(spec,), audit=True))


@pytest.fixture
def node_fleet(tmp_path: Path, node_server: Server, servers: dict[str, Server]) -> t.Iterator[Fleet]:
    """``n1`` with nodes, and ``m1``, which has none and no Karpenter; both joined, records in a file."""
    node_server.empty()
    options = {"type": "sqlite", "path": str(tmp_path / "records.db")}
    fleet = Fleet(next(_numbers), tmp_path, options, None, {"n1": node_server, "m1": servers["m1"]})
    fleet.join("n1", "m1")
    yield fleet
    for records in fleet.opened:
        records.close()
