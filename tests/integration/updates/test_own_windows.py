# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Windows that live on a real member hold its upgrade, are told of by name, and are read anew with its facts."""

from __future__ import annotations

import json
from datetime import timedelta

from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.identity import KUBE_SYSTEM
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.credentials import connection_from_kubeconfig
from conducting import Plays
from update_fleet import API, MERGE, NEW, OLD, UpdateFleet

ANNOTATION = "gitops.fleet/maintenance"
FREEZE = {"name": "inventory", "start": "2020-01-01", "end": "2099-12-31"}
# Open on the first Monday of every sixth month for four hours, and not on that day.
NEVER = {
    "schedule": {"absoluteMonthly": {"intervalMonths": 6, "dayOfMonth": 1}},
    "durationHours": 4,
    "startTime": "02:00",
    "utcOffset": "+00:00",
    "notAllowedDates": [{"start": "2020-01-01", "end": "2099-12-31"}],
}
CLOSED = {"windows": [{"name": "aksManagedAutoUpgradeSchedule", "maintenanceWindow": NEVER}]}


def test_windows_on_the_cluster_hold_its_upgrade(fleet: UpdateFleet, plays: Plays) -> None:
    (member,) = fleet.members("all")
    connection = connection_from_kubeconfig(fleet.clusters.root / member / "kubeconfig")

    def write(text: str | None) -> None:
        body = {"metadata": {"annotations": {ANNOTATION: text}}}
        with KubeClient(connection) as client:
            client.request("PATCH", KUBE_SYSTEM, body, {"fieldManager": "kubectl-patch"}, MERGE)

    def read(code: int = 0) -> str:
        return plays("gitops.fleet.facts", records=fleet.options, dest=str(fleet.folder / "facts")).code(code).output

    def recorded() -> dict[str, object]:
        return fleet.client.get(f"/apis/{API}/fleetmembers/{member}")["status"].get("maintenance") or {}

    write(json.dumps(CLOSED))
    read()
    assert recorded()["source"] == f"annotation {ANNOTATION}"
    held = fleet.conduct(fleet.run(), max_idle=timedelta(0))
    assert held.outcome == "waiting" and fleet.version(member) == OLD
    row = fleet.row(member)
    assert (row.reason, row.status.state) == ("WindowClosed", "Pending")
    assert f"closed now by the cluster itself (annotation {ANNOTATION})" in row.message

    write("nights")
    assert "maintenance windows not read: invalid-maintenance" in " ".join(read().split())
    assert recorded()["windows"], "a read that failed is no empty answer"
    write(json.dumps({"freezes": [FREEZE]}))
    read()
    assert fleet.conduct(max_idle=timedelta(0)).outcome == "waiting" and "freeze inventory" in fleet.row(member).message

    write(None)
    read()
    assert recorded() == {}
    assert fleet.conduct().outcome == "done" and fleet.version(member) == NEW
