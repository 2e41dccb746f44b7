# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A fleet is supposed once, however many placements are decided over it."""

from __future__ import annotations

import typing as t
from datetime import datetime
from types import SimpleNamespace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.snapshot import FactsSnapshot
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.member_cluster import MemberCluster
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.compose import RecordedState
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.what_if import what_if
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.what_if.overlay import Overlay, overlaid
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements import explaining
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.explaining import (
    Ground,
    Question,
    explanations,
    suppositions,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.scheduling.made import (
    fleet,
    pick_n,
    placement,
)


@pytest.mark.parametrize("db", [{}, {"deletionTimestamp": "2026-01-01T00:00:00Z"}], ids=["stays", "ends"])
def test_all_clusters_that_nobody_knows_are_named_at_once_and_where_they_were_sought(
    monkeypatch: pytest.MonkeyPatch, db: dict[str, str]
) -> None:
    """Also where the first placement that is asked about is being deleted."""
    rows = ({"name": "db", **db}, {"name": "web"})
    known = {each["name"]: (placement(pick_n(1), metadata=each), RecordedState()) for each in rows}
    ground = Ground(index=fleet("prod-1", "prod-2"), known=known)
    monkeypatch.setattr(explaining, "_ground", lambda _session, _question: ground)
    session = t.cast("Session", SimpleNamespace(records=SimpleNamespace(place="records.db")))
    for facts, where in ((None, ""), (t.cast("FactsSnapshot", object()), "the facts, and the records records.db")):
        with pytest.raises(FleetError) as refused:
            explanations(session, Question(name="", clusters=("prod-1", "prod-3", "x"), facts=facts))
        problems = [(each.message.split()[-1], each.hint, each.where) for each in refused.value.problems]
        assert problems == [("'prod-3'", "did you mean prod-2, prod-1?", where), ("'x'", "", where)]


def test_the_supposed_fleet_is_made_once_for_all_placements(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {name: (placement(pick_n(1), metadata={"name": name}), RecordedState()) for name in ("db", "web")}
    ground = Ground(index=fleet("a", "b"), known=known)
    monkeypatch.setattr(explaining, "_ground", lambda _session, _question: ground)
    laid: list[Overlay] = []

    def overlaid_once_more(clusters: t.Iterable[MemberCluster], overlay: Overlay, now: datetime) -> t.Any:
        laid.append(overlay)
        return overlaid(clusters, overlay, now)

    monkeypatch.setattr(what_if, "overlaid", overlaid_once_more)
    found, _told = suppositions(t.cast("Session", None), Question(name=""), {"gone": ["b"]})
    assert [(each.differences.placement, each.differences.gained, each.differences.lost) for each in found] == [
        ("db", ("a",), ("b",)),
        ("web", ("a",), ("b",)),
    ]
    assert len(laid) == 1
