# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Fields for texts in maintenance windows, release catalogues and profiles (names of windows, dates, offsets, time
zones, full versions), and for amounts in fleet budgets, with their forms; and rules of these kinds in CEL.

``doc`` is what definitions and docs say of a field. The grammar of windows is that of AKS planned maintenance.
``maintenance_rules`` and ``release_rules`` say the same as the rules here, and more, with field paths.
"""

from __future__ import annotations

import typing as t

from ...schema.prop import prop
from ...values.kube_version import NUMBER
from ..updates.forms import (
    FAILURES,
    FAILURES_FORM,
    LIMIT_LENGTH,
    Rules,
    utc_offset_prop,
)

KUBERNETES, NODE_IMAGE, PLATFORM = "kubernetes", "nodeImage", "platform"
# AKS names its three configurations so; its pages differ in the case of letters.
CONFIGURATIONS: t.Mapping[str, str] = {
    "kubernetes": KUBERNETES,
    "nodeimage": NODE_IMAGE,
    "platform": PLATFORM,
    "aksmanagedautoupgradeschedule": KUBERNETES,
    "aksmanagednodeosupgradeschedule": NODE_IMAGE,
    "default": PLATFORM,
}
CONFIGURATION = (
    "(?i)^(kubernetes|nodeImage|platform|aksManagedAutoUpgradeSchedule|aksManagedNodeOSUpgradeSchedule|default)$"
)
CONFIGURATION_FORM = "one of kubernetes, nodeImage, platform, or a name of AKS such as aksManagedAutoUpgradeSchedule"
_IS_PLATFORM = "w.name.matches('(?i)^(platform|default)$')"
DATE = r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$"
RELEASE = rf"^v?{NUMBER}[.]{NUMBER}[.]{NUMBER}([-+][0-9A-Za-z][0-9A-Za-z.+-]*)?$"
MINOR = rf"^v?{NUMBER}[.]{NUMBER}$"
IMAGE_VERSION = r"^[0-9A-Za-z][0-9A-Za-z._-]*$"
MAX_WINDOWS, MAX_FREEZES, MAX_BUDGETS, MAX_SPANS = 100, 100, 50, 100

SCHEDULE_RULES: Rules = (
    (
        "[has(self.daily), has(self.weekly), has(self.absoluteMonthly), has(self.relativeMonthly)]"
        ".filter(s, s).size() == 1",
        "exactly one of daily, weekly, absoluteMonthly and relativeMonthly is wanted",
    ),
)
CLOCK_RULES: Rules = (("!has(self.utcOffset) || !has(self.timeZone)", "utcOffset and timeZone exclude each other"),)
SPAN_RULES: Rules = (("self.all(s, s.end >= s.start)", "the end is not before the start"),)
FREEZES_RULES: Rules = (
    *SPAN_RULES,
    ("self.all(f, self.exists_one(o, o.name == f.name))", "freezes have names of their own"),
    ("self.all(f, !has(f.utcOffset) || !has(f.timeZone))", CLOCK_RULES[0][1]),
)
BUDGETS_RULES: Rules = (
    ("self.all(b, self.exists_one(o, o.name == b.name))", "budgets have names of their own"),
    ("self.all(b, has(b.members) || has(b.nodes))", "a budget limits members, nodes, or both"),
)
WINDOWS_RULES: Rules = (
    (
        "self.all(w, has(w.maintenanceWindow) != has(w.timeInWeek))",
        "one of maintenanceWindow and timeInWeek is wanted",
    ),
    (
        "self.all(w, !has(w.notAllowedTime) || has(w.timeInWeek))",
        "notAllowedTime stands beside timeInWeek only",
    ),
    (f"self.all(w, !has(w.timeInWeek) || {_IS_PLATFORM})", "timeInWeek is for platform (default) only"),
    (
        f"self.all(w, !{_IS_PLATFORM} || !has(w.maintenanceWindow) || has(w.maintenanceWindow.schedule.weekly))",
        "platform (default) has weekly windows only",
    ),
)
LOCATIONS_RULES: Rules = (("self.all(l, self.exists_one(o, o.name == l.name))", "locations have names of their own"),)
PROFILE_SPEC_RULES: Rules = (
    (
        "(self.channel == 'TargetKubernetesVersion') == has(self.targetKubernetesVersion)",
        "targetKubernetesVersion stands with channel TargetKubernetesVersion, and only there",
    ),
    (
        "!self.longTermSupport || self.channel == 'TargetKubernetesVersion'",
        "longTermSupport stands with channel TargetKubernetesVersion only",
    ),
    (
        "has(self.updateStrategyId) == has(oldSelf.updateStrategyId)"
        " && (!has(self.updateStrategyId) || self.updateStrategyId == oldSelf.updateStrategyId)",
        "updateStrategyId cannot be changed",
    ),
    (
        "has(self.nodeImageSelection) == has(oldSelf.nodeImageSelection)"
        " && (!has(self.nodeImageSelection) || self.nodeImageSelection == oldSelf.nodeImageSelection)",
        "nodeImageSelection cannot be changed",
    ),
)


def configuration_prop() -> t.Any:
    """A required field for the name of a maintenance window, which is what it governs: kubernetes, nodeImage, platform
    or AKS' name of one of these, in any case."""
    doc = "What the window governs: kubernetes, nodeImage or platform; the names of AKS are taken too."
    return prop(doc, max_length=40, pattern=CONFIGURATION, form=CONFIGURATION_FORM)


def date_prop(doc: str, **details: t.Any) -> t.Any:
    """A field for a date in the form YYYY-MM-DD; whether the month has that day is for rules. Required without a
    ``default`` in ``details``, which are as of ``prop``."""
    return prop(doc, max_length=10, pattern=DATE, form="a date such as 2026-12-24", **details)


def offset_prop() -> t.Any:
    """A field for an offset from UTC, as of ``utc_offset_prop``, that may be left out, but not be empty."""
    return utc_offset_prop(default="")


def time_zone_prop() -> t.Any:
    """A field for a time zone by its IANA name, of 1 to 64 characters, that may be left out; whether there is such a
    zone is for rules."""
    doc = "IANA time zone, such as Europe/Vienna, instead of utcOffset."
    return prop(doc, default="", min_length=1, max_length=64)


def amount_prop(doc: str) -> t.Any:
    """A field of a fleet budget for a number of at least 0 or a percentage from 0% to 100%, as text of at most 10
    characters; a bare whole number is repaired, and empty, the default, means that it was left out."""
    return prop(doc, default="", max_length=LIMIT_LENGTH, pattern=FAILURES, form=FAILURES_FORM, digits=True)


def release_prop(doc: str) -> t.Any:
    """A required field for a version of three numbers, with or without a ``v`` and a suffix, of at most 60
    characters."""
    return prop(doc, max_length=60, pattern=RELEASE, form="a full version such as 1.34.2")
