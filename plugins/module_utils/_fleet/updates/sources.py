# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What update runs go by, as people write it in files or give it outright: runs, strategies, windows, releases."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..._core.errors import FleetError, Problem
from ..._core.objects.api_groups import FLEET_API
from ..._core.objects.clusters.fleet_maintenance import FleetMaintenance
from ..._core.objects.reading import read
from ..._core.objects.updates.release_catalog import ReleaseCatalog
from ..._core.objects.updates.strategy import UpdateStrategy
from ..._core.objects.updates.update_run import UpdateRun
from ..._core.schema.checking import Written as Text
from ..._core.schema.checking import as_read
from ..._core.schema.codec import encode
from ..._store.manifests import read_manifests
from ..._store.records import Records
from ..not_carried_out import in_files

Spec = UpdateRun | UpdateStrategy | FleetMaintenance | ReleaseCatalog  # pylint: disable=unsupported-binary-operation  # Python 3.11 can
_CLASSES: tuple[type[Spec], ...] = (UpdateRun, UpdateStrategy, FleetMaintenance, ReleaseCatalog)
KINDS = tuple(each.__name__ for each in _CLASSES)


@dataclass(frozen=True, kw_only=True)
class UpdateManifests:
    """Objects of each kind by name, and what is worth a word about them."""

    runs: t.Mapping[str, UpdateRun] = field(default_factory=dict)
    strategies: t.Mapping[str, UpdateStrategy] = field(default_factory=dict)
    maintenance: t.Mapping[str, FleetMaintenance] = field(default_factory=dict)
    catalogues: t.Mapping[str, ReleaseCatalog] = field(default_factory=dict)
    findings: tuple[Problem, ...] = ()


def written(src: t.Sequence[str], definitions: t.Sequence[t.Mapping[str, t.Any]], strict: bool) -> UpdateManifests:
    """Every object of these kinds in the files and among the definitions; all problems at once."""
    manifests = read_manifests(src) if src else ()
    documents: list[tuple[dict[str, t.Any], str, Text]] = [
        (each.document, each.where, each.written) for each in manifests if each.document.get("kind") in KINDS
    ]
    documents += [(dict(each), f"definition {number + 1}", as_read) for number, each in enumerate(definitions)]
    there: dict[str, dict[str, t.Any]] = {kind: {} for kind in KINDS}
    problems: list[Problem] = []
    findings: list[Problem] = [*in_files(manifests)]
    for document, where, text in documents:
        try:
            reading = read(document, where, strict, written=text)
            _put(reading.object, there, where)
        except FleetError as error:
            problems.extend(error.problems)
            continue
        findings += [Problem(each.code, each.message, each.where or where) for each in reading.findings]
    if problems:
        raise FleetError.of(problems)
    runs, strategies, maintenance, catalogues = there.values()
    return UpdateManifests(
        runs=runs,
        strategies=strategies,
        maintenance=maintenance,
        catalogues=catalogues,
        findings=tuple(findings),
    )


def keep(records: Records, given: t.Iterable[Spec], write: bool) -> bool:
    """Puts specs of people into the records, where others see them too; whether any was new or another."""
    changed = False
    for each in given:
        kind = type(each).__name__
        body = {"apiVersion": FLEET_API, "kind": kind, "spec": encode(each.spec)}
        stored = records.get(kind, each.name)
        if stored is not None and stored["spec"] == body["spec"]:
            continue
        changed = True
        if write and stored is None:
            records.create({**body, "metadata": {"name": each.name}})
        elif write and stored is not None:
            records.replace({**stored, **body})
    return changed


def _put(obj: t.Any, there: dict[str, dict[str, t.Any]], where: str) -> None:
    if not isinstance(obj, _CLASSES):
        raise FleetError("not-an-update-run", f"this is a {obj.kind}, not one of {', '.join(KINDS)}", where)
    named = there[obj.kind]
    if obj.name in named:
        raise FleetError("duplicate-object", f"{obj.kind} {obj.name} is given twice", where)
    named[obj.name] = obj


def name_of(name: str, given: UpdateManifests) -> str:
    """The run that is meant: the one named, or the only one that is defined. FleetError ``which-run``."""
    if name:
        return name
    if len(given.runs) == 1:
        return next(iter(given.runs))
    there = ", ".join(sorted(given.runs)) or "none"
    raise FleetError("which-run", f"a run has to be named; defined are {there}", "name")
