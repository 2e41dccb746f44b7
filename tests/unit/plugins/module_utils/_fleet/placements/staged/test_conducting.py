# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A run that is carried out is the one that was asked for, not another that has its name by now."""

from __future__ import annotations

import contextlib
import typing as t
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError, Problem
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.staged.update_run import ClusterStagedUpdateRun
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.document import PlacementPlan
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.outcome import MemberOutcome
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import encode
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.look import ApplyOptions, RolloutOptions
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged import conducting
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.answering import (
    WishedApproval,
    give_approval,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.conducting import carry_on, lay_out
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.report import StagedOptions
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.run_record import (
    delete_run,
    read_run,
    record_run,
    wanted_run,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.sources import (
    StagedManifests,
    staged_manifests,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._store.kinds import record_name
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Lease, Record
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._fleet.answering import Answering, listing
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._fleet.placements.applied import (
    API,
    NOW,
    staged,
)

RUN, CRPS = "ClusterStagedUpdateRun", "ClusterResourcePlacementStatus"


class WrittenBetween(SqliteRecords):
    """``somebody`` writes each time before a status of a staged run is; nobody for None."""

    somebody: t.Callable[[], None] | None = None

    def replace(self, record: Record, lease: Lease | None = None) -> Record:
        somebody, self.somebody = self.somebody, None
        if somebody is not None and "status" in record:
            somebody()
        return super().replace(record, lease)


@pytest.fixture
def session(tmp_path: Path) -> t.Iterator[Session]:
    records = WrittenBetween(tmp_path / "records.db", lambda: NOW)
    yield Session(records=records, holder="me", clock=lambda: NOW, environ={})
    records.close()


def given(placement: str) -> StagedManifests:
    spec = {"placementName": placement, "stagedRolloutStrategyName": "rings"}
    run = {"apiVersion": API, "kind": RUN, "metadata": {"name": "web-1"}, "spec": spec}
    return staged_manifests((), (run,), [])


@pytest.mark.parametrize("verb", ["conducted", "present"])
def test_a_run_that_was_made_again_before_the_lease_was_taken_is_left_alone(session: Session, verb: str) -> None:
    """Its lease is that of the placement which the old one names."""
    records = session.records
    read = record_run(records, wanted_run(records, "web-1", given("web")), "")
    delete_run(records, "web-1", force=False, write=True)
    record_run(records, wanted_run(records, "web-1", given("shop")), "")
    with pytest.raises(FleetError) as refused:
        if verb == "conducted":
            carry_on(session, read, given("web"), StagedOptions(), {})
        else:
            lay_out(session, read, given("web"), StagedOptions())
    assert refused.value.code == "run-deleted"
    assert "status" not in (records.get(RUN, "web-1") or {})


def annotate(records: SqliteRecords) -> None:
    found = records.get(RUN, "web-1")
    assert found
    records.replace({**found, "metadata": {**found["metadata"], "annotations": {"example.org/mark": "theirs"}}})


def new_run(session: Session, folder: Path) -> tuple[WrittenBetween, StagedManifests, ClusterStagedUpdateRun]:
    """A run that is recorded, without stages, and can begin."""
    records = t.cast(WrittenBetween, session.records)
    given = staged(records, folder)
    return records, given, record_run(records, wanted_run(records, "web-1", given), "")


def test_stages_that_are_told_are_stored_though_somebody_else_writes_the_run_meanwhile(
    session: Session, tmp_path: Path
) -> None:
    """F18. The run is read again, and decided on again: what is told is what stands in the records."""
    records, given, run = new_run(session, tmp_path)
    records.somebody = lambda: annotate(records)
    report = lay_out(session, run, given, StagedOptions())
    assert report.changed and [each.stage_name for each in report.run.status.stages_status] == ["all"]
    stored = read_run(records, "web-1")
    assert stored.status == report.run.status and stored.metadata.annotations == {"example.org/mark": "theirs"}


def test_a_run_that_was_laid_out_by_somebody_else_meanwhile_is_told_as_they_left_it(
    session: Session, tmp_path: Path
) -> None:
    records, given, run = new_run(session, tmp_path)
    theirs = [{"type": "Initialized", "status": "False", "reason": "R", "message": "no", "observedGeneration": 1}]

    def refuse() -> None:
        found = records.get(RUN, "web-1")
        assert found
        records.replace({**found, "status": {"conditions": theirs}})

    records.somebody = refuse
    report = lay_out(session, run, given, StagedOptions())
    assert (report.state, report.changed) == ("Failed", False)
    assert report.run.status == read_run(records, "web-1").status


def test_a_run_that_failed_names_the_newer_one_of_its_placement_whenever_it_is_told(session: Session) -> None:
    records = session.records
    run = record_run(records, wanted_run(records, "web-1", given("web"), "Run"), "")
    assert carry_on(session, run, given("web"), StagedOptions(), {}).newer is None
    later = "2026-01-15T13:00:00Z"
    begun = {"type": "Initialized", "status": "True", "reason": "R", "message": "", "lastTransitionTime": later}
    records.create({"apiVersion": API, "kind": RUN, "metadata": {"name": "web-2"}, "spec": dict(encode(run.spec)),
                    "status": {"conditions": [begun]}})  # fmt: skip
    failed = read_run(records, "web-1")
    reports = (carry_on(session, failed, given("web"), StagedOptions(), {}),
               lay_out(session, failed, given("web"), StagedOptions()))  # fmt: skip
    for report in reports:
        assert report.state == "Failed" and report.newer and report.newer.name == "web-2"


def test_a_failure_that_is_told_is_stored_though_somebody_else_writes_the_run_meanwhile(session: Session) -> None:
    records = t.cast(WrittenBetween, session.records)
    run = record_run(records, wanted_run(records, "web-1", given("web"), "Run"), "")
    records.somebody = lambda: annotate(records)
    report = carry_on(session, run, given("web"), StagedOptions(), {})
    assert report.verdict[1] == "run-failed" and report.changed
    assert read_run(records, "web-1").status == report.run.status


def test_a_run_waits_for_the_apply_of_a_changed_placement_however_often_it_is_carried_on(
    session: Session, tmp_path: Path
) -> None:
    """What it says of the placement's clusters does not make the changed spec one that was scheduled."""
    records, given, _run = new_run(session, tmp_path)
    wish = StagedOptions(ways=ApplyOptions(rollout=RolloutOptions(max_idle=timedelta(0))))
    run = record_run(records, wanted_run(records, "web-1", given, "Run"), "")
    carry_on(session, run, given, wish, {})
    found = records.get("ClusterResourcePlacement", "web")
    assert found
    records.replace({**found, "spec": {**found["spec"], "policy": {"placementType": "PickN", "numberOfClusters": 1}}})
    for _time in range(3):
        report = carry_on(session, read_run(records, "web-1"), given, wish, {})
        assert "until it is applied again" in "\n".join(report.lines)
    placement = records.get("ClusterResourcePlacement", "web")
    assert placement and placement["status"]["conditions"][0]["observedGeneration"] == found["metadata"]["generation"]


def test_what_a_run_that_ends_at_once_owes_to_an_approval_is_done(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who took the approval was killed before the request said so."""
    records, given, _run = new_run(session, tmp_path)
    wish = StagedOptions(ways=ApplyOptions(rollout=RolloutOptions(max_idle=timedelta(0))))
    run = record_run(records, wanted_run(records, "web-1", given, "Run"), "")
    carry_on(session, run, given, wish, {})
    give_approval(session, WishedApproval(run="web-1"), "anna", write=True)
    with monkeypatch.context() as patched:
        patched.setattr(conducting, "accept_approval", lambda *_asked: None)
        carry_on(session, read_run(records, "web-1"), given, wish, {})
    (binding,) = records.list("ClusterResourceBinding")
    records.delete("ClusterResourceBinding", record_name(binding))
    for _time in range(2):
        assert carry_on(session, read_run(records, "web-1"), given, wish, {}).state == "Failed"
    (request,) = records.list("ClusterApprovalRequest")
    assert [each["type"] for each in request["status"]["conditions"]] == ["Approved", "ApprovalAccepted"]


def test_the_status_that_a_run_leaves_stands_in_the_namespace_too(session: Session, tmp_path: Path) -> None:
    """``statusReportingScope: NamespaceAccessible``: who may look into the namespace only reads there how far it is."""
    records = session.records
    given = staged(t.cast(SqliteRecords, records), tmp_path, statusReportingScope="NamespaceAccessible")
    kinds = ("clusterresourceoverrides", "resourceoverrides")
    hub = Answering({f"/apis/{API}/{each}": listing("Override", []) for each in kinds})
    wish = StagedOptions(ways=ApplyOptions(rollout=RolloutOptions(max_idle=timedelta(0))))
    run = record_run(records, wanted_run(records, "web-1", given, "Run"), "")
    carry_on(replace(session, hub=hub), run, given, wish, {})
    placement, copy = records.get("ClusterResourcePlacement", "web"), records.get(CRPS, "shop/web")
    assert placement and copy
    *others, synced = placement["status"]["conditions"]
    assert (synced["type"], synced["status"]) == ("ClusterResourcePlacementStatusSynced", "True")
    assert copy["sourceStatus"] == {**placement["status"], "conditions": others}


def test_a_look_that_is_broken_off_says_nothing_of_the_clusters(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The status of all that hold the content was Unknown, interrupted by SIGTERM, until somebody came by again."""
    records, given, _run = new_run(session, tmp_path)
    (binding,) = records.list("ClusterResourceBinding")
    records.replace(
        {**binding, "spec": {**binding["spec"], "state": "Bound", "resourceSnapshotName": "web-0-snapshot"}}
    )
    came = ""

    def broken_off(plan: PlacementPlan, *_given: object, **_more: object) -> dict[str, MemberOutcome]:
        nonlocal came
        came = "interrupted by SIGTERM"
        cut = Problem("interrupted", came)
        return {each.cluster: MemberOutcome(cluster=each.cluster, error=cut) for each in plan.clusters}

    monkeypatch.setattr(conducting, "on_members", broken_off)
    monkeypatch.setattr(conducting, "Interrupts", lambda: contextlib.nullcontext(lambda: came))
    run = record_run(records, wanted_run(records, "web-1", given, "Run"), "")
    before = records.get("ClusterResourcePlacement", "web")
    with pytest.raises(FleetError) as refused:
        carry_on(session, run, given, StagedOptions(), {})
    assert refused.value.code == "interrupted" and records.get("ClusterResourcePlacement", "web") == before
