# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What the linter says of several documents together: an object given twice (``duplicate-object``), a resource
overridden twice (``overridden-twice``), a disruption budget or an eviction that does not fit its placement."""

from __future__ import annotations

import typing as t
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from ..disruption.budgets.lint import ERROR, WARNING
from ..objects.kinds import KIND_OF
from ..objects.overrides.override import places_of
from ..objects.overrides.override_rules import SELECTORS
from ..objects.placements.cluster_resource_placement import ClusterResourcePlacement
from ..objects.placements.disruption_budget import ClusterResourcePlacementDisruptionBudget
from ..objects.placements.disruption_rules import check_budget_for, check_eviction_from
from ..objects.placements.eviction import ClusterResourcePlacementEviction
from ..schema.codec import decode
from ..schema.rules import Found
from .remark import LintProblem, of_found

OVERRIDES = ("ClusterResourceOverride", "ResourceOverride")
BESIDE_PLACEMENTS = (
    "ClusterResourcePlacement",
    "ClusterResourcePlacementDisruptionBudget",
    "ClusterResourcePlacementEviction",
)
Row = tuple[t.Any, str]
"""A document, and its kind and name."""


def is_compared(document: t.Any) -> bool:
    """Whether ``remarks_across`` can have anything to say about a document, by the name of its ``kind``."""
    kind = document.get("kind") if isinstance(document, Mapping) else None
    return isinstance(kind, str) and (kind in KIND_OF or kind == "NodePool")


def remarks_across(rows: t.Sequence[Row], places: t.Sequence[str]) -> t.Iterator[tuple[int, LintProblem]]:
    """Remarks on what several documents together show, with the index of the row that each is about; ``places`` tell
    where each row was read, as ``file:line``. Of two documents that collide the later one has the remark. In this
    order, each by row: ``duplicate-object`` (within a folder), ``overridden-twice``, and ``budget-for-pick-all`` and
    ``eviction-from-pick-fixed`` together."""
    yield from _twice(rows, places)
    yield from _overridden_twice(rows, places)
    yield from _against_placements(rows)


def _twice(rows: t.Sequence[Row], places: t.Sequence[str]) -> t.Iterator[tuple[int, LintProblem]]:
    """A warning on each later document of one object in a folder, which is applied together: folders may hold an object
    once for each environment. Only named ones of known kinds count, whatever their version."""
    first: dict[tuple[str, str, str, str], int] = {}
    for index, (document, title) in enumerate(rows):
        if not is_compared(document) or "/" not in title:
            continue
        metadata = document["metadata"]
        group = str(document.get("apiVersion")).rpartition("/")[0]
        there = first.setdefault((_folder(places[index]), group, str(metadata.get("namespace") or ""), title), index)
        if there != index:
            text = f"{title} stands at {places[there]} already; whichever is applied last holds"
            yield (
                index,
                LintProblem(code="duplicate-object", level=WARNING, message=text, path="metadata.name", object=title),
            )


def _overridden_twice(rows: t.Sequence[Row], places: t.Sequence[str]) -> t.Iterator[tuple[int, LintProblem]]:
    """An error where an override names an object that an override of its kind, and of another name, names before:
    KubeFleet admits one of each kind for an object. A warning if that stands in another folder, for it may be of
    another fleet."""
    first: dict[tuple[str, t.Any], int] = {}
    for index, (document, title) in enumerate(rows):
        override = _read(document, OVERRIDES)
        for place, named in enumerate(places_of(override) if override else ()):
            there = first.setdefault((override.kind, named), index)
            if there != index and rows[there][1] != title:
                text = (
                    f"{named[2]} {named[4]} is overridden by {rows[there][1]} at {places[there]} already "
                    "(put the rules into one override)"
                )
                path = f"{SELECTORS[type(override)]}[{place}]"
                level = ERROR if _folder(places[there]) == _folder(places[index]) else WARNING
                yield index, LintProblem(code="overridden-twice", level=level, message=text, path=path, object=title)


def _folder(place: str) -> str:
    """The folder of a place, ``file:line``; empty for a file without one."""
    return place.rpartition("/")[0]


def _against_placements(rows: t.Sequence[Row]) -> t.Iterator[tuple[int, LintProblem]]:
    """Remarks on disruption budgets and evictions whose ClusterResourcePlacement stands exactly once among the
    documents."""
    read = [_read(document, BESIDE_PLACEMENTS) for document, _title in rows]
    placements = {each.name: each for each in read if isinstance(each, ClusterResourcePlacement)}
    counts = Counter(each.name for each in read if isinstance(each, ClusterResourcePlacement))
    for index, each in enumerate(read):
        found: t.Iterable[Found] = ()
        if isinstance(each, ClusterResourcePlacementDisruptionBudget) and counts[each.name] == 1:
            found = check_budget_for(each, placements[each.name])
        elif isinstance(each, ClusterResourcePlacementEviction) and counts[each.spec.placement_name] == 1:
            found = check_eviction_from(placements[each.spec.placement_name])
        for one in found:
            yield index, replace(of_found(one), object=rows[index][1])


def _read(document: t.Any, kinds: t.Collection[str]) -> t.Any:
    """The object; None if it is of none of the ``kinds``, by name alone, or its structure is another."""
    kind = document.get("kind") if isinstance(document, Mapping) else None
    if not isinstance(kind, str) or kind not in kinds:
        return None
    try:
        return decode(KIND_OF[kind].cls, document)
    except (ValueError, TypeError):
        return None
