# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Objects that people give in files or in a task, by kind and name (``duplicate-object``); which run is meant
(``which-run``); their specs recorded."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from .._core.errors import FleetError, Problem
from .._core.objects.reading import read
from .._core.schema.checking import Written as Text
from .._core.schema.checking import no_written_text
from .._core.schema.codec import encode
from .._core.schema.meta import ObjectMeta
from .._store.kinds import record_name
from .._store.manifests import Manifest
from .._store.records import Record, Records

_ATTEMPTS = 5


class Named(t.Protocol):
    """An object of any kind that people have written; nothing of it is changed here."""

    @property
    def api_version(self) -> str:
        """Group and version of its API, such as ``gitops.fleet/v1alpha1``."""

    @property
    def kind(self) -> str:
        """Its kind."""

    @property
    def name(self) -> str:
        """Its name, without the namespace."""

    @property
    def metadata(self) -> ObjectMeta:
        """Its metadata; the namespace in it is empty where it has none."""

    @property
    def spec(self) -> t.Any:
        """What people write: an object that ``encode`` takes."""


@dataclass(frozen=True, kw_only=True)
class Given:
    """``objects`` by kind, then by name (``namespace/name`` where there is a namespace), with an empty row for a kind
    of which none is given. ``findings`` are repairs and warnings."""

    objects: t.Mapping[str, t.Mapping[str, t.Any]]
    findings: tuple[Problem, ...]


def given_objects(
    kinds: t.Sequence[str],
    manifests: t.Iterable[Manifest],
    definitions: t.Sequence[t.Mapping[str, t.Any]],
    strict: bool,
    other_kind: str,
) -> Given:
    """All objects of these kinds in the manifests, and all definitions; ``strict`` as of ``read``. FleetError with all
    problems at once: those of ``read``, the code ``other_kind`` for a definition of another kind, and
    ``duplicate-object`` for an object that is given twice."""
    documents: list[tuple[dict[str, t.Any], str, Text]] = [
        (each.document, each.where, each.written) for each in manifests if each.document.get("kind") in kinds
    ]
    documents += [(dict(each), f"definition {number + 1}", no_written_text) for number, each in enumerate(definitions)]
    there: dict[str, dict[str, t.Any]] = {kind: {} for kind in kinds}
    problems: list[Problem] = []
    findings: list[Problem] = []
    for document, where, text in documents:
        try:
            reading = read(document, where, strict, written=text)
            _put(reading.object, there, where, other_kind)
        except FleetError as error:
            problems.extend(error.problems)
            continue
        findings += [Problem(each.code, each.message, each.where or where) for each in reading.findings]
    if problems:
        raise FleetError.of(problems)
    return Given(objects=there, findings=tuple(findings))


def _put(found: t.Any, there: dict[str, dict[str, t.Any]], where: str, other_kind: str) -> None:
    """Puts the object into ``there``, by kind and name. FleetError with the code ``other_kind`` for a kind that is not
    in it, ``duplicate-object`` for a name that is."""
    named = there.get(found.kind)
    if named is None:
        raise FleetError(other_kind, f"this is a {found.kind}, not one of {', '.join(there)}", where)
    name = record_name({"metadata": _metadata(found)})
    if name in named:
        raise FleetError("duplicate-object", f"{found.kind} {name} is given twice", where)
    named[name] = found


def _metadata(found: Named) -> dict[str, str]:
    """Its name, and its namespace where it has one; labels and annotations are left out."""
    namespace = found.metadata.namespace
    return {"name": found.name, **({"namespace": namespace} if namespace else {})}


def run_meant(name: str, runs: t.Collection[str]) -> str:
    """``name`` as it is, defined or not; without one the only run that is. FleetError ``which-run`` where none or
    several are defined."""
    if name:
        return name
    if len(runs) == 1:
        return next(iter(runs))
    there = ", ".join(sorted(runs)) or "none"
    hint = "name one that is recorded (variable run), or give its manifests: docs/updates.md, docs/rollout.md (staged)"
    raise FleetError("which-run", f"a run has to be named; defined are {there}", "name", hint)


def record_specs(records: Records, given: t.Iterable[Named], write: bool) -> bool:
    """Records, if it is to ``write``, the specs that are new or differ from what is recorded; whether there are any.
    Labels and annotations are neither compared nor recorded. FleetError ``conflict`` or ``already-exists`` where
    somebody else has just written another spec, and others of the records; those before it stay recorded."""
    changed = False
    for each in given:
        metadata = _metadata(each)
        document = {"apiVersion": each.api_version, "kind": each.kind, "metadata": metadata, "spec": encode(each.spec)}
        stored = records.get(each.kind, record_name(document))
        if stored is not None and stored.get("spec") == document["spec"]:
            continue
        changed = True
        if write:
            _record(records, document, stored)
    return changed


def _record(records: Records, document: Record, stored: Record | None) -> None:
    """Records the spec of the document in place of what is ``stored``. It is enough if others record the same spec at
    this very time, and it is tried again while they write only what is beside it. FleetError ``conflict`` or
    ``already-exists`` where they write another spec, or at each of ``_ATTEMPTS``, and others of the records."""
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            if stored is None:
                records.create(document)
            else:
                records.replace({**stored, "apiVersion": document["apiVersion"], "spec": document["spec"]})
            return
        except FleetError as error:
            if error.code not in ("already-exists", "conflict"):
                raise
            newer = records.get(document["kind"], record_name(document))
            if newer is not None and newer.get("spec") == document["spec"]:
                return
            beside = newer is not None and stored is not None and newer.get("spec") == stored.get("spec")
            if not beside or attempt == _ATTEMPTS:
                raise
            stored = newer
