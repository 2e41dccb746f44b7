# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What is seen of a local cluster that is down; all else needs one, and is shown in tests/integration/updates."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_member import (
    ClusterConnection,
    FleetMember,
    FleetMemberSpec,
    FleetMemberStatus,
    NodePoolStatus,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import ObjectMeta
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.contract import Observation
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.local import LocalDriver
from ansible_collections.gitops.fleet.plugins.module_utils._local import state as states
from ansible_collections.gitops.fleet.plugins.module_utils._local import upgrades

BLUE = NodePoolStatus(name="blue", count=3, version="v1.35.4", image="Linux-1")


@dataclass
class Nobody:
    """Clients of members none of which answers."""

    members: dict[str, FleetMember] = field(default_factory=dict)

    def get(self, member: str) -> t.NoReturn:
        raise FleetError("unreachable", "no answer", member)


def test_a_cluster_that_went_down_in_its_upgrade_is_seen_as_it_was(tmp_path: Path) -> None:
    """F5. With its pools, for a whole upgrade asks for these: it could not be finished otherwise."""
    member = FleetMember(
        metadata=ObjectMeta(name="a"),
        spec=FleetMemberSpec(connection=ClusterConnection(kubeconfig="x")),
        status=FleetMemberStatus(node_pools=(BLUE,)),
    )
    clients: t.Any = Nobody({"a": member})
    driver = LocalDriver(clients=clients, root=tmp_path, operations=tmp_path / "operations", environ={})
    folder = states.cluster_dir(tmp_path, "a")
    folder.mkdir(parents=True)
    with pytest.raises(FleetError) as away:
        driver.observe("a")
    assert away.value.code == "unreachable"
    upgrades.intend(folder, "v1.35.4", "v1.36.3")
    assert driver.observe("a") == Observation(version="v1.35.4", pools=(BLUE,))
