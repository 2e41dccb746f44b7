# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Answers to "why this cluster, why not that one", from records or from files, and facts."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..._core.cluster.facts.snapshot import FactsSnapshot
from ..._core.errors import FleetError
from ..._core.objects.placements.cluster_resource_placement import ClusterResourcePlacement
from ..._core.plan.compose import policy_snapshot_of
from ..._core.scheduling.cycle import schedule
from ..._core.scheduling.explain import explain_outcome
from ..._core.scheduling.index import FleetIndex
from ..._store.manifests import read_manifests
from ..._store.records import Records
from ..members.members import recorded_members
from ..session import Session
from .recorded import recorded_placement
from .sources import placements_in, read_placement


@dataclass(frozen=True, kw_only=True)
class Question:
    """Which placement and which clusters. Without ``definition`` and ``src`` the placement is a recorded one."""

    name: str
    clusters: tuple[str, ...]
    definition: t.Mapping[str, t.Any] | None = None
    src: tuple[str, ...] = ()
    facts: FactsSnapshot | None = None


def explanations(session: Session, question: Question) -> tuple[dict[str, t.Any], ...]:
    """One explanation for each cluster asked for; FleetError ``unknown-cluster`` for a name that nobody knows."""
    records, found = session.records, []
    for placement in _placements(records, question):
        known = recorded_placement(records, placement.name).known
        snapshot, _new = policy_snapshot_of(placement, known.policy_snapshot)
        outcome = schedule(placement, snapshot, _index(session, question), known.bindings)
        found += [explain_outcome(outcome, cluster).as_dict() for cluster in question.clusters]
    return tuple(found)


def _placements(records: Records, question: Question) -> tuple[ClusterResourcePlacement, ...]:
    if question.definition is not None:
        return (read_placement(question.definition, "definition", strict=False).placement,)
    if question.src:
        sourced = placements_in(read_manifests(question.src), strict=False)
        found = tuple(each.placement for each in sourced if question.name in ("", each.placement.name))
    else:
        names = (
            [question.name]
            if question.name
            else [each["metadata"]["name"] for each in records.list("ClusterResourcePlacement")]
        )
        recorded = (recorded_placement(records, name).placement for name in names)
        found = tuple(each for each in recorded if each is not None)
    if not found:
        raise FleetError("no-such-placement", f"there is no placement {question.name}".rstrip(), records.place)
    return found


def _index(session: Session, question: Question) -> FleetIndex:
    if question.facts is not None:
        return FleetIndex(question.facts.members, question.facts.captured_at)
    members = tuple(each.cluster for each in recorded_members(session.records).values())
    beats = [
        agent.last_received_heartbeat
        for member in members
        for agent in member.status.agent_status
        if agent.last_received_heartbeat
    ]
    return FleetIndex(members, max(beats, default=session.clock()))
