# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Evidence of a placement that is applied, rolled back or removed: before its record is written, and, with what it came
to, when its lease is given back."""

from __future__ import annotations

import contextlib
import typing as t

from ..._core.errors import Problem
from ..._core.objects.audit.audit_entry import (
    APPLIED,
    DONE,
    FAILED,
    PARTIAL,
    REMOVED,
    ROLLED_BACK,
    WAITING,
)
from ..._core.plan.changes import changes_sentence
from ..._core.plan.document import KEPT, PlacementPlan
from ..._core.values.listed import number_of
from ..placements.look import Outcomes
from ..placements.rollout_words import Waiting, plan_counts
from ..placements.write_records import Writer
from ..session import Session
from .evidence import Deed, Testimony

ROOM = 750  # characters, of those that a message may have


class ApplyCourse(t.Protocol):
    """What became of placements so far, by name, filled while they are carried out; ``waits`` has those that did not
    come to their end. ``leases`` are closed when all is filled in."""

    leases: contextlib.ExitStack
    outcomes: dict[str, Outcomes]
    waits: dict[str, Waiting]
    problems: list[Problem]


def attest_placement(session: Session, writer: Writer, looked: Outcomes, course: ApplyCourse) -> None:
    """Testifies that the placement is carried out now, by whom and under which digest; to what it came is written once
    the leases of its course are given back. ``looked`` is what the look before found, by cluster."""
    plan, back = writer.plan, writer.plan.rolled_back
    counts = f"{plan_counts(plan)}; content {plan.resource_snapshot}{f', as of index {back.index}' if back else ''}"
    deed = Deed(
        action=REMOVED if plan.deleting else ROLLED_BACK if back else APPLIED,
        kind=plan.key.kinds.placement,
        name=plan.name,
        members=_due(plan, looked),
        digest=plan.digest,
        approved=writer.approved,
        revision=back.revision if back else "" if plan.deleting else writer.source.revision,
        message="; ".join(filter(None, [counts, changes_sentence(plan.changes, ROOM)])),
    )
    testimony = Testimony(session, deed)
    testimony.begin()
    course.leases.callback(_end, testimony, plan, course, bool(deed.members))


def _due(plan: PlacementPlan, looked: Outcomes) -> list[str]:
    """The clusters on which something is to be done, in the order of the plan: by the plan, unless runs carry it out,
    or by what was looked at."""
    planned = () if plan.is_by_staged_runs else plan.clusters
    changing = {each.cluster for each in planned if each.change != KEPT or each.decides_change}
    changing |= {name for name, each in looked.items() if each.changes}
    return [each.cluster for each in plan.clusters if each.cluster in changing]


def _end(testimony: Testimony, plan: PlacementPlan, course: ApplyCourse, due: bool) -> None:
    """Writes the entry of the end. One for runs to carry out, without problems and with nothing due, was recorded; else
    it is PARTIAL (something was written or applied) or FAILED with the first problem, WAITING, or DONE. Its members are
    those that were written to, if any or if it is not done."""
    found = course.outcomes.get(plan.name, {})
    if plan.is_by_staged_runs and not course.problems and not due:
        testimony.end(message="recorded; staged update runs bring it to its clusters")
        return
    done = [name for name, each in found.items() if each.applied]
    wrote = [name for name, each in found.items() if each.wrote]
    problems = [
        *(f"{name}: {each.error or each.failures[0].message}" for name, each in found.items() if _has_failed(each)),
        *map(str, course.problems),
    ]
    said = f"{sum(1 for each in found.values() if each.holds_all):,} of {number_of(len(found), 'cluster')} done"
    if problems:
        testimony.end(PARTIAL if wrote or done else FAILED, f"{said}; {problems[0]}", wrote)
    elif plan.name in course.waits:
        testimony.end(WAITING, f"{said}; {course.waits[plan.name].why}", wrote)
    else:
        testimony.end(DONE, said, wrote or None)


def _has_failed(outcome: t.Any) -> bool:
    """Whether the cluster as a whole failed, or an object on it."""
    return outcome.error is not None or bool(outcome.failures)
