# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A read that failed is not an empty answer: nothing goes because a member could not be asked (faults F1 and F2)."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.prices import NO_PRICES
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.brakes import BrakeLimits
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.capture import capture
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.history.roll_back import RollBack
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.look import ApplyOptions, RolloutOptions
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.placement import run
from ansible_collections.gitops.fleet.plugins.module_utils._local import cluster
from small_fleet import Fleet, changes, codes, conditions


def test_a_stopped_member_keeps_what_it_has_and_the_others_get_theirs(
    file_fleet: Fleet, local_cluster_factory: t.Any
) -> None:
    fleet = file_fleet
    fleet.join("m1", "m4")
    fleet.place()
    fleet.apply()
    fleet.resources(fleet.configmap(color="red"))
    cluster.stopped("m4", local_cluster_factory.root)
    try:
        report = fleet.apply()
        assert changes(report, fleet.name) == {"m1": "kept", "m4": "kept"}
        assert [(each.code, each.where) for each in report.problems] == [("unreachable", f"m4 ({fleet.name})")]
        assert fleet.servers["m1"].data(fleet.namespaced("configmaps", "settings")) == {"color": "red"}
        status = report.statuses[fleet.name]
        assert conditions(status)["RolloutStarted"] == "False" and "Applied" not in conditions(status)
        waits = {each.cluster_name: each.conditions[-1] for each in status.placement_statuses}["m4"]
        assert (waits.type, waits.status) == ("RolloutStarted", "False") and "cannot be reached" in waits.message
        assert len(fleet.records.list("ClusterResourceBinding")) == 2
        again = fleet.apply()
        assert codes(again) == {"unreachable"} and not again.changed and not fleet.look().changed
    finally:
        local_cluster_factory("m4", audit=True)
    assert fleet.servers["m4"].data(fleet.namespaced("configmaps", "settings")) == {"color": "blue"}
    finished = fleet.apply()
    assert finished.changed and not finished.problems
    assert fleet.servers["m4"].data(fleet.namespaced("configmaps", "settings")) == {"color": "red"}
    assert conditions(finished.statuses[fleet.name])["Available"] == "True"
    assert not fleet.apply().changed


def test_a_roll_back_goes_on_with_a_member_that_comes_back_while_it_waits(
    file_fleet: Fleet, local_cluster_factory: t.Any
) -> None:
    """Its server is started again once the rollout has said that the member waits."""
    fleet = file_fleet
    fleet.join("m1", "m4")
    fleet.place()
    fleet.apply()
    fleet.resources(fleet.configmap(color="red"))
    fleet.apply()
    cluster.stopped("m4", local_cluster_factory.root)
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        if "m4 waits: " in line and "cannot be reached" in line:
            local_cluster_factory("m4", audit=True)

    ways = ApplyOptions(rollout=RolloutOptions(to_the_end=True, max_idle=timedelta(minutes=5)))
    asked = fleet.asked(roll_back=RollBack(), names=(fleet.name,), resources=None, write=True, ways=ways)
    try:
        report = run(fleet.session(say=say, clock=lambda: datetime.now(UTC)), asked)
    finally:
        local_cluster_factory("m4", audit=True)
    assert f"{fleet.name}: m4 answers again" in said
    assert not report.problems and not report.waits
    settings = fleet.namespaced("configmaps", "settings")
    assert [fleet.servers[each].data(settings) for each in ("m1", "m4")] == [{"color": "blue"}] * 2
    assert conditions(report.statuses[fleet.name])["Available"] == "True"


def test_a_holder_that_cannot_be_read_stays_and_nobody_takes_its_place(fleet: Fleet) -> None:
    fleet.join("m1", "m2", "m3")
    fleet.place({"placementType": "PickN", "numberOfClusters": 2})
    fleet.apply()
    held = fleet.holders()
    fleet.cut(held[0])
    report = fleet.apply()
    assert changes(report, fleet.name) == dict.fromkeys(held, "kept") and fleet.holders() == held
    assert codes(report) == {"unreachable"}


def test_a_changed_policy_waits_for_holders_that_cannot_be_read(fleet: Fleet) -> None:
    fleet.join("m1", "m2")
    fleet.place({"placementType": "PickN", "numberOfClusters": 2})
    fleet.apply()
    fleet.cut("m2")
    tolerated = {"placementType": "PickN", "numberOfClusters": 2, "tolerations": [{"operator": "Exists"}]}
    fleet.place(tolerated)
    report = fleet.apply()
    causes = {each.cluster: each.cause for each in report.plan.plans[0].clusters}
    assert causes["m2"] == "kept-unreadable" and "kept-unreadable" in {
        each.code for each in report.plan.plans[0].findings
    }
    again = fleet.apply()
    assert codes(again) == {"unreachable"} and not again.changed
    fleet.mend("m2")
    assert not fleet.apply().problems and fleet.holders() == ["m1", "m2"]


def test_a_new_member_that_cannot_be_read_is_not_picked(fleet: Fleet) -> None:
    fleet.join("m1", "m2")
    fleet.cut("m2")
    fleet.place()
    assert changes(fleet.apply(), fleet.name) == {"m1": "gained"}


def test_a_member_that_loses_the_placement_while_away_is_cleaned_later(fleet: Fleet) -> None:
    fleet.join("m1", "m2")
    fleet.place({"placementType": "PickFixed", "clusterNames": ["m1", "m2"]})
    fleet.apply()
    fleet.cut("m2")
    fleet.place({"placementType": "PickFixed", "clusterNames": ["m1"]})
    away = fleet.apply()
    assert codes(away) == {"unreachable"} and fleet.holders() == ["m1", "m2"]
    states = {each["spec"]["targetCluster"]: each["spec"]["state"] for each in _bindings(fleet)}
    assert states == {"m1": "Bound", "m2": "Unscheduled"}
    assert away.changed and not fleet.apply().changed
    fleet.mend("m2")
    assert not fleet.apply().problems and fleet.holders() == ["m1"]
    assert [each["spec"]["targetCluster"] for each in _bindings(fleet)] == ["m1"]


def _bindings(fleet: Fleet) -> tuple[dict[str, t.Any], ...]:
    return fleet.records.list("ClusterResourceBinding")


def test_absent_forgets_nothing_while_a_member_is_away(fleet: Fleet) -> None:
    fleet.join("m1", "m2")
    fleet.place()
    fleet.apply()
    fleet.cut("m2")
    everywhere = BrakeLimits(max_removals="100%")
    assert codes(fleet.end(limits=everywhere)) == {"unreachable"}
    assert fleet.holders() == ["m2"] and fleet.record() is not None
    fleet.mend("m2")
    assert not fleet.end(limits=everywhere).problems
    assert fleet.holders() == [] and fleet.record() is None


@pytest.mark.parametrize("absent", [False, True], ids=["present", "absent"])
def test_no_member_at_all_can_be_reached(fleet: Fleet, absent: bool) -> None:
    fleet.join("m1", "m2")
    fleet.place()
    fleet.apply()
    before = fleet.record()
    fleet.cut("m1", "m2")
    with fleet.writing() as written, pytest.raises(FleetError) as refused:
        fleet.apply(absent=absent, names=(fleet.name,), limits=BrakeLimits(max_removals="100%"))
    assert {each.code for each in refused.value.problems} == {"unreachable"}
    assert {each.where for each in refused.value.problems} == {"m1", "m2"}
    assert written == [] and fleet.record() == before


def test_a_region_that_is_lost_is_one_line_and_loses_nothing(fleet: Fleet) -> None:
    """F1: members with a label in common that do not answer are told together, by facts and by placements."""
    fleet.join("m1", "m2", labels={"region": "west"})
    fleet.join("m3", "m4", labels={"region": "east"})
    fleet.place()
    assert not fleet.apply().problems
    fleet.cut("m1", "m2")
    lost = ["region west: 2 of 2 do not answer"]
    found = capture(fleet.session(), pods=False, prices=NO_PRICES, threads=4, timeout=2.0, record=False)
    assert [each.sentence for each in found.together] == lost
    with fleet.writing() as written:
        report = fleet.look()
    assert written == [] and [each.sentence for each in report.together] == lost
    assert set(changes(report, fleet.name).values()) == {"kept"}
    fleet.mend("m2")
    assert fleet.look().together == ()
