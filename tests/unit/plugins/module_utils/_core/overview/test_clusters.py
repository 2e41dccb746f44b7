# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_member import FleetMember
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.member_cluster import MemberCluster
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.missing_record import (
    with_record_missing,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.clusters import (
    EVACUATED,
    LEAVING,
    NOT_READY,
    READY,
    UNREAD,
    UNREADABLE,
    cluster_row,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode

NOW = datetime(2026, 1, 2, tzinfo=UTC)
HEARD = {"type": "MemberAgent", "lastReceivedHeartbeat": "2026-01-01T00:00:00Z"}


def cluster(status: dict[str, Any], **metadata: Any) -> MemberCluster:
    spec = {"identity": {"kind": "User", "name": "fleet"}, "taints": metadata.pop("taints", [])}
    return decode(MemberCluster, {"metadata": {"name": "c-1", **metadata}, "spec": spec, "status": status})


def agent(healthy: str, message: str = "") -> dict[str, Any]:
    at = "2026-01-01T00:00:00Z"
    told = {"type": "Healthy", "status": healthy, "reason": "Read", "message": message, "lastTransitionTime": at}
    return {"agentStatus": [{**HEARD, "conditions": [told]}]}


@pytest.mark.parametrize(
    ("given", "state"),
    [
        (cluster(agent("True")), READY),
        (cluster(agent("False", "no etcd")), NOT_READY),
        (cluster({}), UNREAD),
        (cluster(agent("True"), deletionTimestamp="2026-01-01T00:00:00Z"), LEAVING),
        (cluster(agent("True"), taints=[{"key": "gitops.fleet/evacuated", "effect": "NoSchedule"}]), EVACUATED),
    ],
)
def test_a_cluster_is_well_only_if_it_said_so(given: MemberCluster, state: str):
    row = cluster_row(given, now=NOW)
    assert row.state == state and bool(row.why) == (state != READY)


def test_a_cluster_without_its_member_cluster_is_told_with_the_way_out_however_well_it_is():
    row = cluster_row(with_record_missing(cluster(agent("True"))), now=NOW)
    assert row.state == UNREAD and row.why.startswith("its MemberCluster is missing: join it again")


def test_a_read_that_failed_is_told_and_older_facts_stand():
    """F22: unreachable is not absent, and unknown is not zero."""
    row = cluster_row(cluster(agent("True")), None, {"code": "timeout", "message": "no answer in 5 s"}, now=NOW)
    assert row.state == UNREADABLE and row.why == "no answer in 5 s [timeout]" and row.heartbeat is not None
    assert row.nodes is None and row.as_dict()["cpu"] == [None, None]


def test_headroom_is_in_cores_and_bytes_and_nonsense_is_unknown():
    usage = {"allocatable": {"cpu": "4", "memory": "8Gi"}, "available": {"cpu": "1500m", "memory": "2Gi"}}
    found = cluster_row(
        cluster({"resourceUsage": usage, "properties": {"kubernetes-fleet.io/node-count": {"value": "x"}}}), now=NOW
    )
    assert found.as_dict()["cpu"] == [1.5, 4] and found.as_dict()["memory"] == [2 * 2**30, 8 * 2**30]
    assert found.nodes is None
    endless = {"allocatable": {"cpu": "1e400", "memory": "-1e400"}, "available": {"cpu": "0e400", "memory": "soon"}}
    row = cluster_row(cluster({"resourceUsage": endless}), now=NOW).as_dict()
    assert (row["cpu"], row["memory"]) == ([0, None], [None, None])


def test_what_only_the_member_has_is_taken_from_there():
    member = decode(
        FleetMember,
        {
            "metadata": {"name": "c-1"},
            "spec": {"connection": {"inCluster": True}, "group": "eu", "location": "Vienna"},
            "status": {
                "version": "v1.35.1",
                "operation": "run-1",
                "nodePools": [{"name": "p", "version": "v1.34.2", "image": "x", "count": 2}],
                "certificates": {"server": "2026-01-09T00:00:00Z", "client": "2026-02-09T00:00:00Z"},
            },
        },
    )
    row = cluster_row(cluster({}), member, now=NOW)
    assert (row.group, row.location, row.version, row.operation) == ("eu", "Vienna", "v1.35.1", "run-1")
    told = row.as_dict()
    assert told["kubelets"] == {"oldest": "v1.34.2", "newest": "v1.34.2", "behind": 1, "ahead": 0, "tooOld": False}
    assert told["certificate"] == {"which": "server", "ends": "2026-01-09T00:00:00Z", "days": 7}
    assert (told["images"], told["imagesUncounted"]) == ({"x": 2}, 0)
    unknown = cluster_row(cluster({}), now=NOW).as_dict()
    assert unknown["certificate"] is None and unknown["kubelets"]["behind"] is None
