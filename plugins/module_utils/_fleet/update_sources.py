# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Update runs and strategies as people write them: from files, or given outright."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from .._core.errors import FleetError, Problem
from .._core.objects.reading import read
from .._core.objects.update_run import UpdateRun
from .._core.objects.update_strategy import UpdateStrategy
from .._store.manifests import read_manifests

KINDS = ("UpdateRun", "UpdateStrategy")


@dataclass(frozen=True, kw_only=True)
class Written:
    """Runs and strategies by name, and what is worth a word about them."""

    runs: t.Mapping[str, UpdateRun] = field(default_factory=dict)
    strategies: t.Mapping[str, UpdateStrategy] = field(default_factory=dict)
    findings: tuple[Problem, ...] = ()


def written(src: t.Sequence[str], definitions: t.Sequence[t.Mapping[str, t.Any]], strict: bool) -> Written:
    """Every UpdateRun and UpdateStrategy in the files and among the definitions; all problems at once."""
    documents = [(each.document, each.where) for each in read_manifests(src)] if src else []
    documents = [each for each in documents if each[0].get("kind") in KINDS]
    documents += [(dict(each), f"definition {number + 1}") for number, each in enumerate(definitions)]
    runs: dict[str, UpdateRun] = {}
    strategies: dict[str, UpdateStrategy] = {}
    problems: list[Problem] = []
    findings: list[Problem] = []
    for document, where in documents:
        try:
            reading = read(document, where, strict)
            _put(reading.object, runs, strategies, where)
        except FleetError as error:
            problems.extend(error.problems)
            continue
        findings += [Problem(each.code, each.message, each.where or where) for each in reading.findings]
    if problems:
        raise FleetError.of(problems)
    return Written(runs=runs, strategies=strategies, findings=tuple(findings))


def _put(obj: t.Any, runs: dict[str, UpdateRun], strategies: dict[str, UpdateStrategy], where: str) -> None:
    if not isinstance(obj, (UpdateRun, UpdateStrategy)):
        raise FleetError("not-an-update-run", f"this is a {obj.kind}, not one of {', '.join(KINDS)}", where)
    there: dict[str, t.Any] = runs if isinstance(obj, UpdateRun) else strategies
    if obj.name in there:
        raise FleetError("duplicate-object", f"{obj.kind} {obj.name} is given twice", where)
    there[obj.name] = obj


def name_of(name: str, given: Written) -> str:
    """The run that is meant: the one named, or the only one that is defined. FleetError ``which-run``."""
    if name:
        return name
    if len(given.runs) == 1:
        return next(iter(given.runs))
    there = ", ".join(sorted(given.runs)) or "none"
    raise FleetError("which-run", f"a run has to be named; defined are {there}", "name")
