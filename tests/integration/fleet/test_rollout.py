# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A change rolls through its clusters by waves, under maxUnavailable and maxSurge; the status of Deployments is what a
test writes, for on these members no controller runs."""

from __future__ import annotations

import json
import threading
import typing as t
from datetime import timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.waves import waves
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.look import ApplyOptions, RolloutOptions
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.placement import Report
from ansible_collections.gitops.fleet.plugins.module_utils._report.text import plan_text
from small_fleet import Document, Fleet, conditions

MEMBERS = ("m1", "m2", "m3", "m4")
OLD, NEW, NEWER = "web:1", "web:2", "web:3"


def at_once(**rollout: t.Any) -> ApplyOptions:
    """An apply that does not wait for anybody."""
    return ApplyOptions(rollout=RolloutOptions(**{"max_idle": timedelta(0), **rollout}))


def images(fleet: Fleet) -> dict[str, str]:
    return {name: fleet.image(name) for name in MEMBERS}


def rolled_out(fleet: Fleet, rolling: Document | None = None) -> None:
    """The old version is on all four, and available there."""
    fleet.join(*MEMBERS)
    fleet.place(rolling=rolling)
    fleet.resources(fleet.deployment(OLD))
    assert not fleet.apply(ways=at_once()).waits
    assert images(fleet) == dict.fromkeys(MEMBERS, OLD)
    fleet.available(*MEMBERS)


def lines(report: Report) -> list[str]:
    return [line for each in report.waits.values() for line in each.lines]


def test_a_change_goes_on_only_as_clusters_become_available(fleet: Fleet) -> None:
    """D4-77: 25 % of four are one cluster; the next waits until it is available."""
    rolled_out(fleet)
    fleet.resources(fleet.deployment(NEW))
    for done in range(1, 5):
        report = fleet.apply(ways=at_once())
        assert images(fleet) == dict(zip(MEMBERS, [NEW] * done + [OLD] * (4 - done), strict=True))
        if done == 4:
            break
        ready, last = MEMBERS[done - 1], MEMBERS[done:]
        assert report.changed and not report.problems
        named = ", ".join(last) if len(last) < 4 else ""
        verb = "waits" if len(last) == 1 else "wait"
        assert lines(report) == [
            f"{named} {verb} for {ready}: Deployment {fleet.namespace}/web is not taken up by its controller yet"
        ]
        assert conditions(report.statuses[fleet.name])["RolloutStarted"] == "False"
        fleet.available(ready)
    assert not report.waits
    fleet.available(MEMBERS[-1])
    report = fleet.apply(ways=at_once())
    assert conditions(report.statuses[fleet.name])["Available"] == "True"
    assert not fleet.apply(ways=at_once()).changed


def test_a_version_that_never_becomes_available_stops_at_the_budget(fleet: Fleet) -> None:
    """It goes to two of four and no further, however often it is tried; the mended one goes there first."""
    rolled_out(fleet, rolling={"maxUnavailable": 2})
    fleet.resources(fleet.deployment(NEW))
    for _attempt in range(3):
        report = fleet.apply(ways=at_once())
        assert images(fleet) == {"m1": NEW, "m2": NEW, "m3": OLD, "m4": OLD}
        (line,) = lines(report)
        assert line.startswith("m3, m4 wait for m1: Deployment") and "; m2: Deployment" in line
    fleet.resources(fleet.deployment(NEWER))
    report = fleet.apply(ways=at_once())
    assert images(fleet) == {"m1": NEWER, "m2": NEWER, "m3": OLD, "m4": OLD}
    fleet.available("m1", "m2")
    fleet.apply(ways=at_once())
    fleet.available("m3", "m4")
    assert images(fleet) == dict.fromkeys(MEMBERS, NEWER)


def test_applied_can_be_enough(fleet: Fleet) -> None:
    """D4-82: who does not wait for availability waits for the period only; D4-83: that is told."""
    rolled_out(fleet, rolling={"unavailablePeriodSeconds": 0})
    fleet.resources(fleet.deployment(NEW))
    report = fleet.apply(ways=at_once(applied_only=True))
    assert images(fleet) == dict.fromkeys(MEMBERS, NEW) and not report.waits
    assert any("applied was enough" in line for line in fleet.said)


def test_a_rollout_that_waits_stays_for_what_an_earlier_apply_left_unavailable(fleet: Fleet) -> None:
    """Nothing is to be written, and still it does not end as if all were well; nor does an apply stay for it."""
    fleet.join(*MEMBERS)
    fleet.place()
    fleet.resources(fleet.deployment(OLD))
    assert not fleet.apply(ways=at_once()).waits
    assert not fleet.apply(ways=at_once()).waits
    report = fleet.apply(ways=at_once(to_the_end=True))
    assert report.waits and not report.changed
    fleet.available(*MEMBERS)
    assert not fleet.apply(ways=at_once(to_the_end=True)).waits


def test_a_first_apply_goes_everywhere_at_once(fleet: Fleet) -> None:
    """Nothing is taken away where nothing was, and no more clusters are asked for than there are."""
    fleet.join(*MEMBERS)
    fleet.place()
    fleet.resources(fleet.deployment(OLD))
    with fleet.writing() as written:
        report = fleet.apply(ways=at_once())
    assert not report.waits and images(fleet) == dict.fromkeys(MEMBERS, OLD)
    assert sum("deployments" in each for each in written) == 4


def test_a_cluster_out_of_reach_spends_no_budget(fleet: Fleet) -> None:
    rolled_out(fleet)
    fleet.apply(ways=at_once())  # which takes down that all are available
    fleet.resources(fleet.deployment(NEW))
    fleet.cut("m1")
    report = fleet.apply(ways=at_once())
    assert fleet.image("m2") == NEW and fleet.image("m3") == OLD
    assert {each.code for each in report.problems} == {"unreachable"}
    assert any(line.startswith("m1 waits: ") for line in lines(report))


@pytest.mark.parametrize("point", ["intent", "object", "members"])
def test_a_killed_wave_is_gone_on_with_and_no_other_cluster_is_begun(fleet: Fleet, point: str) -> None:
    """Killed and started again it goes on at the same wave (F5)."""
    rolled_out(fleet)
    fleet.resources(fleet.configmap(), fleet.deployment(NEW))
    fleet.killed(point)
    assert [fleet.image(name) for name in MEMBERS[1:]] == [OLD, OLD, OLD]
    report = fleet.apply(ways=at_once())
    assert images(fleet) == {"m1": NEW, "m2": OLD, "m3": OLD, "m4": OLD} and report.waits


def test_an_approved_rollout_needs_no_other_approval_for_its_rest(fleet: Fleet) -> None:
    rolled_out(fleet)
    fleet.resources(fleet.deployment(NEW))
    approved = fleet.look().plan.digest
    assert fleet.apply(ways=at_once(), approved=approved).waits
    fleet.available("m1")
    assert fleet.apply(ways=at_once(), approved=approved).waits
    assert images(fleet) == {"m1": NEW, "m2": NEW, "m3": OLD, "m4": OLD}
    fleet.resources(fleet.deployment(NEWER))
    with pytest.raises(FleetError) as refused:
        fleet.apply(ways=at_once(), approved=approved)
    assert refused.value.code == "digest-mismatch"


def test_one_approval_lasts_through_all_waves_of_gains_changes_and_losses(fleet: Fleet) -> None:
    """The plan was made of a snapshot of facts; hours later each wave still goes on under it, and so does a run that
    finds nothing left to do."""
    fleet.join(*MEMBERS)
    budget = {"maxUnavailable": 1, "maxSurge": 1}
    fleet.place({"placementType": "PickFixed", "clusterNames": ["m1", "m2", "m3"]}, rolling=budget)
    fleet.resources(fleet.deployment(OLD))
    fleet.apply(ways=at_once())
    fleet.available("m1", "m2", "m3")
    fleet.place({"placementType": "PickFixed", "clusterNames": ["m1", "m2", "m4"]}, rolling=budget)
    fleet.resources(fleet.deployment(NEW))
    facts = fleet.facts()
    approved = fleet.look(facts=facts, look=False).plan.digest
    waited = 0
    for _wave in range(8):
        report = fleet.apply(facts=facts, approved=approved, ways=at_once())
        assert not report.problems
        if not report.waits:
            break
        waited += 1
        fleet.later += timedelta(hours=3)
        fleet.available(*(name for name, image in images(fleet).items() if image == NEW))
    assert waited >= 2 and not report.waits
    assert images(fleet) == {"m1": NEW, "m2": NEW, "m3": "", "m4": NEW}
    fleet.available("m1", "m2", "m4")
    fleet.apply(facts=facts, approved=approved, ways=at_once())
    assert not fleet.apply(facts=facts, approved=approved, ways=at_once()).changed


def test_a_digest_of_nothing_that_was_begun_is_refused_even_where_nothing_is_due(fleet: Fleet) -> None:
    rolled_out(fleet)
    with pytest.raises(FleetError) as refused:
        fleet.apply(ways=at_once(), approved="0123456789abcdef")
    assert refused.value.code == "digest-mismatch"


def test_clusters_that_lose_it_go_under_the_same_budget(fleet: Fleet) -> None:
    """D4-78: who is not available leaves first; of the others no more than may be unavailable."""
    fleet.join(*MEMBERS)
    fleet.place({"placementType": "PickFixed", "clusterNames": list(MEMBERS)}, rolling={"maxUnavailable": 1})
    fleet.resources(fleet.deployment(OLD))
    fleet.apply(ways=at_once())
    fleet.available(*MEMBERS)
    fleet.place({"placementType": "PickFixed", "clusterNames": ["m1", "m2"]}, rolling={"maxUnavailable": 1})
    fleet.resources(fleet.deployment(NEW))
    limits = {"limits": fleet.asked().limits.__class__(max_removals=4)}
    report = fleet.apply(ways=at_once(), **limits)
    gone = [name for name in ("m3", "m4") if not fleet.image(name)]
    changed = [name for name in ("m1", "m2") if fleet.image(name) == NEW]
    assert gone == ["m3", "m4"] and changed == ["m1"] and report.waits


def test_the_trouble_of_the_pods_is_told(fleet: Fleet) -> None:
    """What a broken version's own pods say of it, read on the member that the others wait for."""
    rolled_out(fleet)
    fleet.resources(fleet.deployment(NEW))
    fleet.apply(ways=at_once())
    fleet.available("m1", replicas=1)
    crashing(fleet, "m1", "ImagePullBackOff")
    with fleet.writing() as written:
        report = fleet.apply(ways=at_once())
    told = f"Deployment {fleet.namespace}/web has 1 of 3 replicas available (pod web-x: ImagePullBackOff)"
    assert lines(report) == [f"m2, m3, m4 wait for m1: {told}"]
    assert [each for each in written if "deployments" in each] == []


def crashing(fleet: Fleet, name: str, reason: str) -> None:
    client = fleet.servers[name].client
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    client.request("POST", fleet.namespaced("serviceaccounts"), account)
    spec = {"containers": [{"name": "web", "image": NEW}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-x", "labels": {"app": "web"}}, "spec": spec}
    made = client.request("POST", fleet.namespaced("pods"), pod)
    status = {"name": "web", "image": NEW, "imageID": "", "ready": False, "restartCount": 0}
    status |= {"state": {"waiting": {"reason": reason}}}
    client.put(fleet.namespaced("pods", "web-x", "status"), {**made, "status": {"containerStatuses": [status]}})


def test_a_plan_tells_its_waves_before_anything_is_written(fleet: Fleet) -> None:
    rolled_out(fleet, rolling={"maxUnavailable": "50%"})
    fleet.resources(fleet.deployment(NEW))
    (plan,) = fleet.look().plan.plans
    assert waves(plan) == (("m1", "m2"), ("m3", "m4"))
    assert any("2 waves of at most 2" in line and "first m1, m2" in line for line in plan_text(plan))


def test_a_run_waits_for_its_members_and_goes_on_by_itself(file_fleet: Fleet) -> None:
    """One run, four waves: whoever makes the Deployment available is somebody else, while it waits."""
    fleet = file_fleet
    rolled_out(fleet)
    fleet.resources(fleet.deployment(NEW))
    done = threading.Event()

    def controller() -> None:
        while not done.wait(0.2):
            for name in MEMBERS:
                if fleet.image(name) == NEW:
                    fleet.available(name)

    helper = threading.Thread(target=controller)
    helper.start()
    try:
        report = fleet.apply(ways=ApplyOptions(rollout=RolloutOptions(max_idle=timedelta(minutes=5))))
    finally:
        done.set()
        helper.join()
    assert not report.waits and not report.problems and images(fleet) == dict.fromkeys(MEMBERS, NEW)
    waves_told = [line for line in fleet.said if ": wave " in line]
    assert [line.rpartition(": ")[2] for line in waves_told] == list(MEMBERS)


def test_a_spec_that_changes_no_object_is_recorded_all_the_same(fleet: Fleet) -> None:
    """D4-80: the history limit is obeyed at once, not with the next change of an object."""
    fleet.join("m1")
    for color in ("blue", "red", "green"):
        fleet.resources(fleet.configmap(color=color))
        fleet.place()
        fleet.apply()
    assert len(fleet.records.list("ClusterResourceSnapshot")) == 3
    document = fleet.placement()
    document["spec"]["revisionHistoryLimit"] = 1
    (fleet.folder / "placements" / f"{fleet.name}.yml").write_text(json.dumps(document), encoding="utf-8")
    assert fleet.apply().changed
    record = fleet.record()
    assert record and record["spec"]["revisionHistoryLimit"] == 1
    assert len(fleet.records.list("ClusterResourceSnapshot")) == 1
    assert not fleet.apply().changed
