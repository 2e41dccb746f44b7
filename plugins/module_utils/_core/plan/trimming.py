# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Keeps the status of a placement and of a binding below the size that an API server takes: what of it is left out
first, and, of a placement, the condition ``StatusTrimmed`` that says so."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import datetime

from ..objects.placements.binding import BindingStatus
from ..objects.placements.cluster_resource_placement import (
    PatchDetail,
    PerClusterPlacementStatus,
    PlacementStatus,
)
from ..schema.meta import find_condition, next_condition
from ..schema.record_size import LIMIT, REASON, TRIMMED, size_of
from ..values.listed import number_of

Told = t.TypeVar("Told", PerClusterPlacementStatus, BindingStatus)
# How much of what differs is told, until it fits: characters of a value, fields of an object, objects of a cluster.
_DETAILS = ((1_000, 100, 100), (80, 20, 20), (80, 3, 5), (0, 0, 0))
# One binding has this part of the limit: a rollout writes all of them.
_OF_BINDING = 8
_MOST_OBJECTS = 1_000
_OF_OBJECTS = "details of objects that failed, drifted or differ"
# The message of the condition, which is not known before the rows are.
_FOR_WORDS = 200


def trimmed(status: PlacementStatus, previous: PlacementStatus, generation: int, now: datetime) -> PlacementStatus:
    """The status in at most ``LIMIT`` bytes of JSON: the very same if it fits, else with the condition StatusTrimmed,
    which says what was left out, and keeps the transition time that it has in ``previous``. ``generation`` is that of
    the placement.

    First the details of what failed, drifted or differs go, then selected objects beyond the first thousand, then the
    rows of clusters that are as they should be, from the end, then other rows. Conditions of the placement stay.
    """
    if size_of(status) <= LIMIT:
        return status

    def saying(what: str) -> PlacementStatus:
        """The status with the condition StatusTrimmed, which says what was left out."""
        row = ("True", REASON, f"left out to keep the status small: {what}")
        told = next_condition(find_condition(previous.conditions, TRIMMED), TRIMMED, row, now, generation)
        return replace(status, conditions=(*status.conditions, told))

    for most in _DETAILS:
        rows = tuple(_with_less(each, most) for each in status.placement_statuses)
        out = replace(saying(_OF_OBJECTS), placement_statuses=rows)
        if size_of(out) <= LIMIT:
            return out
    objects = status.selected_resources[:_MOST_OBJECTS]
    bare = replace(out, placement_statuses=(), selected_resources=objects)
    kept = _fitting(rows, LIMIT - _FOR_WORDS - size_of(bare))
    words = [_OF_OBJECTS] if rows != status.placement_statuses else []
    if fewer := len(status.selected_resources) - len(objects):
        words.append(f"{fewer:,} of {number_of(len(status.selected_resources), 'selected object')}")
    named = [each for each in rows if each.cluster_name]
    if fewer := len(named) - sum(1 for each in kept if each.cluster_name):
        words.append(f"{fewer:,} of {number_of(len(named), 'cluster')}, first of those that are as they should be")
    return replace(bare, placement_statuses=kept, conditions=saying("; ".join(words)).conditions)


def trimmed_binding(status: BindingStatus) -> BindingStatus:
    """The status with fewer details of objects, until it has an eighth of ``LIMIT`` at most, or no details are left;
    its conditions stay."""
    if not (status.failed_placements or status.drifted_placements or status.diffed_placements):
        return status
    for most in _DETAILS:
        if size_of(status) <= LIMIT // _OF_BINDING:
            break
        status = _with_less(status, most)
    return status


def _with_less(told: Told, most: tuple[int, int, int]) -> Told:
    """The status or row with at most so many characters of a value, fields of an object and objects in each list as
    ``most`` says."""
    characters, fields, objects = most

    def cut(details: tuple[PatchDetail, ...]) -> tuple[PatchDetail, ...]:
        """The first of the fields, as many as ``most`` says, with both values of each shortened."""
        return tuple(
            replace(
                each,
                value_in_member=_shortened(each.value_in_member, characters),
                value_in_hub=_shortened(each.value_in_hub, characters),
            )
            for each in details[:fields]
        )

    return replace(
        told,
        failed_placements=told.failed_placements[:objects],
        drifted_placements=tuple(
            replace(each, observed_drifts=cut(each.observed_drifts)) for each in told.drifted_placements[:objects]
        ),
        diffed_placements=tuple(
            replace(each, observed_diffs=cut(each.observed_diffs)) for each in told.diffed_placements[:objects]
        ),
    )


def _shortened(text: str, most: int) -> str:
    """The first ``most`` characters and three dots; a text of up to three more than ``most`` stays as it is."""
    return f"{text[:most]}..." if len(text) > most + 3 else text


def _fitting(rows: tuple[PerClusterPlacementStatus, ...], room: int) -> tuple[PerClusterPlacementStatus, ...]:
    """As many rows as fit into ``room`` bytes, in their order. Those with a condition that is not True are taken before
    the others, each group from its beginning, up to the first that does not fit."""
    well = [all(each.status == "True" for each in row.conditions) for row in rows]
    chosen = set()
    for position in sorted(range(len(rows)), key=lambda each: (well[each], each)):
        room -= size_of(rows[position]) + 1
        if room < 0:
            break
        chosen.add(position)
    return tuple(row for position, row in enumerate(rows) if position in chosen)
