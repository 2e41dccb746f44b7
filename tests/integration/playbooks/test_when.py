# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When clusters may be touched, as users ask for it: by records in a file and on a hub, and without asking a member."""

from __future__ import annotations

import contextlib
import json
import typing as t
from datetime import UTC, datetime, timedelta
from pathlib import Path

import yaml
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.api_groups import FLEET_API
from ansible_collections.gitops.fleet.plugins.module_utils._kube.apply import apply_object
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.credentials import connection_from_kubeconfig
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from further_user import client_kubeconfig
from playing import Fleet, Player, given

KUBE_SYSTEM = "/api/v1/namespaces/kube-system"
ANNOTATION = "gitops.fleet/maintenance"
TODAY = datetime.now(UTC)
Document = dict[str, t.Any]


def day(ahead: int) -> str:
    return f"{TODAY + timedelta(days=ahead):%Y-%m-%d}"


def frozen(first: int, last: int) -> Document:
    freeze = {"name": "sales", "start": day(first), "end": day(last), "reason": "sales week"}
    spec = {"freezes": [freeze]}
    return {"apiVersion": FLEET_API, "kind": "FleetMaintenance", "metadata": {"name": "sales"}, "spec": spec}


def client_of(fleet: Fleet, name: str) -> KubeClient:
    return KubeClient(connection_from_kubeconfig(fleet.root / name / "kubeconfig"))


@contextlib.contextmanager
def annotated(fleet: Fleet, name: str, own: Document) -> t.Iterator[None]:
    """A cluster that says itself when it may be upgraded."""
    with client_of(fleet, name) as client:
        try:
            annotate(client, json.dumps(own))
            yield
        finally:
            annotate(client, None)


def annotate(client: KubeClient, text: str | None) -> None:
    body = {"metadata": {"annotations": {ANNOTATION: text}}}
    client.request("PATCH", KUBE_SYSTEM, body, content_type="application/merge-patch+json")


def asked_of(fleet: Fleet, user: str) -> int:
    """How often members were asked for anything by this user."""
    events = (json.loads(line) for log in fleet.audit_logs for line in log.read_text().splitlines())
    return sum(each["user"].get("username") == user for each in events)


def told(play: Player, *flags: str, **values: t.Any) -> tuple[str, Document]:
    output = play("gitops.fleet.when", *flags, **values, result_file="when.json").clean().output
    return " ".join(output.split()), json.loads((play.folder / "when.json").read_text(encoding="utf-8"))


def test_records_in_a_file_answer_without_any_member(play: Player, fleet: Fleet) -> None:
    """The cluster's own windows are those that were read when it joined."""
    values = given(play.folder, fleet, fleet.reader)
    never = {"schedule": {"weekly": {"intervalWeeks": 1, "dayOfWeek": "Monday"}}, "durationHours": 4,
             "startTime": "01:00", "timeZone": "Europe/Vienna", "startDate": "2090-01-01"}  # fmt: skip
    with annotated(fleet, "west", {"windows": [{"name": "kubernetes", "maintenanceWindow": never}]}):
        play("member_cluster", **values).clean()
    records = SqliteRecords(play.folder / "records.db", lambda: datetime.now(UTC))
    records.create(frozen(-1, 3))
    records.close()
    before = asked_of(fleet, "planner")
    text, found = told(play, records=values["records"], clusters="east, west", days=14)
    east, west = found["clusters"]
    assert east["upgrade"]["next"]["start"] == f"{day(4)}T00:00:00Z" and east["upgrade"]["next"]["end"] is None
    assert west["upgrade"]["next"] is None and west["nodes"]["next"]["start"] == f"{day(4)}T00:00:00Z"
    assert "outside the windows of the cluster itself (annotation gitops.fleet/maintenance)" in text
    assert "freeze sales of FleetMaintenance sales: sales week, until" in text and "none in 13 months" in text

    (play.folder / "freezes").mkdir()
    (play.folder / "freezes" / "sales.yml").write_text(yaml.safe_dump(frozen(2, 3)), encoding="utf-8")
    supposed = {"clusters": ["east"], "maintenance": "freezes", "write_calendar": "when.ics"}
    text, found = told(play, "--check", records=values["records"], **supposed)
    assert found["before"][0]["upgrade"]["open"] is False and found["clusters"][0]["upgrade"]["open"] is True
    assert "to make it so: ansible-playbook gitops.fleet.maintenance -e maintenance=freezes" in text
    assert "BY WHAT IS RECORDED" in text and not (play.folder / "when.ics").exists()
    told(play, records=values["records"], **supposed)
    assert "SUMMARY:upgrade frozen: east" in (play.folder / "when.ics").read_text(encoding="utf-8")
    assert asked_of(fleet, "planner") == before
    refused = play("gitops.fleet.when", records=values["records"], clusters="eats")
    assert refused.code == 2 and "no-such-member" in refused.output


def test_maintenance_info(play: Player, joined: dict[str, t.Any]) -> None:
    for flags, written in ((("--check",), False), ((), True), ((), True)):
        assert play("maintenance_info", *flags, **joined).clean().changed == 0
        assert (play.folder / "when.ics").exists() is written


def test_who_may_read_the_hub_may_ask(play: Player, fleet: Fleet) -> None:
    """With the rights that ``rbac`` prints for a reader of the hub, and without any on members."""
    hub = {"records": {"type": "hub", "kubeconfig": fleet.admin, "context": "east"}}
    play("gitops.fleet.hub", kubeconfig=fleet.admin, context="east").clean()
    play("gitops.fleet.rbac", subject="looker", purpose="hub_reader", dest="rights.yml").clean()
    members = [{"name": name, "context": name} for name in ("east", "west")]
    with client_of(fleet, "east") as client:
        for each in yaml.safe_load_all((play.folder / "rights.yml").read_text(encoding="utf-8")):
            apply_object(client, each, "tests", force=True)
        play("gitops.fleet.join", **hub, kubeconfig=fleet.admin, members=members).clean()
        try:
            apply_object(client, frozen(0, 1), "tests", force=True)
            looker = str(client_kubeconfig(Path(fleet.root / "east"), "looker"))
            asks = {"records": {"type": "hub", "kubeconfig": looker}}
            text, found = told(play, **asks, clusters="west")
            (west,) = found["clusters"]
            assert west["upgrade"]["next"]["start"] == west["nodes"]["next"]["start"] == f"{day(2)}T00:00:00Z"
            assert "upgrades and disruption of nodes, at" in text
        finally:
            client.send("DELETE", f"/apis/{FLEET_API}/fleetmaintenances/sales")
            play("gitops.fleet.leave", **hub, members=["east", "west"])


def test_who_keeps_windows_moves_a_freeze_on_the_hub_and_begins_nothing(play: Player, fleet: Fleet) -> None:
    """With the rights that ``rbac`` prints for it: told beforehand, recorded, and deleted again."""
    hub = {"records": {"type": "hub", "kubeconfig": fleet.admin, "context": "east"}}
    play("gitops.fleet.hub", kubeconfig=fleet.admin, context="east").clean()
    play("gitops.fleet.rbac", subject="keeper", purpose="hub_maintainer", dest="rights.yml").clean()
    members = [{"name": name, "context": name} for name in ("east", "west")]
    with client_of(fleet, "east") as client:
        for each in yaml.safe_load_all((play.folder / "rights.yml").read_text(encoding="utf-8")):
            apply_object(client, each, "tests", force=True)
        play("gitops.fleet.join", **hub, kubeconfig=fleet.admin, members=members).clean()
        keeper = str(client_kubeconfig(Path(fleet.root / "east"), "keeper"))
        keeps = {"records": {"type": "hub", "kubeconfig": keeper}, "maintenance": "sales.yml"}
        sales = play.folder / "sales.yml"
        try:
            sales.write_text(yaml.safe_dump(frozen(-1, 3)), encoding="utf-8")
            text, _found = told(play, **keeps)
            assert "-e maintenance=sales.yml" in text
            foretold = play("gitops.fleet.maintenance", "--check", **keeps).clean()
            assert foretold.changed == 1 and client.get(f"/apis/{FLEET_API}/fleetmaintenances")["items"] == []
            assert play("gitops.fleet.maintenance", **keeps).clean().changed == 1
            sales.write_text(yaml.safe_dump(frozen(-1, 1)), encoding="utf-8")
            moved = " ".join(play("gitops.fleet.maintenance", **keeps).clean().output.split())
            assert f"~ freeze sales: days {day(-1)} to {day(3)} -> {day(-1)} to {day(1)}" in moved
            assert f"{day(4)} 00:00 opens" in moved and "and 1 more with the same answer" in moved
            assert play("gitops.fleet.maintenance", **keeps).clean().changed == 0
            (kept,) = client.get(f"/apis/{FLEET_API}/fleetmaintenances")["items"]
            assert kept["spec"]["freezes"][0]["end"] == day(1)
            gone = {"records": keeps["records"], "state": "absent", "names": "sales"}
            assert play("gitops.fleet.maintenance", **gone).clean().changed == 1
            assert play("gitops.fleet.when", records=keeps["records"]).clean().output.count(" open ") == 1
            entries = [each["spec"] for each in client.get(f"/apis/{FLEET_API}/auditentries")["items"]]
            mine = [each for each in entries if each["by"] == "keeper"]
            assert [each["action"] for each in mine] == ["MaintenanceRecorded"] * 2 + ["MaintenanceDeleted"]
            assert mine[0]["members"] == ["east", "west"]
            assert client.get(f"/apis/{FLEET_API}/updateruns")["items"] == []
        finally:
            client.send("DELETE", f"/apis/{FLEET_API}/fleetmaintenances/sales", expect=(404,))
            play("gitops.fleet.leave", **hub, members=["east", "west"])
