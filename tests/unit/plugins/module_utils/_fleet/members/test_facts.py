# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What is left of a member's nodes, from its pods."""

from __future__ import annotations

from datetime import UTC, datetime

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_member import FleetMember
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.member_cluster import MemberCluster
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import ObjectMeta
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.facts import read_fleet
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import Member
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._fleet.answering import (
    POD,
    Answering,
    OneClient,
    listing,
    state,
)

NOW = datetime(2026, 1, 16, tzinfo=UTC)


def test_what_a_pod_asks_for_as_a_whole_is_not_available() -> None:
    """2 cores of 3900m for one pod and 115m for the other; the containers of the first one ask for 500m."""
    whole = {
        "metadata": {"name": "p2", "namespace": "shop", "uid": "u-6"},
        "spec": {
            "resources": {"requests": {"cpu": "2"}},
            "containers": [{"name": "a", "resources": {"requests": {"cpu": "500m"}}}],
        },
    }
    documents = {**state(), "/api/v1/pods": listing("Pod", [POD, whole])}
    member = Member(
        cluster=MemberCluster(metadata=ObjectMeta(name="m1")), fleet=decode(FleetMember, {"metadata": {"name": "m1"}})
    )
    reading = read_fleet({"m1": member}, OneClient(Answering(documents)), NOW, pods=True)
    (read,) = reading.snapshot.members
    assert read.status.resource_usage.available == {"cpu": "1785m", "memory": "7104Mi"}
