# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A rotation of nodes (NodeRotation) as bars over time: its waves, their nodes, why one waits or is blocked, the pause
after a wave, and who has not begun."""

from __future__ import annotations

import typing as t
from datetime import datetime, timedelta

from ..disruption.rotation.state import BLOCKED, GIVEN_UP, ROTATED, WAITING, NodeProgress, RotationState
from ..objects.clusters.node_rotation import NodeRotation
from ..objects.updates.run_status import UpdateStatus
from ..values.instants import SECONDS, write_time
from ..values.listed import number_of
from ..values.update_states import COMPLETED, NOT_STARTED, PENDING, RUNNING
from ..windows.clocks import shifted
from .runs import NODE, ROTATION, RUN, WAIT, WAVE, Bar, RunChart

NOT_BEGUN = "not begun"


def rotation_chart(rotation: NodeRotation, state: RotationState) -> RunChart:
    """The rotation by its record alone: its waves in order, each with its nodes, the pause that the last one is
    followed by, if any, then those that have not begun. ``progress`` is how many of all nodes are rotated, and how many
    were left (given up or blocked); without a message of its own one that is to stop says that. ``over`` once it has a
    state, all nodes have ended, and none is to be let go any more."""
    status, counts = rotation.status, state.counts
    phase = status.phase or NOT_STARTED
    waves = sorted({each.wave for each in state.nodes if each.wave})
    bars = [each for number in waves for each in _wave(number, state)]
    waiting = [each for each in state.nodes if not each.wave]
    if waiting:
        bars.append(Bar(what=WAVE, name=NOT_BEGUN, depth=1, status=_status(_common(waiting), (), ())))
        bars += map(_node, waiting)
    ends = [each.since for each in state.nodes if each.ended and each.since] if state.done else []
    told = _status(phase, [state.started_at] if state.started_at else [], ends)
    message = status.message or ("no more nodes are begun: it is to stop" if status.stop_requested else "")
    whole = Bar(what=RUN, name=rotation.name, depth=0, status=told, why=message)
    rotated = f"{counts.get(ROTATED, 0):,}/{number_of(len(state.nodes), 'node')}"
    left = counts.get(GIVEN_UP, 0) + counts.get(BLOCKED, 0)
    return RunChart(
        kind=ROTATION,
        name=rotation.name,
        state=phase,
        over=bool(status.state) and state.over,
        outcome="",
        target="",
        message=message,
        progress=rotated + (f", {left} left as {'it was' if left == 1 else 'they were'}" if left else ""),
        bars=(whole, *bars),
        made_at=rotation.metadata.creation_timestamp,
    )


def _wave(number: int, state: RotationState) -> t.Iterator[Bar]:
    """The bar of the wave, those of its nodes by when they were begun, and, of the last wave while the rotation goes
    on, the pause after it if it has one."""
    nodes = sorted((each for each in state.nodes if each.wave == number), key=lambda one: (str(one.begun_at), one.name))
    over, last = all(each.ended for each in nodes), number == state.wave.number
    ends = [each.since for each in nodes if each.since] if over else []
    status = _status(COMPLETED if over else RUNNING, [each.begun_at for each in nodes if each.begun_at], ends)
    size = f"nodes: {len(nodes)}" + (f" of up to {state.wave.size}" if last else "")
    yield Bar(what=WAVE, name=str(number), depth=1, status=status, why=size)
    yield from map(_node, nodes)
    if last and state.wave.ended_at and state.settings.soak and not state.done:
        due = shifted(state.wave.ended_at, timedelta(seconds=state.settings.soak))
        pause = UpdateStatus(state=PENDING, start_time=state.wave.ended_at)
        yield Bar(what=WAIT, name=f"{state.settings.soak} s", depth=1, status=pause, due=due)


def _node(node: NodeProgress) -> Bar:
    """The bar of a node; it ends once the node has ended."""
    status = _status(
        node.phase, [node.begun_at] if node.begun_at else [], [node.since] if node.ended and node.since else []
    )
    blocked = node.phase == WAITING and node.blocked_since is not None
    return Bar(what=NODE, name=node.name, depth=2, status=status, why=_why(node), blocked=blocked)


def _why(node: NodeProgress) -> str:
    """What is said of the node: while it waits why, since when it is blocked, and when it is tried again; else its
    text, or what has come for it. Empty for nothing."""
    if node.phase == WAITING:
        held = f"blocked since {write_time(node.blocked_since, SECONDS)}" if node.blocked_since else ""
        again = f"tried again after {write_time(node.not_before, SECONDS)}" if node.not_before else ""
        return "; ".join(filter(None, (node.text, held, again)))
    came = f"{node.replacement} has come for it" if node.phase == ROTATED and node.replacement else ""
    return node.text or came


def _common(nodes: t.Sequence[NodeProgress]) -> str:
    """The phase of nodes that have not begun: that of all, or that they wait."""
    phases = {each.phase for each in nodes}
    return phases.pop() if len(phases) == 1 else WAITING


def _status(state: str, starts: t.Sequence[datetime], ends: t.Sequence[datetime]) -> UpdateStatus:
    """The state with the earliest start and the latest end; None where there is none."""
    return UpdateStatus(state=state, start_time=min(starts, default=None), completed_time=max(ends, default=None))
