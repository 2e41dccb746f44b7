# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What came of auto-upgrade profiles, and why nothing did, as a table: goal, run, members behind, and runs by hand that
would help."""

from __future__ import annotations

import typing as t

from .._core.values.listed import listed
from .text import table

Data = t.Mapping[str, t.Any]
NAMED = 10


def profiles_text(profiles: t.Sequence[Data]) -> list[str]:
    """A table with a row for each profile, and below it its reasons, the runs by hand that would bring members nearer,
    and its notes; ``profiles`` are as results of ``auto_upgrade_profile`` have them. A sentence where there is none."""
    rows: list[tuple[str, str, str, str]] = []
    for each in profiles:
        rows.append((each["name"], _goal(each), each["run"], _done(each)))
        rows += [("", "", "", line) for line in _reasons(each)]
    return table(("PROFILE", "GOAL", "RUN", "WHAT CAME OF IT"), rows, "") if rows else ["no profile is recorded"]


def _goal(each: Data) -> str:
    """The type with the version, or without one with the newest image of each family."""
    if each["target"]:
        return f"{each['type']} {each['target']}"
    images = ", ".join(f"{family} {version}" for family, version in sorted(each["images"].items()))
    return f"{each['type']} {images}".strip()


def _done(each: Data) -> str:
    """How many members are behind, and whether a run was made for them, or made and started."""
    count = len(each["behind"])
    members = f"{count} member{'s' * (count != 1)} behind"
    if each["started"]:
        return f"made and started: {members}"
    return f"made: {members}" if each["made"] else members


def _reasons(each: Data) -> t.Iterator[str]:
    """Each message of reasons once, with the first ``NAMED`` of its members; then the runs by hand that would bring
    members nearer; then notes."""
    told: dict[str, list[str]] = {}
    for reason in each["reasons"]:
        told.setdefault(reason["message"], []).extend([reason["member"]] if reason["member"] else [])
    for message, members in told.items():
        yield f"{listed(members, NAMED)}: {message}" if members else message
    for step in each["levelling"]:
        yield f"a run by hand to {step['version']} would bring nearer: {listed(step['members'], NAMED)}"
    yield from (note["message"] for note in each["notes"])
