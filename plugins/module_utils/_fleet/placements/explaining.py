# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Answers to "why this cluster, why not that one" (``won``, ``lost``, ``read``, ``left_until``) and to "what if"
(``what_if``), from records or files, and facts; recorded members as a fleet to decide on."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace

from ..._core.cluster.facts.held import Holdings
from ..._core.cluster.facts.member import AGENT
from ..._core.cluster.facts.recorded import members_to_decide_on
from ..._core.cluster.facts.snapshot import FactsSnapshot
from ..._core.errors import FleetError, Problem
from ..._core.objects.clusters.member_cluster import MemberCluster
from ..._core.objects.placements.cluster_resource_placement import ClusterResourcePlacement
from ..._core.plan.compose import RecordedState, policy_snapshot_of
from ..._core.scheduling.contest import Contest, Contests
from ..._core.scheduling.explain import explain_end, explain_outcome
from ..._core.scheduling.index import FleetIndex
from ..._core.scheduling.unreadable import schedule_keeping_unread
from ..._core.scheduling.what_if.overlay import read_overlay
from ..._core.scheduling.what_if.what_if import Differences, supposed_fleet, what_if
from ..._core.values.instants import SECONDS, write_time
from ..._store.manifests import read_manifests
from ..._store.records import Records
from ..members.members import recorded_members
from ..session import Session
from .holdings import held_placement
from .recorded import all_placements, clusters_still_holding, names_of, no_such_placement, recorded_placement
from .sources import placements_in, read_placement
from .staged.listed import EXTERNAL

ALL = "*"


@dataclass(frozen=True, kw_only=True)
class Question:
    """Which placement and clusters (``*``: all) are asked about: that of the ``definition``, else those of ``src``,
    else the recorded ones, all or that of the ``name``. Without ``facts`` members are as they are recorded."""

    name: str
    clusters: tuple[str, ...] = ()
    definition: t.Mapping[str, t.Any] | None = None
    src: tuple[str, ...] = ()
    facts: FactsSnapshot | None = None


@dataclass(frozen=True, kw_only=True)
class Supposed:
    """What would become of one placement (``differences`` as of ``what_if``); ``objects`` are those of its latest
    recorded snapshot, as texts, where that is known."""

    differences: Differences
    objects: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, t.Any]:
        """The differences as results have them, with ``objects``."""
        return {**self.differences.as_dict(), "objects": list(self.objects)}


@dataclass(frozen=True, kw_only=True)
class Ground:
    """What is decided on: the fleet (``index``), each placement by name with what is recorded of it (``known``), and
    what is to be told of the facts (``told``)."""

    index: FleetIndex
    known: t.Mapping[str, tuple[ClusterResourcePlacement, RecordedState]]
    told: tuple[Problem, ...] = ()


def explanations(session: Session, question: Question) -> tuple[dict[str, t.Any], ...]:
    """For each placement, by name, one explanation, as results have it, of each cluster asked for in that order (``*``:
    all, by name), by what a plan would decide; of a placement that is being deleted, by its end.

    ``won`` is the contest that gave the placement to the cluster, ``lost`` one that gave it to another, as of
    ``Contests`` with ``lines``, None for none. ``read`` is when its facts were read (RFC 3339), empty if unknown;
    ``left_until`` what takes the placement off a cluster that holds it and is not picked, else empty. FleetError
    ``no-such-placement``, ``unknown-cluster``, and as of ``ground_of`` and ``schedule``.
    """
    ground, found = _ground(session, question), []
    unknown: dict[str, Problem] = {}
    clusters = sorted(ground.index.positions) if ALL in question.clusters else question.clusters
    for placement, known in ground.known.values():
        if placement.metadata.deletion_timestamp is not None:
            for cluster in clusters:
                try:
                    found.append(_ending(placement, known, ground.index, cluster))
                except FleetError as error:
                    unknown |= {each.message: each for each in error.problems}
            continue
        snapshot, _new = policy_snapshot_of(placement, known.policy_snapshot)
        outcome = schedule_keeping_unread(placement, snapshot, ground.index, known.bindings).scheduled
        recorded = known.policy_snapshot.status.target_clusters if known.policy_snapshot else ()
        contests = Contests(outcome, recorded, () if ALL in question.clusters else question.clusters)
        on_the_way, external = clusters_still_holding(known.bindings), placement.spec.strategy.type == EXTERNAL
        for cluster in clusters:
            try:
                answer = explain_outcome(outcome, cluster)
            except FleetError as error:
                unknown |= {each.message: each for each in error.problems}
                continue
            told = {"won": _told(contests.contest_of(cluster)), "lost": _told(contests.lost(cluster))}
            read = _read_at(ground.index, cluster)
            left = cluster in on_the_way and not answer.picked
            by = ("a staged run" if external else "an apply") if left else ""
            found.append({**answer.as_dict(), **told, "read": read, "left_until": by})
    if unknown:
        where = f"the facts, and the records {session.records.place}" if question.facts else ""
        raise FleetError.of(replace(each, where=where) for each in unknown.values())
    return tuple(found)


def _ending(
    placement: ClusterResourcePlacement, known: RecordedState, index: FleetIndex, cluster: str
) -> dict[str, t.Any]:
    """The explanation of a cluster where the placement is being deleted, as of ``explanations``. FleetError as of
    ``explain_end``."""
    holders = {each.spec.target_cluster for each in known.bindings}
    answer = explain_end(placement, holders, index, cluster).as_dict()
    by = "an apply" if cluster in holders else ""
    return {**answer, "won": None, "lost": None, "read": _read_at(index, cluster), "left_until": by}


def _told(contest: Contest | None) -> dict[str, t.Any] | None:
    """The contest as explanations have it, with its ``lines``; None for none."""
    return {**contest.as_dict(), "lines": list(contest.lines)} if contest else None


def _read_at(index: FleetIndex, cluster: str) -> str:
    """When the cluster was last read, as of ``explanations``."""
    position = index.positions.get(cluster)
    agents = index.clusters[position].status.agent_status if position is not None else ()
    heartbeat = next((each.last_received_heartbeat for each in agents if each.type == AGENT), None)
    return write_time(heartbeat, SECONDS) if heartbeat else ""


def suppositions(
    session: Session, question: Question, supposed: t.Mapping[str, t.Any]
) -> tuple[tuple[Supposed, ...], tuple[Problem, ...]]:
    """What would become of each placement, by name, that is not being deleted, if the fleet were as ``supposed``
    (``read_overlay``); and what to tell of the facts. FleetError ``no-such-placement``, ``bad-option`` for a number of
    clusters of several placements, and as of ``read_overlay``, ``ground_of`` and ``what_if``."""
    ground = _ground(session, question)
    overlay = read_overlay(supposed, ground.index.positions, "what_if")
    if overlay.number_of_clusters is not None and len(ground.known) > 1:
        hint = f"name one of {', '.join(sorted(ground.known))}"
        raise FleetError("bad-option", "numberOfClusters is supposed of one placement", "what_if", hint)
    fleet, found = supposed_fleet(ground.index, overlay), []
    for placement, known in ground.known.values():
        if placement.metadata.deletion_timestamp is not None:
            continue
        snapshot, _new = policy_snapshot_of(placement, known.policy_snapshot)
        found.append(
            Supposed(
                differences=what_if(placement, snapshot, ground.index, known.bindings, overlay, fleet),
                objects=tuple(map(str, known.contents.get(known.resource_snapshot, ()))),
            )
        )
    return tuple(found), ground.told


def ground_of(session: Session, question: Question) -> Ground:
    """What is decided on; of a name that nobody knows nothing is in it. Where no member is recorded, a facts snapshot
    says also what is placed. FleetError as of ``read_placement``, ``read_manifests``, ``placements_in``,
    ``recorded_members`` and ``recorded_placement``."""
    recorded = {name: each.cluster for name, each in recorded_members(session.records).items()}
    facts, told = question.facts, tuple[Problem, ...]()
    held = facts.held if facts is not None and not recorded else None
    if facts is None:
        index = recorded_index(tuple(recorded.values()), session)
    else:
        members, told = members_to_decide_on(facts, recorded, session.records.place)
        index = FleetIndex(members, facts.captured_at)
    return Ground(index=index, known=_placements(session.records, question, held), told=told)


def _placements(
    records: Records, question: Question, held: Holdings | None
) -> dict[str, tuple[ClusterResourcePlacement, RecordedState]]:
    """The placements that are asked for by name, sorted, each with what is known of it: as it is written where it is,
    else, and where it is being deleted, as it is recorded or ``held``. A name that nobody knows is left out. FleetError
    as of ``ground_of``."""
    if question.definition is not None:
        written = [read_placement(question.definition, "definition", strict=False).placement]
    elif question.src:
        written = [each.placement for each in placements_in(read_manifests(question.src), strict=False)]
    else:
        written = []
    by_name = {str(each.key): each for each in reversed(written)}  # of a name that is given twice the first one
    names = [str(each.key) for each in written]
    if not (question.src or question.definition):
        names = sorted(held.placements) if held else names_of(all_placements(records))
    if question.definition is None and question.name:
        names = [name for name in names if name == question.name]
    found = {}
    for name in names:
        state = held_placement(held, name) if held else recorded_placement(records, name)
        recorded = state.placement
        ends = recorded is not None and recorded.metadata.deletion_timestamp is not None
        placement = recorded if ends else by_name.get(name, recorded)
        if placement is not None:
            found[name] = (placement, state.known)
    return found


def _ground(session: Session, question: Question) -> Ground:
    """As ``ground_of``; FleetError ``no-such-placement`` where nothing is known of what is asked about."""
    found = ground_of(session, question)
    if not found.known:
        known = sorted(ground_of(session, replace(question, name="")).known)
        raise no_such_placement(question.name, known, session.records.place)
    return found


def recorded_index(members: tuple[MemberCluster, ...], session: Session) -> FleetIndex:
    """The members, as they are recorded, judged at the last instant that any of them was heard of; at present, if none
    was."""
    beats = [
        agent.last_received_heartbeat
        for member in members
        for agent in member.status.agent_status
        if agent.last_received_heartbeat
    ]
    return FleetIndex(members, max(beats, default=session.clock()))
