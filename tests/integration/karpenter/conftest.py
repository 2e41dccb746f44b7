# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""One cluster with a real Karpenter for all tests here, and a fleet of it."""

from __future__ import annotations

import itertools
import sys
import typing as t
from pathlib import Path

import pytest
from small_fleet import Fleet

sys.path.insert(0, str(Path(__file__).parent))

from karpenter_cluster import CLASSES, KWOK, Karpenter

_numbers = itertools.count(8000)


@pytest.fixture(scope="session")
def karpenter(local_cluster_factory: t.Any) -> Karpenter:
    """Member ``k1``, with a node class and no pool."""
    server = Karpenter(local_cluster_factory("k1", profile="karpenter", audit=True))
    metadata = {"name": "default"}
    server.client.post(CLASSES, {"apiVersion": KWOK, "kind": "KWOKNodeClass", "metadata": metadata, "spec": {}})
    return server


@pytest.fixture
def karpenter_fleet(tmp_path: Path, karpenter: Karpenter) -> t.Iterator[Fleet]:
    """``k1`` joined, records in a file."""
    options = {"type": "sqlite", "path": str(tmp_path / "records.db")}
    fleet = Fleet(next(_numbers), tmp_path, options, None, {"k1": karpenter})
    fleet.join("k1")
    yield fleet
    for records in fleet.opened:
        records.close()
