# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What every apply does, whoever changes the clusters afterwards."""

from __future__ import annotations

import threading
import typing as t
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import ObjectId
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.document import PlacementPlan
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.member import CREATE, MemberStep
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.outcome import MemberOutcome
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.availability import NOT_YET
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements import apply, rollout
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.look import ApplyOptions, RolloutOptions
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.reported.mirror import Mirrored
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan import made
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._fleet.placements.applied import NOW, applied


@pytest.mark.parametrize("strategy", ["RollingUpdate", "External"])
def test_status_is_mirrored_whether_anything_is_due_and_whoever_changes_the_clusters(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, strategy: str
) -> None:
    """``reportBackStrategy: Mirror``: an apply copies the status of what it saw."""
    told: list[str] = []

    def mirrored(_hub: t.Any, plan: PlacementPlan, *_rest: t.Any) -> Mirrored:
        told.append(plan.name)
        return Mirrored()

    monkeypatch.setattr(apply, "mirror_statuses", mirrored)
    records = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    for _time in range(2):
        applied(records, tmp_path, strategy={"type": strategy})
    records.close()
    assert told == ["web", "web"]


SHOP = ObjectId(group="", version="v1", kind="Namespace", namespace="", name="shop")
WAITS = ApplyOptions(rollout=RolloutOptions(to_the_end=True, max_idle=timedelta(seconds=60)))


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> t.Callable[[], datetime]:
    """Members that take everything, and on which nothing becomes available; the clock goes on when it is read."""

    def taken(plan: PlacementPlan, *_rest: t.Any, writing: t.Any = None, **_more: t.Any) -> dict[str, MemberOutcome]:
        steps = (MemberStep(id=SHOP, action=CREATE),)
        late = {SHOP: NOT_YET} if writing else None
        rows = (each.cluster for each in plan.clusters)
        return {name: MemberOutcome(cluster=name, steps=steps, done=bool(writing), availability=late) for name in rows}

    monkeypatch.setattr(apply, "on_members", taken)
    monkeypatch.setattr(rollout, "wait_unless", lambda _told, _seconds: None)
    now, lock = [NOW], threading.Lock()

    def clock() -> datetime:
        with lock:
            now[0] += timedelta(seconds=1)
            return now[0]

    return clock


@pytest.fixture
def records(tmp_path: Path) -> Iterator[SqliteRecords]:
    opened = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    yield opened
    opened.close()


@pytest.mark.parametrize("turn", [1, 3], ids=["as it begins", "while it waits"])
def test_an_unexpected_error_of_one_placement_hides_nothing_that_others_write(
    monkeypatch: pytest.MonkeyPatch,
    records: SqliteRecords,
    tmp_path: Path,
    waiting: t.Callable[[], datetime],
    turn: int,
) -> None:
    """And what it has written itself is told, too."""
    real, turns = rollout.RolloutSteering.keep, list[str]()

    def keep(self: rollout.RolloutSteering, *arguments: t.Any) -> None:
        real(self, *arguments)
        turns.append(self._plan.name)
        if turns.count("b") == turn and self._plan.name == "b":
            raise KeyError("secret")

    monkeypatch.setattr(rollout.RolloutSteering, "keep", keep)
    done = applied(records, tmp_path, made.cluster("m"), names=("a", "b"), ways=WAITS, clock=waiting)
    assert set(done.outcomes) == {"a", "b"} and done.changed and "a" in done.statuses
    assert [(each.code, each.where) for each in done.stopped] == [("fault", "b")]
    (problem,) = done.stopped
    assert "unexpected KeyError" in problem.message and "secret" not in str(problem)
    assert ("m: Namespace shop" in problem.message) is (turn > 1)
    assert "a" in done.waits and done.waits["a"].why == "waiting"


def test_without_a_thread_those_that_wait_go_on_in_turn(
    monkeypatch: pytest.MonkeyPatch, records: SqliteRecords, tmp_path: Path, waiting: t.Callable[[], datetime]
) -> None:
    def none(*_given: t.Any) -> t.Any:
        raise FleetError("no-workers", "no thread can be started")

    monkeypatch.setattr(apply, "in_parallel", none)
    done = applied(records, tmp_path, made.cluster("m"), names=("a", "b"), ways=WAITS, clock=waiting)
    assert set(done.waits) == {"a", "b"} and not done.stopped
