# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Short ways to write update strategies, runs and gates."""

from __future__ import annotations

import typing as t

from ansible_collections.gitops.fleet.tests.data.manifest_parts import Manifest

STAGES = "spec.strategy.stages"
UPGRADE, IMAGES = "spec.managedClusterUpdate.upgrade", "spec.managedClusterUpdate.nodeImageSelection"
MONDAY: Manifest = {"startDay": "Monday", "startTime": "09:30", "utcOffset": "+02:00"}
APPROVAL: Manifest = {"type": "Approval", "displayName": "change ticket"}
AT_NIGHT: Manifest = {"type": "ScheduledStart", "scheduledStartConfiguration": MONDAY}
FULL: Manifest = {"type": "Full", "kubernetesVersion": "1.34.2"}
GUID = "3f0a8c52-6a4e-5b0d-9c1e-0123456789ab"
DIGEST = "sha256:" + "0a" * 32


def group(name: t.Any = "canary", **fields: t.Any) -> Manifest:
    return {"name": name, **fields}


def stage(name: t.Any = "first", *groups: t.Any, **fields: t.Any) -> Manifest:
    return {"name": name, "groups": list(groups) or [group()], **fields}


def by_label(selector: t.Any) -> Manifest:
    return {"memberSelector": {"byLabel": selector}}


def update_strategy(*stages: t.Any, **fields: t.Any) -> Manifest:
    return {
        "apiVersion": "gitops.fleet/v1alpha1",
        "kind": "UpdateStrategy",
        "metadata": {"name": "rings"},
        "spec": {"strategy": {"stages": list(stages), **fields}},
    }


def update_run(upgrade: t.Any = None, images: t.Any = None, **spec: t.Any) -> Manifest:
    update = {"upgrade": FULL if upgrade is None else upgrade, "nodeImageSelection": images}
    return {
        "apiVersion": "gitops.fleet/v1alpha1",
        "kind": "UpdateRun",
        "metadata": {"name": "release-7"},
        "spec": {"managedClusterUpdate": {key: each for key, each in update.items() if each is not None}, **spec},
    }


def gate(kind: str = "Approval", **spec: t.Any) -> Manifest:
    place = {"name": "release-7", "stage": "first", "timing": "Before"}
    return {
        "apiVersion": "gitops.fleet/v1alpha1",
        "kind": "Gate",
        "metadata": {"name": GUID, "labels": {"gitops.fleet/update-run": "release-7"}},
        "spec": {"gateType": kind, "target": {"updateRunProperties": place}, **spec},
    }


def with_status(manifest: Manifest, **status: t.Any) -> Manifest:
    return {**manifest, "status": status}
