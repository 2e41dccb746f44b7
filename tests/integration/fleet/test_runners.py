# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Two runners at once, and runners that were killed half way (faults F5 and F6)."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.binding import (
    ClusterResourceBinding,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.brakes import BrakeLimits
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.placement import Report, run
from small_fleet import Fleet, changes, conditions


def test_the_second_of_two_runners_is_told_who_works(fleet: Fleet) -> None:
    fleet.join("m1")
    fleet.place()
    holds, go = threading.Event(), threading.Event()
    done: list[Report] = []

    def say(_line: str) -> None:  # it is first called under the lease, before any member is written
        holds.set()
        go.wait(300)

    def work() -> None:
        done.append(run(fleet.session(fleet.open(), holder="runner-1", say=say), fleet.asked(write=True)))

    first = threading.Thread(target=work)
    first.start()
    assert holds.wait(300)
    try:
        with pytest.raises(FleetError) as refused:
            fleet.apply(holder="runner-2")
        assert refused.value.code == "lease-held"
        assert "runner-1" in str(refused.value) and fleet.name in str(refused.value)
        assert fleet.holders() == []
        assert not fleet.look(holder="runner-3").problems  # who only looks needs no lease
    finally:
        go.set()
        first.join(300)
    assert done and not done[0].problems and fleet.holders() == ["m1"]
    with fleet.writing() as written:
        assert not fleet.apply(holder="runner-2").changed
    assert written == []


def test_a_placement_that_another_runner_holds_hides_no_other(fleet: Fleet) -> None:
    fleet.join("m1")
    for name in ("a", "b", "c"):
        fleet.place(name=f"{fleet.name}-{name}")
    fleet.records.acquire(f"placement/{fleet.name}-b", "runner-2", 100)
    report = fleet.apply()
    assert report.changed and set(report.statuses) == {f"{fleet.name}-a", f"{fleet.name}-c"}
    assert [each.code for each in report.problems if "runner-2" in str(each)] == ["lease-held"]


def test_a_run_gives_its_lease_back_also_when_members_fail(fleet: Fleet) -> None:
    fleet.join("m1", "m2")
    fleet.place()
    fleet.apply()
    fleet.cut("m2")
    fleet.resources(fleet.configmap(color="red"))
    assert fleet.apply().problems
    assert [each.name for each in fleet.records.leases() if each.name.startswith("placement/")] == []


def version(fleet: Fleet) -> str:
    """Of the placed namespace on m1: the same again means that no write changed it."""
    found = fleet.servers["m1"].get(fleet.namespaced())
    return str(found["metadata"]["resourceVersion"]) if found else ""


@pytest.mark.parametrize("point", ["intent", "object", "members"])
def test_a_killed_first_run_is_finished_by_the_next(fleet: Fleet, point: str) -> None:
    """The next one of the same holder, as when a pipeline is started again."""
    fleet.join("m1")
    fleet.resources(fleet.configmap(), fleet.configmap("other"))
    fleet.place()
    fleet.killed(point)
    (intent,) = (decode(ClusterResourceBinding, each) for each in fleet.records.list("ClusterResourceBinding"))
    assert (intent.spec.target_cluster, intent.spec.resource_snapshot_name) == ("m1", f"{fleet.name}-0-snapshot")
    assert intent.held_snapshot == "" and not intent.status.conditions[1:]
    before = version(fleet)
    with fleet.servers["m1"].writing() as written:
        report = fleet.apply()
    assert not report.problems and conditions(report.statuses[fleet.name])["Available"] == "True"
    assert (written == []) == (point == "members")
    assert before in ("", version(fleet))
    assert fleet.holders() == ["m1"]
    (binding,) = fleet.records.list("ClusterResourceBinding")
    assert (binding["spec"]["state"], binding["spec"]["resourceSnapshotName"]) == ("Bound", f"{fleet.name}-0-snapshot")
    with fleet.writing() as written:
        assert not fleet.apply().changed
    assert written == []


@pytest.mark.parametrize("point", ["intent", "object", "members"])
def test_a_killed_change_loses_no_object_from_the_prune_list(fleet: Fleet, point: str) -> None:
    """What left the files while the run was killed is pruned by the next, and nothing else; what the killed one may
    have brought counts for the brake, too."""
    fleet.join("m1")
    fleet.resources(fleet.configmap(), fleet.configmap("old"))
    fleet.place()
    fleet.apply()
    fleet.resources(fleet.configmap(color="red"), fleet.configmap("new"))
    fleet.killed(point)
    fleet.resources(fleet.configmap(color="red"))
    with pytest.raises(FleetError) as stopped:
        fleet.apply()
    assert stopped.value.code == "brake-max-object-removals" and "2 of 4 objects" in str(stopped.value)
    report = fleet.apply(limits=BrakeLimits(max_object_removals=2))
    assert not report.problems and changes(report, fleet.name) == {"m1": "kept"}
    server = fleet.servers["m1"]
    assert server.data(fleet.namespaced("configmaps", "settings")) == {"color": "red"}
    assert [server.get(fleet.namespaced("configmaps", each)) for each in ("old", "new")] == [None, None]
    assert not fleet.apply().changed


def test_another_runner_waits_until_the_lease_of_a_killed_one_has_run_out(file_fleet: Fleet) -> None:
    file_fleet.join("m1")
    file_fleet.place()
    file_fleet.killed("members")
    with pytest.raises(FleetError) as refused:
        file_fleet.apply(holder="runner-2")
    assert refused.value.code == "lease-held" and "free in" in str(refused.value)
    file_fleet.later = timedelta(minutes=16)
    with file_fleet.servers["m1"].writing() as written:
        assert not file_fleet.apply(holder="runner-2").problems
    assert written == []
