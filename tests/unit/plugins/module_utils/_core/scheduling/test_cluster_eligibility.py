# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.missing_record import (
    with_record_missing,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.cluster_eligibility import first_fault
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.scheduling.made import (
    AGENT,
    HEALTHY,
    JOINED,
    NOW,
    cluster,
)


def ago(seconds: int) -> str:
    return (NOW - timedelta(seconds=seconds)).isoformat()


def agent(**changed) -> dict:
    return {"agentStatus": [AGENT | changed]}


def sick(seconds: int) -> dict:
    return agent(conditions=[JOINED, HEALTHY | {"status": "False", "lastTransitionTime": ago(seconds)}])


@pytest.mark.parametrize(
    ("state", "code"),
    [
        ({}, None),
        ({"leaving": ago(1)}, "leaving"),
        ({"agentStatus": []}, "agent-not-online"),
        (agent(type="ServiceExportImportAgent"), "agent-not-online"),
        (agent(lastReceivedHeartbeat=None), "heartbeat-missing"),
        (agent(lastReceivedHeartbeat=ago(300)), None),
        (agent(lastReceivedHeartbeat=ago(301)), "heartbeat-too-old"),
        (agent(conditions=[HEALTHY]), "agent-not-joined"),
        (agent(conditions=[JOINED | {"status": "False"}, HEALTHY]), "agent-not-joined"),
        (agent(conditions=[JOINED]), "health-unknown"),
        (sick(300), None),
        (sick(301), "unhealthy-too-long"),
        (agent(conditions=[JOINED, {"type": "Healthy", "status": "Unknown"}]), "unhealthy"),
    ],
)
def test_first_reason_wins_and_limits_are_exclusive(state, code):
    refusal = first_fault(cluster("a", **state), NOW)
    assert (refusal and refusal.code) == code
    assert refusal is None or refusal.sentence


def test_one_whose_record_is_missing_is_not_eligible_however_well_it_is():
    refusal = first_fault(with_record_missing(cluster("a")), NOW)
    assert refusal.code == "record-missing" and "MemberCluster" in refusal.sentence


def test_the_reason_gives_the_minutes():
    refusal = first_fault(cluster("a", **agent(lastReceivedHeartbeat=ago(450))), NOW)
    assert refusal.details == {"minutes": 7.5, "limitMinutes": 5}
    assert "7.50 minutes" in refusal.sentence


def test_eligibility_is_judged_at_the_instant_of_the_facts():
    assert first_fault(cluster("a"), datetime(2026, 1, 15, 13, tzinfo=UTC)).code == "heartbeat-too-old"
