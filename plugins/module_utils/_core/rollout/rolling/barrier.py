# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Several bindings on one cluster, and what that holds back: a former one that is still being removed
(``cleaning-up``), two live ones (``two-bindings``); KubeFleet's barrier before a rolling update."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ...errors import Problem
from ...objects.placements.binding import BOUND, PREVIOUS_STATE, UNSCHEDULED
from ..content import RolloutBinding

CLEANING_UP, TWO_BINDINGS = "cleaning-up", "two-bindings"


@dataclass(frozen=True)
class Barrier:
    """What bindings that share a cluster hold back: ``blocked`` gives the reason by cluster (``cleaning-up``,
    ``two-bindings``), ``findings`` are live bindings after the first of a cluster. ``error`` is what stops upstream's
    whole rollout."""

    blocked: t.Mapping[str, str]
    findings: tuple[Problem, ...]
    error: Problem | None


def barrier(bindings: t.Sequence[RolloutBinding]) -> Barrier:
    """What several bindings on a cluster hold back: it is blocked while a former binding is being removed
    (``cleaning-up``), or two live ones are there (``two-bindings``, with a finding for each after the first), which
    counts before the other. Unscheduled ones that are not being deleted are live, too. What is blocked may still be
    removed. The error is the first finding, else that a binding that is or was Bound stands beside one that is being
    removed."""
    leaving = {each.cluster for each in bindings if each.deleting}
    live: dict[str, RolloutBinding] = {}
    blocked: dict[str, str] = {}
    findings: list[Problem] = []
    for each in bindings:
        if each.deleting:
            continue
        if each.cluster in live:
            blocked[each.cluster] = TWO_BINDINGS
            message = f"{live[each.cluster].name} and {each.name} hold the same cluster"
            findings.append(Problem(TWO_BINDINGS, message, each.cluster))
        elif each.cluster in leaving:
            blocked[each.cluster] = CLEANING_UP
        live.setdefault(each.cluster, each)
    errors = findings or [problem for each in live.values() if (problem := _bound_beside_leaving(each, leaving))]
    return Barrier(blocked, tuple(findings), errors[0] if errors else None)


def _bound_beside_leaving(each: RolloutBinding, leaving: t.Container[str]) -> Problem | None:
    """The problem of a binding that is Bound, or Unscheduled and was Bound, while a former one of its cluster is being
    removed."""
    before = each.binding.metadata.annotations.get(PREVIOUS_STATE, "")
    was_bound = each.state == BOUND or (each.state == UNSCHEDULED and before == BOUND)
    if each.cluster not in leaving or not was_bound:
        return None
    return Problem(CLEANING_UP, f"{each.name} is bound while a former binding is being removed", each.cluster)
