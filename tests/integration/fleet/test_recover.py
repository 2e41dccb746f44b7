# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""All records lost: the members still tell what was placed where, and the next plan is empty."""

from __future__ import annotations

import base64
import json
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.brakes import BrakeLimits
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.rendering import Sealing
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.member_lease import MemberLeases
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import Clients, recorded_members
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.placement import wanted_placements
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.recovery import recover as recover_module
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.recovery.recover import (
    Described,
    Recovered,
    recover,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.sources import (
    rendered,
    resources_from_files,
    selected_from_files,
)
from ansible_collections.gitops.fleet.plugins.module_utils._store.digest_key import digest_key
from ansible_collections.gitops.fleet.plugins.module_utils._store.kinds import KINDS
from small_fleet import OURS, Document, Fleet, changes

TWO = {"placementType": "PickN", "numberOfClusters": 2}
THREE = ("m1", "m2", "m3")


def lose_records(fleet: Fleet) -> None:
    """The file, or all that we have on the hub: the key of the digests too."""
    if fleet.hub is None:
        for each in fleet.opened:
            each.close()
        for file in fleet.folder.glob("records.db*"):
            file.unlink()
        fleet.records = fleet.open()
        return
    hub = fleet.hub.client
    for resource in KINDS.values():
        for found in hub.get(resource.path())["items"]:
            path = resource.path(found["metadata"].get("namespace", ""), found["metadata"]["name"])
            if found["metadata"].get("finalizers"):
                fleet.hub.patch(path, {"metadata": {"finalizers": None}})
            hub.delete(path)
    hub.delete(f"{OURS}/secrets/gitops-fleet-digest-key")


def recovered(fleet: Fleet, write: bool = True) -> Recovered:
    """As the verb does it."""
    key = digest_key(fleet.records)
    files = resources_from_files([str(fleet.folder / "resources")])
    described = {
        each.placement.name: Described(
            sourced=each,
            objects=rendered(selected_from_files(each.placement, files), Sealing(key=key, source="recovered")),
        )
        for each in wanted_placements(fleet.session(), fleet.asked())
    }
    members = recorded_members(fleet.records)
    joined, leases = {name: each.fleet for name, each in members.items()}, MemberLeases(fleet.records, fleet.holder)
    with Clients(members=joined, hub=fleet.hub_client, leases=leases) as clients:
        return recover(fleet.session(), clients, list(members), described, key, write)


def secret(fleet: Fleet) -> Document:
    metadata = {"name": "login", "namespace": fleet.namespace}
    data = {"password": base64.b64encode(b"open sesame").decode()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}


def placed_and_lost(fleet: Fleet, with_secret: bool = False) -> list[str]:
    """Who held the placement when the records were lost; all members have joined again."""
    fleet.resources(fleet.configmap(), *((secret(fleet),) if with_secret else ()))
    fleet.join(*THREE)
    fleet.place(TWO)
    fleet.apply()
    held = fleet.holders()
    lose_records(fleet)
    fleet.join(*THREE)
    return held


@pytest.mark.parametrize("with_secret", [False, True], ids=["plain", "with a Secret"])
def test_the_next_plan_after_recovery_is_empty(fleet: Fleet, with_secret: bool) -> None:
    held = placed_and_lost(fleet, with_secret)
    before = {name: _objects(fleet, name) for name in held}
    found = recovered(fleet)
    assert found.recovered == {fleet.name: tuple(held)} and found.unknown == {}
    assert {name: _objects(fleet, name) for name in held} == before
    looked = fleet.look()
    assert not looked.changed and not looked.problems, [each.as_dict() for each in looked.plan.plans[0].clusters]
    assert changes(looked, fleet.name) == dict.fromkeys(held, "kept")
    with fleet.writing() as written:
        again = recovered(fleet)
    assert again.recovered == {} and written == []
    applied = fleet.apply()
    assert not applied.changed and fleet.holders() == held
    assert len((fleet.record() or {})["status"]["placementStatuses"]) == 2


class Killed(BaseException):
    """As SIGKILL at that write."""


def test_a_recovery_that_was_killed_is_finished_by_the_next_and_nothing_is_planned_before(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F16: at every write, one after the other: each run comes one write further than the one before."""
    held = placed_and_lost(fleet)
    before = {name: _objects(fleet, name) for name in held}
    real = recover_module._Lease.permit
    for number in range(30):
        writes = iter([f"run {number}"])

        def permit(lease: t.Any, left: t.Iterator[str] = writes) -> None:
            if not next(left, ""):
                raise Killed
            real(lease)

        with monkeypatch.context() as patched:
            patched.setattr(recover_module._Lease, "permit", permit)
            try:
                found = recovered(fleet)
                break
            except Killed:
                pass
        if fleet.record():
            with pytest.raises(FleetError) as refused:
                fleet.look()
            assert refused.value.code == "recovery-unfinished" and refused.value.where == fleet.name
    assert number > 6 and found.recovered == {fleet.name: tuple(held)}
    assert {name: _objects(fleet, name) for name in held} == before
    applied = fleet.apply()
    assert not applied.changed and not applied.problems and fleet.holders() == held


def _objects(fleet: Fleet, name: str) -> list[str]:
    paths = [fleet.namespaced(), fleet.namespaced("configmaps", "settings"), fleet.namespaced("secrets", "login")]
    found = [fleet.servers[name].get(path) for path in paths]
    return [each["metadata"]["resourceVersion"] for each in found if each]


def test_without_recovery_nothing_is_taken_over_from_the_lost_records(fleet: Fleet) -> None:
    """A new placement of the same name has another identity; its apply is refused, not merged."""
    placed_and_lost(fleet)
    report = fleet.apply()
    assert {each.code for each in report.problems} <= {"foreign-applyset"} and report.problems


def test_recovery_in_check_mode_writes_nothing(fleet: Fleet) -> None:
    held = placed_and_lost(fleet)
    digest_key(fleet.records)
    with fleet.writing() as written:
        assert recovered(fleet, write=False).recovered == {fleet.name: tuple(held)}
    assert written == [] and fleet.record() is None


def test_the_prune_list_is_recovered_too(fleet: Fleet) -> None:
    fleet.resources(fleet.configmap(), fleet.configmap("old"))
    fleet.join("m1")
    fleet.place()
    fleet.apply()
    lose_records(fleet)
    fleet.join("m1")
    fleet.resources(fleet.configmap())
    recovered(fleet)
    fleet.apply()
    assert fleet.servers["m1"].get(fleet.namespaced("configmaps", "old")) is None
    assert fleet.holders() == ["m1"] and not fleet.apply().changed
    fleet.end(limits=BrakeLimits(max_removals="100%"))
    assert fleet.holders() == []


def test_recovery_needs_every_member(fleet: Fleet) -> None:
    placed_and_lost(fleet)
    fleet.cut("m3")
    digest_key(fleet.records)
    with fleet.writing() as written, pytest.raises(FleetError) as refused:
        recovered(fleet)
    assert refused.value.code == "unreachable" and "m3" in str(refused.value)
    assert written == [] and fleet.record() is None


@pytest.mark.parametrize("claimed", ["db-3-snapshot", f"{'9' * 64}-snapshot", "", "999999999-snapshot"])
def test_no_member_names_the_snapshot_of_another_placement_or_one_that_cannot_be_counted_on(
    file_fleet: Fleet, claimed: str
) -> None:
    """Whoever may write ConfigMaps on a member may have written it."""
    fleet = file_fleet
    held = placed_and_lost(fleet)
    name = claimed if not claimed or claimed.startswith("db") else f"{fleet.name}-{claimed}"
    path = f"{OURS}/configmaps/{fleet.name}"
    record = {**json.loads((fleet.servers[held[0]].data(path) or {})["record"]), "resourceSnapshot": name}
    fleet.servers[held[0]].patch(path, {"data": {"record": json.dumps(record)}})
    try:
        found = recovered(fleet)
    except FleetError as error:
        assert error.code == "applyset-invalid" and error.where == held[0] and fleet.record() is None
        return
    assert found.recovered == {fleet.name: tuple(held)}
    named = [each["metadata"]["name"] for each in fleet.records.list("ClusterResourceSnapshot")]
    assert named == [f"{fleet.name}-0-snapshot"]
    applied = fleet.apply()
    assert not applied.problems and fleet.holders() == held


def test_a_placement_without_a_manifest_is_named(fleet: Fleet) -> None:
    held = placed_and_lost(fleet)
    fleet.place(TWO, name=f"{fleet.name}-b")
    fleet.unplace()
    found = recovered(fleet)
    assert found.recovered == {} and found.unknown == {fleet.name: tuple(held)}


def test_what_overrides_left_out_is_not_deleted_after_recovery(file_fleet: Fleet) -> None:
    """What overrides did is not known any more, so that it is rolled out again, without a write to any object."""
    fleet = file_fleet
    chosen = {"clusterSelectorTerms": [{"labelSelector": {"matchLabels": {"env": "dev"}}}]}
    selectors = [{"group": "", "version": "v1", "kind": "ConfigMap", "name": "settings"}]
    spec = {
        "resourceSelectors": selectors,
        "policy": {"overrideRules": [{"clusterSelector": chosen, "overrideType": "Delete"}]},
    }
    api, metadata = "placement.kubernetes-fleet.io/v1beta1", {"name": "none", "namespace": fleet.namespace}
    override = {"apiVersion": api, "kind": "ResourceOverride", "metadata": metadata, "spec": spec}
    fleet.resources(fleet.configmap(), fleet.configmap("a"), override)

    def joined() -> None:
        fleet.join("m1", labels={"env": "prod"})
        fleet.join("m2", labels={"env": "dev"})

    joined()
    fleet.place()
    fleet.apply()
    assert fleet.holders() == ["m1"]
    lose_records(fleet)
    joined()
    recovered(fleet)
    looked = fleet.look()
    assert [each.leaving for each in looked.plan.plans[0].clusters] == [(), ()]
    assert not any(outcome.changes for outcome in looked.outcomes[fleet.name].values())
    with fleet.writing(but=("leases",)) as written:
        report = fleet.apply()
    assert [each for each in written if "gitops-fleet/" not in each] == [] and not report.problems
    assert not fleet.apply().changed and fleet.holders() == ["m1"]
