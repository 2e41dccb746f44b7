# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a run of evictions says of what it has changed: whatever it wrote, into the records or on members; what its
budgets are judged on."""

from __future__ import annotations

import contextlib
import json
import typing as t
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError, Problem
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import identify
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.document import PlacementPlan
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.losing.evicted import (
    DONE,
    OVER,
    REFUSED,
    UNDERWAY,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.outcome import MemberOutcome
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.evictions import carry_out, holders
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.evictions.carry_out import (
    EvictionReport,
    EvictionRequest,
    run_evictions,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
API = "placement.kubernetes-fleet.io/v1beta1"
EVICTION, BUDGET = "ClusterResourcePlacementEviction", "ClusterResourcePlacementDisruptionBudget"
BINDING = "ClusterResourceBinding"
LONG_AGO = "2026-01-01T00:00:00Z"
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web"}}
Document = dict[str, t.Any]


def made(kind: str, name: str, spec: Document, **metadata: t.Any) -> Document:
    return {"apiVersion": API, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}


ASKED = made(EVICTION, "off-m1", {"placementName": "web", "clusterName": "m1"})


@pytest.fixture
def records(tmp_path: Path) -> t.Iterator[SqliteRecords]:
    found = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    yield found
    found.close()


def evict(records: SqliteRecords, tmp_path: Path, *documents: Document, write: bool = True) -> EvictionReport:
    """What a run of a folder with these manifests tells."""
    return run_evictions(session_of(records), EvictionRequest(src=folder_of(tmp_path, *documents), write=write))


def session_of(records: SqliteRecords) -> Session:
    return Session(records=records, holder="me", clock=lambda: NOW, environ={})


def folder_of(tmp_path: Path, *documents: Document) -> tuple[str, ...]:
    """The folder with these manifests alone in it."""
    folder = tmp_path / "src"
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    if documents:
        (folder / "all.yml").write_text("\n---\n".join(map(json.dumps, documents)), encoding="utf-8")
    return (str(folder),)


def kept(records: SqliteRecords) -> list[Document]:
    return [each for kind in (EVICTION, BUDGET, BINDING) for each in records.list(kind)]


def placed(records: SqliteRecords, *clusters: str, available_since: str = "") -> None:
    """As an apply leaves it: the placement ``web`` on m1, or on these clusters, available there since then."""
    records.create(made("ClusterResourcePlacement", "web", {"policy": {"placementType": "PickAll"}}))
    labels = {"kubernetes-fleet.io/parent-CRP": "web", "kubernetes-fleet.io/resource-index": "0"}
    marks = {"kubernetes-fleet.io/resource-hash": "h"}
    objects = {"selectedResources": [NAMESPACE]}
    records.create(made("ClusterResourceSnapshot", "web-0-snapshot", objects, labels=labels, annotations=marks))
    for cluster in clusters or ("m1",):
        spec = {
            "state": "Bound",
            "targetCluster": cluster,
            "schedulingPolicySnapshotName": "web-0",
            "resourceSnapshotName": "web-0-snapshot",
            "clusterDecision": {"clusterName": cluster, "selected": True, "reason": "picked"},
        }
        binding = records.create(
            made(BINDING, f"web-{cluster}", spec, labels={"kubernetes-fleet.io/parent-CRP": "web"})
        )
        told = {"type": "Available", "status": "True", "reason": "AllWorkAreAvailable", "observedGeneration": 1}
        if available_since:
            conditions = [{**told, "message": "", "lastTransitionTime": available_since}]
            records.replace({**binding, "status": {"conditions": conditions}})
        records.create(
            {
                "apiVersion": "gitops.fleet/v1alpha1",
                "kind": "FleetMember",
                "metadata": {"name": cluster},
                "spec": {"connection": {"kubeconfig": f"/none/{cluster}"}, "clusterUID": f"uid-{cluster}"},
            }
        )


def test_a_refused_eviction_that_is_recorded_is_a_change(records: SqliteRecords, tmp_path: Path) -> None:
    foretold = evict(records, tmp_path, ASKED, write=False)
    assert foretold.changed and kept(records) == []
    report = evict(records, tmp_path, ASKED)
    assert [each.state for each in report.results] == [REFUSED]
    assert report.changed and [each["kind"] for each in kept(records)] == [EVICTION]
    again = evict(records, tmp_path, ASKED)
    assert [each.state for each in again.results] == [OVER] and not again.changed


def test_a_budget_that_is_recorded_or_deleted_is_a_change(records: SqliteRecords, tmp_path: Path) -> None:
    budget = made(BUDGET, "web", {"minAvailable": 1})
    for given in ((budget,), (made(BUDGET, "web", {"minAvailable": 2}),), (NAMESPACE,)):
        before = kept(records)
        assert evict(records, tmp_path, *given, write=False).changed and kept(records) == before
        assert evict(records, tmp_path, *given).changed and kept(records) != before
        assert not evict(records, tmp_path, *given).changed


def test_a_budget_of_the_other_api_version_is_the_same_budget(records: SqliteRecords, tmp_path: Path) -> None:
    """v1 and v1beta1 have one schema, and one of them is stored."""
    budget = {**made(BUDGET, "web", {"minAvailable": 1}), "apiVersion": "placement.kubernetes-fleet.io/v1"}
    assert evict(records, tmp_path, budget).changed
    assert not evict(records, tmp_path, budget).changed and not evict(records, tmp_path, budget, write=False).changed


def test_what_was_begun_and_could_not_reach_the_member_is_a_change_once(
    records: SqliteRecords, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its cluster is recorded as one that nobody counts on; the next run finds that so."""
    placed(records)
    outcome = {"m1": MemberOutcome(cluster="m1", error=Problem("unreachable", "cut off", "m1"))}

    def on_members(_plan: PlacementPlan, *_given: object, **_more: object) -> dict[str, MemberOutcome]:
        return outcome

    monkeypatch.setattr(carry_out, "on_members", on_members)
    assert evict(records, tmp_path, ASKED, write=False).changed
    first = evict(records, tmp_path, ASKED)
    assert [each.state for each in first.results] == [UNDERWAY] and first.changed
    assert [each["spec"]["state"] for each in records.list(BINDING)] == ["Unscheduled"]
    again = evict(records, tmp_path, ASKED)
    assert [each.state for each in again.results] == [UNDERWAY] and not again.changed
    outcome["m1"] = MemberOutcome(cluster="m1", done=True)
    done = evict(records, tmp_path, ASKED)
    assert [each.state for each in done.results] == [DONE] and done.changed


@pytest.mark.parametrize("write", [True, False])
def test_what_was_begun_and_an_apply_has_ended_is_executed(
    records: SqliteRecords, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: bool
) -> None:
    """It is the apply that found the member again, and took away the binding that was leaving."""
    placed(records)
    silent = {"m1": MemberOutcome(cluster="m1", error=Problem("unreachable", "cut off", "m1"))}
    monkeypatch.setattr(carry_out, "on_members", lambda *_given, **_more: silent)
    assert [each.state for each in evict(records, tmp_path, ASKED).results] == [UNDERWAY]
    records.delete(BINDING, "web-m1")
    report = evict(records, tmp_path, ASKED, write=write)
    assert [(each.state, each.verdict.why) for each in report.results] == [(DONE, "left-meanwhile")]
    assert report.changed and report.outcome == "done"
    again = evict(records, tmp_path, ASKED, write=write)
    assert [each.state for each in again.results] == [OVER if write else DONE]


class Looks:
    """Members as they are found: ``silent`` do not answer, on ``emptied`` nothing is there any more; all that is to
    leave the others leaves them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.silent: set[str] = set()
        self.emptied: set[str] = set()
        self.looked: list[str] = []
        self.left: list[str] = []
        monkeypatch.setattr(holders, "on_members", self._look)
        monkeypatch.setattr(carry_out, "on_members", self._leave)

    def _look(self, plan: PlacementPlan, *_given: object, **_more: object) -> dict[str, MemberOutcome]:
        self.looked += [each.cluster for each in plan.clusters]
        return {each.cluster: self._seen(each.cluster) for each in plan.clusters}

    def _seen(self, cluster: str) -> MemberOutcome:
        if cluster in self.silent:
            return MemberOutcome(cluster=cluster, error=Problem("unreachable", "cut off", cluster))
        found = {} if cluster in self.emptied else {identify(NAMESPACE): "Available"}
        return MemberOutcome(cluster=cluster, availability=found)

    def _leave(self, plan: PlacementPlan, *_given: object, **more: object) -> dict[str, MemberOutcome]:
        if more["writing"]:
            self.left += [each.cluster for each in plan.clusters]
        return {each.cluster: MemberOutcome(cluster=each.cluster, done=True) for each in plan.clusters}


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Looks:
    return Looks(monkeypatch)


TWO_STAY = made(BUDGET, "web", {"minAvailable": 2})


@pytest.mark.parametrize("write", [True, False])
def test_a_budget_counts_what_the_other_clusters_have_by_now(
    records: SqliteRecords, tmp_path: Path, looks: Looks, write: bool
) -> None:
    """They were available when an apply saw them last, two weeks ago; one does not answer since, one was emptied."""
    placed(records, "m1", "m2", "m3", available_since=LONG_AGO)
    looks.silent, looks.emptied = {"m2"}, {"m3"}
    report = evict(records, tmp_path, ASKED, TWO_STAY, write=write)
    (result,) = report.results
    assert (result.state, result.verdict.why) == (REFUSED, "budget") and looks.left == []
    assert result.verdict.message == "1 of 3 bindings is available, so that 0 may go"
    assert sorted(looks.looked) == ["m2", "m3"]
    silent, emptied = report.findings
    assert {each.code for each in report.findings} == {"not-available-now"}
    assert silent.where == "m2 (web)" and "cut off" in silent.message and LONG_AGO in silent.message
    assert emptied.where == "m3 (web)" and "Namespace web is not there" in emptied.message


def test_a_cluster_that_is_silent_itself_may_leave_those_that_are_well(
    records: SqliteRecords, tmp_path: Path, looks: Looks
) -> None:
    placed(records, "m1", "m2", "m3", available_since=LONG_AGO)
    looks.silent = {"m1"}
    (result,) = evict(records, tmp_path, ASKED, TWO_STAY).results
    assert (result.state, result.verdict.why) == (DONE, "budget") and looks.left == ["m1"]


def test_what_has_become_available_since_the_apply_counts(records: SqliteRecords, tmp_path: Path, looks: Looks) -> None:
    """An apply that did not wait for it has not recorded that."""
    placed(records, "m1", "m2", "m3")
    binding = records.get(BINDING, "web-m1") or {}
    told = {"type": "Available", "status": "True", "reason": "AllWorkAreAvailable", "observedGeneration": 1}
    conditions = [{**told, "message": "", "lastTransitionTime": LONG_AGO}]
    records.replace({**binding, "status": {"conditions": conditions}})
    report = evict(records, tmp_path, ASKED, TWO_STAY)
    assert [each.state for each in report.results] == [DONE] and report.findings == ()


def test_each_cluster_is_looked_at_once_however_many_are_to_go(
    records: SqliteRecords, tmp_path: Path, looks: Looks
) -> None:
    placed(records, "m1", "m2", "m3", "m4", available_since=LONG_AGO)
    second = made(EVICTION, "off-m2", {"placementName": "web", "clusterName": "m2"})
    third = made(EVICTION, "off-m3", {"placementName": "web", "clusterName": "m3"})
    report = evict(records, tmp_path, ASKED, second, third, TWO_STAY)
    assert [each.state for each in report.results] == [DONE, DONE, REFUSED]
    assert sorted(looks.looked) == ["m2", "m3", "m4"] and looks.left == ["m1", "m2"]


def test_without_a_budget_that_decides_nobody_is_looked_at(
    records: SqliteRecords, tmp_path: Path, looks: Looks
) -> None:
    placed(records, "m1", "m2", available_since=LONG_AGO)
    looks.silent = {"m2"}
    report = evict(records, tmp_path, ASKED)
    assert [each.verdict.why for each in report.results] == ["no-budget"] and looks.looked == []


class Signals:
    """Stands in for ``Interrupts``: nothing has come until ``came`` says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.came = ""
        monkeypatch.setattr(carry_out, "Interrupts", lambda: contextlib.nullcontext(lambda: self.came))


@pytest.mark.parametrize("write", [True, False])
def test_a_look_that_is_broken_off_refuses_no_eviction(
    records: SqliteRecords, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: bool
) -> None:
    """Of whom nothing was heard for that is not known to be unavailable, and an object is tried only once."""
    placed(records, "m1", "m2", "m3", available_since=LONG_AGO)
    signals = Signals(monkeypatch)

    def broken_off(plan: PlacementPlan, *_given: object, **_more: object) -> dict[str, MemberOutcome]:
        signals.came = "interrupted by SIGTERM"
        cut = Problem("interrupted", signals.came)
        return {each.cluster: MemberOutcome(cluster=each.cluster, error=cut) for each in plan.clusters}

    monkeypatch.setattr(holders, "on_members", broken_off)
    with pytest.raises(FleetError, match="interrupted by SIGTERM; no further eviction is begun") as refused:
        evict(records, tmp_path, ASKED, TWO_STAY, write=write)
    assert refused.value.code == "interrupted" and records.list(EVICTION) == ()


def test_a_run_that_is_told_to_end_begins_no_further_eviction(
    records: SqliteRecords, tmp_path: Path, looks: Looks, monkeypatch: pytest.MonkeyPatch
) -> None:
    placed(records, "m1", "m2", available_since=LONG_AGO)
    signals, leave = Signals(monkeypatch), carry_out.on_members

    def leaves_last(*given: t.Any, **more: t.Any) -> dict[str, MemberOutcome]:
        signals.came = "interrupted by SIGTERM"
        return leave(*given, **more)

    monkeypatch.setattr(carry_out, "on_members", leaves_last)
    second = made(EVICTION, "off-m2", {"placementName": "web", "clusterName": "m2"})
    report = evict(records, tmp_path, ASKED, second)
    assert [(each.name, each.state) for each in report.results] == [("off-m1", DONE)] and report.outcome == "partial"
    assert [each.code for each in report.problems] == ["interrupted"]
    assert [each["metadata"]["name"] for each in records.list(EVICTION)] == ["off-m1"]
    assert [each["spec"]["state"] for each in records.list(BINDING)] == ["Bound"]


@pytest.mark.parametrize(("writes", "outcome"), [(1, "done"), (99, "partial")])
def test_an_eviction_that_was_executed_is_reported_so_whoever_writes_its_placement(
    records: SqliteRecords, tmp_path: Path, looks: Looks, monkeypatch: pytest.MonkeyPatch, writes: int, outcome: str
) -> None:
    """The status of the placement is written after all else; what fails then stops the next one alone."""
    placed(records, "m1", "m2", available_since=LONG_AGO)
    kind, left, write = "ClusterResourcePlacement", [writes], records.replace
    placement = records.get(kind, "web") or {}
    records.replace({**placement, "status": {"placementStatuses": [{"clusterName": "m1"}, {"clusterName": "m2"}]}})

    def written_meanwhile(record: Document, lease: t.Any = None) -> Document:
        if record["kind"] == kind and left[0]:
            left[0] -= 1
            there = records.get(kind, "web") or {}
            write({**there, "metadata": {**there["metadata"], "labels": {"left": str(left[0])}}})
        return write(record, lease)

    monkeypatch.setattr(records, "replace", written_meanwhile)
    report = evict(records, tmp_path, ASKED, made(EVICTION, "off-m2", {"placementName": "web", "clusterName": "m2"}))
    done = ["m1", "m2"] if outcome == "done" else ["m1"]
    assert [(each.cluster, each.state) for each in report.results] == [(each, DONE) for each in done]
    assert report.outcome == outcome and looks.left == done
    assert [(each.code, each.where) for each in report.problems] == [("conflict", f"{kind}/web")] * (2 - len(done))
    again = evict(records, tmp_path, ASKED)
    assert again.results[0].state == OVER and again.results[0].verdict.yes


ALL_STAY = made(BUDGET, "web", {"minAvailable": 3})


@pytest.mark.parametrize("left", [(), (NAMESPACE,)], ids=["an empty folder", "other manifests"])
@pytest.mark.parametrize("write", [True, False])
def test_a_budget_that_is_gone_from_its_files_guards_what_is_evicted_in_that_run(
    records: SqliteRecords, tmp_path: Path, looks: Looks, left: tuple[Document, ...], write: bool
) -> None:
    """As where the clone has failed, or the same path is another checkout: it would go, and the eviction through."""
    placed(records, "m1", "m2", "m3", available_since=LONG_AGO)
    evict(records, tmp_path, ALL_STAY)
    asked = EvictionRequest(src=folder_of(tmp_path, *left), placement="web", clusters=("m1",), write=write)
    report = run_evictions(session_of(records), asked)
    assert [(each.state, each.verdict.why) for each in report.results] == [(REFUSED, "budget")] and looks.left == []
    assert [each["metadata"]["name"] for each in records.list(BUDGET)] == ["web"]
    kept = next(each for each in report.findings if each.code == "budget-kept")
    assert kept.where == f"{BUDGET}/web" and str(tmp_path) in kept.message


def test_a_budget_goes_with_a_run_from_its_files_that_evicts_nothing_of_its_placement(
    records: SqliteRecords, tmp_path: Path, looks: Looks
) -> None:
    placed(records, "m1", "m2", "m3", available_since=LONG_AGO)
    evict(records, tmp_path, ALL_STAY)
    assert not evict(records, tmp_path).changed and records.list(BUDGET)
    assert evict(records, tmp_path, NAMESPACE).changed and not records.list(BUDGET)
    assert [each.verdict.why for each in evict(records, tmp_path, ASKED).results] == ["no-budget"]
