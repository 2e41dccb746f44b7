# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A run that is refused for its digest is not told to go on, by which whoever carries it on would; any run can be
stopped."""

from __future__ import annotations

import json
import typing as t
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError, Problem
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.look import ApplyOptions, RolloutOptions
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged import laying_out
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.carrying import staged_run
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.report import StagedOptions
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.run_record import read_run
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.sources import (
    StagedManifests,
    staged_manifests,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._store.kinds import record_name
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._fleet.placements.applied import API, NOW, staged

RUN = "ClusterStagedUpdateRun"


@pytest.fixture
def records(tmp_path: Path) -> t.Iterator[SqliteRecords]:
    opened = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    yield opened
    opened.close()


@pytest.mark.parametrize("state", ["started", "conducted"])
def test_a_recorded_run_of_another_digest_stays_as_it_was_told(
    records: SqliteRecords, tmp_path: Path, state: str
) -> None:
    given = staged(records, tmp_path)
    session = Session(records=records, holder="me", clock=lambda: NOW, environ={})
    digest = staged_run(session, "web-1", given, "present", StagedOptions(), write=True).digest
    before, told = records.get(RUN, "web-1"), len(records.list("AuditEntry"))
    with pytest.raises(FleetError) as refused:
        staged_run(session, "web-1", given, state, StagedOptions(approved="0123456789abcdef"), write=True)
    assert refused.value.code == "digest-mismatch"
    assert records.get(RUN, "web-1") == before and len(records.list("AuditEntry")) == told
    staged_run(session, "web-1", given, "started", StagedOptions(approved=digest), write=True)
    assert (records.get(RUN, "web-1") or {})["spec"]["state"] == "Run"


def test_a_stop_is_recorded_whatever_the_digest_is(records: SqliteRecords, tmp_path: Path) -> None:
    given = staged(records, tmp_path)
    session = Session(records=records, holder="me", clock=lambda: NOW, environ={})
    staged_run(session, "web-1", given, "started", StagedOptions(), write=True)
    wish = StagedOptions(approved="0123456789abcdef")
    for write in (False, True):
        report = staged_run(session, "web-1", given, "stopped", wish, write=write)
        assert report.changed and [each.code for each in report.notes] == ["digest-mismatch"]
    assert (records.get(RUN, "web-1") or {})["spec"]["state"] == "Stop"


def overridden(given: StagedManifests, folder: Path) -> StagedManifests:
    """With an override in the same files, which no record has."""
    rule = {"clusterSelector": {"clusterSelectorTerms": []}, "overrideType": "Delete"}
    selector = {"group": "", "version": "v1", "kind": "Namespace", "name": "shop"}
    spec = {"clusterResourceSelectors": [selector], "policy": {"overrideRules": [rule]}}
    one = {"apiVersion": API, "kind": "ClusterResourceOverride", "metadata": {"name": "none"}, "spec": spec}
    (folder / "override.json").write_text(json.dumps(one), encoding="utf-8")
    return replace(given, overrides=staged_manifests([str(folder / "override.json")], (), []).overrides)


def test_a_run_whose_overrides_are_in_files_alone_is_told_to_stop_and_stops_without_them(
    records: SqliteRecords, tmp_path: Path
) -> None:
    """By its name, as the printed command does. To go on it takes them, and telling it so is told in a note."""
    given, nothing = overridden(staged(records, tmp_path), tmp_path), staged_manifests((), (), [])
    session = Session(records=records, holder="me", clock=lambda: NOW, environ={})
    wish = StagedOptions(ways=ApplyOptions(rollout=RolloutOptions(max_idle=timedelta(0))))
    assert staged_run(session, "web-1", given, "conducted", wish, write=True).verdict[1] == "awaiting-approval"
    for write in (False, True):
        stopped = staged_run(session, "web-1", nothing, "stopped", wish, write=write)
        assert stopped.changed and [each.code for each in stopped.notes] == ["overrides-changed"]
    assert staged_run(session, "web-1", nothing, "conducted", wish, write=True).verdict[1] == "stopped"
    assert read_run(records, "web-1").status.conditions[-1].reason == "UpdateRunStopped"
    started = staged_run(session, "web-1", nothing, "started", wish, write=True)
    assert started.changed and [each.code for each in started.notes] == ["overrides-changed"]
    with pytest.raises(FleetError) as refused:
        staged_run(session, "web-1", nothing, "conducted", wish, write=True)
    assert refused.value.code == "overrides-changed"
    assert staged_run(session, "web-1", given, "conducted", wish, write=True).verdict[1] == "awaiting-approval"


def test_a_run_that_cannot_begin_yet_has_no_digest_that_could_be_another(
    records: SqliteRecords, tmp_path: Path
) -> None:
    """It is recorded, and told to wait; what was approved is asked once it can begin."""
    given = staged(records, tmp_path)
    session = Session(records=records, holder="me", clock=lambda: NOW, environ={})
    (binding,) = records.list("ClusterResourceBinding")
    spec = {**binding["spec"], "schedulingPolicySnapshotName": "web-9"}
    records.replace({**binding, "spec": spec})
    report = staged_run(session, "web-1", given, "present", StagedOptions(approved="0123456789abcdef"), write=True)
    assert report.changed and not report.run.status.stages_status
    records.replace({**records.get("ClusterResourceBinding", record_name(binding)), "spec": binding["spec"]})
    with pytest.raises(FleetError) as refused:
        staged_run(session, "web-1", given, "present", StagedOptions(approved="0123456789abcdef"), write=True)
    assert refused.value.code == "digest-mismatch"


def test_a_run_that_stops_is_kept_from_it_by_no_brake(
    records: SqliteRecords, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where whoever began it has lifted one, and a schedule carries it on without; it begins nothing any more."""
    given = staged(records, tmp_path)
    session = Session(records=records, holder="me", clock=lambda: NOW, environ={})
    wish = StagedOptions(ways=ApplyOptions(rollout=RolloutOptions(max_idle=timedelta(0))))
    assert staged_run(session, "web-1", given, "conducted", wish, write=True).verdict[1] == "awaiting-approval"
    monkeypatch.setattr(laying_out, "braked", lambda _plans: (Problem("brake-max-removals", "too many"),))
    with pytest.raises(FleetError) as refused:
        staged_run(session, "web-1", given, "conducted", wish, write=True)
    assert refused.value.code == "brake-max-removals"
    assert staged_run(session, "web-1", given, "stopped", wish, write=True).changed
    stopped = staged_run(session, "web-1", given, "conducted", wish, write=True)
    assert stopped.verdict[1] == "stopped" and [each.code for each in stopped.notes] == ["brake-max-removals"]


def test_what_a_run_would_do_when_it_goes_on_is_no_change_until_it_does(records: SqliteRecords, tmp_path: Path) -> None:
    """Each repeat of a command was changed, though it recorded nothing; only carrying on makes anything."""
    given = staged(records, tmp_path)
    session = Session(records=records, holder="me", clock=lambda: NOW, environ={})
    for state, repeats in (("present", (False, False)), ("started", (False, False)), ("conducted", (True, True))):
        assert staged_run(session, "web-1", given, state, StagedOptions(), write=state != "conducted").changed
        told = [staged_run(session, "web-1", given, state, StagedOptions(), write=False).changed for _again in repeats]
        assert tuple(told) == repeats
        if state != "conducted":
            assert not staged_run(session, "web-1", given, state, StagedOptions(), write=True).changed


@pytest.mark.parametrize("state", ["present", "started", "stopped", "conducted"])
def test_a_run_that_has_ended_is_told_though_its_content_is_not_kept_any_more(
    records: SqliteRecords, tmp_path: Path, state: str
) -> None:
    given = staged(records, tmp_path)
    session = Session(records=records, holder="me", clock=lambda: NOW, environ={})
    wish = StagedOptions(ways=ApplyOptions(rollout=RolloutOptions(max_idle=timedelta(0))))
    staged_run(session, "web-1", given, "conducted", wish, write=True)
    for kind in ("ClusterResourceBinding", "ClusterResourceSnapshot"):
        if kind == "ClusterResourceSnapshot":
            assert staged_run(session, "web-1", given, "conducted", wish, write=True).state == "Failed"
        for each in records.list(kind):
            records.delete(kind, record_name(each))
    report = staged_run(session, "web-1", given, state, wish, write=True)
    assert (report.state, report.changed) == ("Failed", False)
