# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One cluster in the records of two fleets, or under two names: it is upgraded once, and by one at a time (F6)."""

from __future__ import annotations

import json
import signal
import typing as t
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.join import join
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.member_lease import MemberLeases
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.gate_objects import GateKeeper
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.run_record import read_run
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.credentials import connection_from_kubeconfig
from ansible_collections.gitops.fleet.plugins.module_utils._local import upgrades
from ansible_collections.gitops.fleet.plugins.module_utils._store.open_records import open_records
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Records
from conducting import Plays
from update_fleet import LEASES, MERGE, NEW, OLD, Document, UpdateFleet, sequence, until

LEASE = f"{LEASES}/member"


@pytest.fixture
def other_records(fleet: UpdateFleet) -> Iterator[Records]:
    """Of another fleet, in a file."""
    records = open_records(_options(fleet), {}, lambda: datetime.now(UTC))
    yield records
    records.close()


def _options(fleet: UpdateFleet) -> Document:
    return {"type": "sqlite", "path": str(fleet.folder / "others.db")}


def client(fleet: UpdateFleet, name: str) -> KubeClient:
    return KubeClient(connection_from_kubeconfig(fleet.clusters.root / name / "kubeconfig"))


def lease(fleet: UpdateFleet, name: str) -> Document | None:
    """What lies on the member, if it answers."""
    try:
        with client(fleet, name) as found:
            return found.get(LEASE)
    except ApiError as error:
        assert error.code in ("not-found", "unreachable", "bad-answer", "timeout"), error
        return None


def test_a_member_that_other_records_hold_is_waited_for(fleet: UpdateFleet, other_records: Records) -> None:
    (name,) = fleet.members("all")
    with client(fleet, name) as on_member, MemberLeases(other_records, "ann").holding(on_member, "placement/web"):
        came = fleet.conduct(fleet.run(sequence(("all",))), max_idle=timedelta(0))
        assert came.outcome == "waiting"
        row = fleet.row(name)
        assert row.status.state == "Pending" and fleet.upgrades() == {}
        assert "placement/web by ann" in row.message and str(other_records.place) in row.message
        assert "Lease gitops-fleet/member on the cluster, free 300 s after" in row.message
        (mark,) = [each.get("status", {}).get("operation") for each in fleet.records.list("FleetMember")]
        assert not mark
    assert fleet.conduct().outcome == "done"
    assert fleet.upgrades() == {name: 1} and lease(fleet, name) is None


def test_two_runs_of_two_records_at_once_upgrade_the_cluster_once(
    fleet: UpdateFleet, plays: Plays, other_records: Records
) -> None:
    (name,) = fleet.members("all")
    wish = fleet._wish(name, fleet.clusters.root / name / "kubeconfig", "all", "local")
    join(Session(records=other_records, holder="x"), [wish], write=True)
    fleet.write(sequence(("all",)))
    events, operations = str(fleet.folder / "others.jsonl"), str(fleet.folder / "others-operations")
    first = plays.start("gitops.fleet.update", **fleet.variables())
    second = plays.start(
        "gitops.fleet.update", **fleet.variables(records=_options(fleet), operations=operations, events=events)
    )
    for each in (first, second):
        assert each.ended(600).code(0).fleet["outcome"] == "done"
    assert fleet.version(name) == NEW and fleet.upgrades() == {name: 1}
    runs = [fleet.recorded(), read_run(other_records, fleet.run_name)]
    states = [run.status.stages[0].groups[0].members[0].status.state for run in runs]
    assert sorted(states) == ["Completed", "Skipped"]
    assert lease(fleet, name) is None


def test_the_lease_outlives_a_killed_conductor_and_keeps_others_off(
    fleet: UpdateFleet, plays: Plays, other_records: Records
) -> None:
    (name,) = fleet.members("all")
    fleet.write(sequence(("all",)))
    first = plays.start("gitops.fleet.update", **fleet.variables())
    held = until(lambda: lease(fleet, name))
    assert held["spec"]["leaseDurationSeconds"] == 900 and f"run/{fleet.run_name}" in held["spec"]["holderIdentity"]
    until(fleet.upgrades)
    log = (fleet.clusters.root / upgrades.LOG).read_text().splitlines()
    (at,) = [each["at"] for each in map(json.loads, log) if each["member"] == name]
    assert datetime.fromisoformat(held["metadata"]["creationTimestamp"]) <= datetime.fromisoformat(at)
    first.kill(signal.SIGKILL, first.worker, first.pid)
    first.ended()
    until(lambda: lease(fleet, name))
    with client(fleet, name) as on_member, pytest.raises(FleetError) as refused:
        MemberLeases(other_records, "ann").take(on_member, "placement/web")
    assert refused.value.code == "member-held" and f"run/{fleet.run_name}" in str(refused.value)
    assert plays("gitops.fleet.update", **fleet.variables()).code(0).fleet["outcome"] == "done"
    assert fleet.upgrades() == {name: 1} and lease(fleet, name) is None


def test_what_was_not_begun_is_not_begun_while_others_hold_the_member(
    fleet: UpdateFleet, other_records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The conductor died between the intent and the beginning, and came back when its lease had long run out."""
    (name,) = fleet.members("all")

    def die(*_arguments: t.Any) -> t.NoReturn:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(GateKeeper, "publish", die)
        fleet.conduct(fleet.run(sequence(("all",))))
    assert fleet.states() == {name: "Running"} and fleet.upgrades() == {}
    with client(fleet, name) as on_member:
        on_member.request("PATCH", LEASE, {"spec": {"renewTime": "2020-01-01T00:00:00.000000Z"}}, {}, MERGE)
        with MemberLeases(other_records, "ann").holding(on_member, "run/theirs"):
            assert fleet.conduct(time_limit=timedelta(seconds=4)).code == "time-limit"
            assert fleet.states() == {name: "Running"} and fleet.upgrades() == {}
            assert any("run/theirs by ann" in each for each in fleet.said), fleet.said
    assert fleet.conduct().outcome == "done"
    assert fleet.upgrades() == {name: 1} and lease(fleet, name) is None


def test_another_cluster_behind_a_members_connection_is_not_upgraded(fleet: UpdateFleet) -> None:
    names = fleet.members("all", "all")
    document = t.cast(Document, fleet.records.get("FleetMember", names[0]))
    document["spec"]["connection"]["kubeconfig"] = str(fleet.clusters.root / names[1] / "kubeconfig")
    fleet.records.replace(document)
    assert fleet.conduct(fleet.run(sequence(("all",)))).outcome == "failed"
    row = fleet.row(names[0])
    assert (row.status.state, row.reason) == (
        "Failed",
        "PreconditionFailed",
    ) and "another cluster answers" in row.message
    assert fleet.upgrades() == {} and [fleet.version(name) for name in names] == [OLD, OLD]


def test_a_cluster_under_two_names_is_not_upgraded_at_all(fleet: UpdateFleet, plays: Plays) -> None:
    (name,) = fleet.members("all")
    for kind in ("MemberCluster", "FleetMember"):
        found = t.cast(Document, fleet.records.get(kind, name))
        fleet.records.create({**found, "metadata": {"name": "second"}})
    fleet.write(sequence(("all",)))
    with pytest.raises(FleetError) as refused:
        fleet.conduct(fleet.run(sequence(("all",))))
    assert refused.value.code == "double-member" and "second" in str(refused.value)
    played = plays("gitops.fleet.update", **fleet.variables()).code(2)
    assert played.fleet["code"] == "double-member" and fleet.upgrades() == {}
