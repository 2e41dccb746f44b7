# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a recovery leaves in the records when it is killed, and when another run works beside it."""

from __future__ import annotations

import contextlib
import typing as t
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.compose import policy_snapshot_of
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.applyset import ApplySet
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.recovery import recover as module
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.recovery.recover import Described, recover
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.sources import read_placement
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

API = "placement.kubernetes-fleet.io/v1beta1"
BINDING, POLICY = "ClusterResourceBinding", "ClusterSchedulingPolicySnapshot"
RESOURCES = "ClusterResourceSnapshot"
LATEST = "kubernetes-fleet.io/is-latest-snapshot"


def described(name: str) -> Described:
    selector = {"group": "", "version": "v1", "kind": "Namespace", "name": "x"}
    spec = {"resourceSelectors": [selector], "policy": {"placementType": "PickAll"}}
    manifest = {"apiVersion": API, "kind": "ClusterResourcePlacement", "metadata": {"name": name}, "spec": spec}
    return Described(sourced=read_placement(manifest, name, strict=False), objects=())


PLACEMENTS = {name: described(name) for name in ("api", "web")}
TODAY = policy_snapshot_of(PLACEMENTS["web"].sourced.placement, None)[0].spec.policy_hash


def held(placement: str = "web", policy: str = TODAY, resources: str = "r") -> ApplySet:
    return ApplySet(
        placement=placement,
        uid="lost",
        policy_snapshot=f"{placement}-1",
        policy_hash=policy,
        resource_snapshot=f"{placement}-0-snapshot",
        resource_hash=resources,
    )


@dataclass
class OnMembers:
    """ApplySets by member and placement, in the place of clients and of what they read and write."""

    sets: dict[str, dict[str, ApplySet]]
    before_rebuilt: Callable[[str], object] = field(default=lambda _placement: None)

    def get(self, name: str) -> str:
        return name

    @contextlib.contextmanager
    def holding(self, _name: str, _task: str) -> t.Iterator[Callable[[], None]]:
        yield lambda: None

    def applysets_on(self, client: str) -> tuple[ApplySet, ...]:
        return tuple(self.sets[client].values())

    def adopted(self, client: str, each: ApplySet, uid: str, _objects: object) -> tuple[ApplySet, WrittenTo]:
        self.before_rebuilt(each.placement)
        return replace(self.sets[client][each.placement], uid=uid), WrittenTo(self.sets[client])


@dataclass
class WrittenTo:
    sets: dict[str, ApplySet]

    def write(self, each: ApplySet, permit: Callable[[], None]) -> None:
        permit()
        self.sets[each.placement] = each


@pytest.fixture
def records(tmp_path: Path) -> SqliteRecords:
    return SqliteRecords(tmp_path / "records.db", lambda: datetime.now(UTC))


def run(records: SqliteRecords, on: OnMembers, patched: pytest.MonkeyPatch, *names: str) -> None:
    patched.setattr(module, "applysets_on", on.applysets_on)
    patched.setattr(module, "_adopted", on.adopted)
    session = Session(records=records, holder="me", clock=lambda: datetime.now(UTC))
    wanted = {name: PLACEMENTS[name] for name in names or ("web",)}
    recover(session, t.cast(t.Any, on), sorted(on.sets), wanted, b"key", write=True)


def killed_after_binding(records: SqliteRecords, number: int, patched: pytest.MonkeyPatch) -> None:
    made, create = 0, records.create

    def cut(record: t.Any, *more: t.Any) -> t.Any:
        nonlocal made
        done = create(record, *more)
        made += record["kind"] == BINDING
        if record["kind"] == BINDING and made == number:
            raise KeyboardInterrupt
        return done

    patched.setattr(records, "create", cut)


def killed(records: SqliteRecords, on: OnMembers, after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        killed_after_binding(records, after, patched)
        run(records, on, patched)


def bound_and_latest(records: SqliteRecords) -> tuple[list[str], list[str]]:
    """The clusters of all bindings, and of each policy whether it is the latest."""
    clusters = sorted(each["spec"]["targetCluster"] for each in records.list(BINDING))
    return clusters, [each["metadata"]["labels"][LATEST] for each in records.list(POLICY)]


@pytest.mark.parametrize("killed_after", [1, 2, 3])
@pytest.mark.parametrize(
    "of_m2", [held(policy="another"), held(resources="another"), held(policy="another", resources="another")]
)
def test_killed_and_run_again_it_leaves_one_binding_a_cluster_and_one_latest_policy(
    records: SqliteRecords, monkeypatch: pytest.MonkeyPatch, killed_after: int, of_m2: ApplySet
) -> None:
    """Two things of one name get new names, and bindings are named by them."""
    on = OnMembers({"m1": {"web": held()}, "m2": {"web": of_m2}, "m3": {"web": held()}})
    killed(records, on, killed_after, monkeypatch)
    run(records, on, monkeypatch)
    assert bound_and_latest(records) == (["m1", "m2", "m3"], ["true"])


def test_nor_where_a_member_says_something_else_the_second_time(
    records: SqliteRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    on = OnMembers({"m1": {"web": held()}, "m2": {"web": held()}})
    killed(records, on, 1, monkeypatch)
    on.sets["m2"]["web"] = replace(held(policy="another"), policy_snapshot="web-7")
    run(records, on, monkeypatch)
    assert bound_and_latest(records) == (["m1", "m2"], ["true"])


def test_what_another_run_has_bound_since_the_members_were_read_is_not_taken_away(
    records: SqliteRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    on = OnMembers({"m1": {"api": held("api"), "web": held()}, "m2": {"web": held()}, "m3": {}})

    def others(placement: str) -> None:
        if placement == "api" and not records.list(BINDING):
            with monkeypatch.context() as patched:
                run(records, replace(on, before_rebuilt=lambda _placement: None), patched)
            one = records.list(BINDING)[0]
            metadata = {"name": "web-m3", "labels": one["metadata"]["labels"]}
            spec = {**one["spec"], "targetCluster": "m3"}
            records.create({"apiVersion": API, "kind": BINDING, "metadata": metadata, "spec": spec})

    with pytest.raises(FleetError) as refused:
        run(records, replace(on, before_rebuilt=others), monkeypatch, "api", "web")
    assert (refused.value.code, refused.value.where) == ("conflict", "web")
    assert {each["spec"]["targetCluster"] for each in records.list(BINDING)} == {"m1", "m2", "m3"}


@pytest.mark.parametrize("of_m2", [held(resources="another"), held(policy="another")], ids=["content", "policy"])
def test_names_mean_what_the_members_hold_where_one_has_left_since_it_was_killed(
    records: SqliteRecords, monkeypatch: pytest.MonkeyPatch, of_m2: ApplySet
) -> None:
    """What is left has the name then that stood for the other's, in the records and in its binding."""
    on = OnMembers({"m1": {"web": held()}, "m2": {"web": of_m2}})
    killed(records, on, 1, monkeypatch)
    del on.sets["m1"]
    on.sets["m2"]["web"] = of_m2
    run(records, on, monkeypatch)
    ((binding,), (content,), (policy,)) = (records.list(kind) for kind in (BINDING, RESOURCES, POLICY))
    named = (binding["spec"]["resourceSnapshotName"], binding["spec"]["schedulingPolicySnapshotName"])
    assert named == (content["metadata"]["name"], policy["metadata"]["name"])
    assert content["metadata"]["annotations"]["kubernetes-fleet.io/resource-hash"] == of_m2.resource_hash
    assert policy["spec"]["policyHash"] == of_m2.policy_hash


def test_what_is_left_of_a_placement_whose_record_is_gone_is_taken_away_first(
    records: SqliteRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a damaged record was deleted; an old binding of the same name may say that its cluster is to lose it."""
    on = OnMembers({"m1": {"web": held()}})
    run(records, on, monkeypatch)
    (binding,) = records.list(BINDING)
    records.replace({**binding, "spec": {**binding["spec"], "state": "Unscheduled"}})
    record = t.cast(t.Any, records.get("ClusterResourcePlacement", "web"))
    records.replace({**record, "metadata": {**record["metadata"], "finalizers": []}})
    records.delete("ClusterResourcePlacement", "web")
    session = Session(records=records, holder="me", clock=lambda: datetime.now(UTC))
    former = [on.sets["m1"]["web"].uid]
    recover(session, t.cast(t.Any, on), ["m1"], {"web": PLACEMENTS["web"]}, b"key", write=True, former=former)
    assert [each["spec"]["state"] for each in records.list(BINDING)] == [binding["spec"]["state"]]
    assert bound_and_latest(records) == (["m1"], ["true"])
