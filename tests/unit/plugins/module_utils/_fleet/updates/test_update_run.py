# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What goes with a run that is deleted, and runs that are asked about before they are recorded, over records in a
file."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.api_groups import CLUSTER_API, FLEET_API
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.record_size import size_of_json
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.record.trimming import LIMIT
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.terms import Terms, kept_terms
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor.journal import Journal
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.other_rotations import nodes_in_hand
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.defining import define_run, follow_up_run
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.forecasting import outlooks
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.run_record import RunBook, proven
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.sources import (
    UpdateManifests,
    update_manifests,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.update_run import (
    asked_runs,
    delete_run,
    keep_terms,
    known_beside,
    restart_run,
    skip_targets,
    start_run,
    stop_run,
    superseded,
    targets_of,
)
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Records
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.made import changed, laid
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.test_integrity import object_of
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._fleet.updates.test_gate_objects import (
    DIGEST_A,
    GATE,
    NOW,
    approved,
    run_and_state,
    shown,
)


def now() -> datetime:
    return datetime(2026, 8, 17, 12, tzinfo=UTC)


@pytest.fixture
def records(tmp_path: Path) -> t.Iterator[Records]:
    opened = SqliteRecords(tmp_path / "records.db", now)
    opened.create({"apiVersion": CLUSTER_API, "kind": "MemberCluster", "metadata": {"name": "a"}, "spec": {}})
    opened.create({"apiVersion": FLEET_API, "kind": "FleetMember", "metadata": {"name": "a"}, "spec": {}})
    yield opened
    opened.close()


def keep(records: Records, kind: str, name: str, spec: dict[str, t.Any]) -> None:
    records.create({"apiVersion": FLEET_API, "kind": kind, "metadata": {"name": name}, "spec": spec})


@pytest.mark.parametrize("readable", [True, False])
def test_a_run_takes_the_rotations_of_its_pools_with_it_and_no_others(records: Records, readable: bool) -> None:
    """D3-22. What its attempts recorded is named after it and its uid; one of an earlier run of that name stays."""
    update = {"upgrade": {"type": "Full", "kubernetesVersion": "1.36.3"}}
    made = {"apiVersion": FLEET_API, "kind": "UpdateRun", "metadata": {"name": "whole"},
            "spec": {"managedClusterUpdate": update}}  # fmt: skip
    run = define_run(records, "whole", update_manifests([], [made], strict=False), write=True).run
    own = f"whole-{run.metadata.uid[:8]}.a.1.blue.0123abcd"
    others = {"whole-00000000.a.1.blue.0123abcd", "whole", "by-hand"}
    for name in (own, *others):
        keep(records, "NodeRotation", name, {})
    stored = records.get("UpdateRun", "whole")
    assert stored is not None
    if not readable:
        records.replace({**stored, "status": {**stored["status"], "stages": "none"}})
        with pytest.raises(FleetError):
            delete_run(session(records), "whole", force=False, write=True)
    assert delete_run(session(records), "whole", force=True, write=False)
    assert records.names("NodeRotation") == {own, *others}
    assert delete_run(session(records), "whole", force=True, write=True)
    assert records.names("NodeRotation") == others and not records.names("UpdateRun")
    assert not delete_run(session(records), "whole", force=True, write=True)


@pytest.mark.parametrize("node", [{"phase": "Draining"}, {"phase": "GivenUp", "release": "it was not drained in time"}])
def test_a_run_whose_rotations_have_nodes_in_hand_is_not_deleted_although_no_upgrade_is_in_flight(
    records: Records, node: dict[str, str]
) -> None:
    """Its attempt has ended; without the record nobody would drain them to the end, or let them go."""
    run = define_run(records, "one", update_manifests([], [control_planes("one")], strict=False), write=True).run
    own = f"one-{run.metadata.uid[:8]}.a.1.pool.0123abcd"
    nodes = [{"name": "a/n1", "uid": "u", "pool": "a/p", "attempts": 1, **node}]
    keep(records, "NodeRotation", own, {"members": ["a"]})
    stored = records.get("NodeRotation", own)
    assert stored is not None
    records.replace({**stored, "status": {"phase": "Running", "state": {"nodes": nodes}}})
    with pytest.raises(FleetError) as refused:
        delete_run(session(records), "one", force=False, write=True)
    assert refused.value.code == "run-in-flight" and own in refused.value.message and "a/n1" in refused.value.message
    assert nodes_in_hand(records) and records.names("UpdateRun") == {"one"}
    assert delete_run(session(records), "one", force=True, write=True) and not nodes_in_hand(records)


def session(records: Records) -> Session:
    return Session(records=records, holder="somebody", clock=now)


def test_a_run_that_is_conducted_is_not_deleted_under_its_conductor(records: Records) -> None:
    """What it begins between a look and the deletion would go on unobserved."""
    define_run(records, "one", update_manifests([], [control_planes("one")], strict=False), write=True)
    lease = records.acquire("run/one", "its conductor", 60)
    with pytest.raises(FleetError) as held:
        delete_run(session(records), "one", force=False, write=True)
    assert held.value.code == "lease-held" and records.names("UpdateRun") == {"one"}
    records.release(lease)
    assert delete_run(session(records), "one", force=False, write=True) and not records.names("UpdateRun")
    assert all(each.name != "run/one" for each in records.leases())


def control_planes(name: str) -> dict[str, t.Any]:
    update = {"upgrade": {"type": "ControlPlaneOnly", "kubernetesVersion": "1.36.3"}}
    return {"apiVersion": FLEET_API, "kind": "UpdateRun", "metadata": {"name": name},
            "spec": {"managedClusterUpdate": update}}  # fmt: skip


def given(*documents: dict[str, t.Any]) -> UpdateManifests:
    return update_manifests([], documents, strict=False)


def test_a_run_that_is_given_is_forecast_by_its_files_and_recorded_nowhere(records: Records) -> None:
    """A freeze that lies beside it counts, too."""
    freeze = {"name": "sales", "start": "2026-08-17", "end": "2026-08-20"}
    closed = {"apiVersion": FLEET_API, "kind": "FleetMaintenance", "metadata": {"name": "sales"},
              "spec": {"freezes": [freeze]}}  # fmt: skip
    ends = {}
    for name, documents in {"free": [], "frozen": [closed]}.items():
        known = given(control_planes(name), *documents)
        asked = asked_runs(records, [], known, now())
        assert [each.name for each in asked.runs] == [name] and not asked.problems
        ends[name] = outlooks(records, asked.runs, now(), 14, known)[name].forecast.run.start.p50
    assert ends["free"] is not None and ends["free"].day == 17
    assert ends["frozen"] is not None and ends["frozen"].day == 21, "the 20th is frozen too"
    assert not records.names("UpdateRun") and not records.names("FleetMaintenance")


@pytest.mark.parametrize(
    "image, told", [("Linux-2", []), ("linux-2", ["no node pool of its members has images of the family of linux-2"])]
)
def test_a_named_image_that_no_pool_can_get_is_told(records: Records, image: str, told: list[str]) -> None:
    """D3-34: pools of other families are left alone, so that a misspelt one would change nothing without a word."""
    (member,) = records.list("FleetMember")
    pools = [{"name": "blue", "count": 3, "version": "v1.35.4", "image": "Linux-1"}]
    records.replace({**member, "status": {"lastRead": "2026-08-17T11:00:00Z", "nodePools": pools}})
    run = control_planes("images")
    selection = {"type": "Custom", "customNodeImageVersions": [{"version": image}]}
    run["spec"]["managedClusterUpdate"] = {"upgrade": {"type": "NodeImageOnly"}, "nodeImageSelection": selection}
    notes = define_run(records, "images", given(run), write=False).notes
    assert [each.message for each in notes] == told
    assert all(each.code == "image-of-no-pool" and "have images of Linux;" in each.hint for each in notes)


def test_a_run_that_is_given_goes_before_the_record_of_one_that_was_not_started(records: Records) -> None:
    define_run(records, "r", given(control_planes("r")), write=True)
    other = control_planes("r")
    other["spec"]["managedClusterUpdate"]["upgrade"]["kubernetesVersion"] = "1.37.0"
    (shown,) = asked_runs(records, ["r"], given(other), now()).runs
    assert shown.target == "1.37.0"
    (kept,) = asked_runs(records, ["r"], given(), now()).runs
    assert kept.target == "1.36.3" and asked_runs(records, [], given(), now()).runs == (kept,)


def test_what_was_found_in_the_files_is_told_also_of_runs_that_stand_in_the_records(records: Records) -> None:
    define_run(records, "r", given(control_planes("r")), write=True)
    stage = {"name": "only", "groups": [{"name": "g"}], "afterStageWaitInSeconds": 60}
    strategy = {"apiVersion": FLEET_API, "kind": "UpdateStrategy", "metadata": {"name": "s"},
                "spec": {"strategy": {"stages": [stage]}}}  # fmt: skip
    beside = given(strategy)
    assert [each.code for each in beside.findings] == ["wait-not-served"]
    assert asked_runs(records, ["r"], beside, now()).notes == beside.findings


def test_of_a_run_that_is_nowhere_the_files_are_asked_for(records: Records) -> None:
    with pytest.raises(FleetError) as bare:
        asked_runs(records, ["r"], given(), now())
    assert bare.value.code == "no-such-run" and "src, or updates of the playbook" in bare.value.hint
    with pytest.raises(FleetError) as other:
        asked_runs(records, ["r"], given(control_planes("s")), now())
    assert other.value.hint.endswith("in what is given: s")


def test_a_restart_is_of_a_run_that_was_started_alone(records: Records) -> None:
    session = Session(records=records, holder="tests", clock=now)
    run = define_run(records, "r", given(control_planes("r")), write=True).run
    assert not restart_run(session, run, write=True).changed
    run = start_run(session, run, {}, write=True).run
    assert not restart_run(session, run, write=True).changed, "it is on its way"
    again = restart_run(session, stop_run(session, "r", write=True).run, write=True)
    assert again.changed and not again.run.status.stop_requested


def test_a_run_with_long_errors_takes_commands(records: Records) -> None:
    """Its record was kept small by leaving out errors that repeat a message; the command wrote them all back."""
    for name in (f"b{number:02}" for number in range(20)):
        for api, kind in ((CLUSTER_API, "MemberCluster"), (FLEET_API, "FleetMember")):
            records.create({"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": {}})
    run = define_run(records, "r", given(control_planes("r")), write=True).run
    start_run(session(records), run, {}, write=True)
    stored = records.get("UpdateRun", "r")
    assert stored
    _first, *others = stored["status"]["stages"][0]["groups"][0]["members"]
    for row in others:
        row |= {"status": {"state": "Failed"}, "reason": "UpgradeFailed", "message": "x" * (LIMIT // 30)}
    records.replace(stored)
    assert skip_targets(session(records), "r", targets_of(["Member:a"], wanted=True), write=True).changed
    kept = records.get("UpdateRun", "r")
    assert kept and size_of_json(kept["status"]) <= LIMIT


def test_a_run_that_is_refused_for_a_busy_member_starts_once_that_is_skipped(records: Records) -> None:
    """Only members that it would begin count: neither those that are left out, nor those that are done."""
    other = define_run(records, "other", given(control_planes("other")), write=True).run
    operation = f"other-{other.metadata.uid[:8]}.a.1"
    stored, member = records.get("UpdateRun", "other"), records.get("FleetMember", "a")
    assert stored and member
    row = stored["status"]["stages"][0]["groups"][0]["members"][0]
    row |= {"operationId": operation, "status": {"state": "Running"}}
    records.replace(stored)
    records.replace({**member, "status": {"operation": operation}})
    wanted = control_planes("r")
    wanted["spec"]["onConflict"] = "refuse"
    run = define_run(records, "r", given(wanted), write=True).run
    with pytest.raises(FleetError) as refused:
        start_run(session(records), run, {}, write=True)
    assert [(each.code, each.message) for each in refused.value.problems] == [
        ("member-busy", f"{operation} is in flight")
    ]
    run = skip_targets(session(records), "r", targets_of(["Member:a"], wanted=True), write=True).run
    assert start_run(session(records), run, {}, write=True).changed


def test_a_run_that_was_made_again_before_the_lease_was_taken_is_another(records: Records) -> None:
    """What was prepared for the first is not carried out on the second."""
    meant = define_run(records, "cp", given(control_planes("cp")), write=True).run.metadata.uid
    delete_run(session(records), "cp", force=False, write=True)
    define_run(records, "cp", given(control_planes("cp")), write=True)
    lease = records.acquire("run/cp", "me", 60)
    with pytest.raises(FleetError) as refused:
        Journal(records, RunBook("cp", meant), lease)
    assert refused.value.code == "run-deleted" and Journal(records, RunBook("cp"), lease).state.name == "cp"


def test_a_retry_of_an_earlier_run_of_the_name_is_no_retry_of_this_one(tmp_path: Path) -> None:
    """It has ended long ago, and would be given as the one that was asked for."""
    at = now()
    records = SqliteRecords(tmp_path / "later.db", lambda: at)
    records.create({"apiVersion": CLUSTER_API, "kind": "MemberCluster", "metadata": {"name": "a"}, "spec": {}})
    records.create({"apiVersion": FLEET_API, "kind": "FleetMember", "metadata": {"name": "a"}, "spec": {}})

    def left_behind() -> None:
        define_run(records, "r", given(control_planes("r")), write=True)
        stored = records.get("UpdateRun", "r")
        assert stored
        (member,) = stored["status"]["stages"][0]["groups"][0]["members"]
        member["status"]["state"] = "Skipped"
        records.replace({**stored, "status": {**stored["status"], "phase": "active"}})

    left_behind()
    assert follow_up_run(records, "r", write=True).changed and not follow_up_run(records, "r", write=True).changed
    assert delete_run(session(records), "r", force=False, write=True)
    at += timedelta(minutes=1)
    left_behind()
    with pytest.raises(FleetError) as taken:
        follow_up_run(records, "r", write=True)
    assert taken.value.code == "name-taken" and "delete r-retry" in taken.value.hint
    records.close()


def test_of_recorded_runs_that_have_failed_those_are_named_for_which_a_newer_one_stands(tmp_path: Path) -> None:
    at = now()
    records = SqliteRecords(tmp_path / "later.db", lambda: at)
    records.create({"apiVersion": CLUSTER_API, "kind": "MemberCluster", "metadata": {"name": "a"}, "spec": {}})
    records.create({"apiVersion": FLEET_API, "kind": "FleetMember", "metadata": {"name": "a"}, "spec": {}})
    define_run(records, "old", given(control_planes("old")), write=True)
    stored = records.get("UpdateRun", "old")
    assert stored
    (member,) = stored["status"]["stages"][0]["groups"][0]["members"]
    member["status"]["state"] = "Failed"
    status = {**stored["status"], "phase": "active", "status": {"state": "Failed"}}
    failed = proven(records.replace({**stored, "status": status}))
    at += timedelta(minutes=1)
    newer = define_run(records, "new", given(control_planes("new")), write=True).run
    assert superseded([failed, newer], known_beside(records, [failed, newer])) == {}, "it was not started"
    newer = start_run(session(records), newer, {}, write=True).run
    assert superseded([failed, newer], known_beside(records, [failed, newer])) == {"old": newer}
    records.close()


def test_terms_stay_with_the_run_for_whoever_carries_it_on(records: Records) -> None:
    """F18. They are kept once, are never loosened, are told where they were not given, and go on to a retry."""
    made = {"apiVersion": FLEET_API, "kind": "UpdateRun", "metadata": {"name": "r"},
            "spec": {"managedClusterUpdate": {"upgrade": {"type": "Full", "kubernetesVersion": "1.36.3"}}}}  # fmt: skip
    given = update_manifests([], [made], strict=False)
    said: list[str] = []
    session = Session(records=records, holder="tests", clock=now, say=said.append)
    four_eyes = Terms(self_approval=False, expires=timedelta(hours=1))
    kept = keep_terms(session, define_run(records, "r", given, write=True).run, four_eyes)
    assert kept_terms(kept.metadata.annotations) == four_eyes and said == []
    run = start_run(session, keep_terms(session, kept, Terms()), {}, write=True, who="anna").run
    assert kept_terms(run.metadata.annotations) == four_eyes
    assert said == ["r: approvals are judged by the terms that the run keeps: allow_self_approval=false, "
                    "approval_expires=3600"]  # fmt: skip
    again = define_run(records, "r", given, write=True).run
    assert kept_terms(again.metadata.annotations) == four_eyes, "the manifest, which does not have them, is given again"


def test_a_run_keeps_no_terms_by_which_a_passed_gate_would_not_have_been(records: Records) -> None:
    """F18. Conducting by them is refused; without them it goes on as before."""
    state = changed(laid("s{g:a}"), "s", before_gates=(replace(GATE, state="Completed", by="anna"),), reached=True)
    run = replace(object_of(replace(state, phase="active"), DIGEST_A), metadata=run_and_state()[0].metadata)
    shown(records, status=approved(DIGEST_A))
    session = Session(records=records, holder="tests", clock=lambda: NOW)
    assert keep_terms(session, run, Terms(verified=True)) is run


def test_what_is_skipped_before_the_start_stays_so_when_the_run_is_laid_out_anew(records: Records) -> None:
    """D3-59. A cluster that joins, or another definition, makes it another run to approve, and brings nobody back."""
    define_run(records, "r", given(control_planes("r")), write=True)
    skip_targets(session(records), "r", targets_of(["Member:a"], wanted=True), write=True, reason="a fair")
    for kind, api in (("MemberCluster", CLUSTER_API), ("FleetMember", FLEET_API)):
        records.create({"apiVersion": api, "kind": kind, "metadata": {"name": "b"}, "spec": {}})
    edited = control_planes("r")
    edited["spec"]["unreachableTimeoutSeconds"] = 60
    for wanted in (given(), given(edited)):
        for write in (False, True):
            run = define_run(records, "r", wanted, write=write).run
            rows = [(row.name, row.status.state, row.message) for row in run.status.members]
            assert rows == [("a", "Skipped", "skipped on request: a fair"), ("b", "NotStarted", "")]
    assert start_run(session(records), run, {}, write=True).changed


def test_a_cluster_that_joins_and_is_in_no_group_of_the_run_is_told_when_that_is_looked_at_again(
    records: Records,
) -> None:
    """It is the same run to approve, and its list of who is left out was of before."""
    run = control_planes("r")
    run["spec"]["strategy"] = {"stages": [{"name": "s", "memberSelector": {"byLabel": "tier=gold"}}]}
    first = define_run(records, "r", given(run), write=True).run
    assert first.status.uncovered_members == ("a",)
    for kind, api in (("MemberCluster", CLUSTER_API), ("FleetMember", FLEET_API)):
        records.create({"apiVersion": api, "kind": kind, "metadata": {"name": "b"}, "spec": {}})
    again = define_run(records, "r", given(run), write=True)
    assert again.changed and again.run.status.uncovered_members == ("a", "b")
    assert again.run.status.digest == first.status.digest
    assert not define_run(records, "r", given(run), write=True).changed
