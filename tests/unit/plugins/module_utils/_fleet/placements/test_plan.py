# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Under its lease a placement is planned again on its own records alone, and only if they have moved."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Iterator
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.held import (
    HeldContents,
    HeldObject,
    HeldPlacement,
    Holdings,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.snapshot import FactsSnapshot
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.key import CLEANUP
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.brakes import BrakeLimits
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements import plan as planning
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.history import older as older_module
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.plan import (
    PlanRequest,
    Source,
    make_plans,
    plan_again,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.recorded import (
    RECOVERING,
    REVISION,
    SOURCE,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.sources import (
    LoadedPlacement,
    catalogued,
    read_placement,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.write_records import Writer
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._store.manifests import read_manifests
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan import made

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
NAMES = ("a", "b", "c")
SELECTOR = {"group": "", "version": "v1", "kind": "Namespace", "name": "shop"}


def placement(name: str, **spec: t.Any) -> dict[str, t.Any]:
    spec = {"resourceSelectors": [SELECTOR], **spec}
    api = "placement.kubernetes-fleet.io/v1beta1"
    return {"apiVersion": api, "kind": "ClusterResourcePlacement", "metadata": {"name": name}, "spec": spec}


@pytest.fixture
def records(tmp_path: Path) -> Iterator[SqliteRecords]:
    made = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    yield made
    made.close()


@pytest.fixture
def request_of(tmp_path: Path) -> t.Callable[..., PlanRequest]:
    (tmp_path / "shop.json").write_text(json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": SHOP}))

    def made(*names: str, **changes: t.Any) -> PlanRequest:
        asked: dict[str, t.Any] = {
            "placements": tuple(read_placement(placement(name), f"{name}.yml", False) for name in names),
            "resources": catalogued(read_manifests((str(tmp_path / "shop.json"),))),
            "facts": FactsSnapshot(captured_at=NOW, members=()),
            "limits": BrakeLimits(),
            "now": NOW,
            "key": b"key",
        }
        return PlanRequest(**{**asked, **changes})

    return made


SHOP = {"name": "shop"}


@pytest.fixture
def session(records: SqliteRecords) -> Session:
    return Session(records=records, holder="me", clock=lambda: NOW, environ={})


@pytest.fixture
def decided(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of placements in the order in which they were decided."""
    found: list[str] = []
    real = planning.compose

    def compose(wanted: t.Any, *others: t.Any) -> t.Any:
        found.append(wanted.placement.name)
        return real(wanted, *others)

    monkeypatch.setattr(planning, "compose", compose)
    return found


def test_what_has_not_moved_is_not_decided_again(
    session: Session, request_of: t.Callable[..., PlanRequest], decided: list[str]
) -> None:
    """What is decided grows with the placements, not with their square."""
    request = request_of(*NAMES)
    fleet = make_plans(session, request)
    for each in fleet.plans:
        assert plan_again(session, request, fleet, each) == (each, fleet.recorded[each.name])
    assert decided == list(NAMES)


def test_what_has_moved_is_decided_again_alone(
    records: SqliteRecords, session: Session, request_of: t.Callable[..., PlanRequest], decided: list[str]
) -> None:
    request = request_of(*NAMES)
    fleet = make_plans(session, request)
    records.create({**placement("b"), "metadata": {"name": "b", "finalizers": [CLEANUP]}})
    decided.clear()
    again, recorded = plan_again(session, request, fleet, fleet.plans[1])
    assert decided == ["b"] and recorded.uid and again.placement.metadata.uid == recorded.uid
    assert again.digest == fleet.plans[1].digest and not fleet.recorded["b"].uid


def test_another_plan_is_refused(
    records: SqliteRecords, session: Session, request_of: t.Callable[..., PlanRequest]
) -> None:
    """F6: another run ends the placement while this one plans it."""
    request = request_of("a")
    held = records.create({**placement("a"), "metadata": {"name": "a", "finalizers": [CLEANUP]}})
    fleet = make_plans(session, request)
    records.delete("ClusterResourcePlacement", held["metadata"]["name"])
    with pytest.raises(FleetError) as refused:
        plan_again(session, request, fleet, fleet.plans[0])
    assert (refused.value.code, refused.value.where) == ("records-moved", "a")


def test_a_recovery_that_has_begun_since_is_refused(
    records: SqliteRecords, session: Session, request_of: t.Callable[..., PlanRequest]
) -> None:
    request = request_of("a")
    fleet = make_plans(session, request)
    records.create({**placement("a"), "metadata": {"name": "a", "annotations": {RECOVERING: "yes"}}})
    with pytest.raises(FleetError) as refused:
        plan_again(session, request, fleet, fleet.plans[0])
    assert refused.value.code == "recovery-unfinished"


@pytest.mark.parametrize("source, moved", [("files:fleet", False), ("files:others", True)])
def test_a_placement_that_is_gone_from_its_source_ends_only_while_it_is_of_that_source(
    records: SqliteRecords, session: Session, request_of: t.Callable[..., PlanRequest], source: str, moved: bool
) -> None:
    request = request_of(complete=True, source=Source(name="files:fleet"))
    metadata = {"name": "a", "annotations": {SOURCE: "files:fleet"}}
    old = records.create({**placement("a"), "metadata": metadata})
    fleet = make_plans(session, request)
    (plan,) = fleet.plans
    annotations = {SOURCE: source, "somebody": "else"}
    records.replace({**old, "metadata": {**old["metadata"], "annotations": annotations}})
    if moved:
        with pytest.raises(FleetError) as refused:
            plan_again(session, request, fleet, plan)
        assert refused.value.code == "records-moved"
    else:
        again, _recorded = plan_again(session, request, fleet, plan)
        assert again.deleting and again.digest == plan.digest


@pytest.fixture
def older(monkeypatch: pytest.MonkeyPatch) -> str:
    """A commit, of which all others are said to be no descendants."""
    monkeypatch.setattr(older_module, "is_descendant", lambda _folder, old, new, _environ: old == new)
    return "c" * 40


def test_an_older_commit_does_not_undo_what_another_run_has_applied_since(
    records: SqliteRecords, session: Session, request_of: t.Callable[..., PlanRequest], older: str
) -> None:
    """The brake ``allow_older`` holds for what is recorded under the lease, too."""
    old = records.create(placement("a"))
    request = request_of("a", source=Source(name="files:fleet", revision=older, folder="fleet"))
    fleet = make_plans(session, request)
    assert not any(each.stops for each in fleet.plans[0].brakes)
    newer = {**old["metadata"], "annotations": {REVISION: "d" * 40}}
    records.replace({**old, "metadata": newer})
    with pytest.raises(FleetError) as refused:
        plan_again(session, request, fleet, fleet.plans[0])
    assert (refused.value.code, refused.value.where) == ("records-moved", "a")
    assert "is not a descendant of dddddddddddd" in refused.value.message
    lifted = request_of("a", source=request.source, limits=BrakeLimits(allow_older=True))
    fleet = make_plans(session, lifted)
    assert plan_again(session, lifted, fleet, fleet.plans[0])[0] == fleet.plans[0]


def of_record(document: dict[str, t.Any]) -> LoadedPlacement:
    """The placement as an apply without files reads it from its record."""
    return replace(read_placement(document, "hub", False), of_record=True)


@pytest.mark.parametrize("read_before_the_plan", [True, False], ids=["since the plan", "while it was planned"])
def test_labels_that_were_edited_on_the_hub_since_stay_as_they_were_edited(
    records: SqliteRecords, session: Session, request_of: t.Callable[..., PlanRequest], read_before_the_plan: bool
) -> None:
    """What a file says of them wins; what was read from the record itself is read again with it."""
    notes = {"note": "old", REVISION: "c" * 40}
    old = records.create({**placement("a"), "metadata": {"name": "a", "labels": {"team": "a"}, "annotations": notes}})
    request = request_of(placements=(of_record(old),))
    fleet = make_plans(session, request) if read_before_the_plan else None
    edited = {**old["metadata"], "labels": {"tier": "gold"}, "annotations": {"note": "new", REVISION: "d" * 40}}
    records.replace({**old, "metadata": edited})
    fleet = fleet or make_plans(session, request)
    again, record = plan_again(session, request, fleet, fleet.plans[0])
    lease = records.acquire("placement/a", "me", 60)
    writer = Writer(
        records=records, lease=lease, plan=again, recorded=record, source=request.source, key=b"key", now=NOW
    )
    metadata = writer.write_spec()["metadata"]
    assert metadata["labels"] == {"tier": "gold"} and metadata["annotations"] == edited["annotations"]


def test_a_spec_that_was_edited_after_it_was_read_is_not_written_over(
    records: SqliteRecords, session: Session, request_of: t.Callable[..., PlanRequest]
) -> None:
    """Between the reading of placements and that of their records all members are read, which takes its time."""
    old = records.create(placement("a"))
    request = request_of(placements=(of_record(old),))
    records.replace({**old, "spec": placement("a", revisionHistoryLimit=5)["spec"]})
    fleet = make_plans(session, request)
    with pytest.raises(FleetError, match="its spec was changed") as refused:
        plan_again(session, request, fleet, fleet.plans[0])
    assert (refused.value.code, refused.value.where) == ("records-moved", "a")


@pytest.mark.parametrize("planned", [True, False], ids=["after it was planned", "before"])
def test_a_placement_that_somebody_deleted_on_the_hub_since_it_was_read_is_not_made_again(
    records: SqliteRecords, session: Session, request_of: t.Callable[..., PlanRequest], planned: bool
) -> None:
    """Nothing of it was applied yet, so that it had no finalizer and was gone at once."""
    old = records.create(placement("a"))
    request = request_of(placements=(of_record(old),))
    fleet = make_plans(session, request) if planned else None
    records.delete("ClusterResourcePlacement", "a")
    fleet = fleet or make_plans(session, request)
    with pytest.raises(FleetError, match="somebody has deleted it") as refused:
        plan_again(session, request, fleet, fleet.plans[0])
    assert (refused.value.code, refused.value.where) == ("records-moved", "a")


@pytest.mark.parametrize("moved", [True, False])
def test_a_spec_that_was_changed_since_is_written_over_only_with_what_it_is_already(
    records: SqliteRecords, session: Session, request_of: t.Callable[..., PlanRequest], moved: bool
) -> None:
    """An author's edit on the hub stays; another run of the same manifests is in nobody's way."""
    old = records.create(placement("a", revisionHistoryLimit=5))
    request = request_of("a")
    fleet = make_plans(session, request)
    records.replace({**old, "spec": placement("a", **({"revisionHistoryLimit": 3} if moved else {}))["spec"]})
    if moved:
        with pytest.raises(FleetError, match="its spec was changed") as refused:
            plan_again(session, request, fleet, fleet.plans[0])
        assert (refused.value.code, refused.value.where) == ("records-moved", "a")
    else:
        assert not plan_again(session, request, fleet, fleet.plans[0])[0].respecified


@pytest.mark.parametrize("revision, stops", [("c" * 40, True), ("d" * 40, False)])
def test_an_older_commit_does_not_end_what_a_newer_one_brought(
    records: SqliteRecords,
    session: Session,
    request_of: t.Callable[..., PlanRequest],
    older: str,
    revision: str,
    stops: bool,
) -> None:
    annotations = {SOURCE: "files:fleet", REVISION: "d" * 40}
    records.create({**placement("a"), "metadata": {"name": "a", "annotations": annotations}})
    source = Source(name="files:fleet", revision=revision, folder="fleet")
    (plan,) = make_plans(session, request_of(complete=True, source=source)).plans
    assert plan.deleting and [each.name for each in plan.brakes if each.stops] == ["allow_older"] * stops
    (named,) = make_plans(session, request_of(absent=("a",), source=source)).plans
    assert not any(each.stops for each in named.brakes)


def test_no_key_is_shown_by_what_has_it(request_of: t.Callable[..., PlanRequest]) -> None:
    assert "canary" not in repr(request_of("a", key=b"canary"))
    assert not any(each.repr for each in fields(Writer) if each.name == "key")


def test_a_placement_that_is_renamed_hands_over_what_it_holds(
    session: Session, request_of: t.Callable[..., PlanRequest]
) -> None:
    """Offline plans show it too: what is held stands in the facts, and the new one is in the same run."""
    member = made.cluster("m1")
    empty = FactsSnapshot(captured_at=NOW, members=(member,), held=Holdings())
    (before,) = make_plans(session, request_of("zeta", facts=empty)).plans
    contents = HeldContents(name="zeta-0-snapshot", index=0, hash=before.resource_hash, objects=())
    objects = tuple(HeldObject(id=each.id, hash=each.hash) for each in before.objects)
    zeta = HeldPlacement(
        document=placement("zeta"),
        bindings=made.carried_out(before).bindings,
        policy=before.policy_snapshot,
        contents=(replace(contents, objects=objects),),
    )
    held = replace(empty, held=Holdings(placements={"zeta": zeta}))
    request = request_of("alpha", facts=held, absent=("zeta",), prune_kinds=("Namespace",))
    fleet = make_plans(session, request)
    rows = {each.name: each.clusters[0].as_dict() for each in fleet.plans}
    assert [each["object"] for each in rows["zeta"]["release"]] == ["Namespace shop"] and not rows["zeta"]["prune"]
    assert [each.code for each in fleet.plans[1].findings if each.code == "handed-over"] == ["handed-over"]
    assert fleet.plans[0].moves["m1"].takes and fleet.plans[1].moves["m1"].handed
