# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Members that are given up when their upgrade has ended."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.api_groups import FLEET_API
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import MemberView
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.member_lease import MemberLeases
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.claims import claim
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.leases import UpgradeLeases
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.monitor import MemberMonitor
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._fleet.members.test_member_lease import Server

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_member_that_nobody_is_logged_in_to_any_more_is_given_up_all_the_same(tmp_path: Path) -> None:
    """Its upgrade has ended; those of other members go on, and are looked after by the same conductor."""
    records = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    records.create({"apiVersion": FLEET_API, "kind": "FleetMember", "metadata": {"name": "east"}, "spec": {}})
    server = Server()
    clients = t.cast(t.Any, SimpleNamespace(leases=MemberLeases(records, "me"), get=lambda _name: server))
    leases = UpgradeLeases(clients, "run/one", print)
    judge = t.cast(t.Any, None)
    monitor = MemberMonitor(records, {}, judge, "me", ["east"], leases=leases, views={"east": MemberView(name="east")})
    monitor.take_up("east", "one.east.1")
    server.logged_out = True
    monitor.keep_only({}, "one.")
    assert not isinstance(claim(records, "east", "two.east.1", "others"), str)
    assert records.leases()[0].holder == "others"
    records.close()
