# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A rotation of nodes: begun (``unknown-node``, ``invalid-surge``, ``budget-unreadable``), decided step by step in
growing waves, ``halted`` by failures or its time limit, stopped at once, taken up again late; what is in flight, what
was let go, and how far it is.

``begin`` makes the state and ``decide`` moves it on, in the shape of ``_core.machine``.
"""

from __future__ import annotations

import dataclasses
import typing as t
from datetime import datetime

from ...cluster.pod import reschedulable
from ...errors import FleetError, Problem
from ...machine import Blocker, Decision, HeldBack
from ...objects.clusters.node_rotation import BEFORE, RotationSettings
from ...schema.fields import fields_of
from ...values.int_or_percent import scaled
from ...values.listed import number_of
from ..budgets.budgets import rule_of
from .admission import Admission
from .input import (
    RotationInput,
    RotationNode,
    cluster_in_name,
    scopes_left,
)
from .node_blockers import RotationBlockers
from .progress import (
    ADD_NODE,
    DRAIN,
    RELEASE,
    RotationAct,
    RotationProgress,
    without_left,
)
from .state import (
    BLOCKED,
    DRAINING,
    GIVEN_UP,
    SURGING,
    WAITING,
    NodeProgress,
    RotationState,
    limit_end,
    limit_passed,
)
from .wake import next_instant

RUNNING, WAITS, DONE = "running", "waiting", "done"
STOPPED = "the rotation was stopped"


def begin(names: t.Iterable[str], sight: RotationInput, settings: RotationSettings, now: datetime) -> RotationState:
    """The state of a rotation of these nodes (``member/node``), by name and each once, which begins at ``now``, aware,
    with no node begun. FleetError with all problems: ``unknown-node`` for one that is not there, ``not-one-of``,
    ``out-of-range`` and ``invalid-surge`` for settings, ``budget-unreadable``."""
    there = {each.name: each for each in sight.nodes}
    wanted = sorted(set(names))
    problems = [
        Problem("unknown-node", f"there is no node {name}", name, "name nodes that exist")
        for name in wanted
        if name not in there
    ]
    problems += [*_bad_settings(settings), *_bad_budgets(sight)]
    if problems:
        raise FleetError.of(problems)
    nodes = tuple(
        NodeProgress(
            name=name,
            uid=each.uid,
            pool=each.pool,
            created_at=each.created_at,
            image=each.image,
            version=each.version,
            since=now,
        )
        for name, each in ((name, there[name]) for name in wanted)
    )
    return RotationState(settings=settings, nodes=nodes, known=tuple(sorted(there)), started_at=now)


def decide(state: RotationState, seen: RotationInput, now: datetime) -> Decision[RotationState, RotationAct]:
    """The next step of a rotation at an aware instant: what is to be done (with nodes in flight ``drain`` or
    ``release``, then with those that are begun ``add-node`` or ``drain``), what holds back each node that still waits,
    in the order in which they would begin, and when to look again. Nodes without pods to move begin first, then the
    oldest, as many as ``Admission`` lets. One that is done does nothing more, and only nodes whose member has left the
    fleet change in it. ValueError for a surge that is no amount, which ``begin`` refuses."""
    state = without_left(state, seen, now)
    if state.done:
        return Decision(state=state)
    held = RotationBlockers(seen, now, past_pods=bool(state.settings.grace_period))
    progress = RotationProgress(state, seen, now, held.blockers_of)
    nodes = {each.name: each if each.ended else progress.advanced(each) for each in state.nodes}
    current = dataclasses.replace(state, nodes=tuple(nodes.values()))
    current = dataclasses.replace(current, halted=_halted(current, seen, now))
    there = {each.name: each for each in seen.nodes}
    blocked = {name: _blocked(name, there, seen, held) for name, each in nodes.items() if each.phase == WAITING}
    for name, why in blocked.items():
        nodes[name] = _while_blocked(
            nodes[name], why, current, name in there and seen.window_open(there[name].cluster), now
        )
    current = dataclasses.replace(current, nodes=tuple(nodes.values()))
    admission = Admission(current, seen, scopes_left(current, seen, now), now)
    waits, begun = [], []
    for each in _in_order(current.nodes, seen):
        why = blocked[each.name] or admission.refusals(each, there[each.name])
        if why:
            waits.append(HeldBack(each.name, why))
        else:
            nodes[each.name] = admission.begin(each, there[each.name])
            begun.append(_act(nodes[each.name]))
    current = dataclasses.replace(current, nodes=tuple(map(_slim, nodes.values())), wave=admission.wave)
    instant = None if current.done else next_instant(current, seen, admission.scopes, held.until, now)
    return Decision(state=current, acts=(*progress.acts, *begun), waits=tuple(waits), wake_at=instant)


def outcome(state: RotationState) -> str:
    """``done`` once all nodes have ended, though some may have to be let go yet; else ``running`` while nodes are in
    flight, ``waiting`` while none is."""
    return DONE if state.done else RUNNING if any(each.in_flight for each in state.nodes) else WAITS


def acts_in_flight(state: RotationState) -> tuple[RotationAct, ...]:
    """What a rotation has begun and not ended: releases first, then ``add-node`` and ``drain`` of nodes that await or
    are drained, each by the name of the node. A release ends once it was carried out (``released``). While there are
    some the conductor stays (with what ``RotationSteering.acts_in_flight`` adds or leaves out), and the record is
    deleted only by force."""
    releases = (
        RotationAct(RELEASE, each.name, each.pool, each.attempts, each.release) for each in state.nodes if each.release
    )
    return (*releases, *(_act(each) for each in state.nodes if each.phase in (SURGING, DRAINING)))


def released(state: RotationState, operation: str) -> RotationState:
    """The state of a rotation once the release of that operation was carried out; the same object if there is no such
    release."""
    names = {each.node for each in acts_in_flight(state) if each.kind == RELEASE and each.operation == operation}
    if not names:
        return state
    nodes = (dataclasses.replace(each, release="") if each.name in names else each for each in state.nodes)
    return dataclasses.replace(state, nodes=tuple(nodes))


def with_overdue_restarted(state: RotationState, at: datetime) -> RotationState:
    """The state of a rotation that somebody has taken up at an aware instant: where the time of a node that is drained,
    or awaits a new one, had run out, and as much again has gone by, it begins anew, for nobody has worked on it
    meanwhile. Before that, the next step lets it fail (``no-new-node``, ``drain-timeout``). The same object if there is
    none."""
    twice = 2 * state.settings.node_timeout
    late = {
        each.name
        for each in state.nodes
        if each.phase in (SURGING, DRAINING) and limit_passed(limit_end(each.since, twice), at)
    }
    if not late:
        return state
    nodes = (dataclasses.replace(each, since=at) if each.name in late else each for each in state.nodes)
    return dataclasses.replace(state, nodes=tuple(nodes))


def stopped_at_once(state: RotationState, now: datetime) -> RotationState | None:
    """The state of a rotation that ends by being stopped at an aware instant: its nodes that wait are given up
    (``halted``), those that have ended stay, and ``halted`` says so of the whole; None if nodes are in flight, or are
    to be let go."""
    if state.in_hand:
        return None
    halted = state.halted or STOPPED
    nodes = (
        dataclasses.replace(each, phase=GIVEN_UP, since=now, code="halted", text=halted) if not each.ended else each
        for each in state.nodes
    )
    return dataclasses.replace(state, nodes=tuple(nodes), halted=halted)


def _blocked(
    name: str, there: t.Mapping[str, RotationNode], seen: RotationInput, held: RotationBlockers
) -> tuple[Blocker, ...]:
    """What holds a waiting node back by itself, in the order of ``RotationBlockers.blockers_of``; of one that is not
    there just ``unknown``, why its cluster could not be read. KeyError if that could."""
    if name in there:
        return held.blockers_of(there[name])
    return (Blocker("unknown", f"{cluster_in_name(name)} could not be read: {seen.unknown[cluster_in_name(name)]}"),)


def _halted(state: RotationState, sight: RotationInput, now: datetime) -> str:
    """Why no more nodes are begun: the cause that stands in the state, else the first of: it was stopped, too many were
    given up, its time is over. Empty if they are. That a member has left is no failure of its nodes."""
    settings, failures = state.settings, state.failed(GIVEN_UP)
    if state.halted:
        return state.halted
    if sight.stop:
        return STOPPED
    if failures > settings.max_failures:
        return f"{number_of(failures, 'node', 'was', 'were')} given up, and {settings.max_failures} may be"
    return "its time is over" if limit_passed(limit_end(state.started_at, settings.time_limit), now) else ""


def _while_blocked(
    node: NodeProgress, why: tuple[Blocker, ...], state: RotationState, window_open: bool, now: datetime
) -> NodeProgress:
    """A node that waits, after ``why`` holds it back, or nothing: given up if the rotation is halted and nothing does,
    ``Blocked`` if it is halted or the time of a block is over, else with that time counted. It runs only while the
    window is open, and over all windows, so that short ones do not make it endless."""
    text = "; ".join(each.text for each in why)
    if state.halted and not why:
        return dataclasses.replace(node, phase=GIVEN_UP, since=now, code="halted", text=state.halted)
    seen = _block_counted(node, now, is_blocked=bool(why), window_open=window_open)
    if why and (state.halted or limit_passed(seen.blocked_until(state.settings.blocked_timeout), now)):
        return dataclasses.replace(node, phase=BLOCKED, since=now, code=why[0].code, text=text)
    return seen


def _block_counted(node: NodeProgress, now: datetime, *, is_blocked: bool, window_open: bool) -> NodeProgress:
    """The node with the time for which it has been blocked, which begins anew once nothing blocks it; the
    same object if nothing has changed."""
    if is_blocked and window_open:
        return node if node.blocked_since else dataclasses.replace(node, blocked_since=now)
    before = 0
    if is_blocked:
        so_far = (now - node.blocked_since).total_seconds() if node.blocked_since else 0
        before = node.blocked_before + int(so_far)
    if node.blocked_since is None and before == node.blocked_before:
        return node
    return dataclasses.replace(node, blocked_since=None, blocked_before=before)


def _slim(node: NodeProgress) -> NodeProgress:
    """A node that has ended, and is not to be let go, without what is only looked at until then: thousands of them are
    to fit into one record. Others as they are, the same object."""
    if not node.ended or node.release or not (node.uid or node.image or node.version or node.created_at):
        return node
    return dataclasses.replace(node, uid="", image="", version="", created_at=None)


def _in_order(nodes: t.Iterable[NodeProgress], sight: RotationInput) -> list[NodeProgress]:
    """Nodes that wait: those without pods to move first, then the oldest, those of unknown age last, then by name."""
    busy = {name for name, pods in sight.pods.items() if any(map(reschedulable, pods))}
    return sorted(
        (each for each in nodes if each.phase == WAITING),
        key=lambda one: (one.name in busy, one.created_at is None, one.created_at, one.name),
    )


def begins_node(act: RotationAct, settings: RotationSettings) -> bool:
    """Whether the act is the first for a node that waited, so that one more counts as disrupted."""
    return act.kind == (ADD_NODE if settings.replacement == BEFORE else DRAIN)


def _act(node: NodeProgress) -> RotationAct:
    """What is to be done with a node that is begun: ``add-node`` if a new one is awaited, else ``drain``."""
    return RotationAct(ADD_NODE if node.phase == SURGING else DRAIN, node.name, node.pool, node.attempts)


def _bad_settings(settings: RotationSettings) -> t.Iterator[Problem]:
    """Values that the description of a setting excludes (``not-one-of``, ``out-of-range``), and a surge that is no
    amount (``invalid-surge``), or 0 where replacements come before."""
    for each in fields_of(RotationSettings):
        value, prop = getattr(settings, each.attr), each.prop
        if prop.enum and value not in prop.enum:
            yield Problem("not-one-of", f"{value!r:.40} is not one of {', '.join(prop.enum)}", each.json)
        if prop.minimum is not None and value < prop.minimum:
            yield Problem("out-of-range", f"{value} is less than {prop.minimum}", each.json)
        if prop.maximum is not None and value > prop.maximum:
            yield Problem("out-of-range", f"{value} is more than {prop.maximum}", each.json)
    try:
        enough = scaled(settings.surge, 100, round_up=True) > 0
    except ValueError as error:
        yield Problem("invalid-surge", str(error), "surge")
    else:
        if not enough and settings.replacement == BEFORE:
            yield Problem("out-of-range", "no new node may be awaited, so that none would come", "surge")


def _bad_budgets(sight: RotationInput) -> t.Iterator[Problem]:
    """The problem ``budget-unreadable`` of each budget that cannot be read and would close its scope; that is said
    before anything begins."""
    for scope in sight.scopes:
        for place, budget in enumerate(scope.budgets):
            rule = rule_of(budget)
            if problem := rule.schedule_problem or rule.nodes_problem:
                yield Problem("budget-unreadable", problem, f"{scope.name} budgets[{place}]", "lint tells more")
