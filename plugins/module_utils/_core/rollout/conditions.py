# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Conditions looked up and set at the object's own generation (``observedGeneration``, ``lastTransitionTime``), or
taken out; one of an older generation is as good as none (KubeFleet)."""

from __future__ import annotations

from datetime import datetime

from ..schema.meta import Condition, find_condition, next_condition

Conditions = tuple[Condition, ...]
Row = tuple[str, str, str]
"""Status, reason and message."""

TRUE, FALSE, UNKNOWN = "True", "False", "Unknown"


def current(conditions: Conditions, kind: str, generation: int) -> Condition | None:
    """The first condition of the type, if it speaks of this generation; else None."""
    found = find_condition(conditions, kind)
    return found if found and found.observed_generation == generation else None


def status_is(conditions: Conditions, kind: str, generation: int, status: str) -> bool:
    """Whether the first condition of the type speaks of this generation and has this status; False without one."""
    found = current(conditions, kind, generation)
    return found is not None and found.status == status


def set_condition(conditions: Conditions, kind: str, row: Row, generation: int, now: datetime) -> Conditions:
    """The conditions with this one set, in the place of the first of its type, or last; its time stays that of the
    first if the status does, else it is ``now``."""
    old = find_condition(conditions, kind)
    new = next_condition(old, kind, row, now, generation)
    if old is None:
        return (*conditions, new)
    return tuple(new if each is old else each for each in conditions)


def without_condition(conditions: Conditions, kind: str) -> Conditions:
    """The conditions but for those of the type, in their order."""
    return tuple(each for each in conditions if each.type != kind)
