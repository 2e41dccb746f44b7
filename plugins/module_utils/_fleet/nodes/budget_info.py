# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What people ask about disruption budgets of Karpenter NodePools: what may be disrupted now and when
(``no-such-pool``), and a window written as budgets (``valid_until``); the time zone that an option names
(``unknown-time-zone``)."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo

from ..._core.disruption.members.budget_answers import PoolAnswer, budget_answers
from ..._core.disruption.members.fleet_limits import FleetLimit, fleet_limits
from ..._core.disruption.members.nodes_snapshot import NodesSnapshot, write_nodes
from ..._core.errors import FleetError, Problem
from ..._core.objects.karpenter.node_pool import REASONS
from ..._core.objects.karpenter.node_pool_forms import COUNT
from ..._core.values.canonical import json_by_lines
from ..._core.values.instants import parse_present, write_time
from ..._core.values.schedules.cron import load_zone
from ..._core.windows.utc_budgets import Compiled, as_utc_budgets
from ..._core.windows.wishes import window_of_words
from ..._store.yaml_documents import write_yaml
from ..members.members import recorded_members
from ..session import Session
from ..showing import plain_json
from .reading import ReadingWish, members_in_file, nodes_file, read_all
from .sources import NodeManifests, with_recorded


@dataclass(frozen=True, kw_only=True)
class BudgetQuestion:
    """Asks by recorded rotations and maintenance and those ``given``. ``snapshot`` is a file to answer from instead of
    asking members; ``now`` another instant than the present; ``pools`` and ``reason`` are those asked for, all if
    empty; ``zone`` is the name of a time zone for people."""

    given: NodeManifests = NodeManifests()
    reading: ReadingWish = ReadingWish(pods=False)
    snapshot: str = ""
    now: str = ""
    zone: str = "UTC"
    reason: str = ""
    pools: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class BudgetReport:
    """``answers`` are about the pools that were asked for, as of ``now``; people are told times in ``zone``.
    ``snapshot`` is what was read, and which members could not be."""

    answers: tuple[PoolAnswer, ...]
    snapshot: NodesSnapshot
    now: datetime
    zone: tzinfo
    findings: tuple[Problem, ...] = ()

    @property
    def file(self) -> str:
        """What was read as text for a file that ``nodes_file`` reads, without credentials that we know: a member may
        send back what was shown to it."""
        return json_by_lines(plain_json(write_nodes(self.snapshot)))


def zone_of(name: str) -> tzinfo:
    """The time zone of that name. FleetError ``unknown-time-zone`` where there is none, or the name is empty."""
    try:
        return load_zone(name)
    except ValueError as error:
        raise FleetError("unknown-time-zone", str(error), "time_zone", "write it like Europe/Vienna") from None


def budget_report(session: Session, asked: BudgetQuestion) -> BudgetReport:
    """The answers about all pools that are asked for; nothing is written. FleetError ``no-such-pool``,
    ``unknown-time-zone``, ``bad-option``, ``record-damaged``; as of ``nodes_file`` and ``members_in_file``, or of
    ``read_all``, and then the problems of all named members if none of them can be read."""
    zone, now = zone_of(asked.zone), _instant(asked.now, session.clock())
    given = with_recorded(asked.given, session.records)
    fleet = {each: dict(one.cluster.metadata.labels) for each, one in recorded_members(session.records).items()}
    names, objects = asked.reading.names, tuple(given.maintenance.values())
    if asked.snapshot:
        snapshot = nodes_file(asked.snapshot, session.clock())
        members_in_file(snapshot, names)
        fleet = {name: labels for name, labels in fleet.items() if name in snapshot.failed}
    else:
        beside = _beside(names, fleet_limits(objects, (), fleet)) if names else ()
        wish = replace(asked.reading, names=(*names, *beside), counted=frozenset(beside))
        snapshot = read_all(session, wish)
        if names and snapshot.failed.keys() >= set(names):
            raise FleetError.of(snapshot.failed[each] for each in names)
    reasons = (asked.reason,) if asked.reason else REASONS
    answers = budget_answers(snapshot.members, given.rotations.values(), objects, now, reasons, fleet)
    answers, snapshot = _only_members(names, answers, snapshot) if names else (answers, snapshot)
    unknown = sorted(set(asked.pools) - {each.pool.name for each in answers})
    if unknown:
        there = ", ".join(sorted({each.pool.name for each in answers})) or "none"
        text = f"no member{' that could be read' if snapshot.problems else ''} has it"
        problems = [Problem("no-such-pool", text, name, f"there are: {there}") for name in unknown]
        raise FleetError.of([*problems, *snapshot.problems])
    wanted = tuple(each for each in answers if not asked.pools or each.pool.name in asked.pools)
    return BudgetReport(answers=wanted, snapshot=snapshot, now=now, zone=zone, findings=given.findings)


def _beside(names: t.Collection[str], limits: t.Iterable[FleetLimit]) -> tuple[str, ...]:
    """Members that share a budget of the fleet with those asked for: what is disrupted there counts in it."""
    shared = {name for each in limits if not each.over.isdisjoint(names) for name in each.over}
    return tuple(sorted(shared.difference(names)))


def _only_members(
    names: t.Collection[str], answers: tuple[PoolAnswer, ...], snapshot: NodesSnapshot
) -> tuple[tuple[PoolAnswer, ...], NodesSnapshot]:
    """The answers about these members, and of the snapshot what these hold; failures of all members stay in it, for
    what is disrupted on one that could not be read is not known."""
    only = replace(
        snapshot,
        members=tuple(each for each in snapshot.members if each.name in names),
        documents={name: each for name, each in snapshot.documents.items() if name in names},
    )
    return tuple(each for each in answers if each.pool.member in names), only


def compiled(window: str, nodes: str, present: datetime, now: str = "") -> Compiled:
    """A window in the words of people as budgets of NodePools, which allow ``nodes`` (a count or a percentage) inside
    of it, as its clocks are at ``now``, or at the ``present`` if that is empty. FleetError of ``window_of_words`` and
    ``as_utc_budgets``, ``bad-option`` for other ``nodes`` or a ``now`` that is no instant."""
    if not re.fullmatch(COUNT["pattern"], nodes):
        raise FleetError("bad-option", f"{nodes!r:.60} is not {COUNT['form']}", "window_nodes")
    return as_utc_budgets(window_of_words(window), nodes, _instant(now, present))


def compiled_data(found: Compiled) -> dict[str, t.Any]:
    """What ``compiled`` found, for results: ``budgets`` as in a manifest, ``valid_until`` in RFC 3339, empty if they
    hold for a year, ``warning``, and the budgets as ``yaml`` for a NodePool."""
    budgets = [each.as_dict() for each in found.budgets]
    return {
        "budgets": budgets,
        "valid_until": "" if found.valid_until is None else write_time(found.valid_until),
        "warning": found.warning,
        "yaml": write_yaml([{"spec": {"disruption": {"budgets": budgets}}}]),
    }


def _instant(text: str, present: datetime) -> datetime:
    """The instant in the text, ``present`` for an empty one. FleetError ``bad-option`` for what is none."""
    if not text:
        return present
    try:
        return parse_present(text)
    except ValueError as error:
        hint = "write it like 2026-11-22T22:00:00Z"
        raise FleetError("bad-option", f"{text!r:.60} is no instant: {error}", "now", hint) from None
