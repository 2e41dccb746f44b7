# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""F7: a runner whose clock is off begins no upgrade. The hub's answers bear another time than they were given at."""

from __future__ import annotations

import typing as t
from datetime import timedelta
from types import SimpleNamespace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.connection_notes import take_connection_notes
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.credentials import connection_from_kubeconfig
from member_gateway import Gateway
from update_fleet import OLD, UpdateFleet, sequence


@pytest.fixture
def gateway(fleet: UpdateFleet) -> t.Iterator[Gateway]:
    made = Gateway(t.cast(t.Any, SimpleNamespace(client=fleet.client)))
    yield made
    made.close()


@pytest.mark.parametrize(
    ("minutes", "where"),
    [(10, "our clock is 10 min behind those of the clusters"), (-10, "our clock is 9 min ahead of those")],
)
def test_nothing_begins_by_a_clock_that_is_off(fleet: UpdateFleet, gateway: Gateway, minutes: int, where: str) -> None:
    fleet.file_members(a=OLD)
    drivers = {"command": fleet.file_driver()}
    connection = connection_from_kubeconfig(gateway.kubeconfig(fleet.folder / "through"))
    straight, gateway.ahead = fleet.client, timedelta(minutes=minutes, seconds=2)
    with KubeClient(connection) as fleet.client:
        verdict = fleet.conduct(fleet.run(sequence(("all",))), drivers, max_idle=timedelta(0))
    assert verdict.code == "waiting" and fleet.file_upgrades() == []
    row = fleet.row("a")
    assert (row.status.state, row.reason) == ("Pending", "ClockSkew") and where in row.status.error.message
    gateway.ahead = timedelta(seconds=100)
    take_connection_notes()
    with KubeClient(connection) as fleet.client:
        assert fleet.conduct(drivers=drivers).outcome == "done"
    fleet.client = straight
    assert fleet.file_upgrades() == ["a"]
    told = take_connection_notes()["gateway"]
    assert len(told) == 1 and told[0].startswith("its clock is ") and told[0].endswith(" s ahead of ours"), told
