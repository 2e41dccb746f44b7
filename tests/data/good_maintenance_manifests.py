# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Maintenance windows, release catalogues and profiles that are taken; see ``good_manifests`` for the tables."""

from __future__ import annotations

from ansible_collections.gitops.fleet.tests.data.maintenance_parts import (
    DAILY,
    HOLIDAYS,
    WINDOW,
    catalogue,
    configuration,
    family,
    freeze,
    in_week,
    location,
    maintenance,
    one,
    profile,
    rotation,
)
from ansible_collections.gitops.fleet.tests.data.manifest_parts import Row, Update, named
from ansible_collections.gitops.fleet.tests.data.update_parts import update_run, with_status

GOOD_MAINTENANCE: tuple[Row, ...] = (
    Row("no maintenance at all", maintenance()),
    # D3-43
    Row("a weekly window", one()),
    Row("a daily window", one(schedule=DAILY, durationHours=24, utcOffset="-08:00")),
    Row(
        "every other Friday",
        one(
            schedule={"weekly": {"intervalWeeks": 2, "dayOfWeek": "Friday"}},
            durationHours=8,
            startTime="22:00",
            utcOffset="+05:30",
            startDate="2026-01-02",
        ),
    ),
    Row("the 31st", one(schedule={"absoluteMonthly": {"intervalMonths": 1, "dayOfMonth": 31}})),
    Row(
        "the last Monday",
        one(
            schedule={"relativeMonthly": {"intervalMonths": 1, "weekIndex": "Last", "dayOfWeek": "Monday"}},
            timeZone="America/Los_Angeles",
            notAllowedDates=[HOLIDAYS, {"start": "2026-05-01", "end": "2026-05-01"}],
        ),
    ),
    Row(
        "an interval without a beginning",
        one(schedule={"daily": {"intervalDays": 3}}),
        (f"start-date-missing {WINDOW}.startDate",),
    ),
    # D16: the names of AKS, in any case of letters
    Row(
        "all names of windows",
        maintenance(
            *(
                configuration(name)
                for name in (
                    "kubernetes",
                    "nodeImage",
                    "platform",
                    "default",
                    "aksManagedAutoUpgradeSchedule",
                    "aksManagedNodeOSUpgradeSchedule",
                    "AKSMANAGEDNODEOSUPGRADESCHEDULE",
                )
            )
        ),
    ),
    Row(
        "hours of weekdays",
        maintenance(in_week(notAllowedTime=[{"start": "2026-05-26T03:00:00Z", "end": "2026-05-30T12:00:00Z"}])),
    ),
    Row(
        "windows by label",
        maintenance({**configuration(), "memberSelector": {"byLabel": "env=prod,region in (eu,us)"}}),
    ),
    Row(
        "freezes",
        maintenance(
            freezes=[
                freeze(reason="nobody is there"),
                freeze("black-friday", start="2026-11-27", end="2026-11-27", timeZone="America/New_York"),
                freeze("shops", memberSelector={"byLabel": "shop"}, utcOffset="+01:00"),
            ]
        ),
    ),
    Row(
        "budgets of the fleet",
        maintenance(
            budgets=[
                {"name": "all", "members": "10%", "nodes": "5"},
                {"name": "none-of-those", "members": "0", "memberSelector": {"byLabel": "fragile"}},
            ]
        ),
    ),
    Row("the smallest rotation", rotation()),
    Row(
        "a rotation with everything",
        rotation(
            {"nodes": "25%"},
            {"nodes": "0", "schedule": "0 8 * * 1-5", "duration": "9h", "reasons": ["Drifted"]},
            {"nodes": "100%", "schedule": "@daily", "duration": "10m"},
            memberSelector={"byLabel": "env=prod"},
            nodes={"byLabel": "pool in (blue,green)"},
            due={"olderThan": "720h", "versionOtherThan": "v1.36.3", "imageOtherThan": "Ubuntu 24.04"},
            pace={"surge": "10%", "replacement": "before", "soakSeconds": 60, "maxFailures": 2},
        ),
    ),
    Row("the smallest catalogue", catalogue(location("*"))),
    Row(
        "a catalogue with everything",
        catalogue(
            location(
                "westeurope",
                "1.29.9",
                "v1.30.5",
                "1.30.5-gke.1234",
                "1.30.4+k3s1",
                images=[
                    family("AKSUbuntu-2204gen2containerd", "202309.26.0", "202310.04.0"),
                    family("AKSWindows-2022-containerd", "20348.2582.240916", os="Windows"),
                ],
            ),
            {
                "name": "westus3",
                "versions": [
                    {"version": "1.31.0", "status": "preview"},
                    {"version": "1.28.1", "status": "deprecated", "availableFrom": "2026-01-01T00:00:00Z"},
                ],
                "images": [
                    {
                        "family": "u",
                        "versions": [
                            {"version": "1", "status": "withdrawn"},
                            {"version": "2", "publishedAt": "2026-01-01T00:00:00Z", "security": True},
                        ],
                    }
                ],
            },
            provider="aks",
            source="https://releases.aks.azure.com",
            supportedMinors=4,
            imageAgeDays=60,
        ),
    ),
    # D3-85
    Row("channel Stable", profile()),
    Row("channel Rapid", profile("Rapid", updateStrategyId="rings", nodeImageSelection={"type": "Consistent"})),
    Row("channel NodeImage", profile("NodeImage", disabled=True)),
    Row("channel SecurityPatch", profile("SecurityPatch")),  # D3-86
    Row(
        "channel TargetKubernetesVersion",
        profile("TargetKubernetesVersion", targetKubernetesVersion="1.30", longTermSupport=True),
    ),  # D3-86
    Row("a run that tries again", update_run(retryOf="release-6", members=["m1", "m2"])),  # D3-81
)

REPAIRED_MAINTENANCE: tuple[Row, ...] = (
    Row(
        "a budget without quotes",
        maintenance(budgets=[{"name": "all", "members": 3}]),
        ("number-not-text spec.budgets[0].members",),
    ),
)

_LATEST = profile(nodeImageSelection={"type": "Latest"})
MAINTENANCE_CHANGES: tuple[Update, ...] = (
    Update("windows are replaced", one(), maintenance(freezes=[freeze()])),
    Update("a profile is disabled", profile(), profile(disabled=True)),
    Update("a profile of another channel", profile(), profile("Rapid")),
    Update(
        "a profile gets a strategy",
        profile(),
        profile(updateStrategyId="rings"),
        ("profile-field-fixed spec.updateStrategyId",),
    ),
    Update("a profile chooses images", profile(), _LATEST, ("profile-field-fixed spec.nodeImageSelection",)),
    Update(
        "a profile chooses other images",
        _LATEST,
        profile(nodeImageSelection={"type": "Consistent"}),
        ("profile-field-fixed spec.nodeImageSelection",),
    ),
    Update("an exported profile", with_status(profile(), lastTriggerStatus="Succeeded"), profile()),
    Update("labels of a profile", profile(), named(profile(), labels={"team": "a"})),
)
