# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A request without files of placements never means that all placements are gone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.snapshot import FactsSnapshot
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.placement import (
    PlacementRequest,
    plan_request,
    run,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from ansible_collections.gitops.fleet.tests.data.manifest_parts import crp

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
FACTS = FactsSnapshot(captured_at=NOW, members=())


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    records = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    yield Session(records=records, holder="me", clock=lambda: NOW, environ={})
    records.close()


def test_with_records_in_a_file_it_is_refused(session: Session) -> None:
    """There is no hub on which they could be."""
    with pytest.raises(FleetError) as refused:
        run(session, PlacementRequest(facts=FACTS, look=False))
    assert refused.value.code == "nothing-asked" and "give src or definition" in str(refused.value)


@pytest.mark.parametrize(
    ("src", "definition", "complete"),
    [((), None, False), (("placements",), None, True), (("placements",), crp(), False)],
    ids=["hub", "files", "inline"],
)
def test_only_files_can_lack_a_placement_that_ends(
    session: Session, tmp_path: Path, src: tuple[str, ...], definition: dict[str, object] | None, complete: bool
) -> None:
    """And only where they are read: a definition counts before them."""
    asked = PlacementRequest(src=tuple(str(tmp_path / each) for each in src), definition=definition, facts=FACTS)
    request = plan_request(session, asked, (), (), {}, FACTS, NOW)
    assert request.complete is complete and bool(request.source.name) is complete
