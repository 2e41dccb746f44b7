# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Objects that cannot go: a finalizer of somebody holds them. Nothing that is still there is forgotten."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.brakes import BrakeLimits
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.leave import LeaveRequest, Left, leave
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import recorded_members
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.look import ApplyOptions
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.on_member import gone
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.placement import run
from member_gateway import until
from small_fleet import PARENTS, Fleet, codes

LIFTED = BrakeLimits(max_removals="100%", max_object_removals="100%", allow_empty=True)
BRIEF = ApplyOptions(patience=0.5)


@pytest.fixture
def stuck(fleet: Fleet) -> Fleet:
    """m1 holds ``settings`` and ``extra``; a finalizer is on the first."""
    fleet.join("m1")
    fleet.resources(fleet.configmap(), fleet.configmap("extra"))
    fleet.place()
    fleet.apply()
    fleet.servers["m1"].patch(settings(fleet), {"metadata": {"finalizers": ["example.org/keep"]}})
    return fleet


def settings(fleet: Fleet) -> str:
    return fleet.namespaced("configmaps", "settings")


def freed(fleet: Fleet) -> None:
    fleet.servers["m1"].patch(settings(fleet), {"metadata": {"finalizers": None}})


def states(fleet: Fleet) -> list[str]:
    return [each["spec"]["state"] for each in fleet.records.list("ClusterResourceBinding")]


def inventory(fleet: Fleet) -> str:
    parent = fleet.servers["m1"].data(f"{PARENTS}/{fleet.name}")
    return "" if parent is None else str(parent["inventory"])


def test_a_placement_does_not_end_before_its_last_object_is_gone(stuck: Fleet) -> None:
    report = stuck.end(limits=LIFTED, ways=BRIEF)
    assert codes(report) == {"not-gone"}
    assert "settings: is being deleted and not gone yet: finalizers example.org/keep" in str(report.problems)
    assert states(stuck) == ["Unscheduled"] and stuck.record() is not None
    assert "settings" in inventory(stuck) and "extra" not in inventory(stuck)
    again = stuck.end(limits=LIFTED, ways=BRIEF)
    assert codes(again) == {"not-gone"} and states(stuck) == ["Unscheduled"]
    freed(stuck)
    report = stuck.end(limits=LIFTED, ways=BRIEF)
    assert not report.problems and stuck.record() is None and states(stuck) == []
    assert inventory(stuck) == "" and not stuck.end().changed


def test_an_object_that_left_the_files_is_remembered_until_it_is_gone(stuck: Fleet) -> None:
    stuck.resources(stuck.configmap("extra"))
    report = stuck.apply(ways=BRIEF)
    assert codes(report) == {"not-gone"} and "settings" in inventory(stuck)
    looked = stuck.look()
    assert [each.name for each in looked.plan.plans[0].clusters[0].prune] == ["settings"], "the next plan names it too"
    freed(stuck)
    assert not stuck.apply(ways=BRIEF).problems
    assert "settings" not in inventory(stuck) and not stuck.apply().changed


def test_it_is_waited_for_and_told_meanwhile(stuck: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever holds it lets go when the wait is told."""
    monkeypatch.setattr(gone, "TELL_EVERY", 0.1)
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        if "waits for" in line:
            freed(stuck)

    asked = stuck.asked(absent=True, names=(stuck.name,), write=True, limits=LIFTED)
    report = run(stuck.session(say=say), asked)
    assert not report.problems and stuck.record() is None
    (line,) = {each for each in said if "waits for" in each}
    assert line.startswith(f"{stuck.name}: m1 waits for ConfigMap {stuck.namespace}/settings (finalizers example.org/")


def test_a_namespace_that_is_terminating_is_not_gone(fleet: Fleet) -> None:
    """On these servers nobody finishes it."""
    fleet.join("m1")
    fleet.place()
    fleet.apply()
    ways = ApplyOptions(prune_kinds=("Namespace",), patience=0.5)
    report = fleet.end(limits=LIFTED, ways=ways)
    assert codes(report) == {"not-gone"} and states(fleet) == ["Unscheduled"]
    assert f'"Namespace","","{fleet.namespace}"' in inventory(fleet)
    fleet.servers["m1"].finish_namespaces()
    assert not fleet.end(limits=LIFTED, ways=ways).problems and fleet.record() is None


def test_an_object_that_is_being_deleted_is_not_taken_for_placed(stuck: Fleet) -> None:
    stuck.servers["m1"].client.delete(settings(stuck))
    report = stuck.apply()
    assert "it is being deleted on the member" in str(report.problems)
    freed(stuck)
    assert not stuck.apply().problems
    assert stuck.servers["m1"].data(settings(stuck)) == {"color": "blue"} and not stuck.apply().changed


def test_a_member_does_not_leave_before_it_is_empty(stuck: Fleet) -> None:
    def let_go() -> Left:
        wish = LeaveRequest(names=("m1",), remove=True, patience=0.5)
        return leave(stuck.session(), wish, write=True)

    left = let_go()
    assert left.left == () and [(each.code, each.where) for each in left.failed] == [("not-removed", "m1")]
    assert list(recorded_members(stuck.records)) == ["m1"] and states(stuck) == ["Bound"]
    freed(stuck)
    assert let_go().left == ("m1",) and recorded_members(stuck.records) == {}


def test_a_deletion_that_is_refused_is_tried_again(file_fleet: Fleet) -> None:
    """By a policy of the member, say."""
    fleet = file_fleet
    fleet.join("m1")
    fleet.resources(fleet.configmap(), fleet.configmap("extra"))
    fleet.place()
    fleet.apply()
    server = fleet.servers["m1"]
    policies = "/apis/admissionregistration.k8s.io/v1"
    name = f"keep-{fleet.number}"
    rule: dict[str, t.Any] = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"]}
    policy = {
        "matchConstraints": {"resourceRules": [{**rule, "resources": ["configmaps"]}]},
        "validations": [{"expression": f"oldObject.metadata.namespace != '{fleet.namespace}'"}],
    }
    server.client.post(f"{policies}/validatingadmissionpolicies", {"metadata": {"name": name}, "spec": policy})
    binding = {"policyName": name, "validationActions": ["Deny"]}
    server.client.post(f"{policies}/validatingadmissionpolicybindings", {"metadata": {"name": name}, "spec": binding})
    try:
        until(lambda: _refused(fleet))
        fleet.resources(fleet.configmap())
        report = fleet.apply()
        assert codes(report) == {"not-applied"} and "extra" in inventory(fleet)
    finally:
        server.client.delete(f"{policies}/validatingadmissionpolicybindings/{name}")
        server.client.delete(f"{policies}/validatingadmissionpolicies/{name}")
    until(lambda: not fleet.apply().problems)
    assert "extra" not in inventory(fleet) and not fleet.apply().changed


def _refused(fleet: Fleet) -> bool:
    path = fleet.namespaced("configmaps", "extra")
    answer = fleet.servers["m1"].client.send("DELETE", path, query={"dryRun": "All"}, expect=(422, 403))
    return answer.status != 200
