# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which evictions are asked for where records are damaged: what cannot be read stops nothing that it does not guard."""

from __future__ import annotations

import json
import typing as t
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.evictions.asked import (
    Wanted,
    wanted_evictions,
)

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
API = "placement.kubernetes-fleet.io/v1beta1"
EVICTION, BUDGET = "ClusterResourcePlacementEviction", "ClusterResourcePlacementDisruptionBudget"


class Kept:
    """Records of two kinds, as a hub may have them."""

    def __init__(self, *documents: dict[str, t.Any]) -> None:
        self._documents = documents

    def list(self, kind: str) -> list[dict[str, t.Any]]:
        return [each for each in self._documents if each["kind"] == kind]


def record(kind: str, name: str, spec: t.Any) -> dict[str, t.Any]:
    return {"apiVersion": API, "kind": kind, "metadata": {"name": name}, "spec": spec}


GOOD = record(EVICTION, "good", {"placementName": "web", "clusterName": "m1"})
BAD = record(EVICTION, "bad", ["web", "m2"])


def wanted(records: Kept, src: t.Sequence[str] = ()) -> Wanted:
    return wanted_evictions(t.cast(t.Any, records), src, "", (), NOW)


def test_a_damaged_eviction_is_told_and_stops_no_other() -> None:
    found = wanted(Kept(GOOD, BAD))
    assert [each.eviction.name for each in found.evictions] == ["good"]
    assert {(each.code, each.where) for each in found.findings} == {("record-damaged", f"{EVICTION}/bad")}


def test_of_a_file_whose_record_is_damaged_nobody_knows_whether_it_was_tried(tmp_path: Path) -> None:
    path = tmp_path / "evictions.yml"
    path.write_text(json.dumps({**GOOD, "metadata": {"name": "bad"}}))
    with pytest.raises(FleetError) as refused:
        wanted(Kept(GOOD, BAD), [str(path)])
    assert {each.where for each in refused.value.problems} == {f"{EVICTION}/bad"}


def test_a_damaged_budget_may_forbid_any_of_them() -> None:
    with pytest.raises(FleetError) as refused:
        wanted(Kept(GOOD, record(BUDGET, "web", "text")))
    assert (refused.value.code, refused.value.where) == ("record-damaged", f"{BUDGET}/web")
