# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Short ways to write maintenance windows, release catalogues and profiles."""

from __future__ import annotations

import typing as t

from ansible_collections.gitops.fleet.tests.data.manifest_parts import Manifest

OURS = "gitops.fleet/v1alpha1"
WEEKLY: Manifest = {"weekly": {"intervalWeeks": 1, "dayOfWeek": "Saturday"}}
DAILY: Manifest = {"daily": {"intervalDays": 1}}
WINDOW, SCHEDULE = "spec.windows[0].maintenanceWindow", "spec.windows[0].maintenanceWindow.schedule"
LOCATION = "spec.locations[0]"
HOLIDAYS: Manifest = {"start": "2026-12-20", "end": "2027-01-03"}


def maintenance(*windows: t.Any, **spec: t.Any) -> Manifest:
    given = {"windows": list(windows), **spec} if windows else spec
    return {"apiVersion": OURS, "kind": "FleetMaintenance", "metadata": {"name": "standard"}, "spec": given}


def configuration(name: t.Any = "kubernetes", schedule: t.Any = None, **window: t.Any) -> Manifest:
    """A window of four hours from 01:00 on Saturdays, with these fields changed; None leaves a field out."""
    fields = {"schedule": WEEKLY if schedule is None else schedule, "durationHours": 4, "startTime": "01:00", **window}
    return {"name": name, "maintenanceWindow": {key: each for key, each in fields.items() if each is not None}}


def one(**window: t.Any) -> Manifest:
    return maintenance(configuration(**window))


def rotation(*budgets: t.Any, **spec: t.Any) -> Manifest:
    given = {"budgets": list(budgets), **spec} if budgets else spec
    return {"apiVersion": OURS, "kind": "NodeRotation", "metadata": {"name": "blue"}, "spec": given}


def in_week(name: str = "default", **fields: t.Any) -> Manifest:
    return {"name": name, "timeInWeek": [{"day": "Monday", "hourSlots": [1, 2]}], **fields}


def freeze(name: t.Any = "year-end", **fields: t.Any) -> Manifest:
    return {"name": name, **HOLIDAYS, **fields}


def catalogue(*locations: t.Any, **spec: t.Any) -> Manifest:
    return {
        "apiVersion": OURS,
        "kind": "ReleaseCatalog",
        "metadata": {"name": "public"},
        "spec": {"locations": list(locations), **spec},
    }


def location(name: t.Any = "westeurope", *versions: t.Any, **fields: t.Any) -> Manifest:
    listed = {"versions": [{"version": each} for each in versions]} if versions else {}
    return {"name": name, **listed, **fields}


def family(name: t.Any = "Ubuntu-2204", *versions: t.Any, **fields: t.Any) -> Manifest:
    return {"family": name, "versions": [{"version": each} for each in versions], **fields}


def profile(channel: t.Any = "Stable", **spec: t.Any) -> Manifest:
    given = {"channel": channel, **spec}
    return {
        "apiVersion": OURS,
        "kind": "AutoUpgradeProfile",
        "metadata": {"name": "stable"},
        "spec": {key: each for key, each in given.items() if each is not None},
    }
