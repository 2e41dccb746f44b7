# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What has changed from one fleet report to another, of clusters, placements, runs and drift; the earlier one is read
from a file and checked (``report-invalid``, ``report-too-new``)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..errors import FleetError
from ..values.listed import listed, number_of
from .document import SCHEMA
from .matrix import LETTERS, UNDECIDED
from .runs import KINDS, UPDATE_RUN

Report = t.Mapping[str, t.Any]
# What is compared of each part, and of which type it is.
_COMPARED: t.Mapping[str, t.Mapping[str, type]] = {
    "clusters": {"name": str, "state": str, "version": str, "why": str},
    "placements": {"name": str, "cells": str},
    "runs": {"name": str, "state": str, "progress": str, "outcome": str},
    "drift": {"placement": str, "cluster": str, "object": str, "path": str, "live": str, "placed": str},
}
NAMED = 12


@dataclass(frozen=True)
class Change:
    """``what`` is cluster, placement, run, staged run, rotation or drift; ``text`` goes on after the ``name``."""

    what: str
    name: str
    text: str

    def as_dict(self) -> dict[str, str]:
        """The change as reports have it: the fields."""
        return {"what": self.what, "name": self.name, "text": self.text}


def checked_report(document: t.Any, where: str) -> Report:
    """The document itself, unchanged, if ``changes`` can compare it: the parsed JSON of a report of this or an older
    schema. ``where`` is its file, for messages. FleetError ``report-invalid`` for anything else, ``report-too-new`` for
    a newer schema."""
    hint = "give the report.json that an earlier run of gitops.fleet.report has written"
    if not isinstance(document, dict) or not isinstance(document.get("schema"), int) or "madeAt" not in document:
        raise FleetError("report-invalid", "this is no report of a fleet", where, hint)
    if document["schema"] > SCHEMA:
        message = f"the report has schema {document['schema']}, this version reads up to {SCHEMA}"
        raise FleetError("report-too-new", message, where, "use the newer collection, or make the report again")
    for part, wanted in _COMPARED.items():
        rows = document.get(part)
        if not isinstance(rows, list) or not all(_is_row(each, wanted) for each in rows):
            raise FleetError("report-invalid", f"{part} of the report cannot be read", where, hint)
    if any(len(each["cells"]) != len(document["clusters"]) for each in document["placements"]):
        raise FleetError("report-invalid", "placements and clusters of the report do not fit together", where, hint)
    return document


def changes(old: Report, new: Report) -> t.Iterator[Change]:
    """What has changed of clusters (which there are, version, state), placements, runs (which there are, state and
    progress, not outcome alone) and drift (which fields, not which values they have); ``old`` is of ``checked_report``,
    ``new`` of ``Overview.as_dict``. Who holds a placement counts, and not who is to gain it; of one that could not be
    decided that is not known. Runs of a report that tells no kinds are update runs. Drift that a look has found and
    that is not told any more counts as mended only if all of its cluster has been looked at."""
    for name, before, after in _pairs(old["clusters"], new["clusters"]):
        yield from (Change("cluster", name, text) for text in _cluster(before, after))
    held, holds = _holders(old), _holders(new)
    for name in sorted({*held, *holds}):
        if name not in held or name not in holds:
            text = f"is new, {_known(holds[name])}" if name in holds else "is gone"
            yield Change("placement", name, text)
        else:
            yield from (Change("placement", name, text) for text in _placement(held[name], holds[name]))
    for kind in KINDS:
        of_kind = ([each for each in of["runs"] if each.get("kind", UPDATE_RUN) == kind] for of in (old, new))
        for name, before, after in _pairs(*of_kind):
            yield from (Change("run" if kind == UPDATE_RUN else kind, name, text) for text in _run(before, after))
    drifted, drifts = ({_field(each): each for each in of["drift"]} for of in (old, new))
    looked = {each["name"]: each.get("drift") or {} for each in new["clusters"]}
    for key in sorted({*drifted, *drifts}):
        if key not in drifts:
            again, there = "is not placed there any more", holds.get(key[1], frozenset())
            if there is None or key[0] in there:
                known = _known_of(key[0], drifted[key], looked)
                again = "is as placed again" if known else "has not been looked at since"
            yield Change("drift", key[0], f"{key[2]} of {key[1]}: {key[3] or 'it'} {again}")
        elif key not in drifted:
            row = drifts[key]
            text = f"{key[2]} of {key[1]}: {key[3] or 'it'} is {row['live'] or 'missing'}, placed {row['placed']}"
            yield Change("drift", key[0], text)


def _cluster(before: Report | None, after: Report | None) -> t.Iterator[str]:
    """What has changed of one cluster, None: it is not in that report; nothing where version and state are the same."""
    if before is None or after is None:
        yield "has joined" if before is None else "has left the fleet"
        return
    if before["version"] != after["version"]:
        yield f"version {before['version'] or '?'} -> {after['version'] or '?'}"
    if before["state"] != after["state"]:
        why = f": {after['why']}" if after["why"] else ""
        yield f"{before['state']} -> {after['state']}{why}"


def _placement(before: frozenset[str] | None, after: frozenset[str] | None) -> t.Iterator[str]:
    """Who holds it now or no more, the first 12 names of each; or, if it could be decided in one of the reports alone
    (None: not in that one), how that is now."""
    if before is None or after is None:
        if before is not after:
            yield f"is {'decided again' if before is None else 'undecided now'}, {_known(after)}"
        return
    for verb, names in (("has come to", after - before), ("has left", before - after)):
        if names:
            yield f"{verb} {listed(sorted(names), NAMED)}"


def _run(before: Report | None, after: Report | None) -> t.Iterator[str]:
    """That the run is new, gone, or has another state or progress; None: it is not in that report."""
    if after is None:
        yield "is gone"
        return
    told = f"{after['state']} {after['outcome']}".strip() + (f", {after['progress']}" if after["progress"] else "")
    if before is None:
        yield f"is new: {told}"
    elif (before["state"], before["progress"]) != (after["state"], after["progress"]):
        yield f"{before['state']} -> {told}"


def _known(holders: frozenset[str] | None) -> str:
    """On how many clusters a placement is, in words, to go on after a comma."""
    return "and on which clusters is not known" if holders is None else f"on {number_of(len(holders), 'cluster')}"


def _holders(report: Report) -> dict[str, frozenset[str] | None]:
    """By placement, the clusters that hold it, those that are to lose it among them; None for one that could not be
    decided."""
    names, undecided = [each["name"] for each in report["clusters"]], LETTERS[UNDECIDED]
    return {
        each["name"]: None
        if undecided in each["cells"]
        else frozenset(name for name, letter in zip(names, each["cells"], strict=True) if letter in "hl")
        for each in report["placements"]
    }


def _pairs(old: t.Iterable[Report], new: t.Iterable[Report]) -> t.Iterator[tuple[str, t.Any, t.Any]]:
    """By name, in order, the row of each report; None where one has none."""
    before, after = ({each["name"]: each for each in rows} for rows in (old, new))
    for name in sorted({*before, *after}):
        yield name, before.get(name), after.get(name)


def _known_of(cluster: str, row: Report, looked: t.Mapping[str, Report]) -> bool:
    """Whether the new report can know that a row is gone: an apply has recorded it, and so does it record its end; what
    a look has found, another look at all places of the cluster, and there are some, has to miss. ``looked`` is the
    drift of each cluster."""
    now = looked.get(cluster, {})
    return row.get("looked") is not True or now.get("looked", 0) == now.get("places", 0) > 0


def _field(row: Report) -> tuple[str, str, str, str]:
    """What a row of drift is the same by: cluster, placement, object, path."""
    return row["cluster"], row["placement"], row["object"], row["path"]


def _is_row(row: t.Any, wanted: t.Mapping[str, type]) -> bool:
    """Whether it is a map that has all of these keys, with values of these types."""
    return isinstance(row, dict) and all(isinstance(row.get(name), kind) for name, kind in wanted.items())
