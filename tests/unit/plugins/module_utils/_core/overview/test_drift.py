# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Drift is told with the instant of the look, and nothing is counted where nobody looked."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.binding import (
    ClusterResourceBinding,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.cluster_resource_placement import (
    PlacementStatus,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.drift import (
    DriftKnown,
    DriftLook,
    DriftRow,
    applied_at,
    drift_known,
    drift_rows,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.drift_look import read_look
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
APPLIED = NOW - timedelta(days=1)
LOOKED = NOW - timedelta(hours=1)
PLACES = {("web", "a"): APPLIED, ("web", "b"): APPLIED, ("api", "a"): None}


def row(placement: str, cluster: str, name: str = "x", **more: Any) -> DriftRow:
    return DriftRow(placement=placement, cluster=cluster, object=f"ConfigMap {name}", path="/data/k", live="1",
                    placed="2", **more)  # fmt: skip


def look(*rows: DriftRow, at: datetime = LOOKED, places: Any = frozenset(PLACES)) -> DriftLook:
    return DriftLook(at=at, place="records.db", looked=frozenset(places), rows=rows)


def test_where_nobody_looked_nothing_is_counted():
    known = drift_known([], PLACES)
    assert known.whole.objects is None and known.whole.looked == 0
    assert known.whole.words == "not looked since an apply, 2026-03-01T09:00:00Z or later"
    assert drift_known([], {("web", "a"): None}).whole.words == "never looked"
    assert drift_known([], {}).whole == DriftKnown() and DriftKnown().words == "nothing is placed"


def test_what_an_apply_saw_is_told_as_of_then():
    known = drift_known([row("web", "a", seen=APPLIED), row("web", "a", "y", seen=APPLIED)], PLACES)
    assert known.clusters["a"].objects == 2 and known.clusters["b"].objects is None
    assert known.clusters["a"].words == "2 objects drifted, seen by an apply at 2026-03-01T09:00:00Z, not looked since"


def test_a_look_that_finds_nothing_is_a_number():
    known = drift_known([row("web", "a", seen=APPLIED)], PLACES, look())
    assert known.rows == () and known.whole.objects == 0
    assert known.whole.words == "no drift, looked at 2026-03-02T08:00:00Z"


def test_what_a_look_finds_takes_the_place_of_what_is_recorded():
    found = row("web", "b", seen=LOOKED, looked=True)
    known = drift_known([row("web", "a", seen=APPLIED)], PLACES, look(found))
    assert known.rows == (found,) and known.clusters["b"].words == "1 object drifted, looked at 2026-03-02T08:00:00Z"


def test_a_part_that_was_not_looked_at_is_named():
    known = drift_known([], PLACES, look(places={("web", "b")}))
    assert known.clusters["b"].objects == 0 and known.clusters["a"].objects is None
    assert known.whole.objects is None
    assert known.whole.words == (
        "no drift, 1 of 3 places looked at 2026-03-02T08:00:00Z;"
        " elsewhere not looked since an apply, 2026-03-01T09:00:00Z or later"
    )


def test_the_look_is_dated_by_itself_and_not_by_what_an_apply_saw_before():
    old = row("web", "a", seen=LOOKED - timedelta(days=1))
    known = drift_known([old], PLACES, look(places={("web", "b")}))
    assert known.whole.seen == old.seen
    assert known.whole.words.startswith("1 object drifted, 1 of 3 places looked at 2026-03-02T08:00:00Z")


def test_an_apply_after_the_look_counts_more():
    early = look(row("web", "a", looked=True), at=APPLIED - timedelta(hours=1))
    known = drift_known([], PLACES, early)
    assert known.rows == () and known.clusters["b"].looked == 0 and known.clusters["a"].looked == 1


def binding(
    cluster: str, state: str = "Bound", snapshot: str = "web-0-snapshot", at: str = "", of: str = "Applied"
) -> Any:
    condition = {"type": of, "status": "True", "lastTransitionTime": at}
    return decode(ClusterResourceBinding, {
        "metadata": {"name": f"web-{cluster}"},
        "spec": {"state": state, "targetCluster": cluster, "schedulingPolicySnapshotName": "web-0",
                 "resourceSnapshotName": snapshot, "clusterDecision": {"clusterName": cluster, "selected": True}},
        "status": {"conditions": [condition] if at else []},
    })  # fmt: skip


def test_when_an_apply_was_there_last_is_the_newest_that_is_recorded():
    condition = {"type": "Applied", "status": "True", "lastTransitionTime": "2026-02-01T00:00:00Z"}
    status = decode(PlacementStatus, {"placementStatuses": [{"clusterName": "a", "conditions": [condition]}]})
    held = [
        binding("a", at="2026-03-01T09:00:00Z"),
        binding("b"),
        binding("c", "Unscheduled"),
        binding("d", snapshot=""),
        binding("e", at="2026-03-01T09:00:00Z", of="Available"),
        binding("f", at="2026-03-01T09:00:00Z", of="Overridden"),
    ]
    assert applied_at(held, status) == {"a": APPLIED, "b": None, "e": APPLIED, "f": None}


def test_rows_of_a_status_have_their_observation():
    drifted = {"kind": "Deployment", "namespace": "web", "name": "web", "observationTime": "2026-03-01T09:00:00Z",
               "firstDriftedObservedTime": "2026-02-01T09:00:00Z",
               "observedDrifts": [{"path": "/spec/replicas", "valueInMember": "1", "valueInHub": "3"}]}  # fmt: skip
    differs = {"kind": "Service", "name": "web", "namespace": "web"}
    rows = list(drift_rows("web", decode(PlacementStatus, {"placementStatuses": [
        {"clusterName": "a", "driftedPlacements": [drifted], "diffedPlacements": [differs]}]})))  # fmt: skip
    assert [(each.object, each.path, each.seen, each.differs, each.looked) for each in rows] == [
        ("Deployment web/web", "/spec/replicas", APPLIED, False, False),
        ("Service web/web", "", None, True, False),
    ]


def result(**parts: Any) -> dict[str, Any]:
    """What a look writes to its result_file, cut down to what is read."""
    steps = [
        {"object": "ConfigMap web/x", "action": "repair",
         "drifts": [{"path": "/data/k", "valueInHub": "2", "valueInMember": 1, "managers": ["kubectl"]}]},
        {"object": "Deployment web/web", "action": "create", "missing": True},
        {"object": "Service web/web", "action": "differs",
         "diffs": [{"path": "/spec/type", "valueInHub": {"a": 1}, "valueInMember": None}]},
        {"object": "Secret web/new", "action": "create"},
    ]  # fmt: skip
    members = {"web": {"a": {"steps": steps, "unchanged": 3}, "b": {"steps": [], "error": {"code": "timeout"}}}}
    return {"observed_at": "2026-03-02T08:00:00Z", "place": "records.db", "members": members,
            "fleet": {"outcome": "drifted", "code": "drifted"}, **parts}  # fmt: skip


def test_the_file_of_a_look_is_read_and_a_member_that_did_not_answer_was_not_looked_at():
    found = read_look(result(), "drift.json", NOW)
    assert found.at == LOOKED and found.place == "records.db" and found.looked == {("web", "a")}
    assert [(each.object, each.path, each.live, each.placed, each.differs) for each in found.rows] == [
        ("ConfigMap web/x", "/data/k", "1", "2", False),
        ("Deployment web/web", "", "", "", False),
        ("Service web/web", "/spec/type", "", '{"a": 1}', True),
    ]
    assert all(each.looked and each.seen == LOOKED for each in found.rows)


def test_what_the_file_says_steers_no_terminal():
    drift = {"path": "/\x1b[1m", "valueInMember": "\x07"}
    step = {"object": "ConfigMap \x1b[2Jx", "action": "repair", "drifts": [drift]}
    (only,) = read_look(result(members={"web": {"a": {"steps": [step]}}}), "drift.json", NOW).rows
    assert all(text.isprintable() for text in (only.object, only.path, only.live))


@pytest.mark.parametrize(
    ("document", "word"),
    [
        ([], "no result of a look"),
        ({"failed": True, "fleet": {"outcome": "failed", "code": "no-members"}}, "it failed with no-members"),
        (result(observed_at=""), "the result of an apply"),
        (result(observed_at=None), "observed_at is no instant"),
        (result(observed_at="yesterday"), "observed_at is no instant"),
        (result(observed_at="2026-03-02T10:00:00Z"), "3600 s ahead"),
        (result(members={"web": []}), "no map of clusters"),
        (result(members={"Web/../x": {}}), "not a name"),
        (result(members={"web": {"a/b": {}}}), "not a name"),
        (result(members={"web": {"a": []}}), "is no map"),
        (result(members={"web": {"a": {"steps": {}}}}), "steps is no list"),
        (result(members={"web": {"a": {"steps": [{"action": "repair"}]}}}), "object is missing"),
        (result(members={"web": {"a": {"steps": [{"object": "x", "drifts": [{"path": 3}]}]}}}), "path is no text"),
    ],
)
def test_what_is_no_look_is_refused_with_its_file(document: Any, word: str):
    with pytest.raises(FleetError) as refused:
        read_look(document, "drift.json", NOW)
    assert refused.value.code == "drift-invalid" and word in str(refused.value) and "drift.json" in str(refused.value)


def test_a_value_that_is_nested_too_deep_is_refused():
    value: list[Any] = []
    for _level in range(100_000):
        value = [value]
    drift = {"path": "/data/k", "valueInMember": value}
    with pytest.raises(FleetError) as refused:
        read_look(result(members={"web": {"a": {"steps": [{"object": "x", "drifts": [drift]}]}}}), "drift.json", NOW)
    assert refused.value.code == "drift-invalid" and "nested too deep" in refused.value.message


def test_all_that_is_wrong_with_the_file_is_told_at_once():
    with pytest.raises(FleetError) as refused:
        read_look(result(observed_at=3, members={"web": {"a": [], "B": {}}, "X": {}}), "drift.json", NOW)
    assert len(refused.value.problems) == 4
