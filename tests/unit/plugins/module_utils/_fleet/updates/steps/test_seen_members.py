# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Members as they are seen before a run begins, whoever of them answers."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace
from types import SimpleNamespace

from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_member import (
    FleetMember,
    FleetMemberStatus,
    NodePoolStatus,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.reading import read
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.contract import Observation
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.steps.seen_members import seen_members
from ansible_collections.gitops.fleet.tests.data.manifest_parts import member

OLD = (NodePoolStatus(name="work", count=3, version="v1.35.4", image="Linux-1.0"),)
NEW = (NodePoolStatus(name="work", count=3, version="v1.36.3", image="Linux-1.2"),)


@dataclass
class Platform:
    """Tells of each member but ``silent``."""

    silent: str = "c"

    def observe(self, name: str) -> Observation:
        if name == self.silent:
            raise FleetError("unreachable", "no answer", name)
        return Observation(version="v1.36.3")


def recorded(name: str) -> FleetMember:
    made = read(member({"inCluster": True})).object
    assert isinstance(made, FleetMember)
    status = FleetMemberStatus(version="v1.35.4", node_pools=OLD)
    return replace(made, metadata=replace(made.metadata, name=name), status=status)


def test_what_is_there_now_takes_the_place_of_what_was_read_last() -> None:
    """Pools that cannot be read stay as they are recorded; a member that does not answer is no news at all."""

    def pools(name: str, _seen: Observation) -> tuple[NodePoolStatus, ...]:
        if name == "b":
            raise FleetError("forbidden", "nodes may not be listed", name)
        return NEW

    clients = t.cast(t.Any, SimpleNamespace(members={name: recorded(name) for name in "abc"}))
    drivers = t.cast(t.Any, dict.fromkeys("abc", Platform()))
    found = seen_members(drivers, clients, pools, threads=3)
    assert {name: (each.status.version, each.status.node_pools) for name, each in found.items()} == {
        "a": ("v1.36.3", NEW),
        "b": ("v1.36.3", OLD),
    }
