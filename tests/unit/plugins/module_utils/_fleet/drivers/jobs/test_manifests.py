# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The documents that are made of an operation: nothing in the Job that must not be seen, one name for it."""

from __future__ import annotations

import json
import re

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import identify
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.selectable import never_placed_problem
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.contract import Work
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.jobs.manifests import (
    JobSettings,
    inputs_manifest,
    job_manifest,
    job_name,
    member_label,
)

WORK = Work(operation="run-1234.east.1", run="run", member="east", upgrade_type="ControlPlaneOnly", target="1.36.3")
SETTINGS = JobSettings(image="registry.example.com/fleet:1", namespace="jobs")


@pytest.mark.parametrize("operation", ["run-1234.east.1", "Run_A-1." + "x" * 300 + ".2", "...", "a"])
def test_names_are_fit_for_objects_and_labels(operation: str):
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", job_name(operation))


def test_one_name_for_one_operation():
    names = [f"run-1234.{member}.{attempt}" for member in ("east", "east-1", "x" * 80) for attempt in (1, 11)]
    assert len({job_name(each) for each in names}) == len(names)
    assert job_name(names[0]) == job_name(names[0])


def test_a_member_with_a_long_name_has_a_label_too():
    assert member_label("east") == "east" and len(member_label("m" * 200)) <= 63


def test_a_job_is_tried_once_and_has_an_end():
    spec = job_manifest(WORK, SETTINGS, ("true",))["spec"]
    assert (spec["backoffLimit"], spec["completions"], spec["parallelism"]) == (0, 1, 1)
    assert (spec["activeDeadlineSeconds"], spec["ttlSecondsAfterFinished"]) == (7200, 86400)
    assert spec["template"]["spec"]["restartPolicy"] == "Never"


def test_a_pod_has_a_token_only_of_an_account_that_was_named():
    without = job_manifest(WORK, SETTINGS, ("true",))["spec"]["template"]["spec"]
    assert without["automountServiceAccountToken"] is False and "serviceAccountName" not in without
    account = JobSettings(image="i", namespace="jobs", service_account="upgrader")
    named = job_manifest(WORK, account, ("true",))["spec"]["template"]["spec"]
    assert (named["serviceAccountName"], named["automountServiceAccountToken"]) == ("upgrader", True)


def test_inputs_are_owned_by_the_job_and_are_not_in_it():
    made = job_manifest(WORK, SETTINGS, ("true",))
    job = {**made, "metadata": {**made["metadata"], "uid": "u-1"}}
    secret = inputs_manifest(job, {"vars.yml": "s3cret"})
    (volume,) = [each for each in made["spec"]["template"]["spec"]["volumes"] if "secret" in each]
    assert volume["secret"]["secretName"] == secret["metadata"]["name"]
    assert secret["metadata"]["ownerReferences"] == [
        {"apiVersion": "batch/v1", "kind": "Job", "name": job_name(WORK.operation), "uid": "u-1"}
    ]
    assert "s3cret" in json.dumps(secret) and "s3cret" not in json.dumps(made)


def test_what_an_upgrade_runs_by_is_never_placed_whatever_its_namespace():
    """The Secret holds a member's credentials: no other member gets them."""
    job = job_manifest(WORK, SETTINGS, ("true",))
    secret = inputs_manifest({"metadata": {**job["metadata"], "uid": "u-1"}}, {"vars.yml": "s3cret"})
    for each in (job, secret):
        problem = never_placed_problem(identify(each), each)
        assert problem is not None and "an upgrade of this fleet runs by it" in problem.message
    metadata = {**secret["metadata"], "labels": {"app.kubernetes.io/managed-by": "gitops-fleet"}}
    assert never_placed_problem(identify(secret), {**secret, "metadata": metadata}) is None
