# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A fleet goes on with other records: from a laptop to a hub, in whatever order people do it."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.brakes import BrakeLimits
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.recovery.recover import Recovered
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.recovery.recovering import recover_records
from small_fleet import Fleet, changes, codes

TWO = ("m1", "m2")
EVERYTHING = BrakeLimits(max_removals="100%", max_object_removals="100%")


def laptop(fleet: Fleet, folder: Path) -> Fleet:
    """The same manifests and members, with records in a file of their own."""
    folder.mkdir()
    options = {"type": "sqlite", "path": str(folder / "records.db")}
    return Fleet(fleet.number, folder, options, None, fleet.servers, holder="laptop", opened=fleet.opened)


@pytest.fixture
def moving(fleet: Fleet, tmp_path: Path) -> Fleet:
    """New records; the old ones are on a laptop, from which it was applied twice."""
    old = laptop(fleet, tmp_path / "laptop")
    old.join(*TWO)
    old.place()
    for objects in ((old.configmap(), old.configmap("old")), (old.configmap(color="red"), old.configmap("old"))):
        old.resources(*objects)
        old.apply(limits=EVERYTHING)
    for each in (fleet, old):
        each.resources(each.configmap(color="red"), each.configmap("old"))
        each.place()
    return fleet


def recovered(fleet: Fleet, write: bool = True, former: tuple[str, ...] = ()) -> Recovered:
    return recover_records(fleet.session(), fleet.asked(write=write), former)


def goes_on(fleet: Fleet, *names: str) -> None:
    """Nothing is due, and what leaves the placement is deleted on all."""
    looked = fleet.look()
    assert not looked.changed and not looked.problems
    assert changes(looked, fleet.name) == dict.fromkeys(names, "kept")
    fleet.resources(fleet.configmap(color="green"))
    assert not fleet.apply(limits=EVERYTHING).problems
    for name in names:
        assert fleet.servers[name].data(fleet.namespaced("configmaps", "settings")) == {"color": "green"}
        assert fleet.servers[name].get(fleet.namespaced("configmaps", "old")) is None


def test_records_are_moved_before_anything_is_applied(moving: Fleet) -> None:
    moving.join(*TWO)
    assert recovered(moving).recovered == {moving.name: TWO}
    goes_on(moving, *TWO)


def test_records_are_moved_after_an_apply_that_was_refused(moving: Fleet) -> None:
    """It was a dead end: bindings of the refused apply were taken for those of the placement."""
    moving.join(*TWO)
    report = moving.apply()
    assert codes(report) == {"foreign-applyset"} and "gitops.fleet.recover" in report.problems[0].hint
    with moving.writing() as written:
        assert recovered(moving, write=False).recovered == {moving.name: TWO}
    assert written == []
    assert recovered(moving).recovered == {moving.name: TWO}
    assert recovered(moving).recovered == {}
    goes_on(moving, *TWO)


def test_a_plan_tells_of_other_records_before_anything_is_applied(moving: Fleet) -> None:
    moving.join(*TWO)
    assert codes(moving.look()) == {"foreign-applyset"} and moving.record() is None


def test_members_of_both_records_are_taken_together_only_if_that_is_said(moving: Fleet) -> None:
    """One of the two could belong to another fleet."""
    moving.join(*TWO, "m3")
    assert codes(moving.apply()) == {"foreign-applyset"} and moving.holders() == ["m1", "m2", "m3"]
    with moving.writing() as written, pytest.raises(FleetError) as refused:
        recovered(moving)
    assert refused.value.code == "mixed-fleets" and "former" in refused.value.problems[0].hint
    assert written == []
    uid = refused.value.problems[0].message.rpartition("uid ")[2].rstrip(")")
    assert recovered(moving, former=(uid,)).recovered == {moving.name: ("m1", "m2", "m3")}
    goes_on(moving, "m1", "m2", "m3")


def test_another_edit_meanwhile_is_carried_out_after_the_move(moving: Fleet) -> None:
    """Both records call their first policy and their first resources alike."""
    moving.join(*TWO)
    moving.resources(moving.configmap(color="blue"), moving.configmap("old"))
    moving.place({"placementType": "PickAll", "tolerations": [{"operator": "Exists"}]})
    moving.apply()
    recovered(moving)
    plan = moving.look()
    assert changes(plan, moving.name) == dict.fromkeys(TWO, "kept") and plan.changed
    assert not moving.apply(limits=EVERYTHING).problems
    assert moving.servers["m1"].data(moving.namespaced("configmaps", "settings")) == {"color": "blue"}
