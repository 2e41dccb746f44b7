# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Maintenance windows, release catalogues and profiles that are refused; see ``bad_manifests`` for the table."""

from __future__ import annotations

import typing as t

from ansible_collections.gitops.fleet.tests.data.maintenance_parts import (
    DAILY,
    HOLIDAYS,
    LOCATION,
    SCHEDULE,
    WEEKLY,
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
from ansible_collections.gitops.fleet.tests.data.manifest_parts import Manifest, Row, named


def _every(**form: t.Any) -> Manifest:
    return one(schedule=form)


def _but(start: t.Any, end: t.Any) -> Manifest:
    return one(notAllowedDates=[{"start": start, "end": end}])


_FAMILY = f"{LOCATION}.images[0]"

BAD_MAINTENANCE: tuple[Row, ...] = (
    Row(
        "a rotation by a bad selector",
        rotation(nodes={"byLabel": "a in b"}),
        ("invalid-label-selector spec.nodes.byLabel",),
    ),
    Row(
        "a rotation that is called as a person is on nodes",
        named(rotation(nodes={"byLabel": "a in b"}), name="by-hand"),
        ("reserved-name metadata.name", "invalid-label-selector spec.nodes.byLabel"),
    ),
    Row("more than all nodes", rotation({"nodes": "101%"}), ("wrong-form spec.budgets[0].nodes",)),
    Row("a schedule without an end", rotation({"schedule": "@daily"}), ("half-a-window spec.budgets[0]",)),
    Row("an end without a schedule", rotation({"duration": "1h"}), ("half-a-window spec.budgets[0]",)),
    Row(
        "a schedule of words",
        rotation({"schedule": "a b c d e", "duration": "1h"}),
        ("unreadable-schedule spec.budgets[0].schedule",),
    ),
    Row(
        "a schedule that never comes",
        rotation({"schedule": "0 0 30 2 *", "duration": "1h"}),
        ("unreadable-schedule spec.budgets[0].schedule",),
    ),
    Row(
        "a budget for a reason in lower case",
        rotation({"reasons": ["drifted"]}),
        ("not-one-of spec.budgets[0].reasons[0]",),
    ),
    Row("a rotation without a limit", rotation(budgets=[]), ("too-few-items spec.budgets",)),
    Row("days of age", rotation(due={"olderThan": "30d"}), ("wrong-form spec.due.olderThan",)),
    Row("an image of no name", rotation(due={"imageOtherThan": ""}), ("wrong-length spec.due.imageOtherThan",)),
    Row("a rotation of no members", rotation(members=[]), ("too-few-items spec.members",)),
    Row("no wave at all", rotation(pace={"firstWave": 0}), ("out-of-range spec.pace.firstWave",)),
    # D3-43: forms of schedules
    Row("a window on no days", one(schedule={}), (f"schedule-form {SCHEDULE}",)),
    Row("a window of two forms", one(schedule={**DAILY, **WEEKLY}), (f"schedule-form {SCHEDULE}",)),
    Row("a window by cron", one(schedule="0 1 * * 6"), (f"wrong-type {SCHEDULE}",)),
    Row("every no days", _every(daily={"intervalDays": 0}), (f"out-of-range {SCHEDULE}.daily.intervalDays",)),
    Row("every eight days", _every(daily={"intervalDays": 8}), (f"out-of-range {SCHEDULE}.daily.intervalDays",)),
    Row("every so many days", _every(daily={}), (f"missing-field {SCHEDULE}.daily.intervalDays",)),
    Row(
        "every five weeks",
        _every(weekly={"intervalWeeks": 5, "dayOfWeek": "Monday"}),
        (f"out-of-range {SCHEDULE}.weekly.intervalWeeks",),
    ),
    Row("on no weekday", _every(weekly={"intervalWeeks": 1}), (f"missing-field {SCHEDULE}.weekly.dayOfWeek",)),
    Row(
        "on lundi",
        _every(weekly={"intervalWeeks": 1, "dayOfWeek": "lundi"}),
        (f"not-one-of {SCHEDULE}.weekly.dayOfWeek",),
    ),
    Row(
        "every seven months",
        _every(absoluteMonthly={"intervalMonths": 7, "dayOfMonth": 1}),
        (f"out-of-range {SCHEDULE}.absoluteMonthly.intervalMonths",),
    ),
    Row(
        "on the 32nd",
        _every(absoluteMonthly={"intervalMonths": 1, "dayOfMonth": 32}),
        (f"out-of-range {SCHEDULE}.absoluteMonthly.dayOfMonth",),
    ),
    Row(
        "on the fifth Monday",
        _every(relativeMonthly={"intervalMonths": 1, "weekIndex": "Fifth", "dayOfWeek": "Monday"}),
        (f"not-one-of {SCHEDULE}.relativeMonthly.weekIndex",),
    ),
    Row("every so often", _every(hourly={"intervalHours": 1}), (f"unknown-field {SCHEDULE}.hourly",)),
    # times and clocks
    Row("three hours long", one(durationHours=3), (f"out-of-range {WINDOW}.durationHours",)),
    Row("25 hours long", one(durationHours=25), (f"out-of-range {WINDOW}.durationHours",)),
    Row("four and a half hours long", one(durationHours=4.5), (f"wrong-type {WINDOW}.durationHours",)),
    Row("of no length", one(durationHours=None), (f"missing-field {WINDOW}.durationHours",)),
    Row("at 24:00", one(startTime="24:00"), (f"wrong-form {WINDOW}.startTime",)),
    Row("at one", one(startTime="1:00"), (f"wrong-form {WINDOW}.startTime",)),
    Row("at no time", one(startTime=None), (f"missing-field {WINDOW}.startTime",)),
    Row("an offset without sign", one(utcOffset="05:30"), (f"wrong-form {WINDOW}.utcOffset",)),
    Row("an offset of fifteen hours", one(utcOffset="+15:00"), (f"wrong-form {WINDOW}.utcOffset",)),
    Row("a zone as offset", one(utcOffset="Europe/Vienna"), (f"wrong-length {WINDOW}.utcOffset",)),
    Row("two clocks", one(utcOffset="+01:00", timeZone="Europe/Vienna"), (f"two-clocks {WINDOW}.timeZone",)),
    Row("a zone that came to nothing", one(timeZone=""), (f"wrong-length {WINDOW}.timeZone",)),
    Row("no such zone", one(timeZone="Europe/Vienn"), (f"unknown-time-zone {WINDOW}.timeZone",)),
    Row("a zone that leads out", one(timeZone="../../etc/passwd"), (f"unknown-time-zone {WINDOW}.timeZone",)),
    # dates
    Row("from a day in words", one(startDate="tomorrow"), (f"wrong-form {WINDOW}.startDate",)),
    Row("from a day of the 13th month", one(startDate="2026-13-01"), (f"wrong-form {WINDOW}.startDate",)),
    Row("from 30 February", one(startDate="2026-02-30"), (f"no-such-date {WINDOW}.startDate",)),
    Row(
        "not until 31 June",
        _but("2026-06-01", "2026-06-31"),
        (f"no-such-date {WINDOW}.notAllowedDates[0].end",),
    ),
    Row(
        "not backwards",
        _but("2026-06-02", "2026-06-01"),
        (f"ends-before-start {WINDOW}.notAllowedDates[0].end",),
    ),
    Row(
        "not without an end",
        one(notAllowedDates=[{"start": "2026-06-02"}]),
        (f"missing-field {WINDOW}.notAllowedDates[0].end",),
    ),
    Row(
        "not on instants",
        _but("2026-06-02T00:00:00Z", "2026-06-03"),
        (f"wrong-length {WINDOW}.notAllowedDates[0].start",),
    ),
    Row(
        "not 101 times",
        one(notAllowedDates=[HOLIDAYS] * 101),
        (f"too-many-items {WINDOW}.notAllowedDates",),
    ),
    # names of windows (D16) and the older form
    Row(
        "a window of no name",
        maintenance({"maintenanceWindow": configuration()["maintenanceWindow"]}),
        ("missing-field spec.windows[0].name",),
    ),
    Row("a window of another name", maintenance(configuration("nodes")), ("wrong-form spec.windows[0].name",)),
    Row("a window at no time", maintenance({"name": "kubernetes"}), ("window-source spec.windows[0]",)),
    Row(
        "a window twice",
        maintenance({**configuration("default"), **in_week()}),
        ("window-source spec.windows[0]",),
    ),
    Row("a daily platform window", maintenance(configuration("platform", DAILY)), (f"not-for-this-window {SCHEDULE}",)),
    Row("a daily default window", maintenance(configuration("Default", DAILY)), (f"not-for-this-window {SCHEDULE}",)),
    Row(
        "hours of weekdays for Kubernetes",
        maintenance(in_week("aksManagedAutoUpgradeSchedule")),
        ("not-for-this-window spec.windows[0].timeInWeek",),
    ),
    Row(
        "spans that are cut out of the newer form",
        maintenance(
            {
                **configuration("default"),
                "notAllowedTime": [{"start": "2026-01-01T00:00:00Z", "end": "2026-01-02T00:00:00Z"}],
            }
        ),
        ("not-for-this-window spec.windows[0].notAllowedTime",),
    ),
    Row(
        "a span that ends before it begins",
        maintenance(in_week(notAllowedTime=[{"start": "2026-01-02T00:00:00Z", "end": "2026-01-01T00:00:00Z"}])),
        ("ends-before-start spec.windows[0].notAllowedTime[0].end",),
    ),
    Row(
        "hour 24",
        maintenance({"name": "default", "timeInWeek": [{"day": "Monday", "hourSlots": [24]}]}),
        ("out-of-range spec.windows[0].timeInWeek[0].hourSlots[0]",),
    ),
    Row(
        "no hours",
        maintenance({"name": "default", "timeInWeek": [{"day": "Monday", "hourSlots": []}]}),
        ("too-few-items spec.windows[0].timeInWeek[0].hourSlots",),
    ),
    Row(
        "a window's selector with a slip",
        maintenance({**configuration(), "memberSelector": {"byLabel": "env in prod"}}),
        ("invalid-label-selector spec.windows[0].memberSelector.byLabel",),
    ),
    # freezes and budgets
    Row(
        "a freeze that ends before it begins",
        maintenance(freezes=[freeze(end="2026-12-19")]),
        ("ends-before-start spec.freezes[0].end",),
    ),
    Row(
        "a freeze of no day", maintenance(freezes=[freeze(start="2026-11-31")]), ("no-such-date spec.freezes[0].start",)
    ),
    Row(
        "a freeze without an end",
        maintenance(freezes=[{"name": "a", "start": "2026-12-01"}]),
        ("missing-field spec.freezes[0].end",),
    ),
    Row(
        "a freeze by two clocks",
        maintenance(freezes=[freeze(utcOffset="+01:00", timeZone="UTC")]),
        ("two-clocks spec.freezes[0].timeZone",),
    ),
    Row(
        "a freeze nowhere",
        maintenance(freezes=[freeze(timeZone="Mars/Olympus")]),
        ("unknown-time-zone spec.freezes[0].timeZone",),
    ),
    Row("two freezes of one name", maintenance(freezes=[freeze(), freeze()]), ("duplicate-name spec.freezes[1].name",)),
    Row("a freeze of a long name", maintenance(freezes=[freeze("f" * 51)]), ("wrong-length spec.freezes[0].name",)),
    Row("a budget of nothing", maintenance(budgets=[{"name": "all"}]), ("budget-of-nothing spec.budgets[0]",)),
    Row(
        "a budget of a part",
        maintenance(budgets=[{"name": "all", "nodes": "1.5%"}]),
        ("wrong-form spec.budgets[0].nodes",),
    ),
    Row(
        "a budget of less than none",
        maintenance(budgets=[{"name": "all", "members": "-1"}]),
        ("wrong-form spec.budgets[0].members",),
    ),
    Row(
        "two budgets of one name",
        maintenance(budgets=[{"name": "all", "members": "1"}, {"name": "all", "nodes": "5%"}]),
        ("duplicate-name spec.budgets[1].name",),
    ),
    Row("maintenance of nothing known", maintenance(window=[]), ("unknown-field spec.window",)),
    # release catalogues
    Row("a catalogue of nowhere", catalogue(), ("too-few-items spec.locations",)),
    Row("a place without a name", catalogue({"versions": []}), (f"missing-field {LOCATION}.name",)),
    Row("a place twice", catalogue(location("r1"), location("r1")), ("duplicate-location spec.locations[1].name",)),
    Row("a minor as release", catalogue(location("r1", "1.34")), (f"wrong-form {LOCATION}.versions[0].version",)),
    Row("a release in words", catalogue(location("r1", "stable")), (f"wrong-form {LOCATION}.versions[0].version",)),
    Row(
        "a release with a bad suffix",
        catalogue(location("r1", "1.34.2-a..b")),
        (f"not-a-release {LOCATION}.versions[0].version",),
    ),
    Row(
        "a release twice",
        catalogue(location("r1", "1.34.2", "v1.34.2")),
        (f"duplicate-release {LOCATION}.versions[1].version",),
    ),
    Row(
        "a release of another status",
        catalogue(location("r1", versions=[{"version": "1.34.2", "status": "GA"}])),
        (f"not-one-of {LOCATION}.versions[0].status",),
    ),
    Row(
        "a release at no instant",
        catalogue(location("r1", versions=[{"version": "1.34.2", "availableFrom": "2026-01-01"}])),
        (f"invalid-time {LOCATION}.versions[0].availableFrom",),
    ),
    Row(
        "images without versions",
        catalogue(location("r1", images=[{"family": "u"}])),
        (f"missing-field {_FAMILY}.versions",),
    ),
    Row(
        "images of another system",
        catalogue(location("r1", images=[family(os="linux")])),
        (f"not-one-of {_FAMILY}.os",),
    ),
    Row(
        "a family twice",
        catalogue(location("r1", images=[family(), family()])),
        (f"duplicate-family {LOCATION}.images[1].family",),
    ),
    Row(
        "an image twice",
        catalogue(location("r1", images=[family("u", "1.0", "1.0")])),
        (f"duplicate-release {_FAMILY}.versions[1].version",),
    ),
    Row(
        "an image of an empty version",
        catalogue(location("r1", images=[family("u", "")])),
        (f"wrong-form {_FAMILY}.versions[0].version",),
    ),
    Row("no minor supported", catalogue(location(), supportedMinors=0), ("out-of-range spec.supportedMinors",)),
    Row("images that never age", catalogue(location(), imageAgeDays=0), ("out-of-range spec.imageAgeDays",)),
    # profiles
    Row("a profile of no channel", profile(None), ("missing-field spec.channel",)),  # D3-85
    Row("a profile of another channel", profile("Fast"), ("not-one-of spec.channel",)),  # D3-86
    Row("a channel in lower case", profile("rapid"), ("not-one-of spec.channel",)),
    Row(
        "a pinned profile without a minor",
        profile("TargetKubernetesVersion"),
        ("target-minor-missing spec.targetKubernetesVersion",),
    ),
    Row(
        "a minor for Rapid",
        profile("Rapid", targetKubernetesVersion="1.30"),
        ("target-minor-not-wanted spec.targetKubernetesVersion",),
    ),
    Row(
        "a patch as minor",
        profile("TargetKubernetesVersion", targetKubernetesVersion="1.30.2"),
        ("wrong-form spec.targetKubernetesVersion",),
    ),
    Row("long-term support for Stable", profile(longTermSupport=True), ("long-term-not-wanted spec.longTermSupport",)),
    Row(
        "named images in a profile",
        profile(nodeImageSelection={"type": "Custom"}),
        ("not-one-of spec.nodeImageSelection.type",),
    ),
    Row("a profile with stages", profile(strategy={"stages": []}), ("unknown-field spec.strategy",)),
    Row("a profile with a dot", named(profile(), name="stable.1"), ("invalid-name metadata.name",)),
    Row("a profile with a long name", named(profile(), name="p" * 51), ("name-too-long metadata.name",)),
    # all at once
    Row(
        "everything about a window",
        maintenance(
            {
                **configuration(
                    "nodes", {}, durationHours=2, startTime="1", utcOffset="+1", timeZone="X/Y", startDate="2026-02-30"
                ),
                "memberSelector": {"byLabel": "a>b"},
            }
        ),
        (
            "wrong-form spec.windows[0].name",
            f"out-of-range {WINDOW}.durationHours",
            f"wrong-form {WINDOW}.startTime",
            f"wrong-form {WINDOW}.utcOffset",
            "invalid-label-selector spec.windows[0].memberSelector.byLabel",
            f"schedule-form {SCHEDULE}",
            f"two-clocks {WINDOW}.timeZone",
            f"unknown-time-zone {WINDOW}.timeZone",
            f"no-such-date {WINDOW}.startDate",
        ),
    ),
)
