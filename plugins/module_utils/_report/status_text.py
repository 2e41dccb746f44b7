# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Recorded placements as a table: how far each is, what stands in the way on which cluster, and its staged update
runs."""

from __future__ import annotations

import typing as t
from datetime import datetime

from .._core.objects.placements.cluster_resource_placement import PlacementStatus
from .._core.overview.matrix import is_late
from .._core.rollout.staged.standing import RunStanding
from .._core.schema.meta import Condition
from .._core.values.instants import SECONDS, write_time
from .._core.values.listed import number_of
from .text import SHOWN, folded, table

WORDS = {"True": "{}", "False": "not {}", "Unknown": "{}?"}
Row = tuple[str, str, str]
GONE = "it has no part in the placement any more; the next apply counts anew"


def placements_text(
    statuses: t.Mapping[str, PlacementStatus],
    place: str,
    runs: t.Iterable[RunStanding] = (),
    held: t.Mapping[str, t.Collection[str]] | None = None,
) -> list[str]:
    """A row for each placement, by name; below it one for each cluster, those that are not Available first; then its
    staged update ``runs``. Where no placement is recorded a sentence with ``place``, where the records are. ``held``
    are the clusters with a binding by placement, if known: one that is Available by the status and has none is told as
    ``gone``."""
    rows: list[Row] = []
    by_placement: dict[str, list[RunStanding]] = {}
    for each in runs:
        by_placement.setdefault(each.placement, []).append(each)
    for name, status in sorted(statuses.items()):
        prefixed = [(each, _without_prefix(each.type)) for each in status.conditions]
        rows.append((name, *_standing(prefixed)))
        clusters = [
            (f"  {each.cluster_name or '(none found)'}", *_standing([(one, one.type) for one in each.conditions]))
            for each in status.placement_statuses
        ]
        if held is not None:
            clusters = [row if _may_be_shown(row, held.get(name, ())) else (row[0], "gone", GONE) for row in clusters]
        clusters.sort(key=lambda row: row[1] == "Available")
        rows += clusters[:SHOWN]
        if len(clusters) > SHOWN:
            rows.append((f"  {len(clusters) - SHOWN} more", "", "all of them in the result"))
        rows += [_run(each) for each in by_placement.get(name, ())]
    return table(("PLACEMENT", "STATE", "WHY"), rows, "") if rows else folded(f"no placement is recorded in {place}")


def _may_be_shown(row: Row, clusters: t.Collection[str]) -> bool:
    """Whether the row of a cluster may be shown: it is not Available by it, or among the clusters with a binding."""
    return row[1] != "Available" or row[0].strip() in clusters


def unfinished_text(name: str, why: str, since: datetime | None) -> str:
    """A sentence about a placement that was begun and is not through, ``why`` and since when, where that is known; a
    schedule does not carry it on without its manifests."""
    as_of = f", since {write_time(since, SECONDS)}" if since else ""
    return (
        f"placement {name} is not through ({why}{as_of}); a tick carries it on only with its placements and resources"
    )


def _run(run: RunStanding) -> Row:
    """The row of a staged update run: its state, how many stages and clusters are done, if stages are laid out, and its
    message."""
    stages = f"{run.stages_done:,}/{number_of(run.stages, 'stage')}"
    counts = f"{stages}, {run.clusters_done:,}/{number_of(run.clusters, 'cluster')}" if run.stages else ""
    return f"  run {run.name}", run.state, "; ".join(filter(None, (counts, run.message)))


def _without_prefix(condition: str) -> str:
    """A condition's type without ``Cluster``, ``ResourcePlacement`` or both before it."""
    return condition.removeprefix("Cluster").removeprefix("ResourcePlacement")


def _standing(conditions: t.Sequence[tuple[Condition, str]]) -> tuple[str, str]:
    """State and reason by the first condition that does not hold, or the last of those that do, each condition being
    given with the word to show; and as of when that was seen. What was not available yet is ``Available?``: it may be
    by now. Without conditions the state is empty."""
    if not conditions:
        return "", "nothing is recorded of it yet"
    lacking = [each for each in conditions if each[0].status != "True"]
    condition, word = lacking[0] if lacking else conditions[-1]
    told = [condition.message]
    if condition.last_transition_time:
        told.append(f"as of {write_time(condition.last_transition_time, SECONDS)}")
    state = "Unknown" if is_late(condition) else condition.status
    return WORDS.get(state, "{}?").format(word), ", ".join(filter(None, told))
