# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The entries of a staged update run say what it brings, and to whom it was brought."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.staged.update_run import (
    RUN,
    ClusterStagedUpdateRun,
    ClusterUpdatingStatus,
    StagedUpdateRunSpec,
    StagedUpdateRunStatus,
    StageUpdatingStatus,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.decide import StagedState
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import Condition, ObjectMeta
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.audit.history import HistoryRequest, fleet_history
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.audit.staged_runs import (
    attested_telling,
    deed_of_command,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.words import StagedTelling
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

NOW = datetime(2026, 11, 25, 20, tzinfo=UTC)
REVISION = "ab" * 20
SPEC = StagedUpdateRunSpec(placement_name="web", staged_rollout_strategy_name="rings", state=RUN)


@pytest.fixture
def session(tmp_path: Path) -> t.Iterator[Session]:
    records = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    yield Session(records=records, hub=None, holder="r", clock=lambda: NOW, environ={"USER": "ann"})
    records.close()


def run(*done: str, flying: tuple[str, ...] = (), stopped: bool = False) -> StagedState:
    """A run over four clusters that takes snapshot 7; ``done`` and ``flying`` are those whose turn came."""

    def cluster(name: str) -> ClusterUpdatingStatus:
        kinds = ("Started", "Succeeded") if name in done else ("Started",) if name in flying else ()
        said = tuple(Condition(type=kind, status="True", last_transition_time=NOW) for kind in kinds)
        return ClusterUpdatingStatus(cluster_name=name, conditions=said)

    stages = (
        StageUpdatingStatus(stage_name="canary", clusters=(cluster("c-1"), cluster("c-2"))),
        StageUpdatingStatus(stage_name="prod", clusters=(cluster("p-1"), cluster("p-2"))),
    )
    over = Condition(type="Progressing", status="False", reason="UpdateRunStopped", last_transition_time=NOW)
    status = StagedUpdateRunStatus(
        resource_snapshot_index_used="7", stages_status=stages, conditions=(over,) if stopped else ()
    )
    return StagedState(run=ClusterStagedUpdateRun(metadata=ObjectMeta(name="web-7"), spec=SPEC, status=status))


@pytest.mark.parametrize(
    ("index", "used", "told"), [("", "", "the latest snapshot"), ("3", "", "snapshot 3"), ("", "7", "snapshot 7")]
)
def test_who_defines_a_run_says_which_snapshot_it_takes(index: str, used: str, told: str) -> None:
    wanted = ClusterStagedUpdateRun(
        metadata=ObjectMeta(name="web-7"),
        spec=replace(SPEC, resource_snapshot_index=index),
        status=StagedUpdateRunStatus(resource_snapshot_index_used=used),
    )
    assert deed_of_command(wanted, True, "").message == f"of placement web; {told}; state Run"


def conducted(session: Session, before: StagedState, *states: StagedState, why: str) -> t.Any:
    """The row of the history, after the run went through the states and ended with the last one."""
    inner = StagedTelling("web-7", lambda _text: None, list, lambda _reason, _text: None)
    telling = attested_telling(session, inner, states[-1].run, "", "", REVISION)
    telling.begin(before, NOW)
    for each in states:
        telling.stored(each, NOW)
    telling.end(states[-1], why, NOW)
    (row,) = fleet_history(session, HistoryRequest()).rows
    return row


def test_who_carries_it_on_says_what_was_brought_and_from_which_revision(session: Session) -> None:
    row = conducted(session, run(), run(flying=("c-1",)), run("c-1"), why="an approval is waited for")
    assert row.message == "of placement web; snapshot 7; an approval is waited for" and row.revision == REVISION


def test_those_are_named_whose_turn_it_was_meanwhile(session: Session) -> None:
    before = run("c-1", flying=("c-2",))
    row = conducted(session, before, run("c-1", "c-2", flying=("p-1",)), why="it is out of time")
    assert row.members == ("c-2", "p-1") and row.member_count == 2


def test_one_that_settles_without_a_turn_names_nobody(session: Session) -> None:
    row = conducted(session, run("c-1"), run("c-1", stopped=True), why="settled")
    assert row.members == () and row.member_count == 0
