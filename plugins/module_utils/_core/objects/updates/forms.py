# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Fields for texts and limits (maxConcurrency, maxAllowedFailures) in update strategies, runs and gates with their
forms (Azure Fleet's published types), and rules of these kinds in CEL.

``doc`` is what definitions and docs say of a field. ``strategy_rules`` and ``run_rules`` say the same as the rules
here, and more, with field paths. The API server estimates what a rule costs from the limits of lists and texts, so each
of those that a rule looks at has a limit.
"""

from __future__ import annotations

import typing as t

from ...schema.prop import prop
from ...values.kube_version import NUMBER
from ...values.selector import DNS_LABEL

NAME_LENGTH = 50
NAME = f"^{DNS_LABEL}$"
NAME_FORM = "a name: lower-case letters, digits and '-', a letter or digit at each end"
CONCURRENCY = r"^(?:[1-9][0-9]*|(?:[1-9][0-9]?|100)%)$"
CONCURRENCY_FORM = "a number of at least 1 or a percentage from 1% to 100%"
FAILURES = r"^(?:0|[1-9][0-9]*|(?:0|[1-9][0-9]?|100)%)$"
FAILURES_FORM = "a number of at least 0 or a percentage from 0% to 100%"
# Ours: the published form has no way to say that a group tolerates what its stage does.
INHERIT = "inherit"
GROUP_FAILURES = FAILURES.replace("(?:0|", f"(?:{INHERIT}|0|", 1)
GROUP_FAILURES_FORM = f"{FAILURES_FORM}, or {INHERIT}"
START_TIME = r"^([01][0-9]|2[0-3]):[0-5][0-9]$"
UTC_OFFSET = r"^[+-]((0[0-9]|1[0-3]):[0-5][0-9]|14:00)$"
VERSION = rf"^v?{NUMBER}\.{NUMBER}(\.{NUMBER})?$"
STRATEGY_ID = r"^(.*/)?[a-z0-9]([-a-z0-9]{0,48}[a-z0-9])?$"
GUID = r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
GUID_FORM = "a GUID in lower case"
DIGEST = r"^sha256:[0-9a-f]{64}$"
CEILING = 50
LIMIT_LENGTH = 10

Rules = tuple[tuple[str, str], ...]

STAGES_RULES: Rules = (
    ("self.all(s, self.exists_one(o, o.name == s.name))", "stages have names of their own"),
    ("self.all(s, has(s.groups) || has(s.memberSelector))", "a stage needs groups or a memberSelector"),
)
GROUPS_RULES: Rules = (("self.all(g, self.exists_one(o, o.name == g.name))", "groups have names of their own"),)
GATES_RULES: Rules = (
    (
        "self.all(g, (g.type == 'ScheduledStart') == has(g.scheduledStartConfiguration))",
        "ScheduledStart needs a scheduledStartConfiguration, and Approval has none",
    ),
)
AFTER_GATES_RULES: Rules = (
    ("self.all(g, g.type != 'ScheduledStart')", "ScheduledStart stands in beforeGates only"),
    *GATES_RULES,
)
CEILING_RULES: Rules = (
    (f"self.endsWith('%') || int(self) <= {CEILING}", f"a stage updates at most {CEILING} members at once"),
)
UPGRADE_RULES: Rules = (
    (
        "self.type == 'NodeImageOnly' || has(self.kubernetesVersion)",
        "Full and ControlPlaneOnly need a kubernetesVersion",
    ),
    ("self.type != 'NodeImageOnly' || !has(self.kubernetesVersion)", "NodeImageOnly has no kubernetesVersion"),
    ("self.type != 'NodeImageOnly' || !self.chain", "chain stands with Full and ControlPlaneOnly only"),
)
SELECTION_RULES: Rules = (
    ("self.type != 'Custom' || has(self.customNodeImageVersions)", "Custom needs customNodeImageVersions"),
    ("self.type == 'Custom' || !has(self.customNodeImageVersions)", "customNodeImageVersions stand beside Custom only"),
)
RUN_SPEC_RULES: Rules = (
    ("!has(self.updateStrategyId) || !has(self.strategy)", "updateStrategyId and strategy exclude each other"),
    (
        "!has(self.autoUpgradeProfileId) || !self.managedClusterUpdate.upgrade.chain",
        "runs of a profile have no chain",
    ),
)
RUN_RULES: Rules = (
    (
        "!has(oldSelf.status) || oldSelf.status.phase == 'new' || self.spec == oldSelf.spec",
        "the spec of a run that was started cannot be changed",
    ),
    (
        "!has(oldSelf.status) || oldSelf.status.phase == 'new' || (has(self.status) && self.status.phase == 'active')",
        "a run that was started stays so",
    ),
)
GATE_SPEC_RULES: Rules = (
    ("self == oldSelf", "the spec of a gate cannot be changed"),
    (
        "(self.gateType == 'ScheduledStart') == has(self.scheduledStartProperties)",
        "ScheduledStart needs scheduledStartProperties, and Approval has none",
    ),
)
GATE_STATUS_RULES: Rules = (
    ("oldSelf.state == 'Pending' || self.state == oldSelf.state", "a gate that is done stays as it is"),
)


def name_prop(doc: str, **details: t.Any) -> t.Any:
    """A field for the name, of 1 to 50 characters, of a run, stage, group, freeze or the like. Required without a
    ``default`` in ``details``, which are as of ``prop``."""
    return prop(doc, max_length=NAME_LENGTH, pattern=NAME, form=NAME_FORM, **details)


def concurrency_prop(doc: str, rules: Rules = ()) -> t.Any:
    """A field for maxConcurrency, a number of at least 1 or a percentage from 1% to 100%, as text of at most 10
    characters, empty where it is left out; a bare whole number is repaired. ``rules`` are in CEL."""
    details = {"max_length": LIMIT_LENGTH, "pattern": CONCURRENCY, "form": CONCURRENCY_FORM, "digits": True}
    return prop(doc, default="", rules=rules, **details)


def failures_prop(doc: str) -> t.Any:
    """A field for maxAllowedFailures of a stage, a number of at least 0 or a percentage from 0% to 100%, as text of at
    most 10 characters, empty where it is left out; a bare whole number is repaired."""
    return prop(doc, default="", max_length=LIMIT_LENGTH, pattern=FAILURES, form=FAILURES_FORM, digits=True)


def group_failures_prop(doc: str) -> t.Any:
    """A field for maxAllowedFailures of a group, as of ``failures_prop``, or ``inherit`` for its stage's; one that is
    left out does not inherit."""
    form = {"pattern": GROUP_FAILURES, "form": GROUP_FAILURES_FORM}
    return prop(doc, default="", max_length=LIMIT_LENGTH, digits=True, **form)


def display_name_prop() -> t.Any:
    """A field for a name of 1 to 100 characters that people see; left out, it is empty."""
    return prop("Name that people see.", default="", min_length=1, max_length=100)


def start_time_prop() -> t.Any:
    """A required field for a time of day, HH:MM, from 00:00 to 23:59."""
    return prop("Time of day, HH:MM.", pattern=START_TIME, form="a time of day such as 09:30", max_length=5)


def utc_offset_prop(**details: t.Any) -> t.Any:
    """A field for an offset from UTC, +HH:MM or -HH:MM, of at most 14 hours. Required without a ``default`` in
    ``details``, which are as of ``prop``."""
    form = {"pattern": UTC_OFFSET, "form": "an offset such as +02:00", "max_length": 6}
    return prop("Offset from UTC, +HH:MM or -HH:MM.", **form, **details)


def digest_prop(doc: str) -> t.Any:
    """A field for a whole SHA-256 digest, ``sha256:`` and 64 hexadecimal digits in lower case; empty, the default,
    means none."""
    return prop(doc, default="", pattern=DIGEST, form="a digest such as sha256: and 64 digits", max_length=71)
