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
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.staged.update_run import StagedUpdateRun
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.gate import Gate
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.release_catalog import ReleaseCatalog
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.strategy import UpdateStrategy
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.update_run import UpdateRun
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.recorded import recorded
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
