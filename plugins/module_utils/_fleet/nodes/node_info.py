# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What people ask about nodes: why each may be disrupted, what keeps it from it, what Karpenter would do to it
(``plan-unknown``) and whether that still holds later (``look_again``), and what becomes of it by edits; tables of
safeguards."""

from __future__ import annotations

import time
import typing as t
from dataclasses import dataclass, replace
from datetime import datetime

from ..._core.disruption.members.catalogue import NO_CATALOGUE, Catalogue, read_catalogue
from ..._core.disruption.members.class_changes import ClassChange
from ..._core.disruption.members.consolidation_plan import MemberPlan, consolidation_plans, looked_again
from ..._core.disruption.members.member_nodes import MemberNodes
from ..._core.disruption.members.node_answers import NodeAnswer, node_answers
from ..._core.disruption.rotation.state import RotationState
from ..._core.disruption.safeguards import SafeguardRow, safeguard_rows
from ..._core.disruption.scheduling.settings import DEFAULTS, Settings
from ..._core.errors import FleetError, Problem
from ..._core.objects.clusters.node_rotation import DueNodes, NodeRotation
from ..files import json_file, prices_files
from ..session import Session
from .changes import ChangeQuestion
from .reading import ReadingWish, members_in_file, nodes_file, read_all
from .rotation_record import has_begun, rotation_state
from .sources import NodeManifests, with_recorded

RUN_BY = ("karpenter", "rotation")


@dataclass(frozen=True, kw_only=True)
class ConsolidationQuestion:
    """What Karpenter would do, by a list of instance types or what nodes tell, and by what its controller was started
    with, which nobody can read from outside. ``nodes``: only these are told of; all if empty. ``look_again``: seconds
    after which members are asked once more whether the plan still holds; 0 for never."""

    catalogue: Catalogue = NO_CATALOGUE
    settings: Settings = DEFAULTS
    nodes: tuple[str, ...] = ()
    look_again: int = 0

    @classmethod
    def of(cls, options: t.Mapping[str, t.Any]) -> ConsolidationQuestion:
        """By the options ``catalogue`` (a path), ``prices`` (paths), ``preference_policy`` (whatever is not ``Respect``
        ignores), ``spot_to_spot``, ``nodes`` and ``look_again`` of the verb. FleetError ``catalogue-missing``,
        ``catalogue-invalid``, ``prices-missing``, ``prices-invalid``."""
        path = options["catalogue"]
        types = read_catalogue(json_file(path, "catalogue-missing", "catalogue-invalid"), path) if path else None
        respect = options["preference_policy"] == "Respect"
        return cls(
            catalogue=Catalogue(types=types, prices=prices_files(options["prices"]).prices),
            settings=Settings(spot_to_spot=options["spot_to_spot"], respect=respect),
            nodes=tuple(options["nodes"]),
            look_again=options["look_again"],
        )


@dataclass(frozen=True, kw_only=True)
class NodeReport:
    """``answers`` are about all nodes of what was read, member by member; ``problems`` are what could not be read or
    planned, and what is wrong with edits and rotations. ``plans`` are of members with Karpenter, ``changes`` by edits,
    where they were asked for."""

    answers: tuple[NodeAnswer, ...]
    problems: tuple[Problem, ...]
    plans: tuple[MemberPlan, ...] = ()
    changes: tuple[ClassChange, ...] = ()

    def answers_of(self, nodes: t.Collection[str]) -> tuple[NodeAnswer, ...]:
        """The answers about nodes of these names, all without any, in the order of ``answers``; members may share a
        name. FleetError ``unknown-node`` for each name that no node has, with what could not be read."""
        wanted = set(nodes)
        missing = sorted(wanted - {each.node for each in self.answers})
        if missing:
            unknown = (Problem("unknown-node", "no member that was read has it", name) for name in missing)
            raise FleetError.of([*unknown, *self.problems])
        return tuple(each for each in self.answers if not wanted or each.node in wanted)

    @property
    def tables(self) -> dict[str, tuple[SafeguardRow, ...]]:
        """The safeguards, for pools that Karpenter runs (``karpenter``) and for our own rotations (``rotation``)."""
        return {name: safeguard_rows(name) for name in RUN_BY}


def node_report(
    session: Session,
    given: NodeManifests,
    reading: ReadingWish,
    snapshot: str,
    asked: ConsolidationQuestion | None = None,
    edits: ChangeQuestion | None = None,
    pause: t.Callable[[float], None] = time.sleep,
) -> NodeReport:
    """The answers, from members or from the file ``snapshot``; nothing is written. ``asked`` has plans made, and looked
    at again after its seconds, which ``pause`` waits, if one has commands; a member that is silent then keeps its plan.
    ``edits`` has changes foreseen. FleetError ``bad-option`` where a file is to be looked at again, ``record-damaged``,
    as of ``read_all``, or of ``nodes_file`` and ``members_in_file``, and with ``edits`` of ``ChangeQuestion.answered``;
    from a file also what ``node_answers`` and ``consolidation_plans`` raise."""
    if snapshot and asked is not None and asked.look_again:
        raise FleetError("bad-option", "a file does not change", "look_again", "leave it out, or ask the members")
    reading = replace(reading, daemons=asked is not None)
    rotations = _Rotations.of(given, session)
    if snapshot:
        found = nodes_file(snapshot, session.clock())
        told = _Telling(rotations, asked, edits, lambda: found.captured_at)
        members = list(map(told, members_in_file(found, reading.names)))
    else:
        told = _Telling(rotations, asked, edits, session.clock)
        found = read_all(session, reading, told)
        members = list(found.members)
    answers = [row for each in members for row in told.answers[each.name]]
    plans = [row for each in members for row in told.plans[each.name]]
    found_again: tuple[Problem, ...] = ()
    if asked is not None and asked.look_again and any(each.commands for each in plans):
        pause(asked.look_again)
        plans, found_again = _again(session, reading, asked, plans)
    changes = edits.answered(members) if edits is not None else ()
    hint = f"write {snapshot} again, or ask the members" if snapshot else "see what gitops.fleet.rbac prints for nodes"
    unknown = (Problem("plan-unknown", each.unknown, each.member, hint) for each in plans if each.unknown)
    against = (problem for each in changes for problem in each.problems)
    problems = (*found.problems, *found_again, *unknown, *against, *rotations.problems, *given.findings)
    return NodeReport(answers=tuple(answers), problems=problems, plans=tuple(plans), changes=changes)


def _again(
    session: Session, reading: ReadingWish, asked: ConsolidationQuestion, plans: list[MemberPlan]
) -> tuple[list[MemberPlan], tuple[Problem, ...]]:
    """The plans held against their members as they are by now; those of members that are silent now as they were."""
    before = {each.member: each for each in plans}
    after = dict(before)

    def look_again(member: MemberNodes) -> MemberNodes:
        """Puts the plan of the member, looked at again, into ``after``; nothing is kept of the member but its name."""
        now = session.clock()
        after[member.name] = looked_again(before[member.name], member, asked.catalogue, now, asked.settings)
        return MemberNodes(name=member.name)

    names = tuple(name for name, each in before.items() if each.commands)
    try:
        problems = read_all(session, replace(reading, names=names), look_again).problems
    except FleetError as error:
        problems = error.problems
    return [after[each.member] for each in plans], problems


@dataclass(frozen=True, kw_only=True)
class _Rotations:
    """Rotations that are given or recorded; ``begun`` is where those of no ``spec.due`` stand that have begun, by name.
    One whose state cannot be read is among the problems instead."""

    wanted: tuple[NodeRotation, ...]
    begun: t.Mapping[str, RotationState]
    problems: tuple[Problem, ...]

    @classmethod
    def of(cls, given: NodeManifests, session: Session) -> _Rotations:
        """Those given, and the recorded ones of other names. FleetError ``record-damaged`` for a record that is no
        rotation."""
        there = with_recorded(NodeManifests(), session.records).rotations
        begun, problems, damaged = dict[str, RotationState](), list[Problem](), set[str]()
        for name, each in there.items():
            if each.spec.due != DueNodes() or not has_begun(each):
                continue
            try:
                begun[name] = rotation_state(each)
            except FleetError as error:
                problems += error.problems
                damaged.add(name)
        wanted = {**there, **given.rotations}
        return cls(
            wanted=tuple(each for name, each in wanted.items() if name not in damaged),
            begun=begun,
            problems=tuple(problems),
        )


class _Telling:
    """Answers about each member as soon as it is read, so that nobody has to keep the nodes and pods of a thousand."""

    def __init__(
        self,
        rotations: _Rotations,
        asked: ConsolidationQuestion | None,
        edits: ChangeQuestion | None,
        now: t.Callable[[], datetime],
    ) -> None:
        self._rotations, self._asked, self._edits, self._now = rotations, asked, edits, now
        self.answers: dict[str, tuple[NodeAnswer, ...]] = {}
        self.plans: dict[str, tuple[MemberPlan, ...]] = {}

    def __call__(self, member: MemberNodes) -> MemberNodes:
        """Answers about the member, and plans for it. Gives what is still needed: its name and what could not be read,
        with edits all but its pods and DaemonSets. Errors as of ``node_answers`` and ``consolidation_plans``."""
        now = self._now()
        self.answers[member.name] = node_answers([member], self._rotations.wanted, now, self._rotations.begun)
        self.plans[member.name] = () if self._asked is None else _plans(self._asked, [member], now)
        if self._edits is None:
            return MemberNodes(name=member.name, missing=member.missing)
        return replace(member, pods=(), daemons=None)


def _plans(asked: ConsolidationQuestion, members: t.Sequence[MemberNodes], now: datetime) -> tuple[MemberPlan, ...]:
    """What Karpenter would do on each of these members, of the nodes that are asked for. Errors as of
    ``consolidation_plans``."""
    return consolidation_plans(members, asked.catalogue, now, asked.settings, asked.nodes)
