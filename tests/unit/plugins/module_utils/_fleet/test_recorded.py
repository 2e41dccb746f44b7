# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Objects that others wrote into the records: good ones, or an error with their name; never anything else."""

from __future__ import annotations

import contextlib
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_maintenance import (
    FleetMaintenance,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_member import FleetMember
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.member_cluster import MemberCluster
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.binding import (
    ClusterResourceBinding,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.staged.update_run import StagedUpdateRun
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.gate import Gate
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.release_catalog import ReleaseCatalog
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.strategy import UpdateStrategy
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.update_run import UpdateRun
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.recorded import (
    all_decoded,
    decoded,
    recorded,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.run_record import proven
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.random_json import (
    any_json,
    documents_of,
    gone_wrong,
)
from hypothesis import given
from hypothesis import strategies as some

KINDS = (UpdateRun, UpdateStrategy, Gate, FleetMaintenance, ReleaseCatalog)
SPEC = {"managedClusterUpdate": {"upgrade": {"type": "ControlPlaneOnly", "kubernetesVersion": "1.36.3"}}}
MEMBER = {"name": "a", "status": {"state": "Running"}, "attempt": 1, "operationId": "run-0f8fad5b.a.1"}
GROUP = {"name": "g", "members": [MEMBER], "maxConcurrency": 1, "maxAllowedFailures": 0}
RUN: dict[str, t.Any] = {
    "apiVersion": "gitops.fleet/v1alpha1",
    "kind": "UpdateRun",
    "metadata": {"name": "run", "uid": "0f8fad5b", "managedFields": [{}], "resourceVersion": "7"},
    "spec": SPEC,
    "status": {"phase": "active", "stages": [{"name": "s", "groups": [GROUP], "maxConcurrency": 1,
                                             "maxAllowedFailures": 0}]},
}  # fmt: skip


def test_a_good_record_is_read():
    assert recorded(UpdateRun, RUN).status.stages[0].groups[0].members[0].name == "a"


def test_one_in_a_namespace_is_named_with_it():
    document = {"apiVersion": "placement.kubernetes-fleet.io/v1beta1", "kind": "StagedUpdateRun", "spec": {}}
    with pytest.raises(FleetError) as damaged:
        recorded(StagedUpdateRun, {**document, "metadata": {"name": "first", "namespace": "shop"}})
    assert {each.where for each in damaged.value.problems} == {"StagedUpdateRun/shop/first"}


def test_what_a_member_said_is_no_hole_in_a_manifest():
    member = {**MEMBER, "message": "...", "versionBefore": "..."}
    status = {"phase": "active", "stages": [{**RUN["status"]["stages"][0], "groups": [{**GROUP, "members": [member]}]}]}
    assert recorded(UpdateRun, {**RUN, "status": status}).status.stages[0].groups[0].members[0].message == "..."


@pytest.mark.parametrize(
    "part, value, words",
    [
        ("spec", "text", "spec: an object is wanted here, not 'text'"),
        ("spec", None, "spec is required"),
        ("spec", {**SPEC, "strategy": {"stages": [{"name": "s"}]}}, "strategy.stages[0]"),
        ("status", [], "status: an object is wanted here"),
        ("status", {"stages": {"a": 1}}, "status.stages: a list is wanted here"),
        ("status", {"phase": "great"}, "status.phase: 'great' is not one of"),
        ("status", {"stages": [{"name": "s", "maxConcurrency": -1, "maxAllowedFailures": 0}]}, "-1 is not between"),
        ("status", {"stages": [7]}, "status.stages[0]: an object is wanted here, not 7"),
        ("metadata", "x", "metadata"),
    ],
)
def test_a_damaged_one_is_named_with_what_is_wrong(part: str, value: t.Any, words: str):
    with pytest.raises(FleetError) as refused:
        recorded(UpdateRun, {**RUN, part: value})
    assert refused.value.code == "record-damaged" and words in str(refused.value), str(refused.value)
    assert refused.value.where == ("UpdateRun/?" if part == "metadata" else "UpdateRun/run")


def test_one_that_is_nested_too_deeply_is_named_too():
    deep: t.Any = {}
    for _level in range(100_000):
        deep = {"a": deep}
    with contextlib.suppress(FleetError):
        recorded(UpdateRun, {**RUN, "status": deep})
    endless: dict[str, t.Any] = {}
    endless["stages"] = [{"name": "s", "groups": [endless], "maxConcurrency": 1, "maxAllowedFailures": 1}]
    with pytest.raises(FleetError) as refused:
        recorded(UpdateRun, {**RUN, "status": endless})
    assert refused.value.where == "UpdateRun/run"


def test_of_many_problems_the_first_are_told():
    with pytest.raises(FleetError) as refused:
        recorded(UpdateRun, {**RUN, "status": {"stages": [7] * 30}})
    assert len(refused.value.problems) == 5 and "and 25 more" in refused.value.hint


@given(gone_wrong(RUN, times=4))
def test_a_run_gone_wrong_is_read_or_refused(document: t.Any):
    with contextlib.suppress(FleetError):
        proven(document if isinstance(document, dict) else {"metadata": document})


@given(some.sampled_from(KINDS).flatmap(lambda cls: some.tuples(some.just(cls), documents_of(cls) | any_json())))
def test_any_document_is_read_or_refused(pair: tuple[type, t.Any]):
    cls, document = pair
    with contextlib.suppress(FleetError):
        recorded(cls, document if isinstance(document, dict) else {"spec": document})


DAILY = {"schedule": {"daily": {"intervalDays": 1}}, "durationHours": 4, "startTime": "02:00"}
FREEZE = {"name": "sale", "start": "2026-11-27", "end": "2026-11-30"}


def member_with(windows: t.Any, freezes: t.Any) -> dict[str, t.Any]:
    said = {"source": "annotation", "windows": windows, "freezes": freezes}
    head = {"apiVersion": "gitops.fleet/v1alpha1", "kind": "FleetMember", "metadata": {"name": "m1"}}
    return {**head, "spec": {"connection": {"inCluster": True}}, "status": {"maintenance": said}}


def own_window(**changes: t.Any) -> list[t.Any]:
    return [{"name": "kubernetes", "maintenanceWindow": {**DAILY, **changes}}]


def test_windows_that_a_member_has_itself_are_read():
    found = recorded(FleetMember, member_with(own_window(timeZone="Europe/Vienna"), [FREEZE]))
    assert found.status.maintenance is not None and len(found.status.maintenance.windows) == 1


@pytest.mark.parametrize(
    "windows, freezes, place",
    [
        (own_window(timeZone="Nowhere/X"), [], "windows[0].maintenanceWindow.timeZone"),
        (own_window(startDate="2024-02-30"), [], "windows[0].maintenanceWindow.startDate"),
        (own_window(schedule={}), [], "windows[0].maintenanceWindow.schedule"),
        (own_window(schedule={"daily": {"intervalDays": 0}}), [], "maintenanceWindow.schedule.daily.intervalDays"),
        ([], [{**FREEZE, "timeZone": "Nowhere/X"}], "freezes[0].timeZone"),
        ([], [{**FREEZE, "start": "2024-02-30", "end": "2024-03-01"}], "freezes[0].start"),
        ([], [{**FREEZE, "end": "2026-11-01"}], "freezes[0].end"),
        ([], [{**FREEZE, "memberSelector": {"byLabel": "a in b"}}], "freezes[0].memberSelector.byLabel"),
    ],
)
def test_windows_that_no_clock_has_are_named_with_their_member(windows: t.Any, freezes: t.Any, place: str):
    with pytest.raises(FleetError) as damaged:
        recorded(FleetMember, member_with(windows, freezes))
    assert (damaged.value.code, damaged.value.where) == ("record-damaged", "FleetMember/m1")
    assert "status.maintenance." in damaged.value.message and place in damaged.value.message


CLUSTER = {"apiVersion": "cluster.kubernetes-fleet.io/v1beta1", "kind": "MemberCluster", "metadata": {"name": "m1"}}


def test_what_is_not_judged_is_read_as_it_stands():
    """An unknown field, or a value that no manifest may have, is no reason to stop over what was recorded once."""
    taint = {"key": "not a key", "effect": "NoSuchEffect"}
    assert decoded(MemberCluster, {**CLUSTER, "spec": {"taints": [taint], "new": 1}}).taints[0].key == "not a key"


@pytest.mark.parametrize("spec", ["text", [], 7, {"taints": "text"}, {"taints": [7]}, {"taints": {"a": 1}}], ids=str)
def test_another_structure_is_named_with_what_is_wrong(spec: t.Any):
    with pytest.raises(FleetError) as damaged:
        decoded(MemberCluster, {**CLUSTER, "spec": spec})
    assert (damaged.value.code, damaged.value.where) == ("record-damaged", "MemberCluster/m1")


def test_one_of_a_kind_in_a_namespace_is_named_by_its_own_kind():
    metadata = {"name": "web-m1", "namespace": "shop"}
    document = {"apiVersion": "placement.kubernetes-fleet.io/v1beta1", "kind": "ResourceBinding", "metadata": metadata}
    with pytest.raises(FleetError) as damaged:
        decoded(ClusterResourceBinding, {**document, "spec": {}, "status": []})
    assert damaged.value.where == "ResourceBinding/shop/web-m1"


def test_of_many_all_that_are_damaged_are_named_at_once():
    wrong = [{**CLUSTER, "metadata": {"name": name}, "spec": 7} for name in ("m2", "m3")]
    with pytest.raises(FleetError) as damaged:
        all_decoded(MemberCluster, [CLUSTER, *wrong])
    assert {each.where for each in damaged.value.problems} == {"MemberCluster/m2", "MemberCluster/m3"}
    assert list(all_decoded(MemberCluster, [CLUSTER])) == ["m1"]


@given(some.sampled_from((MemberCluster, FleetMember, ClusterResourceBinding)), any_json(4))
def test_anything_is_read_or_refused(cls: type, spec: t.Any):
    document = {**CLUSTER, "kind": cls.__name__, "spec": spec, "status": spec}
    try:
        decoded(cls, document)
    except FleetError as error:
        assert error.code == "record-damaged" and error.where == f"{cls.__name__}/m1"
