# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Results of evictions: of one that was judged now, of one that was executed or refused before (``over``), and what
failed of those underway (``not-gone``)."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ...._core.errors import Problem
from ...._core.objects.placements.eviction import EXECUTED
from ...._core.plan.losing.evicted import OVER, UNDERWAY, EvictionResult
from ...._core.rollout.conditions import TRUE
from ...._core.rollout.eviction import EvictionVerdict
from ...._core.schema.meta import find_condition
from ...._core.values.instants import write_time
from .asked import RequestedEviction


def result_of(asked: RequestedEviction, state: str, verdict: EvictionVerdict) -> EvictionResult:
    """The eviction's result, without an outcome: what became of it is ``state``, by that ``verdict``."""
    spec = asked.eviction.spec
    return EvictionResult(
        name=asked.eviction.name,
        placement=spec.placement_name,
        cluster=spec.cluster_name,
        state=state,
        verdict=verdict,
    )


def result_over(asked: RequestedEviction) -> EvictionResult:
    """The result of one that is over (``is_over``): OVER, with what its condition Executed says, refused unless it is
    True; without it with what its first condition says."""
    executed = find_condition(asked.eviction.status.conditions, EXECUTED)
    found = executed or asked.eviction.status.conditions[0]
    done = executed is not None and executed.status == TRUE
    word = "executed" if done else "refused"
    when = f" at {write_time(found.last_transition_time)}" if found.last_transition_time else ""
    message = f"it was {word} already{when}: {found.message}"
    return result_of(asked, OVER, EvictionVerdict(yes=done, why="over", message=message))


def failures_of(results: t.Iterable[EvictionResult]) -> t.Iterator[Problem]:
    """What keeps evictions that are underway from their end: the error of the member, then a ``not-gone`` for each
    object that failed there."""
    for each in results:
        outcome, where = each.outcome, f"{each.cluster} ({each.placement})"
        if outcome is None or each.state != UNDERWAY:
            continue
        if outcome.error is not None:
            yield replace(outcome.error, where=where)
        for one in outcome.failures:
            yield Problem("not-gone", f"{one.id}: {one.message}", where, "run again: it goes on from here")
