# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Records that were written, and whose answer did not come: who tries again goes on from what stands there."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.rolling.decide import RolloutState
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor import loop
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.apply import ApplyResult
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.binding_journal import BindingJournal
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.look import ApplyOptions, RolloutOptions
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.carrying import staged_run
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.report import StagedOptions
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Lease, Record
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan import made
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._fleet.placements.applied import (
    NOW,
    applied,
    staged,
)

BINDING, PLACEMENT = "ClusterResourceBinding", "ClusterResourcePlacement"


class Lossy(SqliteRecords):
    """Answers to the next ``lost`` writes of a ``kind`` get lost; without ``lands`` these are not made either."""

    kind, lost, lands = "", 0, True

    def create(self, record: Record, lease: Lease | None = None) -> Record:
        return self._answered(record, lambda: super(Lossy, self).create(record, lease))

    def replace(self, record: Record, lease: Lease | None = None) -> Record:
        return self._answered(record, lambda: super(Lossy, self).replace(record, lease))

    def delete(self, kind: str, name: str, resource_version: str = "", lease: Lease | None = None) -> None:
        super().delete(kind, name, resource_version, lease)
        if self.kind == f"deleted {kind}" and self.lost:
            self.lost -= 1
            raise FleetError("timeout", "no answer within 30 s", "hub")

    def loses(self, kind: str, lands: bool = True) -> None:
        self.kind, self.lost, self.lands = kind, 1, lands

    def _answered(self, record: Record, write: t.Callable[[], Record]) -> Record:
        kind = f"ended {PLACEMENT}" if "deletionTimestamp" in record["metadata"] else record["kind"]
        if kind != self.kind or not self.lost or (kind == PLACEMENT and "status" not in record):
            return write()
        self.lost -= 1
        if self.lands:
            write()
        raise FleetError("timeout", "no answer within 30 s", "hub")


@pytest.fixture
def records(tmp_path: Path) -> Iterator[Lossy]:
    opened = Lossy(tmp_path / "records.db", lambda: NOW)
    yield opened
    opened.close()


@pytest.fixture
def journal(records: Lossy) -> BindingJournal:
    """Of a placement on two clusters, of which nothing is recorded yet."""
    plan = made.plan(made.wanted(), made.facts("a", "b"))
    return BindingJournal(records, records.acquire("placement/web", "me", 60), lambda: None, plan, {})


def annotated(state: RolloutState, value: str) -> RolloutState:
    """The state with a mark on its first binding."""
    first, *others = state.bindings
    metadata = replace(first.binding.metadata, annotations={"example.org/mark": value})
    return replace(state, bindings=(replace(first, binding=replace(first.binding, metadata=metadata)), *others))


def marks(records: Lossy) -> list[str | None]:
    return [(each["metadata"].get("annotations") or {}).get("example.org/mark") for each in records.list(BINDING)]


@pytest.mark.parametrize("lands", [True, False])
@pytest.mark.parametrize("wanted", ["lost", "later"])
def test_a_binding_that_was_written_without_an_answer_is_gone_on_from(
    records: Lossy, journal: BindingJournal, wanted: str, lands: bool
) -> None:
    records.loses(BINDING, lands)
    for mark in ("lost", wanted):
        try:
            journal.store(annotated(journal.state, mark), in_flight=True)
        except FleetError as error:
            assert error.code == "timeout"
    assert marks(records) == [wanted, None]
    records.loses(BINDING, lands)
    with pytest.raises(FleetError, match="no answer"):
        journal.store(annotated(journal.state, "second"), in_flight=True)
    journal.store(journal.state, in_flight=True)
    assert marks(records) == [wanted, None]


def test_a_binding_that_somebody_else_has_written_meanwhile_is_a_conflict(
    records: Lossy, journal: BindingJournal
) -> None:
    journal.store(journal.state, in_flight=True)
    records.loses(BINDING)
    with pytest.raises(FleetError, match="no answer"):
        journal.store(annotated(journal.state, "mine"), in_flight=True)
    found = records.list(BINDING)[0]
    records.replace({**found, "metadata": {**found["metadata"], "annotations": {"example.org/mark": "theirs"}}})
    with pytest.raises(FleetError) as refused:
        journal.store(annotated(journal.state, "mine"), in_flight=True)
    assert refused.value.code == "conflict" and marks(records)[0] == "theirs"


def test_a_new_binding_that_is_not_wanted_any_more_is_deleted_although_its_answer_was_lost(
    records: Lossy, journal: BindingJournal
) -> None:
    state = journal.state
    records.loses(BINDING)
    with pytest.raises(FleetError, match="no answer"):
        journal.store(state, in_flight=True)
    journal.store(replace(state, bindings=state.bindings[1:]), in_flight=True)
    assert len(records.list(BINDING)) == 1


@pytest.mark.parametrize("lands", [True, False])
def test_the_status_of_a_placement_is_written_again(
    records: Lossy, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lands: bool
) -> None:
    monkeypatch.setattr(loop, "wait_unless", lambda _told, _seconds: None)
    records.loses(PLACEMENT, lands)
    done = applied(records, tmp_path)
    assert done.problems == () and records.lost == 0
    assert recorded(records)["status"]["conditions"]


class Edited(SqliteRecords):
    """Somebody edits the placement once, while its clusters are written."""

    edit: t.Callable[[Record], Record] | None = None

    def names(self, kind: str) -> frozenset[str]:
        edit, self.edit = self.edit, None
        if edit is not None:
            found = self.get(PLACEMENT, "web")
            assert found
            self.replace(edit(found))
        return super().names(kind)


def edited(tmp_path: Path, edit: t.Callable[[Record], Record], *more: str) -> tuple[ApplyResult, Record]:
    """What comes of ``web``, and of ``more`` placements on the same cluster."""
    records = Edited(tmp_path / "records.db", lambda: NOW)
    records.edit = edit
    done = applied(records, tmp_path, made.cluster("a"), names=("web", *more))
    found = records.get(PLACEMENT, "web")
    records.close()
    assert found
    return done, found


def test_a_label_that_somebody_puts_on_the_placement_meanwhile_keeps_no_status_back(tmp_path: Path) -> None:
    done, found = edited(
        tmp_path, lambda each: {**each, "metadata": {**each["metadata"], "labels": {"example.org/mark": "theirs"}}}
    )
    assert "conflict" not in [each.code for each in done.problems]
    assert found["status"]["conditions"] and found["metadata"]["labels"] == {"example.org/mark": "theirs"}


def test_a_spec_that_somebody_changes_meanwhile_gets_no_status_of_the_former_one(tmp_path: Path) -> None:
    done, found = edited(tmp_path, lambda each: {**each, "spec": {**each["spec"], "revisionHistoryLimit": 3}})
    assert "conflict" in [each.code for each in done.problems] and "status" not in found


def test_a_spec_that_somebody_changes_meanwhile_keeps_no_other_placement_from_being_begun(tmp_path: Path) -> None:
    edit = {"revisionHistoryLimit": 3}
    done, _found = edited(tmp_path, lambda each: {**each, "spec": {**each["spec"], **edit}}, "xylophone")
    told = [(each.code, each.where) for each in done.problems]
    assert ("conflict", "web") in told and "not-begun" not in dict(told)
    assert done.statuses["xylophone"].conditions


@pytest.mark.parametrize("kind", [f"ended {PLACEMENT}", f"deleted {PLACEMENT}"])
def test_a_placement_ends_although_the_answer_to_that_was_lost(
    records: Lossy, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str
) -> None:
    monkeypatch.setattr(loop, "wait_unless", lambda _told, _seconds: None)
    applied(records, tmp_path)
    records.loses(kind)
    done = applied(records, tmp_path, absent=("web",))
    assert done.problems == () and records.lost == 0
    assert records.get(PLACEMENT, "web") is None


def test_clusters_that_an_outage_kept_from_being_written_until_the_time_was_over_are_not_done(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nothing is written before the records tell who has left the fleet. What was meant is recorded, and waits."""
    now = [NOW]

    class Away(SqliteRecords):
        def names(self, kind: str) -> frozenset[str]:
            now[0] += timedelta(minutes=10)
            raise FleetError("timeout", "no answer within 30 s", "hub")

    monkeypatch.setattr(loop, "wait_unless", lambda _told, _seconds: None)
    records = Away(tmp_path / "records.db", lambda: NOW)
    ways = ApplyOptions(rollout=RolloutOptions(time_limit=timedelta(minutes=5)))
    done = applied(records, tmp_path, made.cluster("a"), ways=ways, clock=lambda: now[0])
    records.close()
    assert not done.outcomes["web"]
    assert {name: (each.why, each.lines) for name, each in done.waits.items()} == {
        "web": ("time-limit", ("begun and not written yet: a",))
    }


@pytest.mark.parametrize("lands", [True, False])
def test_the_status_of_a_placement_is_written_again_after_a_staged_run(
    records: Lossy, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lands: bool
) -> None:
    monkeypatch.setattr(loop, "wait_unless", lambda _told, _seconds: None)
    given = staged(records, tmp_path)
    told = recorded(records)
    told["status"]["conditions"][0]["message"] = "as it was told once"
    records.replace(told)
    session = Session(records=records, holder="me", clock=lambda: NOW, environ={})
    records.loses(PLACEMENT, lands)
    wish = StagedOptions(ways=ApplyOptions(rollout=RolloutOptions(max_idle=timedelta(0))))
    report = staged_run(session, "web-1", given, "conducted", wish, write=True)
    assert report.verdict[1] == "awaiting-approval" and records.lost == 0
    assert "as it was told once" not in str(recorded(records)["status"])


def recorded(records: Lossy) -> Record:
    found = records.get(PLACEMENT, "web")
    assert found is not None
    return found
