# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A staged update run as it is wanted, beside others who write its record."""

from __future__ import annotations

import contextlib
import typing as t
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.api_groups import PLACEMENT_API
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.approving import STARTED_BY
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.way_back import run_after
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.approvals import MADE_BY
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.terms import Terms, kept_terms
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.run_record import (
    delete_run,
    keep_terms,
    read_run,
    record_run,
    wanted_run,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.sources import (
    StagedManifests,
    staged_manifests,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

NOW = datetime(2026, 8, 17, 12, tzinfo=UTC)
RUN = {
    "metadata": {"name": "r", "generation": 1},
    "spec": {"placementName": "web", "stagedRolloutStrategyName": "rings"},
}
DOCUMENT = {"apiVersion": PLACEMENT_API, "kind": "ClusterStagedUpdateRun", **RUN}


class Appearing:
    """Records of a run that somebody else makes once it was looked for so many times; never for None."""

    place = "records.db"

    def __init__(self, looks: int | None) -> None:
        self.looks = looks

    def get(self, _kind: str, _name: str) -> t.Any:
        if self.looks is None:
            return None
        self.looks -= 1
        return RUN if self.looks < 0 else None

    def names(self, _kind: str) -> list[str]:
        return []


def test_terms_stay_with_a_run_for_whoever_carries_it_on(tmp_path: Path) -> None:
    """F18. They are kept once, are never loosened, are told where they were not given, and go on to a run that is made
    after it."""
    records = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    said: list[str] = []
    session = Session(records=records, holder="me", clock=lambda: NOW, say=said.append)
    with contextlib.closing(records):
        records.create({"apiVersion": PLACEMENT_API, "kind": "ClusterStagedUpdateRun", **RUN})
        run = read_run(records, "r")
        assert keep_terms(session, run, Terms()) is run and "annotations" not in run_after(run, "again", "")["metadata"]
        keep_terms(session, run, Terms(self_approval=False))
        assert said == []
        keep_terms(session, read_run(records, "r"), Terms(verified=True))
        terms = Terms(self_approval=False, verified=True)
        kept = read_run(records, "r")
        assert kept_terms(kept.metadata.annotations) == terms and keep_terms(session, kept, Terms()) == kept
        words = "r: approvals are judged by the terms that the run keeps: allow_self_approval=false"
        assert said == [words, f"{words}, verified_approvals=true"]
        assert kept_terms(run_after(kept, "again", "")["metadata"]["annotations"]) == terms


def test_a_run_names_who_made_it_and_who_first_told_it_to_run(tmp_path: Path) -> None:
    """F18. Neither a manifest that names somebody nor whoever takes up a run that was stopped changes that."""
    records = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    forged = {MADE_BY: "zoe", STARTED_BY: "zoe", "example.org/mark": "ours"}
    manifest = {"apiVersion": PLACEMENT_API, "kind": "ClusterStagedUpdateRun", "metadata": {"name": "r"},
                "spec": RUN["spec"]}  # fmt: skip
    given = staged_manifests((), ({**manifest, "metadata": {"name": "r", "annotations": forged}},), [])

    def told(state: str, who: str) -> dict[str, str]:
        return dict(record_run(records, wanted_run(records, "r", given, state), who).metadata.annotations)

    with contextlib.closing(records):
        mark = {"example.org/mark": "ours"}
        assert told("", "mia") == {**mark, MADE_BY: "mia"}
        for state, who in (("Run", "stan"), ("Stop", "dora"), ("Run", "dora")):
            assert told(state, who) == {**mark, MADE_BY: "mia", STARTED_BY: "stan"}
        at_once = staged_manifests((), ({**manifest, "metadata": {"name": "q"}},), [])
        made = record_run(records, wanted_run(records, "q", at_once, "Run"), "mia")
        assert dict(made.metadata.annotations) == {MADE_BY: "mia", STARTED_BY: "mia"}


@pytest.fixture
def records(tmp_path: Path) -> t.Iterator[SqliteRecords]:
    with contextlib.closing(SqliteRecords(tmp_path / "records.db", lambda: NOW)) as made:
        made.create(DOCUMENT)
        yield made


def told(records: SqliteRecords, state: str) -> None:
    record_run(records, wanted_run(records, "r", StagedManifests(), state), "dora")


def made_anew(records: SqliteRecords) -> None:
    records.delete("ClusterStagedUpdateRun", "r")
    records.create({**DOCUMENT, "spec": {**RUN["spec"], "placementName": "shop"}})


def started_and_stopped(records: SqliteRecords) -> None:
    told(records, "Run")
    told(records, "Stop")


@pytest.mark.parametrize("others", [started_and_stopped, made_anew])
def test_what_others_told_a_run_since_it_was_read_is_not_written_over(
    records: SqliteRecords, others: t.Callable[[SqliteRecords], None]
) -> None:
    """Members are asked in between, which takes its time: whoever stops a run meanwhile has stopped it."""
    wanted = wanted_run(records, "r", StagedManifests(), "Run")
    others(records)
    before = read_run(records, "r")
    with pytest.raises(FleetError) as refused:
        record_run(records, wanted, "stan")
    assert refused.value.code == "conflict" and "since it was read" in refused.value.message
    assert read_run(records, "r") == before


def test_what_others_told_a_run_as_well_is_no_conflict_nor_is_how_far_it_is(records: SqliteRecords) -> None:
    first = wanted_run(records, "r", StagedManifests(), "Run")
    told(records, "Run")
    assert record_run(records, first, "stan") == read_run(records, "r")
    stop = wanted_run(records, "r", StagedManifests(), "Stop")
    document = records.get("ClusterStagedUpdateRun", "r")
    assert document is not None
    records.replace({**document, "status": {"resourceSnapshotIndexUsed": "3"}})
    stopped = record_run(records, stop, "stan")
    assert (stopped.spec.state, stopped.status.resource_snapshot_index_used) == ("Stop", "3")
    assert stopped.metadata.annotations[STARTED_BY] == "dora"


class Begun:
    """Records in which a conductor begins a cluster of the run while its approval requests are listed."""

    def __init__(self, records: SqliteRecords) -> None:
        self._records = records

    def __getattr__(self, name: str) -> t.Any:
        return getattr(self._records, name)

    def list(self, kind: str, *which: t.Any) -> t.Any:
        document = self._records.get("ClusterStagedUpdateRun", "r")
        if document is not None:
            self._records.replace({**document, "status": {"resourceSnapshotIndexUsed": "1"}})
        return self._records.list(kind, *which)


def test_a_run_that_is_carried_on_just_then_is_deleted_by_force_alone(records: SqliteRecords) -> None:
    with pytest.raises(FleetError) as refused:
        delete_run(Begun(records), "r", force=False, write=True)
    assert refused.value.code == "conflict" and refused.value.hint
    assert delete_run(Begun(records), "r", force=True, write=True)
    assert not delete_run(records, "r", force=False, write=True)


@pytest.mark.parametrize("looks", [0, 1])
def test_a_run_that_others_make_meanwhile_is_told_to_run(looks: int) -> None:
    found = wanted_run(Appearing(looks), "r", StagedManifests(), "Run")
    assert found.run.spec.state == "Run" and found.changed and not found.is_new


def test_one_that_nobody_makes_is_refused() -> None:
    with pytest.raises(FleetError) as found:
        wanted_run(Appearing(None), "r", StagedManifests(), "Run")
    assert found.value.code == "no-such-run"
