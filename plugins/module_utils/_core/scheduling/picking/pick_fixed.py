# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Placement type PickFixed (KubeFleet scheduler): the named clusters, if they are there and eligible, whatever their
labels and taints; ``holder-not-eligible``, ``no-cluster-names``."""

from __future__ import annotations

from ...errors import Problem
from ...scheduling import cluster_eligibility
from ..reasons import NAMED, ClusterBlocker
from ..request import SchedulingRequest
from .bindings import Bindings, Pick
from .decisions import (
    INELIGIBLE,
    NOT_FOUND,
    PICKED,
    PickDecision,
)
from .ending import PickResult, take_in_order

RULE = "PickFixed"


def pick_fixed(asked: SchedulingRequest, book: Bindings) -> PickResult:
    """Holds in ``book`` the named clusters that are there and eligible, and counts these; labels, taints and properties
    are not asked. Holders under the current policy stay, named or not; those under an older one go unless they are
    picked. Fulfilled if all that are named can be placed. Findings are ``holder-not-eligible`` and, without names,
    ``no-cluster-names``.

    Upstream does nothing without names, holds a cluster twice that is named twice, and leaves all but one of several
    bindings for one cluster as they are; FleetErrors are those of ``Bindings.take``.
    """
    names = asked.policy.cluster_names
    if not asked.upstream:
        names = tuple(dict.fromkeys(names))
    elif not names:
        return PickResult(selected=[], count=0, wanted=0, fulfilled=False, written=False)
    valid: list[PickDecision] = []
    unplaced: list[PickDecision] = []
    for name in names:
        decision = _judge(asked, name)
        (valid if decision.selected else unplaced).append(decision)
    if asked.upstream:
        book.leave_doubles({each.cluster for each in valid})
    have = {book.by_name[name].spec.target_cluster for name in book.current}
    take_in_order(book, [Pick(each.cluster, None, NAMED) for each in valid if each.cluster not in have])
    return PickResult(
        selected=valid,
        count=len(valid),
        wanted=len(names),
        fulfilled=not unplaced,
        unplaced=tuple(sorted(unplaced, key=lambda each: each.outcome == NOT_FOUND)),
        findings=tuple(_held_though(asked, each) for each in unplaced if each.cluster in have)
        if names
        else (_no_names(asked),),
    )


def _judge(asked: SchedulingRequest, name: str) -> PickDecision:
    """Whether the named cluster can be placed: picked, ineligible with its first fault, or not-found."""
    position = asked.index.positions.get(name)
    if position is None:
        return PickDecision(name, NOT_FOUND, refusal=ClusterBlocker(RULE, "not-found"))
    refusal = cluster_eligibility.first_fault(asked.index.clusters[position], asked.index.now)
    return PickDecision(name, INELIGIBLE, refusal=refusal) if refusal else PickDecision(name, PICKED, note=NAMED)


def _held_though(asked: SchedulingRequest, decision: PickDecision) -> Problem:
    """The finding ``holder-not-eligible`` for a named holder that could not be picked today."""
    where = f"{asked.placement.kind}/{asked.placement.key} spec.policy.clusterNames"
    return Problem("holder-not-eligible", f"{decision.cluster} keeps the placement, but {decision.reason}", where)


def _no_names(asked: SchedulingRequest) -> Problem:
    """The finding ``no-cluster-names`` of a PickFixed placement that names no cluster."""
    where = f"{asked.placement.kind}/{asked.placement.key} spec.policy.clusterNames"
    return Problem(
        "no-cluster-names", "PickFixed names no cluster", where, "name one, or choose another placement type"
    )
