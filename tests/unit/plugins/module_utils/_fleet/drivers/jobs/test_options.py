# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What may be said of the executor, and what is refused, all of it at once."""

from __future__ import annotations

import typing as t
from datetime import date

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.jobs.manifests import JobSettings
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.jobs.options import (
    executor_problems,
    job_settings,
    runs_as_job,
)

IMAGE = {"kind": "kubernetes_job", "image": "registry.example.com:5000/fleet@sha256:0f0e"}


def wrong(executor: t.Any, hub: bool = True, **role: t.Any) -> list[str]:
    given = {"role": "acme.ops.upgrade", **role, "executor": executor}
    return [each.where for each in executor_problems(given, "drivers.role", hub)]


@pytest.mark.parametrize(
    "executor",
    [
        None,
        {"kind": "process", "image": None},
        IMAGE,
        {**IMAGE, "kubeconfig": "jobs.kubeconfig", "context": "jobs", "namespace": "a", "service_account": "up.grader"},
        {**IMAGE, "deadline": 60, "keep": 60, "resources": {"limits": {"memory": "1Gi"}}},
    ],
)
def test_good_ones(executor: t.Any):
    assert wrong(executor, role="/opt/roles/upgrade", inventory=["/opt/inventory"]) == []


@pytest.mark.parametrize(
    "executor, where",
    [
        ("kubernetes_job", ""),
        ({"kind": "pod"}, ".kind"),
        ({"kind": "kubernetes_job"}, ".image"),
        ({"kind": "process", "image": "x"}, ".image"),
        ({**IMAGE, "image": "-x"}, ".image"),
        ({**IMAGE, "image": "a b"}, ".image"),
        ({**IMAGE, "namespace": "A"}, ".namespace"),
        ({**IMAGE, "service_account": "a/b"}, ".service_account"),
        ({**IMAGE, "deadline": 0}, ".deadline"),
        ({**IMAGE, "deadline": True}, ".deadline"),
        ({**IMAGE, "keep": 59}, ".keep"),
        ({**IMAGE, "resources": []}, ".resources"),
        ({**IMAGE, "resources": {"limits": {"memory": date(2026, 1, 1)}}}, ".resources"),
        ({**IMAGE, "pods": 1}, ".pods"),
        ({**IMAGE, "context": "jobs"}, ".context"),
    ],
)
def test_bad_ones(executor: t.Any, where: str):
    assert wrong(executor) == [f"drivers.role.executor{where}"]


def test_without_a_hub_a_kubeconfig_is_needed():
    assert wrong(IMAGE, hub=False) == ["drivers.role.executor.kubeconfig"]
    assert wrong({**IMAGE, "kubeconfig": "k"}, hub=False) == []


def test_all_at_once_with_what_only_a_process_has():
    found = wrong(
        {"kind": "kubernetes_job", "image": 3, "keep": 1},
        role="./upgrade",
        inventory=["hosts"],
        environment=["TOKEN"],
        roles_path=["roles"],
        collections_path=["c"],
    )
    assert found == [
        "drivers.role.executor.image",
        "drivers.role.executor.keep",
        *(f"drivers.role.{name}" for name in ("environment", "roles_path", "collections_path", "role", "inventory")),
    ]


def test_settings_are_those_that_were_given():
    assert runs_as_job({"executor": IMAGE}) and not runs_as_job({"executor": {"kind": "process"}})
    assert not runs_as_job({}) and not runs_as_job({"executor": "kubernetes_job"})
    made = job_settings({"executor": {**IMAGE, "deadline": 60, "keep": None, "service_account": "upgrader"}})
    assert made == JobSettings(
        image=IMAGE["image"], namespace="gitops-fleet-jobs", service_account="upgrader", deadline=60
    )
