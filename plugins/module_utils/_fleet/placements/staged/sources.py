# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Staged update runs and their strategies as people write them, in files or outright."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ...._core.errors import FleetError, Problem
from ...._core.objects.reading import read
from ...._core.objects.staged.strategy import ClusterStagedUpdateStrategy
from ...._core.objects.staged.update_run import ClusterStagedUpdateRun
from ...._core.schema.checking import Written as Text
from ...._core.schema.checking import as_read
from ...._core.schema.codec import encode
from ...._store.manifests import Manifest, read_manifests
from ...._store.records import Records
from ..overrides import LoadedOverrides, overrides_in
from ..sources import without_manifests

RUN, STRATEGY = "ClusterStagedUpdateRun", "ClusterStagedUpdateStrategy"


@dataclass(frozen=True, kw_only=True)
class StagedManifests:
    """What was given, by name. ``overrides`` are those of the same files, ``resources`` the paths in which the content
    of Secrets is looked for."""

    runs: t.Mapping[str, ClusterStagedUpdateRun] = field(default_factory=dict)
    strategies: t.Mapping[str, ClusterStagedUpdateStrategy] = field(default_factory=dict)
    overrides: LoadedOverrides = LoadedOverrides()
    resources: tuple[str, ...] = ()
    findings: tuple[Problem, ...] = ()


def staged_manifests(
    src: t.Sequence[str],
    definitions: t.Sequence[t.Mapping[str, t.Any]] = (),
    resources: t.Sequence[str] = (),
    strict: bool = False,
) -> StagedManifests:
    """Every object of the two kinds in the files and among the definitions, and the overrides; all problems at once."""
    manifests = read_manifests(src) if src else ()
    beside = read_manifests(resources) if resources else ()
    given: list[tuple[t.Mapping[str, t.Any], str, Text]] = [
        (each.document, each.where, each.written) for each in manifests if each.document.get("kind") in (RUN, STRATEGY)
    ]
    given += [(dict(each), f"definition {number + 1}", as_read) for number, each in enumerate(definitions)]
    runs: dict[str, ClusterStagedUpdateRun] = {}
    strategies: dict[str, ClusterStagedUpdateStrategy] = {}
    problems: list[Problem] = []
    findings: list[Problem] = [*without_manifests(src, manifests, "src")]
    for document, where, text in given:
        try:
            reading = read(document, where, strict, written=text)
            _put(reading.object, runs, strategies, where)
        except FleetError as error:
            problems.extend(error.problems)
            continue
        findings += [Problem(each.code, each.message, each.where or where) for each in reading.findings]
    if problems:
        raise FleetError.of(problems)
    overrides = overrides_in((*manifests, *_not_in(beside, manifests)), strict)
    return StagedManifests(
        runs=runs,
        strategies=strategies,
        overrides=overrides,
        resources=tuple(resources),
        findings=(*findings, *overrides.findings),
    )


def _put(
    found: object,
    runs: dict[str, ClusterStagedUpdateRun],
    strategies: dict[str, ClusterStagedUpdateStrategy],
    where: str,
) -> None:
    if isinstance(found, ClusterStagedUpdateRun) and found.kind == RUN:
        _add(runs, found, where)
    elif isinstance(found, ClusterStagedUpdateStrategy) and found.kind == STRATEGY:
        _add(strategies, found, where)
    else:
        kind = getattr(found, "kind", "something")
        raise FleetError("not-a-staged-run", f"this is a {kind}, neither a {RUN} nor a {STRATEGY}", where)


def _add(there: dict[str, t.Any], found: t.Any, where: str) -> None:
    if found.name in there:
        raise FleetError("duplicate-object", f"{found.kind} {found.name} is given twice", where)
    there[found.name] = found


def _not_in(manifests: t.Iterable[Manifest], others: t.Iterable[Manifest]) -> t.Iterator[Manifest]:
    there = {each.where for each in others}
    yield from (each for each in manifests if each.where not in there)


def run_name(name: str, given: StagedManifests) -> str:
    """The run that is meant: the one named, or the only one that is defined. FleetError ``which-run``."""
    if name:
        return name
    if len(given.runs) == 1:
        return next(iter(given.runs))
    there = ", ".join(sorted(given.runs)) or "none"
    raise FleetError("which-run", f"a run has to be named; defined are {there}", "name")


def keep_strategies(records: Records, given: StagedManifests, write: bool) -> bool:
    """Puts strategies of files into the records, where others see them too; whether any was new or another."""
    changed = False
    for each in given.strategies.values():
        body = {"apiVersion": each.api_version, "kind": STRATEGY, "spec": encode(each.spec)}
        stored = records.get(STRATEGY, each.name)
        if stored is not None and stored["spec"] == body["spec"]:
            continue
        changed = True
        if write and stored is None:
            records.create({**body, "metadata": {"name": each.name}})
        elif write and stored is not None:
            records.replace({**stored, "spec": body["spec"]})
    return changed
