# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Whether the status of an update run can have come of the run, or was altered (``record-altered``): digests of run and
strategy, names of operations and gates, order of stages, waits.

Many may write the status who must not widen what was approved. Sequence and strategy are held by digests among the
metadata, where a writer of the status does not reach; what these leave open (states, attempts) is held against what
decisions and commands can make.
"""

from __future__ import annotations

import typing as t

from ..errors import Problem
from ..objects.updates.update_run import UpdateRun
from ..values.update_states import (
    COMPLETED,
    NEW,
    NOT_STARTED,
    PENDING,
    REQUESTED_BY_USER,
    RUNNING,
    SKIPPED,
    STATES,
)
from .dispatch import operation_name
from .facts import DONE
from .gates import cleared, placed_gates
from .record.digest import run_digest, strategy_digest
from .record.run_state import run_of
from .run import (
    GateRow,
    MemberRow,
    RunState,
    StageRow,
    WaitRow,
)
from .status import stage_look
from .strategy import gate_id

DIGEST = "gitops.fleet/digest"
DIGEST_FORM = "gitops.fleet/digest-form"
"""Which form the digest has; a run without it was laid out when there was only the first."""
STRATEGY = "gitops.fleet/strategy-digest"
CODE = "record-altered"
_UNTOUCHED = (NOT_STARTED, SKIPPED)
_GATE_STATES = (NOT_STARTED, PENDING, COMPLETED, SKIPPED)
_WAIT_STATES = (NOT_STARTED, RUNNING, COMPLETED, SKIPPED)


def recorded_digest(run: UpdateRun) -> str:
    """The digest under which the run was recorded, out of its annotations; empty without one."""
    return run.metadata.annotations.get(DIGEST, "")


def has_recorded_strategy(run: UpdateRun) -> bool:
    """Whether the strategy in the status of the run is the one that was laid out, by its digest; also where there is
    neither."""
    return run.metadata.annotations.get(STRATEGY, "") == strategy_digest(run.status.strategy)


def problems_of(run: UpdateRun) -> list[Problem]:
    """What of an update run goes against its recorded digests, or cannot have come of decisions and commands
    (``oddities``), each as a Problem ``record-altered``; empty for a run that was never started and has no stages."""
    status = run.status
    if status.phase == NEW and not status.stages:
        return []
    state = run_of(run)
    found = [*_digest(run, state), *oddities(state)]
    where = f"UpdateRun/{run.name}"
    hint = "see who may write updateruns/status; make a new run, and delete this one"
    return [Problem(CODE, text, where, hint) for text in found]


def oddities(state: RunState) -> list[str]:
    """What of a run's rows cannot have come of decisions and commands (names of operations and gates, states, the order
    of stages, waits), each as a sentence; digests are not looked at."""
    return [*_names(state), *_order(state), *_waits(state)]


def _digest(run: UpdateRun, state: RunState) -> t.Iterator[str]:
    """Whether run and strategy are other ones than their recorded digests say, each as a sentence. A strategy without a
    recorded digest is not looked at."""
    recorded = recorded_digest(run)
    form = run.metadata.annotations.get(DIGEST_FORM, "")
    computed = run_digest(run.spec, state.stages, run.status.node_image_selection, form)
    if recorded != computed:
        yield f"it was recorded with digest {recorded or 'none'}, and what stands in it now has {computed}"
    if STRATEGY in run.metadata.annotations and not has_recorded_strategy(run):
        yield "the strategy in its status is not the one that was laid out"


def _names(state: RunState) -> t.Iterator[str]:
    """Operations and gates whose names do not follow from the run, for they are looked for under these; states that
    there are not, and members that are Running without an attempt; each as a sentence."""
    for row in _rows(state):
        if row.state not in STATES:
            yield f"member {row.name} is in state {row.state!r:.40}"
        if row.operation != (operation_name(state, row.name, row.attempt) if row.attempt else ""):
            yield f"attempt {row.attempt} at member {row.name} is called {row.operation!r:.80}"
        if row.state == RUNNING and not row.attempt:
            yield f"member {row.name} is Running without an attempt"
    for stage in state.stages:
        for group, timing, gates in placed_gates(stage):
            for index, gate in enumerate(gates):
                if gate.id != gate_id(state.uid, stage.name, group, timing, index) or gate.state not in _GATE_STATES:
                    place = f"{timing.lower()} {stage.name}{'/' + group if group else ''}"
                    yield f"gate {gate.name!r:.40} {place} is {gate.id!r:.40}, {gate.state!r:.40}"


def _order(state: RunState) -> t.Iterator[str]:
    """What goes against the order: stages follow one another, members their gates, and gates are skipped only with what
    they guard; each as a sentence."""
    ahead = state.phase != NEW
    for stage in state.stages:
        if not ahead:
            yield from _begun_early(stage)
            continue
        seen = stage_look(stage, state)
        yield from _behind(stage.before_gates, _rows_of(stage), f"stage {stage.name}")
        skipped = stage.user_skipped or seen.state == SKIPPED
        yield from _skipped_alone((*stage.before_gates, *stage.after_gates), skipped, f"stage {stage.name}")
        for group, facts, one in zip(stage.groups, seen.groups, seen.facts.groups, strict=True):
            yield from _behind(group.before_gates, group.members, f"group {group.name}")
            gates = (*group.before_gates, *group.after_gates)
            yield from _skipped_alone(gates, facts.user_skipped or one == SKIPPED or skipped, f"group {group.name}")
        ahead = seen.state in DONE


def _waits(state: RunState) -> t.Iterator[str]:
    """Waits in a state that there is not, that do not last as long as they are, or are Skipped neither on request, nor
    with their stage, nor because nothing follows; each as a sentence."""
    for stage in state.stages:
        wait = stage.wait
        if wait is None:
            continue
        where = f"the wait after stage {stage.name}"
        if wait.state not in _WAIT_STATES:
            yield f"{where} is {wait.state!r:.40}"
        if wait.state in (RUNNING, COMPLETED) and not _lasted_in_full(wait):
            yield f"{where} is {wait.state}, and does not end {wait.seconds} s after it began"
        told = wait.reason == REQUESTED_BY_USER or stage is state.stages[-1]
        if wait.state == SKIPPED and not (told or stage.user_skipped or stage_look(stage, state).state == SKIPPED):
            yield f"{where} is Skipped without a reason"


def _lasted_in_full(wait: WaitRow) -> bool:
    """Whether the wait ends as long after its start as it is to last, and, if it is over, ended then."""
    if wait.started is None or wait.ends is None or (wait.ends - wait.started).total_seconds() != wait.seconds:
        return False
    return wait.state == RUNNING or wait.completed == wait.ends


def _begun_early(stage: StageRow) -> t.Iterator[str]:
    """What has begun in a stage that the run has not reached, each as a sentence."""
    for row in _rows_of(stage):
        if row.state not in _UNTOUCHED or row.attempt:
            yield f"member {row.name} is {row.state} in stage {stage.name}, which the run has not reached"
    gates = [gate for _group, _timing, gates in placed_gates(stage) for gate in gates]
    wait = stage.wait
    if any(gate.state not in _UNTOUCHED for gate in gates) or (wait and wait.state not in _UNTOUCHED):
        yield f"a gate or the wait of stage {stage.name} is open, which the run has not reached"


def _behind(gates: tuple[GateRow, ...], rows: t.Iterable[MemberRow], where: str) -> t.Iterator[str]:
    """Members that have begun though a gate before them was not passed, each as a sentence; ``where`` names what it is
    before."""
    if cleared(gates):
        return
    for row in rows:
        if row.state not in _UNTOUCHED or row.attempt:
            yield f"member {row.name} is {row.state} behind a gate before {where} that was not passed"


def _skipped_alone(gates: t.Iterable[GateRow], with_it: bool, where: str) -> t.Iterator[str]:
    """Gates that are Skipped, each as a sentence; nothing where what they guard is so too (``with_it``)."""
    for gate in gates:
        if gate.state == SKIPPED and not with_it:
            yield f"gate {gate.name!r:.40} of {where} is Skipped, and what it guards is not"


def _rows(state: RunState) -> t.Iterator[MemberRow]:
    """The members of all stages, in order."""
    for stage in state.stages:
        yield from _rows_of(stage)


def _rows_of(stage: StageRow) -> t.Iterator[MemberRow]:
    """The members of all groups of the stage, in order."""
    for group in stage.groups:
        yield from group.members
