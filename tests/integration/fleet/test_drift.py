# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Others who write to what we placed, and objects that were there before us: KubeFleet's apply strategies."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.member import MemberStep
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.applyset import PART_OF_LABEL, parent_name
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.placement import Report
from small_fleet import PARENTS, Document, Fleet, codes, conditions

SERVER_SIDE = {"type": "ServerSideApply"}
FORCED = {"type": "ServerSideApply", "serverSideApplyConfig": {"force": True}}


def settings(fleet: Fleet) -> str:
    return fleet.namespaced("configmaps", "settings")


def step(report: Report, fleet: Fleet) -> MemberStep:
    """What is done to the ConfigMap ``settings`` on m1."""
    return next(each for each in report.outcomes_of(fleet.name)["m1"].steps if each.id.name == "settings")


def placed(fleet: Fleet, strategy: Document | None = None) -> None:
    fleet.join("m1")
    fleet.place(strategy=strategy)
    assert not fleet.apply().problems


def meddle(fleet: Fleet, color: str = "black") -> None:
    fleet.servers["m1"].patch(settings(fleet), {"data": {"color": color}}, "kubectl-edit")


def there_before(fleet: Fleet, **changes: object) -> None:
    """A namespace and a ConfigMap of the same names, made by somebody else."""
    server = fleet.servers["m1"]
    server.client.post("/api/v1/namespaces", {"metadata": {"name": fleet.namespace}})
    document = fleet.configmap(color="theirs")
    document["metadata"] |= changes
    server.client.post(fleet.namespaced("configmaps"), document, {"fieldManager": "somebody"})
    fleet.join("m1")


@pytest.mark.parametrize("strategy", [None, FORCED], ids=["ClientSideApply", "ServerSideApply-forced"])
def test_drift_is_shown_with_field_and_manager_and_repaired_by_apply(fleet: Fleet, strategy: Document | None) -> None:
    placed(fleet, strategy)
    meddle(fleet)
    with fleet.writing() as written:
        looked = fleet.look()
    found = step(looked, fleet)
    assert looked.changed and found.action == "repair" and written == []
    (drift,) = found.drifts
    assert (drift.path, drift.desired, drift.live) == (".data.color", "blue", "black")
    assert drift.managers == ("kubectl-edit",)
    repaired = fleet.apply()
    assert repaired.changed and not repaired.problems
    assert fleet.servers["m1"].data(settings(fleet)) == {"color": "blue"}
    with fleet.writing() as written:
        assert not fleet.apply().changed
    assert written == []


def test_a_field_that_others_add_is_theirs_and_no_drift(file_fleet: Fleet) -> None:
    placed(file_fleet)
    file_fleet.servers["m1"].patch(
        settings(file_fleet), {"data": {"extra": "1"}, "metadata": {"annotations": {"a": "b"}}}
    )
    assert not file_fleet.look().changed
    file_fleet.resources(file_fleet.configmap(color="red"))
    file_fleet.apply()
    assert file_fleet.servers["m1"].data(settings(file_fleet)) == {"color": "red", "extra": "1"}


def test_if_not_drifted_leaves_drift_and_says_so(fleet: Fleet) -> None:
    placed(fleet, {"whenToApply": "IfNotDrifted"})
    meddle(fleet)
    refused = fleet.apply()
    assert (step(refused, fleet).action, step(refused, fleet).reason) == ("refused", "FoundDrifts")
    assert codes(refused) == {"refused-on-member"}
    assert fleet.servers["m1"].data(settings(fleet)) == {"color": "black"}
    status = refused.statuses[fleet.name]
    assert conditions(status)["Applied"] == "False"
    (row,) = status.placement_statuses
    assert [each.observed_drifts[0].path for each in row.drifted_placements] == [".data.color"]
    meddle(fleet, "blue")
    fleet.servers["m1"].client.delete(settings(fleet))
    assert not fleet.apply().problems
    assert fleet.servers["m1"].data(settings(fleet)) == {"color": "blue"}


def test_an_object_deleted_by_hand_is_made_again(file_fleet: Fleet) -> None:
    placed(file_fleet)
    file_fleet.servers["m1"].client.delete(settings(file_fleet))
    looked = file_fleet.look()
    assert step(looked, file_fleet).missing and step(looked, file_fleet).drifted and looked.changed
    file_fleet.apply()
    assert file_fleet.holders() == ["m1"] and not file_fleet.apply().changed


def test_a_label_of_ours_that_was_taken_off_is_put_back(file_fleet: Fleet) -> None:
    """Without it the object is nobody's, and taken over anew, as whenToTakeOver Always says."""
    placed(file_fleet)
    file_fleet.servers["m1"].patch(settings(file_fleet), {"metadata": {"labels": {PART_OF_LABEL: None}}})
    assert step(file_fleet.look(), file_fleet).action == "adopt"
    file_fleet.apply()
    assert file_fleet.holders() == ["m1"]


def test_server_side_apply_without_force_names_the_conflict(file_fleet: Fleet) -> None:
    placed(file_fleet, SERVER_SIDE)
    meddle(file_fleet)
    refused = file_fleet.apply()
    (problem,) = refused.problems
    assert problem.code == "not-applied" and "kubectl-edit" in problem.message and "color" in problem.message
    assert file_fleet.servers["m1"].data(settings(file_fleet)) == {"color": "black"}
    assert conditions(refused.statuses[file_fleet.name])["Applied"] == "False"


def test_take_over_always(file_fleet: Fleet) -> None:
    there_before(file_fleet)
    file_fleet.place(strategy={"whenToTakeOver": "Always"})
    assert step(file_fleet.look(), file_fleet).action == "adopt"
    assert not file_fleet.apply().problems
    assert file_fleet.holders() == ["m1"] and file_fleet.servers["m1"].data(settings(file_fleet)) == {"color": "blue"}


def test_take_over_if_no_diff(fleet: Fleet) -> None:
    there_before(fleet)
    fleet.place(strategy={"whenToTakeOver": "IfNoDiff"})
    refused = fleet.apply()
    found = step(refused, fleet)
    assert (found.action, found.reason) == ("refused", "FailedToTakeOver")
    assert [(each.path, each.desired, each.live) for each in found.diffs] == [(".data.color", "blue", "theirs")]
    assert fleet.servers["m1"].data(settings(fleet)) == {"color": "theirs"} and fleet.holders() == []
    with fleet.servers["m1"].writing() as written:
        fleet.apply()
    assert written == []
    fleet.resources(fleet.configmap(color="theirs"))
    assert not fleet.apply().problems and fleet.holders() == ["m1"]


def test_take_over_never(file_fleet: Fleet) -> None:
    there_before(file_fleet)
    file_fleet.place(strategy={"whenToTakeOver": "Never"})
    refused = file_fleet.apply()
    assert step(refused, file_fleet).reason == "NotTakenOver" and file_fleet.holders() == []
    row = refused.statuses[file_fleet.name].placement_statuses[0]
    assert {each.condition.reason for each in row.failed_placements if each.condition} == {"NotTakenOver"}


def test_a_placement_that_was_refused_leaves_nothing_behind_and_can_be_made_again(file_fleet: Fleet) -> None:
    there_before(file_fleet)
    file_fleet.place(strategy={"whenToTakeOver": "Never"})
    parent = f"{PARENTS}/{parent_name(file_fleet.name)}"
    file_fleet.apply()
    assert file_fleet.holders() == [] and file_fleet.servers["m1"].get(parent) is not None
    assert not file_fleet.end().problems
    assert file_fleet.servers["m1"].get(parent) is None
    file_fleet.servers["m1"].finish_namespaces()
    file_fleet.place()
    assert not file_fleet.apply().problems and file_fleet.holders() == ["m1"]


def test_an_object_with_another_owner_needs_consent(file_fleet: Fleet) -> None:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "boss", "uid": "00000000-0000-0000-0000-000000000001"}
    there_before(file_fleet, ownerReferences=[owner])
    file_fleet.place()
    assert step(file_fleet.apply(), file_fleet).reason == "FailedToTakeOver"
    file_fleet.place(strategy={"allowCoOwnership": True})
    assert not file_fleet.apply().problems and file_fleet.holders() == ["m1"]


def test_another_placements_object_is_refused(file_fleet: Fleet) -> None:
    placed(file_fleet)
    document = file_fleet.placement(name=f"{file_fleet.name}-b")
    file_fleet.resources(file_fleet.configmap(color="red"))
    refused = file_fleet.apply(definition=document)
    found = [each for each in refused.outcomes_of(f"{file_fleet.name}-b")["m1"].steps if each.id.name == "settings"]
    assert [(each.action, each.reason) for each in found] == [("refused", "FailedToTakeOver")]
    assert file_fleet.servers["m1"].data(settings(file_fleet)) == {"color": "blue"}
    file_fleet.apply(absent=True, names=(f"{file_fleet.name}-b",))
    assert file_fleet.holders() == ["m1"]


def test_report_diff_tells_and_writes_nothing_on_members(fleet: Fleet) -> None:
    there_before(fleet)
    fleet.place(strategy={"type": "ReportDiff", "comparisonOption": "PartialComparison"})
    with fleet.servers["m1"].writing() as written:
        report = fleet.apply()
    assert written == [] and fleet.servers["m1"].get(f"{PARENTS}/{fleet.name}") is None
    assert step(report, fleet).action == "differs"
    status = report.statuses[fleet.name]
    assert conditions(status)["DiffReported"] == "True" and "Applied" not in conditions(status)
    diffed = {each.name: each for each in status.placement_statuses[0].diffed_placements}
    assert diffed["settings"].observed_diffs[0].value_in_member == "theirs"
    assert not fleet.apply().problems


def test_a_full_comparison_counts_fields_that_others_add(fleet: Fleet) -> None:
    """It is told, in the status too, as long as it is there; no apply takes it away, and IfNotDrifted stops one for it.
    What servers fill in is no drift."""
    full = {"type": "ServerSideApply", "comparisonOption": "FullComparison"}
    fleet.resources(fleet.configmap(), service(fleet))
    placed(fleet, full)
    assert not fleet.look().changed and codes(fleet.look()) == set()
    fleet.servers["m1"].patch(settings(fleet), {"data": {"extra": "1"}}, "kubectl-edit")
    found = step(fleet.look(), fleet)
    (drift,) = found.drifts
    assert (found.action, drift.path, drift.live, drift.managers) == ("differs", ".data.extra", "1", ("kubectl-edit",))
    with fleet.servers["m1"].writing() as written:
        report = fleet.apply()
    assert written == [] and not report.problems and conditions(report.statuses[fleet.name])["Applied"] == "True"
    (row,) = report.statuses[fleet.name].placement_statuses
    assert [each.name for each in row.drifted_placements] == ["settings"]
    fleet.place(strategy={**full, "whenToApply": "IfNotDrifted"})
    refused = fleet.apply()
    assert step(refused, fleet).reason == "FoundDrifts"
    fleet.servers["m1"].patch(settings(fleet), {"data": {"extra": None}}, "kubectl-edit")
    assert not fleet.apply().problems


def service(fleet: Fleet) -> Document:
    """An object that servers fill in much of."""
    metadata = {"name": "web", "namespace": fleet.namespace}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": [{"port": 80}]}}
