# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""F18: how a run of either kind comes to keep terms, beside others who write its record."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.api_groups import FLEET_API, PLACEMENT_API
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.terms import EXPIRES, VERIFIED, Terms
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged import run_record as staged
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates import run_record, update_run
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Lease, Record
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

NOW = datetime(2026, 8, 17, 12, tzinfo=UTC)
UPGRADE = {"managedClusterUpdate": {"upgrade": {"type": "Full", "kubernetesVersion": "1.36.3"}}}
ROLLOUT = {"placementName": "web", "stagedRolloutStrategyName": "rings"}


class Shared(SqliteRecords):
    """Somebody else writes before each of the next ``times`` writes."""

    times = 0

    def replace(self, record: Record, lease: Lease | None = None) -> Record:
        if self.times:
            self.times -= 1
            there = self.get(record["kind"], "r")
            assert there
            annotations = {**(there["metadata"].get("annotations") or {}), EXPIRES: "60", "by": f"{self.times}"}
            super().replace({**there, "metadata": {**there["metadata"], "annotations": annotations}})
        return super().replace(record, lease)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    records = Shared(tmp_path / "records.db", lambda: NOW)
    yield Session(records=records, holder="me", clock=lambda: NOW)
    records.close()


@pytest.fixture(params=["UpdateRun", "ClusterStagedUpdateRun"])
def keep(request: pytest.FixtureRequest, session: Session) -> t.Callable[[Terms], t.Mapping[str, str]]:
    """What keeps terms in a run of the kind, and gives the annotations that it has then."""
    kind, records = request.param, session.records
    api, spec = (FLEET_API, UPGRADE) if kind == "UpdateRun" else (PLACEMENT_API, ROLLOUT)
    records.create({"apiVersion": api, "kind": kind, "metadata": {"name": "r"}, "spec": spec})

    def kept(terms: Terms) -> t.Mapping[str, str]:
        if kind == "UpdateRun":
            run = update_run.keep_terms(session, run_record.read_run(records, "r"), terms)
        else:
            run = staged.keep_terms(session, staged.read_run(records, "r"), terms)
        document = records.get(kind, "r")
        assert document and dict(run.metadata.annotations) == document["metadata"]["annotations"]
        return run.metadata.annotations

    return kept


def test_what_others_write_meanwhile_stays_and_the_terms_of_both_hold(
    session: Session, keep: t.Callable[[Terms], t.Mapping[str, str]]
) -> None:
    records = t.cast(Shared, session.records)
    for times in (1, 9):  # of ten attempts the last one is made, too
        records.times = times
        assert dict(keep(Terms(verified=True))) == {EXPIRES: "60", "by": "0", VERIFIED: "true"}
        document = records.list("UpdateRun") or records.list("ClusterStagedUpdateRun")
        records.replace({**document[0], "metadata": {**document[0]["metadata"], "annotations": {}}})


def test_a_run_that_is_being_written_all_the_time_keeps_nothing_more_and_that_is_told(
    session: Session, keep: t.Callable[[Terms], t.Mapping[str, str]]
) -> None:
    t.cast(Shared, session.records).times = 99
    with pytest.raises(FleetError) as refused:
        keep(Terms(verified=True))
    assert refused.value.code == "conflict"
