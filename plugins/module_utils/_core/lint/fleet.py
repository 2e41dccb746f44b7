# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What only several documents together show: one object given twice, one resource overridden twice."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ..disruption.lint import ERROR, WARNING
from ..objects.kinds import KIND_OF
from ..objects.override import places_of
from ..objects.override_rules import SELECTORS
from ..objects.schema import decode
from .remark import Remark

Row = tuple[t.Any, str]
"""A document, and its kind and name."""


def across(rows: t.Sequence[Row], places: t.Sequence[str]) -> t.Iterator[tuple[int, Remark]]:
    """Remarks with the index of the row that each is about; ``places`` tell where each row was read."""
    yield from _twice(rows, places)
    yield from _overridden_twice(rows, places)


def _twice(rows: t.Sequence[Row], places: t.Sequence[str]) -> t.Iterator[tuple[int, Remark]]:
    """Folders may hold an object once for each environment, so that this is no error."""
    first: dict[tuple[str, str, str], int] = {}
    for index, (document, title) in enumerate(rows):
        kind = document.get("kind") if isinstance(document, Mapping) else None
        if not isinstance(kind, str) or (kind not in KIND_OF and kind != "NodePool"):
            continue
        if "/" not in title:
            continue
        metadata = document["metadata"]
        group = str(document.get("apiVersion")).rpartition("/")[0]
        there = first.setdefault((group, str(metadata.get("namespace") or ""), title), index)
        if there != index:
            text = f"{title} stands at {places[there]} already; whichever is applied last holds"
            yield (
                index,
                Remark(code="duplicate-object", level=WARNING, message=text, path="metadata.name", object=title),
            )


def _overridden_twice(rows: t.Sequence[Row], places: t.Sequence[str]) -> t.Iterator[tuple[int, Remark]]:
    """KubeFleet admits one override of each kind for an object."""
    first: dict[tuple[str, t.Any], int] = {}
    for index, (document, title) in enumerate(rows):
        override = _override(document)
        for place, named in enumerate(places_of(override) if override else ()):
            there = first.setdefault((override.kind, named), index)
            if there != index and rows[there][1] != title:
                text = (
                    f"{named[2]} {named[4]} is overridden by {rows[there][1]} at {places[there]} already "
                    "(put the rules into one override)"
                )
                path = f"{SELECTORS[type(override)]}[{place}]"
                yield index, Remark(code="overridden-twice", level=ERROR, message=text, path=path, object=title)


def _override(document: t.Any) -> t.Any:
    """The override, as far as it can be read."""
    kind = document.get("kind") if isinstance(document, Mapping) else None
    if kind not in ("ClusterResourceOverride", "ResourceOverride"):
        return None
    try:
        return decode(KIND_OF[kind].cls, document)
    except (ValueError, TypeError):
        return None
