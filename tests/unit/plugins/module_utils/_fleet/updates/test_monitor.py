# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Members that are given up when their upgrade has ended."""

from __future__ import annotations

import threading
import typing as t
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.api_groups import FLEET_API
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import MemberView
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.member_lease import MemberLeases
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates import leases as leases_module
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


def test_one_that_left_and_hangs_holds_nobody_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its upgrade goes on; whoever conducts has the lease of the run to renew, and other members to look after."""
    monkeypatch.setattr(leases_module, "DEADLINE", 0.1)
    records = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    records.create({"apiVersion": FLEET_API, "kind": "FleetMember", "metadata": {"name": "east"}, "spec": {}})
    asked, ends = threading.Event(), threading.Event()

    def hangs(_name: str) -> t.NoReturn:
        asked.set()
        ends.wait(30)
        raise FleetError("timeout", "no answer", "east")

    clients = t.cast(t.Any, SimpleNamespace(leases=MemberLeases(records, "me"), get=hangs))
    leases = UpgradeLeases(clients, "run/one", print)
    monitor = MemberMonitor(records, {}, t.cast(t.Any, None), "me", ["east"], leases=leases)
    monitor.take_up("east", "one.east.1")
    asks = threading.Thread(target=leases.claim, args=("east",))
    asks.start()
    assert asked.wait(30)
    monitor.keep_only({}, "one.")
    assert asks.is_alive() and not records.leases()
    ends.set()
    asks.join(30)
    records.close()
