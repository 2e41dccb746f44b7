# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Claims on members are given up over records in a file."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.api_groups import FLEET_API
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.claims import claim, lease_name, unclaim
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Lease, Records
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

NOW = datetime(2026, 8, 17, 12, tzinfo=UTC)
OPERATION = "release-7-0ec6e1a7.a.1"


@pytest.fixture
def records(tmp_path: Path) -> t.Iterator[Records]:
    opened = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    opened.create({"apiVersion": FLEET_API, "kind": "FleetMember", "metadata": {"name": "a"}, "spec": {}})
    yield opened
    opened.close()


def test_a_claim_without_an_operation_is_given_up_without_a_write_to_the_member(records: Records) -> None:
    """A conductor that died between lease and mark leaves such a claim; whoever reads the member meanwhile is in
    nobody's way."""
    before = records.get("FleetMember", "a")
    lease = records.acquire(lease_name("a"), "me", 60)
    unclaim(records, "a", "", lease)
    assert records.get("FleetMember", "a") == before and records.leases() == ()


def test_a_claim_is_given_up_with_the_mark_of_its_own_operation_alone(records: Records) -> None:
    lease = claim(records, "a", OPERATION, "me")
    assert isinstance(lease, Lease)
    marked = records.get("FleetMember", "a")
    assert marked is not None and marked["status"] == {"operation": OPERATION}
    unclaim(records, "a", "another", None)
    unclaim(records, "a", "", None)
    assert records.get("FleetMember", "a") == marked
    unclaim(records, "a", OPERATION, lease)
    free = records.get("FleetMember", "a")
    assert free is not None and not free["status"] and records.leases() == ()
