# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the package of the program in ``pulumi/environments`` importable; a cluster to be asked of its provider."""

from __future__ import annotations

import sys
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._local import cluster

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "pulumi" / "environments"))

NAME = "pulumi-east"


@pytest.fixture
def wanted(local_cluster_factory: t.Any) -> Iterator[dict[str, t.Any]]:
    """What is asked of the engine; numbers come as it sends them."""
    ports = local_cluster_factory.ports
    yield {
        "name": NAME,
        "version": "1.35",
        "profile": "api",
        "nodes": [],
        "region": "eu-north",
        "root": str(local_cluster_factory.root),
        "ports": f"{ports.first}-{ports.last}",
        "binaries_dir": "",
    }
    cluster.absent(NAME, local_cluster_factory.root)
